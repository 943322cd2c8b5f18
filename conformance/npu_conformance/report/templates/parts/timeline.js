// Tasks in time, a row for each lane: D.lanes, D.words, D.end and T.lane, start, length, name, kind; KIND colours kinds. The page says about(i).
const line = $("timeline"), curve = $("memory"), ROW = 22, LABEL = 118;
let from = 0, to = Math.max(D.end, 1), onlyPath = false, marked = -1;
const critical = new Set(D.critical || []);
const order = D.lanes.map((lane, i) => i).sort((a, b) => (D.lanes[a][0] < D.lanes[b][0] ? -1 : D.lanes[a][0] > D.lanes[b][0] ? 1 : D.lanes[a][1] - D.lanes[b][1]));
const rowOf = []; order.forEach((lane, row) => { rowOf[lane] = row; });
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
  const g = canvas.getContext("2d"); g.setTransform(ratio, 0, 0, ratio, 0, 0); g.clearRect(0, 0, width, height); g.font = "12px system-ui,sans-serif"; return [g, width];
}
const xOf = (t, width) => LABEL + (t - from) / (to - from) * (width - LABEL);
function draw() {
  const height = order.length * ROW + 24, [g, width] = sized(line, height);
  g.fillStyle = css("--dim");
  order.forEach((lane, row) => g.fillText(`${D.lanes[lane][0]} ${D.lanes[lane][1]}`, 6, row * ROW + 15));
  const ticks = width < 600 ? 2 : 4;
  for (let k = 0; k <= ticks; k++) { const t = from + (to - from) * k / ticks, x = xOf(t, width); g.fillText(time(t), Math.min(Math.max(x - 20, LABEL), width - 52), height - 6); g.fillRect(x, 0, 0.5, order.length * ROW); }
  const last = new Map();   // a pixel of a row is drawn once for tasks too short to tell apart
  for (let i = 0; i < N; i++) {
    const end = T.start[i] + T.length[i];
    if (end < from || T.start[i] > to || (onlyPath && !critical.has(i))) continue;
    const x = Math.max(xOf(T.start[i], width), LABEL), w = Math.max(Math.min(xOf(end, width), width) - x, 0.6), row = rowOf[T.lane[i]];
    if (w < 1) { const key = row * 100000 + Math.floor(x); if (last.get(row) === key) continue; last.set(row, key); }
    g.fillStyle = i === marked ? css("--fg") : KIND[D.words[T.kind[i]]]; g.fillRect(x, row * ROW + 3, w, ROW - 6);
    if (w > 60) { g.fillStyle = "#fff"; g.save(); g.beginPath(); g.rect(x, row * ROW, w - 4, ROW); g.clip(); g.fillText(D.words[T.name[i]], x + 4, row * ROW + 15); g.restore(); }
  }
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
const timeAt = event => { const box = line.getBoundingClientRect(); return from + (event.clientX - box.left - LABEL) / (box.width - LABEL) * (to - from); };
line.addEventListener("wheel", event => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event)); }, {passive: false});
let dragged = null;
line.addEventListener("pointerdown", event => { dragged = [event.clientX, from, to]; line.setPointerCapture(event.pointerId); });
line.addEventListener("pointerup", () => { dragged = null; });
line.addEventListener("pointermove", event => {
  if (dragged) { const box = line.getBoundingClientRect(), shift = (dragged[0] - event.clientX) / (box.width - LABEL) * (dragged[2] - dragged[1]); view(dragged[1] + shift, dragged[2] + shift); return; }
  const t = timeAt(event), row = Math.floor((event.clientY - line.getBoundingClientRect().top) / ROW), slack = (to - from) / 800;
  let found = -1, best = Infinity;
  for (let i = 0; i < N; i++) if (rowOf[T.lane[i]] === row && t >= T.start[i] - slack && t <= T.start[i] + T.length[i] + slack) { const d = Math.abs(t - T.start[i] - T.length[i] / 2); if (d < best) { best = d; found = i; } }
  if (found !== marked) { marked = found; if (found >= 0) about(found); draw(); }
});
line.addEventListener("keydown", event => {
  const step = (to - from) / 8, keys = {ArrowLeft: () => view(from - step, to - step), ArrowRight: () => view(from + step, to + step), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => view(0, D.end)};
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
$("in").onclick = () => zoom(0.5); $("out").onclick = () => zoom(2); $("whole").onclick = () => view(0, D.end);
if ($("path")) $("path").onclick = () => { onlyPath = !onlyPath; $("path").setAttribute("aria-pressed", onlyPath); draw(); };
window.addEventListener("resize", draw); matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
