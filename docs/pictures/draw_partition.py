"""Draws docs/partition.svg: the partition of the recorded text pipeline's training step, as the project computes it.

    python docs/pictures/draw_partition.py

Two lanes, host above and device below, time to the right. A column is a phase: how often the data has changed sides
before. Host operators of one phase share a box; constants that only the host uses, feeds and fetches are left out.
"""

from __future__ import annotations

import collections
import os
from typing import Counter, Dict, List, NamedTuple, Optional, Sequence, Tuple
from xml.sax.saxutils import escape

from npu_reference.graphs import Graph, close_over, load_graph
from npu_reference.options import resolve
from npu_reference.partition import Partition, Reason, partition

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MODEL = "text_pipeline"
LEGEND = (
    "Solid: copied between host and device. Dashed: stays on the device."
    " Dotted: only waits. Feeds and fetches are not drawn."
)
LEFT_OUT = {Reason.FEED, Reason.FETCH, Reason.HOST_CONST}
MOVERS = {
    *("Const", "Identity", "NoOp", "VariableV2", "VarHandleOp", "ReadVariableOp"),
    *("Reshape", "Shape", "StridedSlice", "Cast"),
}

# Geometry in pixels.
WIDTH, GAP, TITLE, LINE, PADDING = 196, 22, 30, 17, 12
HOST_TOP, LANE_SPACE, MARGIN, LINES = 96, 118, 28, 7

STYLE = """
  text { font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .paper { fill: #ffffff; stroke: #d1d9e0; }
  .lane-host { fill: #fff8ef; } .lane-device { fill: #eff5ff; }
  .lane-name { font-size: 13px; font-weight: 600; letter-spacing: .08em; }
  .host { fill: #ffe5c2; stroke: #c77700; } .geop { fill: #cfe3ff; stroke: #1f6feb; }
  .title { font-size: 14px; font-weight: 600; } .line { font-size: 12px; } .why { font-size: 10.5px; fill: #57606a; }
  .heading { font-size: 17px; font-weight: 600; } .note { font-size: 12.5px; fill: #57606a; }
  .wait { stroke: #8c959f; stroke-dasharray: 2 4; } .wait-tip { fill: #8c959f; }
  .h2d { stroke: #c77700; } .d2h { stroke: #1f6feb; } .d2d { stroke: #1f6feb; stroke-dasharray: 5 4; }
  .h2d-tip { fill: #c77700; } .d2h-tip, .d2d-tip { fill: #1f6feb; }
  .wire { fill: none; stroke-width: 1.8; } .border { stroke: #8c959f; stroke-dasharray: 2 5; stroke-width: 1.5; }
  .tag { fill: #ffffff; stroke: #d1d9e0; } .tag-text { font-size: 11px; text-anchor: middle; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .paper { fill: #0d1117; stroke: #3d444d; }
    .lane-host { fill: #1d1710; } .lane-device { fill: #0f1826; }
    .host { fill: #4a3010; stroke: #e3a04a; } .geop { fill: #12325e; stroke: #6aa8ff; }
    .why, .note { fill: #a5b0bb; }
    .h2d { stroke: #e3a04a; } .d2h, .d2d { stroke: #6aa8ff; }
    .h2d-tip { fill: #e3a04a; } .d2h-tip, .d2d-tip { fill: #6aa8ff; }
    .border { stroke: #6e7681; } .tag { fill: #161b22; stroke: #3d444d; }
  }
"""


class Box(NamedTuple):
    """One rectangle: a GEOP, or the host operators of one phase."""

    key: str
    on_device: bool
    phase: int
    title: str
    #: (text, remark) rows
    rows: Tuple[Tuple[str, str], ...]


class Wire(NamedTuple):
    """An arrow between two boxes; `kind` is h2d, d2h, d2d or wait (a control edge)."""

    source: str
    target: str
    kind: str
    label: str


class Place(NamedTuple):
    """Where a box stands."""

    left: int
    top: int
    height: int


def main() -> None:
    """Writes the picture."""
    path = os.path.join(ROOT, "docs", "partition.svg")
    with open(path + ".new", "w", encoding="utf-8", newline="\n") as file:
        file.write(picture())
    os.replace(path + ".new", path)
    print(path)


def picture() -> str:
    """The text of docs/partition.svg."""
    graph, title = _training_step()
    return draw(partition(graph, resolve({"mix_compile_mode": True})), title)


def _training_step() -> Tuple[Graph, str]:
    import sys

    sys.path.insert(0, ROOT)
    from fixtures.programs.models import sidecar

    stem = os.path.join(ROOT, "fixtures", "graphs", "models", MODEL)
    recorded = sidecar.read(stem + ".toml")
    run = recorded.run_named("train")
    graph = close_over(load_graph(stem + ".pb.gz"), run.feeds, run.fetches, run.targets)
    return graph, recorded.title


def draw(result: Partition, title: str) -> str:
    """The whole SVG."""
    boxes, owner = _boxes(result)
    places, width, border, bottom = _layout(boxes)
    wires = _wires(result, owner, {box.key: box for box in boxes})
    height = bottom + 46
    counted = len(result.graph.nodes)
    offloaded = sum(1 for index in result.assignment if index >= 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-labelledby="t">',
        f'<title id="t">Partition of {escape(title)}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        _text(MARGIN, 34, "heading", f"One training step of {title}"),
        _text(
            MARGIN,
            56,
            "note",
            f"{counted} operators: {offloaded} on the device in {len(result.geops)} GEOPs, the others on the host."
            " Arrows are the tensors copied in each step.",
        ),
        f'<rect class="lane-host" x="12" y="{HOST_TOP - 24}" width="{width - 24}" height="{border - HOST_TOP + 24}"/>',
        f'<rect class="lane-device" x="12" y="{border}" width="{width - 24}" height="{bottom - border + 12}"/>',
        f'<line class="border" x1="12" x2="{width - 12}" y1="{border}" y2="{border}"/>',
        _text(MARGIN - 4, HOST_TOP - 8, "lane-name", "HOST (TensorFlow)"),
        _text(MARGIN - 4, bottom + 2, "lane-name", "DEVICE (simulated)"),
    ]
    parts += _arrows(wires, {box.key: box for box in boxes}, places)
    for box in boxes:
        parts += _box(box, places[box.key])
    parts.append(_text(MARGIN, height - 13, "note", LEGEND))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _units(result: Partition) -> Tuple[List[str], Dict[int, str]]:
    """The unit of every drawn node: its GEOP, or itself."""
    reasons = {entry.node: entry.reason for entry in result.host}
    owner: Dict[int, str] = {}
    for position, node in enumerate(result.graph.nodes):
        if result.assignment[position] >= 0:
            owner[position] = result.geops[result.assignment[position]].name
        elif reasons.get(node.name) not in LEFT_OUT:
            owner[position] = "#" + node.name
    return sorted(set(owner.values())), owner


def _phases(result: Partition, owner: Dict[int, str]) -> Dict[str, int]:
    """How often the longest path to a unit changes sides; a GEOP after a GEOP counts as a change."""
    before: Dict[str, set] = collections.defaultdict(set)
    for source, target in zip(result.graph.edges.src, result.graph.edges.dst):
        one, other = owner.get(source), owner.get(target)
        if one is not None and other is not None and one != other:
            before[other].add(one)
    phase: Dict[str, int] = {}

    def settle(unit: str) -> int:
        pending = [unit]
        while pending:
            top = pending[-1]
            missing = [item for item in before[top] if item not in phase]
            if missing:
                pending.extend(missing)
                continue
            steps = (phase[item] + (not (item[0] == top[0] == "#")) for item in before[top])
            phase[pending.pop()] = max(steps, default=0 if top[0] == "#" else 1)
        return phase[unit]

    for unit in sorted(set(owner.values())):
        settle(unit)
    return phase


def _boxes(result: Partition) -> Tuple[List[Box], Dict[int, str]]:
    """The boxes, and for every drawn node the key of its box."""
    _, owner = _units(result)
    phase = _phases(result, owner)
    boxes = []
    for geop in result.geops:
        kinds: Counter[str] = collections.Counter(result.graph.nodes[node].op for node in geop.nodes)
        rows = _counted(kinds)
        boxes.append(Box(geop.name, True, phase[geop.name], f"{geop.name}: {len(geop.nodes)} operators", rows))
    reasons = {entry.node: entry.reason.value for entry in result.host}
    hosted: Dict[int, List[int]] = collections.defaultdict(list)
    for node, unit in owner.items():
        if unit[0] == "#":
            hosted[phase[unit]].append(node)
            owner[node] = f"host {phase[unit]}"
    for number, nodes in sorted(hosted.items()):
        names = {node: result.graph.nodes[node] for node in nodes}
        kinds = collections.Counter(node.op for node in names.values())
        why = {node.op: reasons[node.name] for node in names.values()}
        plural = "s" if len(nodes) > 1 else ""
        title = f"{len(nodes)} operator{plural} on the host"
        boxes.append(Box(f"host {number}", False, number, title, _counted(kinds, why)))
    return boxes, owner


def _counted(kinds: Counter[str], why: Optional[Dict[str, str]] = None) -> Tuple[Tuple[str, str], ...]:
    # What computes says more than what moves values around.
    dull = {
        "Const",
        "Identity",
        "NoOp",
        "VariableV2",
        "VarHandleOp",
        "ReadVariableOp",
        "Reshape",
        "Shape",
        "StridedSlice",
        "Cast",
    }
    order = sorted(kinds, key=lambda op: (op in dull, -kinds[op], op))
    shown = order[: LINES if len(order) <= LINES else LINES - 1]
    rows = [(op if kinds[op] == 1 else f"{op} × {kinds[op]}", (why or {}).get(op, "")) for op in shown]
    if len(order) > len(shown):
        rest = sum(kinds[op] for op in order[len(shown) :])
        rows.append((f"and {rest} more", ""))
    return tuple(rows)


def _layout(boxes: Sequence[Box]) -> Tuple[Dict[str, Place], int, int, int]:
    """Places, the picture's width, and the y of the border and of the device lane's end."""
    columns: Dict[Tuple[int, bool], List[Box]] = collections.defaultdict(list)
    for box in boxes:
        columns[box.phase, box.on_device].append(box)
    left: Dict[Tuple[int, bool], int] = {}
    for key in sorted(columns):
        _, on_device = key
        earlier = [at + (WIDTH + GAP if side == on_device else WIDTH // 2 + GAP) for (_, side), at in left.items()]
        left[key] = max(earlier, default=MARGIN)
    tallest = max((_height(box) for box in boxes if not box.on_device), default=0)
    border = HOST_TOP + tallest + LANE_SPACE // 2
    places, bottom = {}, border
    for key, column in sorted(columns.items()):
        top = border + LANE_SPACE // 2
        for box in column:
            # Host boxes stand on the border's side of their lane, so that all arrows are short.
            at = top if box.on_device else HOST_TOP + tallest - _height(box)
            places[box.key] = Place(left[key], at, _height(box))
            top += _height(box) + GAP
        if key[1]:
            bottom = max(bottom, top)
    return places, max(left.values()) + WIDTH + MARGIN, border, bottom + 52


def _height(box: Box) -> int:
    return TITLE + sum(LINE + (12 if remark else 0) for _, remark in box.rows) + PADDING


def _wires(result: Partition, owner: Dict[int, str], boxes: Dict[str, Box]) -> List[Wire]:
    """One wire for each pair of boxes between which tensors are copied, or of which one only waits for the other."""
    copied: Dict[Tuple[str, str], Dict[str, str]] = collections.defaultdict(dict)
    for border in result.borders:
        source = owner.get(result.graph.index[border.source.rpartition(":")[0]])
        for consumer in border.consumers:
            target = consumer if consumer in boxes else owner.get(result.graph.index.get(consumer, -1))
            if source is not None and target is not None and source != target:
                copied[source, target][border.source] = border.dtype.name
    wires = []
    for (source, target), tensors in sorted(copied.items()):
        label = next(iter(tensors.values())) if len(tensors) == 1 else f"{len(tensors)} tensors"
        kind = ("d" if boxes[source].on_device else "h") + "2" + ("d" if boxes[target].on_device else "h")
        wires.append(Wire(source, target, kind, label))
    edges = result.graph.edges
    waits = {
        (owner[source], owner[target])
        for source, slot, target in zip(edges.src, edges.src_slot, edges.dst)
        if slot < 0 and source in owner and target in owner
    }
    for source, target in sorted(waits - set(copied)):
        if boxes[source].on_device != boxes[target].on_device:
            wires.append(Wire(source, target, "wait", "waits"))
    return wires


def _arrows(wires: Sequence[Wire], boxes: Dict[str, Box], places: Dict[str, Place]) -> List[str]:
    ports = _ports(wires, boxes, places)
    curves, tags, occupied = [], [], []
    for wire in wires:
        x1, x2 = ports[wire.source, wire], ports[wire.target, wire]
        below = wire.kind == "d2d"
        y1, y2 = (_edge_of(boxes[key], places[key], below) for key in (wire.source, wire.target))
        if below:
            bend = 30 + abs(x2 - x1) // 8
            points = ((x1, y1), (x1, y1 + bend), (x2, y2 + bend), (x2, y2 + 7))
        else:
            down = 1 if y2 > y1 else -1
            points = ((x1, y1), (x1, y1 + 40 * down), (x2, y2 - 47 * down), (x2, y2 - 7 * down))
        start, *rest = (f"{x} {y}" for x, y in points)
        curves.append(f'<path class="wire {wire.kind}" d="M{start} C{" ".join(rest)}"/>')
        curves.append(
            f'<path class="{wire.kind}-tip" d="M{x2 - 5} {points[3][1]} L{x2 + 5} {points[3][1]} L{x2} {y2} Z"/>'
        )
        tags += _tag(wire.label, points, occupied)
    return curves + tags


def _ports(wires: Sequence[Wire], boxes: Dict[str, Box], places: Dict[str, Place]) -> Dict[Tuple[str, Wire], int]:
    """Where on its box's edge each wire ends (x): in the order of the other ends, so that few wires cross."""
    at: Dict[Tuple[str, bool], List[Wire]] = collections.defaultdict(list)
    for wire in wires:
        for key in (wire.source, wire.target):
            at[key, wire.kind == "d2d"].append(wire)
    found = {}
    for (key, _), ending in at.items():
        ending.sort(key=lambda wire: (places[wire.source].left + places[wire.target].left, wire))
        for number, wire in enumerate(ending, start=1):
            found[key, wire] = places[key].left + round(WIDTH * number / (len(ending) + 1))
    return found


def _tag(label: str, points: Sequence[Tuple[int, int]], occupied: List[Tuple[int, int]]) -> List[str]:
    """A label on the curve, as near to its middle as the labels before it allow."""
    half = 6 + int(3.3 * len(label))
    for share in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74):
        weights = ((1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3)
        x, y = (round(sum(weight * point[axis] for weight, point in zip(weights, points))) for axis in (0, 1))
        if all(abs(x - other_x) > half + 32 or abs(y - other_y) > 20 for other_x, other_y in occupied):
            break
    occupied.append((x, y))
    return [
        f'<rect class="tag" x="{x - half}" y="{y - 9}" width="{2 * half}" height="17" rx="8"/>',
        _text(x, y + 4, "tag-text", label),
    ]


def _edge_of(box: Box, place: Place, below: bool) -> int:
    return place.top if box.on_device and not below else place.top + place.height


def _box(box: Box, place: Place) -> List[str]:
    parts = [
        f'<rect class="{"geop" if box.on_device else "host"}" x="{place.left}" y="{place.top}" width="{WIDTH}"'
        f' height="{place.height}" rx="7" stroke-width="1.5"/>',
        _text(place.left + PADDING, place.top + 21, "title", box.title),
    ]
    y = place.top + TITLE
    for text, remark in box.rows:
        y += LINE
        parts.append(_text(place.left + PADDING, y - 4, "line", text))
        if remark:
            y += 12
            parts.append(_text(place.left + PADDING, y - 4, "why", remark))
    return parts


def _text(x: int, y: int, style: str, text: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{escape(text)}</text>'


if __name__ == "__main__":
    main()
