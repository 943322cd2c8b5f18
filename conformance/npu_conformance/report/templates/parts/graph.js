// The drawing: levels of boxes to zoom, move and open. A box is {x, y, kind, title, sub, nodes, group, open}, a line {from, to, d, about}.
const pane = $("graph"), W = 190, H = 48, MOST = 36, SINGLE = 60, MANY = 300;
const PALETTE = ["#2f6fde", "#b8860b", "#2e8b57", "#a0489b", "#c0504d", "#008b9a", "#7a8594", "#6b5bd2", "#8a6d3b", "#d2691e"];
let level = null, scale = 1, shiftX = 0, shiftY = 0, pathNodes = new Set(), hitNodes = null, chosenNode = null;
const trail = [];
const sink = svg("svg", {role: "group", "aria-label": "Boxes"}), lineLayer = svg("g", {}), boxLayer = svg("g", {}), ground = svg("g", {}, lineLayer, boxLayer); sink.append(ground);
const sources = i => D.inputs[i].map(step => i - step);
// ---- colours
const looks = {
  place: {of: i => onDevice(i) ? 0 : 1, names: ["device", "host"]},
  engine: {of: i => D.engine[i], names: D.engines},
  dtype: {of: i => D.dtype[i], names: D.dtypes},
};
const look = () => looks[$("colour").value];
const paint = k => $("colour").value === "place" ? css(k ? "--host" : "--geop") : PALETTE[k % PALETTE.length];
function shares(nodes) { const counts = new Map(), of = look().of; for (const i of nodes) counts.set(of(i), (counts.get(of(i)) || 0) + 1); return [...counts].sort((a, b) => b[1] - a[1]); }
function colour() {
  sink.classList.toggle("plain", $("colour").value !== "place");
  for (const box of level.boxes) {
    const strip = box.strip; strip.replaceChildren(); let x = box.x + 8;
    for (const [k, n] of shares(box.nodes)) { const width = (W - 16) * n / box.nodes.length; strip.append(svg("rect", {x, y: box.y + H - 8, width, height: 4, fill: paint(k)})); x += width; }
  }
  $("legend").replaceChildren(el("b", {}, "Operators by " + $("colour").value + " "));
  for (const [k, n] of shares(level.nodes)) $("legend").append(el("span", {class: "one"}, el("i", {class: "key", style: `background:${paint(k)}`}), `${look().names[k]} ${n.toLocaleString("en")}`), " ");
}
// ---- moving
function move() {
  ground.setAttribute("transform", `translate(${shiftX} ${shiftY}) scale(${scale})`);
  if (level.boxes.length > MANY) cull();
  if (level.follow) level.follow();
}
function cull() {  // of a large drawing only what is near stands in the page; a browser takes long over texts that nobody sees
  const w = pane.clientWidth / scale, h = pane.clientHeight / scale, x = -shiftX / scale, y = -shiftY / scale;
  const far = (left, right, top, bottom) => right < x - w || left > x + 2 * w || bottom < y - h || top > y + 2 * h;
  const set = (one, element, layer, away) => { if (one.away !== away && element !== document.activeElement) { one.away = away; if (away) element.remove(); else layer.append(element); } };
  for (const box of level.boxes) set(box, box.g, boxLayer, far(box.x, box.x + W, box.y, box.y + H));
  for (const line of level.lines) set(line, line.path, lineLayer, far(Math.min(line.from.x, line.to.x), Math.max(line.from.x, line.to.x) + W, Math.min(line.from.y, line.to.y), Math.max(line.from.y, line.to.y) + H));
}
function hold() {  // some of the drawing stays in sight
  const w = pane.clientWidth, h = pane.clientHeight, keep = 60;
  shiftX = Math.min(w - keep, Math.max(keep - level.width * scale, shiftX)); shiftY = Math.min(h - keep, Math.max(keep - level.height * scale, shiftY)); move();
}
function fit(least) {
  const w = pane.clientWidth, h = pane.clientHeight;
  scale = Math.max(least || .02, Math.min(1, w / level.width, h / level.height));
  shiftX = Math.max(0, (w - level.width * scale) / 2); shiftY = Math.max(0, (h - level.height * scale) / 2); move();
}
function scaled(factor, x, y) {
  if (x === undefined) { x = pane.clientWidth / 2; y = pane.clientHeight / 2; }
  const next = Math.min(3, Math.max(.02, scale * factor)), by = next / scale;
  shiftX = x - (x - shiftX) * by; shiftY = y - (y - shiftY) * by; scale = next; hold();
}
function show(box, middle) {  // moved no further than needed, or to the middle
  const w = pane.clientWidth, h = pane.clientHeight, x = box.x * scale + shiftX, y = box.y * scale + shiftY, bw = W * scale, bh = H * scale;
  if (middle) { shiftX += w / 2 - x - bw / 2; shiftY += h / 2 - y - bh / 2; }
  else { shiftX += x < 4 ? 4 - x : x + bw > w - 4 ? w - 4 - x - bw : 0; shiftY += y < 4 ? 4 - y : y + bh > h - 4 ? h - 4 - y - bh : 0; }
  move();
}
let grip = null, moved = false;
pane.addEventListener("pointerdown", event => { if (event.button === 0) { grip = [event.clientX, event.clientY, shiftX, shiftY]; moved = false; } });
pane.addEventListener("pointermove", event => {
  if (!grip || !event.buttons) { grip = null; return; }
  const dx = event.clientX - grip[0], dy = event.clientY - grip[1];
  if (!moved && Math.hypot(dx, dy) < 5) return;
  if (!moved) { moved = true; pane.setPointerCapture(event.pointerId); pane.classList.add("moving"); }
  shiftX = grip[2] + dx; shiftY = grip[3] + dy; hold();
});
for (const kind of ["pointerup", "pointercancel"]) pane.addEventListener(kind, () => { grip = null; pane.classList.remove("moving"); });
pane.addEventListener("click", event => { if (moved) { event.stopPropagation(); moved = false; } }, true);
pane.addEventListener("wheel", event => {  // a page that is only scrolled past stays as it is
  if (!event.ctrlKey && !event.metaKey && !pane.contains(document.activeElement)) return;
  event.preventDefault(); const at = pane.getBoundingClientRect(); scaled(event.deltaY > 0 ? .8 : 1.25, event.clientX - at.left, event.clientY - at.top);
}, {passive: false});
const WAYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
pane.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const way = WAYS[event.key], own = level.boxes.find(box => box.g === document.activeElement);
  if (way && own) { const next = beside(own, way); if (next) { show(next); step(next); } }
  else if (way) { shiftX -= 80 * way[0]; shiftY -= 80 * way[1]; hold(); }
  else if (event.key === "+" || event.key === "=") scaled(1.25);
  else if (event.key === "-") scaled(.8);
  else if (event.key === "0" || event.key === "Home") fit();
  else if (event.key === "Enter" && !own && level.boxes.length) { const box = level.boxes.find(one => one.g.tabIndex === 0) || level.boxes[0]; show(box); step(box); }
  else if ((event.key === "Escape" || event.key === "Backspace") && trail.length > 1) { back(trail.length - 2); }
  else return;
  event.preventDefault();
});
function beside(box, [dx, dy]) {  // the nearest box in a direction; what lies aside counts double
  let best = null, least = Infinity;
  for (const other of level.boxes) {
    const ahead = (other.x - box.x) * dx + (other.y - box.y) * dy, aside = Math.abs((other.x - box.x) * dy + (other.y - box.y) * dx);
    if (ahead > 1 && ahead + 2 * aside < least) { least = ahead + 2 * aside; best = other; }
  }
  return best;
}
function step(box) { for (const other of level.boxes) other.g.tabIndex = other === box ? 0 : -1; box.g.focus({preventScroll: true}); }
// ---- levels
const short = (text, most) => text.length > most ? "…" + text.slice(1 - most) : text;
function draw(next, opened) {
  level = next; lineLayer.replaceChildren(); boxLayer.replaceChildren();
  level.nodes = level.nodes || level.boxes.flatMap(box => box.nodes);
  for (const line of level.lines) {
    line.away = false; line.path = svg("path", {d: line.d, "stroke-width": Math.min(6, 1 + Math.log2(1 + line.weight))}, svg("title", {}, document.createTextNode(line.about))); lineLayer.append(line.path);
  }
  level.at = new Map();
  level.boxes.forEach((box, k) => {
    const {x, y} = box;
    box.strip = svg("g", {});
    box.g = svg("g", {class: "box " + box.kind, tabindex: k ? -1 : 0, role: "button", "aria-label": `${box.title}, ${box.sub}`},
      svg("rect", {class: "body", x, y, width: W, height: H, rx: 7}),
      svg("text", {x: x + 9, y: y + 17}, document.createTextNode(short(box.title, 24))),
      svg("text", {x: x + 9, y: y + 33, class: "dim"}, document.createTextNode(box.sub.length > 26 ? box.sub.slice(0, 25) + "…" : box.sub)),
      box.strip, svg("title", {}, document.createTextNode(box.title)));
    box.g.onclick = () => { const again = box.g.classList.contains("chosen"); step(box); if (again && box.open) box.open(); else box.tell(); };
    box.g.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); box.g.onclick(); } };
    boxLayer.append(box.g);
    box.away = false; for (const i of box.nodes) level.at.set(i, box);
  });
  // Small enough to be seen whole, or else large enough to be read.
  const most = .62 * innerHeight, whole = Math.min(1, pane.clientWidth / level.width), least = Math.max(whole, Math.min(.85, Math.max(.5, most / level.height)));
  pane.style.height = Math.min(most, Math.max(180, level.height * least + 4)) + "px";
  if (opened === "new") trail.push(level);
  $("overview-place").replaceChildren(); if (level.overview) level.overview();
  $("levels").replaceChildren(); trail.forEach((one, k) => { if (k) $("levels").append(el("span", {"aria-hidden": "true"}, "›")); $("levels").append(k < trail.length - 1 ? el("button", {onclick: () => back(k)}, ...broken(one.title)) : el("b", {"aria-current": "true"}, ...broken(one.title))); });
  colour(); marks(); fit(least); if (level.boxes.length && scale > whole) show(level.boxes.reduce((first, box) => box.x < first.x ? box : first));
}
function back(k) { const from = trail[k + 1]; trail.length = k + 1; draw(trail[k]); const box = from && level.at.get(from.nodes[0]); if (box) { choose(box); show(box); step(box); } else pane.focus({preventScroll: true}); }
function open(title, nodes) { draw(inside(title, nodes), "new"); step(level.boxes[0]); }
function marks() {
  for (const box of level.boxes) { box.g.classList.toggle("hit", !!hitNodes && box.nodes.some(i => hitNodes.has(i))); box.g.classList.toggle("path", box.nodes.some(i => pathNodes.has(i))); }
}
function choose(box) {
  for (const other of level.boxes) other.g.classList.toggle("chosen", other === box);
  for (const line of level.lines) line.path.classList.toggle("on", !!box && (line.from === box || line.to === box));
}
// Of an operator: its box at the level that is shown, or else at the top.
function locate(i, middle) {
  if (!level.at.has(i)) { trail.length = 1; draw(trail[0]); }
  const box = level.at.get(i); choose(box); show(box, middle); return box;
}
// Down to the operator itself.
function reveal(i) {
  let box = locate(i, true);
  for (let depth = 0; box.nodes.length > 1 && box.open && depth < 40; depth++) { box.open(); box = level.at.get(i); }
  choose(box); show(box, true); step(box); showNode(i);
}
const scopeOf = (i, depth) => { const parts = D.names[i].split("/"); return parts.length > depth + 1 ? parts[depth] : null; };
function divided(part) {  // by the next piece of their scopes that tells them apart
  for (let depth = part.depth; ; depth++) {
    const scopes = new Map(), alone = [];
    for (const i of part.list) { const key = scopeOf(i, depth); if (key === null) alone.push(i); else { if (!scopes.has(key)) scopes.set(key, []); scopes.get(key).push(i); } }
    if (scopes.size === 1 && !alone.length) continue;
    return {scopes: [...scopes.values()].map(list => ({list, depth: depth + 1, label: D.names[list[0]].split("/").slice(0, depth + 1).join("/") + "/"})), alone};
  }
}
function runs(list, most) {
  const size = Math.ceil(list.length / most), found = [];
  for (let at = 0; at < list.length; at += size) { const run = list.slice(at, at + size); found.push({list: run, depth: 0, whole: true, label: run.length > 1 ? `${D.names[run[0]]} …` : ""}); }
  return found;
}
function parts(list) {  // operators as at most MOST boxes: the largest scope is divided as long as there is room
  if (list.length <= SINGLE) return list.map(i => ({list: [i], depth: 0, label: ""}));
  let found = [{list, depth: 0, label: ""}];
  for (;;) {
    let big = null;
    for (const part of found) if (!part.whole && part.list.length > 1 && (!big || part.list.length > big.list.length)) big = part;
    if (!big) return found;
    const {scopes, alone} = divided(big), room = MOST - found.length + 1;
    let kids = [...scopes, ...alone.map(i => ({list: [i], depth: 0, label: ""}))];
    if (kids.length > room) {
      if (found.length > 1) { big.whole = true; continue; }
      const kept = scopes.sort((a, b) => b.list.length - a.list.length).slice(0, MOST / 2), rest = [...scopes.slice(kept.length).flatMap(one => one.list), ...alone];
      kids = [...kept, ...runs(rest, MOST - kept.length)];
    }
    found.splice(found.indexOf(big), 1, ...kids);
  }
}
function inside(title, list) {
  const of = new Map(), found = parts(list), boxes = found.map((part, k) => {
    const first = part.list[0], one = part.list.length === 1;
    for (const i of part.list) of.set(i, k);
    const device = part.list.filter(onDevice).length, name = one ? D.names[first] : part.label;
    const kind = (one ? "" : "fold ") + (device * 2 >= part.list.length ? "geop" : "host");
    const box = {kind, title: name, sub: one ? D.ops[first] : plural(part.list.length, "operator"), nodes: part.list};
    box.tell = one ? () => showNode(first) : () => { choose(box); showPart(box); };
    if (!one) box.open = () => open(name, part.list);
    return box;
  });
  const between = new Map();
  for (const i of list) for (const from of sources(i)) if (of.has(from) && of.get(from) !== of.get(i)) { const key = of.get(from) * 65536 + of.get(i); between.set(key, (between.get(key) || 0) + 1); }
  const plan = new dagre.graphlib.Graph(); plan.setGraph({rankdir: "LR", nodesep: 14, ranksep: 56, marginx: 12, marginy: 12}); plan.setDefaultEdgeLabel(() => ({}));
  boxes.forEach((box, k) => plan.setNode(String(k), {width: W, height: H}));
  for (const key of between.keys()) plan.setEdge(String(Math.floor(key / 65536)), String(key % 65536));
  dagre.layout(plan);
  boxes.forEach((box, k) => { const at = plan.node(String(k)); box.x = at.x - W / 2; box.y = at.y - H / 2; });
  const lines = [...between].map(([key, weight]) => {
    const a = Math.floor(key / 65536), b = key % 65536, points = plan.edge(String(a), String(b)).points;
    return {from: boxes[a], to: boxes[b], weight, about: plural(weight, "edge"), d: "M" + points.map(p => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L")};
  });
  const {width, height} = plan.graph();
  return {title, nodes: list, boxes, lines, width: width || W + 24, height: height || H + 24};
}
function top_() {
  const columns = [], GAP = 80, V = 14, TOP = 12, place = new Map(), boxes = [];
  groups.forEach((g, i) => (columns[g.phase] = columns[g.phase] || []).push(i));
  let rows = 0;
  for (let phase = 0; phase < columns.length; phase++) {
    const list = (columns[phase] || []).sort((a, b) => groups[b].size - groups[a].size || a - b);
    const keep = list.length > D.boxes_per_phase ? list.slice(0, D.boxes_per_phase - 1) : list, rest = list.slice(keep.length);
    const put = (box, list) => { box.x = 12 + phase * (W + GAP); box.y = TOP + (boxes.length - before) * (H + V); boxes.push(box); list.forEach(g => place.set(g, box)); };
    const before = boxes.length;
    for (const g of keep) {
      const group = groups[g];
      put({kind: group.kind, title: label(group), sub: group.ops.map(([op, n]) => n > 1 ? `${n} ${op}` : op).join(", "), nodes: members[g], tell: () => showGroup(g), open: group.size > 1 ? () => open(label(group), members[g]) : null}, [g]);
    }
    if (rest.length) {
      const nodes = rest.flatMap(g => members[g]), title = `… ${rest.length} more`;
      const box = {kind: "fold", title, sub: plural(nodes.length, "operator"), nodes, tell: () => { choose(box); showFold(rest, box); }, open: () => open(title, nodes)};
      put(box, rest);
    }
    rows = Math.max(rows, boxes.length - before);
  }
  const drawn = new Map();
  for (const [a, b, tensors, size] of D.links) {
    const from = place.get(a), to = place.get(b);
    if (from === to) continue;
    if (!drawn.has(from)) drawn.set(from, new Map());
    const line = drawn.get(from).get(to) || {from, to, weight: 0, size: 0};
    line.weight += tensors; line.size = size == null || line.size == null ? null : line.size + size; drawn.get(from).set(to, line);
  }
  const lines = [...drawn.values()].flatMap(one => [...one.values()]);
  for (const line of lines) {
    const x1 = line.from.x + W, y1 = line.from.y + H / 2, x2 = line.to.x, y2 = line.to.y + H / 2;
    line.d = `M${x1} ${y1}C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}`; line.about = `${plural(line.weight, "tensor")}, ${bytes(line.size)}`;
  }
  const made = {title: "Whole graph", boxes, lines, width: 24 + columns.length * (W + GAP) - GAP, height: 2 * TOP + rows * (H + V) - V};
  if (columns.length > 12) made.overview = () => overview(made, columns, W + GAP);
  return made;
}
// A narrow picture of all columns, where they do not fit the page: a click goes there.
function overview(made, columns, pitch) {
  const count = columns.length, tall = n => n ? 3 + Math.min(16, 2 * Math.log2(n + 1)) : 0;
  const strip = svg("svg", {id: "overview", viewBox: `0 0 ${count} 44`, preserveAspectRatio: "none", "aria-hidden": "true"}, svg("title", {}, document.createTextNode("All columns; click to go there")));
  columns.forEach((list, x) => {
    const size = kind => (list || []).reduce((n, g) => n + (groups[g].kind === kind ? groups[g].size : 0), 0), above = tall(size("geop")), below = tall(size("host"));
    if (above) strip.append(svg("rect", {class: "geop", x, y: 22 - above, width: .9, height: above}));
    if (below) strip.append(svg("rect", {class: "host", x, y: 22, width: .9, height: below}));
  });
  const view = svg("rect", {class: "view", y: 0, height: 44}); strip.append(view); $("overview-place").append(strip);
  made.follow = () => { view.setAttribute("x", -shiftX / scale / pitch); view.setAttribute("width", Math.max(count / 300, pane.clientWidth / scale / pitch)); };
  const go = event => { const box = strip.getBoundingClientRect(); shiftX = pane.clientWidth / 2 - (event.clientX - box.left) / box.width * count * pitch * scale; hold(); };
  strip.addEventListener("pointerdown", event => { go(event); strip.setPointerCapture(event.pointerId); });
  strip.addEventListener("pointermove", event => { if (event.buttons) go(event); });
}
function began() {
  if (!groups.length) { pane.append(el("p", {class: "dim"}, "The graph is empty.")); return; }
  pane.append(sink); draw(top_(), "new");
  $("in").onclick = () => scaled(1.25); $("out").onclick = () => scaled(.8); $("fit").onclick = () => fit();
  $("colour").onchange = colour; addEventListener("resize", hold);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colour);
}
