// Tasks in time, a row for each lane: D.lanes, D.words, D.end and T.lane, start, length, name, kind; KIND colours kinds. The page gives tell(i), parts of an element, and nodeOf(i).
const line = $("timeline"), curve = $("memory"), ROW = 22;
let from = 0, to = Math.max(D.end, 1), onlyPath = false, marked = -1, pinned = -1, range = null, hits = null, LABEL = 118;
const critical = new Set(D.critical || []);
const order = D.lanes.map((lane, i) => i).sort((a, b) => (D.lanes[a][0] < D.lanes[b][0] ? -1 : D.lanes[a][0] > D.lanes[b][0] ? 1 : D.lanes[a][1] - D.lanes[b][1]));
const rowOf = []; order.forEach((lane, row) => { rowOf[lane] = row; });
const laneName = lane => D.lanes[lane].join(" ").trim(), first = $("about").textContent;
function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
  const g = canvas.getContext("2d"); g.setTransform(ratio, 0, 0, ratio, 0, 0); g.clearRect(0, 0, width, height); g.font = "12px system-ui,sans-serif"; return [g, width];
}
const xOf = (t, width) => LABEL + (t - from) / (to - from) * (width - LABEL);
function cut(g, text, most) {  // with its middle left out
  if (g.measureText(text).width <= most) return text;
  let keep = text.length - 1; while (keep > 2 && g.measureText(text.slice(0, Math.ceil(keep / 2)) + "…" + text.slice(-Math.floor(keep / 2))).width > most) keep--;
  return text.slice(0, Math.ceil(keep / 2)) + "…" + text.slice(-Math.floor(keep / 2));
}
// Times to label: multiples of 1, 2 or 5 times a power of ten, in one unit.
function ticks(width) {
  const rough = (to - from) / Math.max(2, Math.floor((width - LABEL) / 110)), power = 10 ** Math.floor(Math.log10(rough)), step = Math.max(1, [1, 2, 5, 10].find(k => k * power >= rough) * power);
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]].find(([, size]) => to >= size && step * 1000 >= size) || ["ns", 1];
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)), found = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) found.push([k * step, `${(k * step / size).toFixed(digits)} ${unit}`]);
  return found;
}
const dark = new Map();   // whether white is read on a colour
function inkOn(colour) {
  if (!dark.has(colour)) { const [r, g, b] = [1, 3, 5].map(k => (parseInt(colour.slice(k, k + 2), 16) / 255) ** 2.2); dark.set(colour, .2126 * r + .7152 * g + .0722 * b < .18); }
  return dark.get(colour) ? "#fff" : "#000";
}
function draw() {
  const height = order.length * ROW + 24, [g, width] = sized(line, height), ink = css("--fg");
  LABEL = Math.min(Math.max(60, ...order.map(lane => g.measureText(laneName(lane)).width + 14)), width * .32);
  g.fillStyle = css("--dim");
  order.forEach((lane, row) => g.fillText(cut(g, laneName(lane), LABEL - 10), 6, row * ROW + 15));
  for (const [t, text] of ticks(width)) { const x = xOf(t, width), half = g.measureText(text).width / 2; g.fillRect(x, 0, 0.5, order.length * ROW + 4); if (x + half < width) g.fillText(text, Math.max(x - half, LABEL - half), height - 6); }
  const last = new Map();   // a pixel of a row is drawn once for tasks too short to tell apart
  for (let i = 0; i < N; i++) {
    const end = T.start[i] + T.length[i];
    if (end < from || T.start[i] > to || (onlyPath && !critical.has(i))) continue;
    const x = Math.max(xOf(T.start[i], width), LABEL), w = Math.max(Math.min(xOf(end, width), width) - x, 0.6), row = rowOf[T.lane[i]], hit = !hits || hits.has(i);
    if (w < 1 && hit && hits) { g.fillStyle = KIND[D.words[T.kind[i]]]; g.fillRect(x, row * ROW + 3, 1, ROW - 6); continue; }
    if (w < 1) { const key = Math.floor(x); if (last.get(row) === key) continue; last.set(row, key); }
    const fill = KIND[D.words[T.kind[i]]]; g.globalAlpha = hit ? 1 : .2;
    g.fillStyle = i === marked ? ink : fill; g.fillRect(x, row * ROW + 3, w, ROW - 6);
    if (w > 30) { g.fillStyle = i === marked ? css("--bg") : hit ? inkOn(fill) : ink; g.fillText(cut(g, D.words[T.name[i]], w - 8), x + 4, row * ROW + 15); }
    g.globalAlpha = 1;
  }
  if (pinned >= 0) { const x = Math.max(xOf(T.start[pinned], width), LABEL), w = Math.max(xOf(T.start[pinned] + T.length[pinned], width) - x, 2); g.strokeStyle = ink; g.lineWidth = 2; g.strokeRect(x - 1, rowOf[T.lane[pinned]] * ROW + 2, w + 2, ROW - 4); }
  if (range) { const a = Math.max(xOf(range[0], width), LABEL), b = Math.min(xOf(range[1], width), width); if (b > a) { g.fillStyle = css("--geop"); g.globalAlpha = .18; g.fillRect(a, 0, b - a, order.length * ROW); g.globalAlpha = 1; g.fillRect(a, 0, 1, order.length * ROW); g.fillRect(b - 1, 0, 1, order.length * ROW); } }
  if (!curve) return;
  const [m, wide] = sized(curve, 110), top = Math.max(...D.memory.map(p => p[1]), 1);
  m.fillStyle = css("--geop-soft"); m.strokeStyle = css("--geop"); m.beginPath(); m.moveTo(LABEL, 104);
  let before = D.memory.length ? D.memory[0][1] : 0;
  for (const [t, b] of D.memory) { const x = Math.min(Math.max(xOf(t, wide), LABEL), wide); m.lineTo(x, 104 - before / top * 90); m.lineTo(x, 104 - b / top * 90); before = b; }
  m.lineTo(wide, 104 - before / top * 90); m.lineTo(wide, 104); m.fill(); m.stroke();
  m.fillStyle = css("--dim"); m.fillText("memory", 6, 20); m.fillText(bytes(top), 6, 36);
}
function view(a, b) {
  const least = Math.max(D.end / 1e6, 10), span = Math.min(Math.max(b - a, least), Math.max(D.end, 1));
  from = Math.min(Math.max(a, 0), Math.max(D.end, 1) - span); to = from + span; draw();
}
function zoom(factor, at) { const t = at == null ? (from + to) / 2 : at; view(t - (t - from) * factor, t + (to - t) * factor); }
// ---- one task, and a range of all
function about(i) { $("about").replaceChildren(...(i < 0 ? [first] : [...(i === pinned ? [el("b", {class: "geop"}, "pinned "), " "] : []), ...tell(i)])); }
function pin(i, centred) {
  pinned = i;
  if (centred && i >= 0) { const middle = T.start[i] + T.length[i] / 2, span = to - from; if (middle < from || middle > to) view(middle - span / 2, middle + span / 2); }
  about(i); draw();
}
let inLane = null;
function next(by) {  // in the lane of what is pinned
  if (!inLane) { inLane = D.lanes.map(() => []); for (let i = 0; i < N; i++) inLane[T.lane[i]].push(i); for (const list of inLane) list.sort((a, b) => T.start[a] - T.start[b]); }
  if (pinned < 0) { const list = order.flatMap(lane => inLane[lane].slice(0, 1)); pin(list.length ? list[0] : -1, true); return; }
  const list = inLane[T.lane[pinned]], at = list.indexOf(pinned) + by; if (list[at] !== undefined) pin(list[at], true);
}
function sums([a, b]) {  // [time, tasks] in the range by a name
  const engines = new Map(), operators = new Map();
  const add = (map, key, t) => { const one = map.get(key) || [0, 0]; one[0] += t; one[1]++; map.set(key, one); };
  for (let i = 0; i < N; i++) {
    const t = Math.min(T.start[i] + T.length[i], b) - Math.max(T.start[i], a);
    if (t <= 0) continue;
    add(engines, D.lanes[T.lane[i]][0], t); add(operators, D.words[T.name[i]], t);
  }
  return [engines, operators].map(map => [...map].sort((x, y) => y[1][0] - x[1][0] || (x[0] < y[0] ? -1 : 1)));
}
function mark(a, b) {
  range = a === null ? null : [Math.max(0, Math.min(a, b)), Math.min(Math.max(a, b), D.end)];
  $("range").hidden = !range; draw();
  if (!range) return;
  const [engines, operators] = sums(range);
  $("range-title").textContent = `${time(range[1] - range[0])} from ${time(range[0])} to ${time(range[1])}`;
  for (const [id, head, list] of [["range-engines", "Engine", engines], ["range-operators", "Operator", operators]]) {
    const row = (tag, name, tasks, t) => el("tr", {}, el(tag, {}, ...broken(name)), el(tag, {class: "n"}, tasks), el(tag, {class: "n"}, t));
    $(id).replaceChildren(row("th", head, "Tasks", "Time"), ...list.slice(0, 20).map(([name, [t, tasks]]) => row("td", name, tasks.toLocaleString("en"), time(t))));
    if (list.length > 20) $(id).append(el("tr", {}, el("td", {colspan: 3, class: "dim"}, `and ${list.length - 20} more with ${time(list.slice(20).reduce((sum, one) => sum + one[1][0], 0))}`)));
  }
}
const timeAt = event => { const box = line.getBoundingClientRect(); return from + (event.clientX - box.left - LABEL) / (box.width - LABEL) * (to - from); };
function taskAt(event) {
  const t = timeAt(event), row = Math.floor((event.clientY - line.getBoundingClientRect().top) / ROW), slack = (to - from) / 800;
  let found = -1, best = Infinity;
  for (let i = 0; i < N; i++) if (rowOf[T.lane[i]] === row && t >= T.start[i] - slack && t <= T.start[i] + T.length[i] + slack) { const d = Math.abs(t - T.start[i] - T.length[i] / 2); if (d < best) { best = d; found = i; } }
  return found;
}
line.addEventListener("wheel", event => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event)); }, {passive: false});
let dragged = null;
line.addEventListener("pointerdown", event => { if (event.button === 0) { dragged = {x: event.clientX, from, to, at: timeAt(event), shift: event.shiftKey, far: false}; line.setPointerCapture(event.pointerId); } });
line.addEventListener("pointercancel", () => { dragged = null; });
line.addEventListener("pointerup", event => { const was = dragged; dragged = null; if (was && !was.far) pin(taskAt(event)); });
line.addEventListener("pointermove", event => {
  if (dragged) {
    const d = dragged; d.far = d.far || Math.abs(event.clientX - d.x) > 4;
    if (!d.far) return;
    if (d.shift) { const shift = (d.x - event.clientX) / (line.clientWidth - LABEL) * (d.to - d.from); view(d.from + shift, d.to + shift); } else mark(Math.min(Math.max(d.at, from), to), Math.min(Math.max(timeAt(event), from), to));
    return;
  }
  const found = taskAt(event);
  if (found !== marked) { marked = found; if (found >= 0) about(found); else if (pinned >= 0) about(pinned); draw(); }
});
line.addEventListener("pointerleave", () => { if (marked >= 0 && pinned >= 0) about(pinned); marked = -1; draw(); });
line.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = (to - from) / 8, keys = {ArrowLeft: () => view(from - step, to - step), ArrowRight: () => view(from + step, to + step), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => view(0, D.end),
    n: () => next(1), p: () => next(-1), r: () => mark(from, to), Escape: () => { pinned = -1; mark(null); about(-1); }};
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
// ---- search, and what Perfetto opens
$("find").addEventListener("input", () => {
  const text = $("find").value.trim().toLowerCase(); hits = null;
  if (text) { hits = new Set(); for (let i = 0; i < N; i++) if (D.words[T.name[i]].toLowerCase().includes(text) || nodeOf(i).toLowerCase().includes(text)) hits.add(i); }
  $("found").textContent = hits ? `${hits.size.toLocaleString("en")} found${hits.size ? "; Enter pins the next" : ""}` : ""; draw();
});
$("find").addEventListener("keydown", event => {
  if (event.key !== "Enter" || !hits || !hits.size) return;
  const list = [...hits].sort((a, b) => T.start[a] - T.start[b] || a - b), at = list.indexOf(pinned); pin(list[(at + 1) % list.length], true);
});
function trace() {
  const events = order.map((lane, row) => ({ph: "M", pid: 1, tid: row + 1, name: "thread_name", args: {name: laneName(lane)}}));
  for (let i = 0; i < N; i++) events.push({ph: "X", pid: 1, tid: rowOf[T.lane[i]] + 1, name: D.words[T.name[i]], ts: T.start[i] / 1000, dur: T.length[i] / 1000, args: {operator: nodeOf(i), kind: D.words[T.kind[i]]}});
  return JSON.stringify({displayTimeUnit: "ns", traceEvents: events});
}
$("save").onclick = () => { const link = el("a", {href: URL.createObjectURL(new Blob([trace()], {type: "application/json"})), download: "trace.json"}); link.click(); URL.revokeObjectURL(link.href); };
$("range-zoom").onclick = () => view(...range); $("range-clear").onclick = () => { mark(null); line.focus(); };
$("in").onclick = () => zoom(0.5); $("out").onclick = () => zoom(2); $("whole").onclick = () => view(0, D.end);
if ($("path")) $("path").onclick = () => { onlyPath = !onlyPath; $("path").setAttribute("aria-pressed", onlyPath); draw(); };
window.addEventListener("resize", draw); matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
