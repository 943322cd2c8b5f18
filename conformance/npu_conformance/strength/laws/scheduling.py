"""Deals conditions to the cases of `partition` and `precision`, asks each so, and judges by the cases' own goldens.

Beside the conditions stand values of options that make no difference (:mod:`idle`), as many as leave each other alone.
What must be refused is refused under conditions, too, but for those that might change why.
"""

from __future__ import annotations

import functools
import hashlib
import os
import zlib
from typing import AbstractSet, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.judging import judge
from npu_conformance.library.case import Case, Instance
from npu_conformance.library.library import Library
from npu_conformance.library.operator_flags import with_kernels_of
from npu_conformance.observing import forms
from npu_conformance.protocol import client
from npu_conformance.strength.laws import conditions, neutral_options
from npu_conformance.strength.laws.added_names import BESIDE, SECOND, stripped
from npu_conformance.strength.laws.conditions import (
    CONDITIONS,
    FED,
    TEXT,
    WHOLLY_MIXED,
    Condition,
    Request,
    feeds_read_back,
)
from npu_reference.graphs import Graph
from npu_reference.graphs.writers import graph_to_text

__all__ = [
    "METHODS", "WHOLE", "Dealt", "Way", "deal", "difference", "form", "of_options", "option_pairs", "own", "pairs",
    "part_of", "request", "smaller", "spared", "usable", "usable_of", "way_of", "words",
]  # fmt: skip

#: So many conditions of one question that cost something, that of two graphs as one aside; more where its requirements
#: have few cases and have not met them (assumed).
_ENOUGH, _MOST = 2, 24

#: Of conditions and options that cost nothing a question has all that fit but one in so many, which the seed draws
#: (assumed: what is wrong may show in one of several cases of a requirement alone, and not beside everything).
_LEFT_OUT = 4

#: So many pairs of a requirement and an option a question shows that is asked once more, in one round after the other,
#: and so many bytes its graph has at most (assumed: a hundred questions are a third of a second).
_SHOWN, _SMALL = (50, 30, 20, 14), 8192

#: What is asked of graphs, of which each is asked once more under conditions.
METHODS = ("partition", "precision")

#: The way of asking under everything that was dealt.
WHOLE = "first"


class Dealt(NamedTuple):
    """A question: cases of one graph, or of two that are asked as one, and under which conditions, by name.

    Of the conditions those of the table come first, then what options stand beside.
    """

    graphs: Tuple[Tuple[Instance, ...], ...]
    conditions: Tuple[str, ...]

    @property
    def first(self) -> Instance:
        """The instance whose parameters are asked."""
        return self.graphs[0][0]


class Way(NamedTuple):
    """A part of what was dealt: which of its graphs, by their places, and which conditions."""

    graphs: Tuple[int, ...]
    conditions: Tuple[str, ...]

    @property
    def text(self) -> str:
        """As the answers are kept by."""
        return "; ".join(["+".join(map(str, self.graphs)), *self.conditions])


def way_of(text: str, dealt: Dealt) -> Way:
    """The way of asking that a text stands for."""
    if text == WHOLE:
        return Way(tuple(range(len(dealt.graphs))), dealt.conditions)
    graphs, *names = text.split("; ")
    return Way(tuple(int(place) for place in graphs.split("+")), tuple(names))


# -- dealing ----------------------------------------------------------------------------------------------------------


def deal(library: Library, seed: int, parts: int, rounds: int = 1) -> List[Dealt]:
    """Every `must` of `partition` and `precision`, in one of its editions, under conditions that fit it.

    Conditions, and values of options, are dealt so that each requirement meets each of them, as far as its cases go; in
    every round after the first, so that each case does.

    Args:
        parts: graphs are asked as one only with those that :func:`part_of` puts into the same part.
    """
    met: Set[Tuple[str, str]] = set()
    used: Dict[str, int] = {}
    found = _round(library, str(seed), parts, met, used, _shown_by)
    found += _once_more(found, met, used)
    met = {(one.id, name) for dealt in found for one in _cases(dealt) for name in dealt.conditions}
    for number in range(1, rounds):
        found += _round(library, f"{seed}/{number}", parts, met, used, lambda one: (one.id,))
    return found


def _shown_by(one: Instance) -> Sequence[str]:
    """The requirements of a case; where they come out otherwise than in its control, that by itself."""
    case = one.case
    return tuple(f"not {name}" for name in case.requirements) if case.control else case.requirements


def _round(
    library: Library,
    draw: str,
    parts: int,
    met: Set[Tuple[str, str]],
    used: Dict[str, int],
    shows: Callable[[Instance], Sequence[str]],
) -> List[Dealt]:
    """Every question once, under conditions that something which it `shows` has not met; `met` learns of them."""
    waiting: Dict[str, List[Tuple[Instance, ...]]] = {}
    for cases in _questions(library, draw):
        waiting.setdefault(_alike(cases[0], parts), []).append(cases)
    found = []
    for alike in waiting.values():
        for start in range(0, len(alike), 2):
            graphs = tuple(alike[start : start + 2])
            together = [one for group in graphs for one in group]
            needed = {name for one in together for name in shows(one)}
            chosen = _chosen(together, needed, met, used, draw)
            chosen += _options(graphs[0][0], chosen, needed, met, used, draw)
            met.update((name, condition) for name in needed for condition in chosen)
            for condition in chosen:
                used[condition] = used.get(condition, 0) + 1
            found.append(Dealt(graphs, tuple(chosen)))
    return found


def _cases(dealt: Dealt) -> List[Instance]:
    return [one for group in dealt.graphs for one in group]


def _once_more(dealt: Sequence[Dealt], met: Set[Tuple[str, str]], used: Dict[str, int]) -> List[Dealt]:
    """Questions asked again beside options alone, those that show many pairs which have not met."""
    found = []
    groups = [group for one in dealt for group in one.graphs]
    groups = [group for group in groups if os.path.getsize(group[0].case.params["graph"]) <= _SMALL]
    for least in _SHOWN:
        for group in tuple(groups):
            needed = {name for one in group for name in _shown_by(one)}
            chosen = _options(group[0], (), needed, met, used)  # those alone that have not met
            shown = {(name, condition) for name in needed for condition in chosen} - met
            if len(shown) < _SHOWN[-1]:
                groups.remove(group)  # it will not show more later
            elif len(shown) >= least:
                met |= shown
                for condition in chosen:
                    used[condition] = used.get(condition, 0) + 1
                found.append(Dealt((group,), tuple(chosen)))
    return found


def _questions(library: Library, draw: str) -> List[Tuple[Instance, ...]]:
    """Cases by what they ask, each in one of its editions, in the order of a digest."""
    asked: Dict[str, List[Instance]] = {}
    for one in library.instances():
        if usable(one):
            asked.setdefault(_digest(draw, _content(one.case)), []).append(one)
    found = []
    for digest, instances in sorted(asked.items()):
        instances.sort(key=lambda one: one.id)
        left = {one.case.id for one in instances}
        editions = sorted({one.edition for one in instances}, reverse=int(digest[-1], 16) % 2 == 1)
        for edition in editions:  # one will do, unless a case has no other
            group = tuple(one for one in instances if one.edition == edition and one.case.id in left)
            left.difference_update(one.case.id for one in group)
            found += [group] if group else []
    return found


def usable(one: Instance) -> bool:
    """Whether conditions are dealt to an instance: the adapter's own pass is asked as it is recorded."""
    case = one.case
    plain = case.method in METHODS and case.level == "must" and not one.twin
    return plain and case.params.get("policy", "documented") == "documented"


def _content(case: Case) -> str:
    """What a case asks, without the place of its fixtures."""
    places = {name: case.params[name] for name in ("graph", "op_list") if name in case.params}
    named = {name: path.rpartition("/")[2] for name, path in places.items() if isinstance(path, str)}
    params = {**case.params, **named}
    return repr((case.method, sorted(params.items(), key=repr)))


def _digest(draw: str, text: str) -> str:
    return hashlib.sha256(f"conditions/{draw}/{text}".encode("utf-8", "surrogatepass")).hexdigest()


def part_of(path: str, parts: int) -> int:
    """The part that asks about a graph of the library."""
    return zlib.crc32(os.path.basename(path).encode("utf-8", "surrogateescape")) % parts


def _alike(one: Instance, parts: int) -> str:
    """Graphs with the same text can be asked as one: what is asked beside them is the same, and names none of them."""
    params = {name: value for name, value in one.case.params.items() if name != "graph"}
    names = any(name in params for name in ("feeds", "fetches")) or not conditions.names_may_change(one)
    told = names or "in_out_pair" in params["values"] or one.case.expect.rejected is not None
    alone = one.id if told else ""
    return repr(
        (
            one.case.method,
            one.edition,
            part_of(one.case.params["graph"], parts),
            sorted(params.items(), key=repr),
            alone,
        )
    )


def _chosen(
    cases: Sequence[Instance], needed: Set[str], met: Set[Tuple[str, str]], used: Mapping[str, int], draw: str
) -> List[str]:
    """Conditions that fit all cases: those that most of what is needed has not met, a few of those that cost anything,
    and nearly all of those that cost nothing."""
    method = cases[0].case.method
    fitting = [one for one in CONDITIONS.values() if all(fits(one, case) for case in cases)]
    left = {one.name: sum((name, one.name) not in met for name in needed) for one in fitting}
    place = {one.name: _digest(draw, f"{method}/{cases[0].case.id}/{one.name}") for one in fitting}
    fitting.sort(key=lambda one: (-left[one.name], used.get(one.name, 0), place[one.name]))
    told = {aspect for case in cases for aspect in _told(case)}
    chosen: List[Condition] = []
    dear = 0
    for one in fitting:
        costs = one.dear or not told.isdisjoint(one.hides)
        if one.often or one.ends:  # inside a function nothing more is fetched
            room = int(place[one.name][-1], 16) % 2 == 0 or (left[one.name] > 0 and not one.ends)
        elif costs:
            room = dear < (_MOST if left[one.name] else _ENOUGH)
        else:
            room = left[one.name] > 0 or int(place[one.name][-1], 16) % _LEFT_OUT != 0
        if room and not any(_exclude(one, other) for other in chosen):
            chosen.append(one)
            dear += costs
    return [one.name for one in CONDITIONS.values() if one in chosen]  # the graph's own changes come in one order


def _told(one: Instance) -> Iterator[str]:
    """The aspects that a case says something of."""
    expect = one.case.expect
    yield from (aspect for aspect, _ in expect.observe)
    for lines in (expect.contains, expect.forbid, *expect.any_of):
        yield from (forms.aspect_of(one.case.method, line) for line in lines)


def _options(
    one: Instance,
    chosen: Sequence[str],
    needed: Set[str],
    met: Set[Tuple[str, str]],
    used: Mapping[str, int],
    draw: str = "",
) -> List[str]:
    """Options that may stand beside a question under its conditions: all that something needed has not met, and of the
    others, where there is a draw, nearly all."""
    asked = {**one.case.params["values"], **one.case.params.get("env", {})}
    surface = one.case.params["surface"]
    for name in chosen:
        asked = {**CONDITIONS[name].gives, **asked}
        surface = CONDITIONS[name].surface or surface
    place = (surface, one.edition)
    left = {
        option: sum((name, option) not in met for name in needed)
        for option in neutral_options.beside(one.case.method, place, asked)
    }
    drawn = hashlib.sha256(f"options/{draw}/{one.id}".encode()).digest()
    first = sorted(left, key=lambda name: (-left[name], used.get(name, 0), name))
    found = neutral_options.laid(first, surface)
    return [
        option for place, option in enumerate(found) if left[option] or (draw and drawn[place % len(drawn)] % _LEFT_OUT)
    ]


def _exclude(one: Condition, other: Condition) -> bool:
    """Whether two cannot hold at once."""
    return any(group and group in (its.group, its.against) for group, its in ((one.group, other), (other.group, one)))


def fits(condition: Condition, one: Instance) -> bool:
    """Whether a condition can be dealt to an instance, and leaves it something to be judged by."""
    expect = one.case.expect
    if one.case.method not in condition.methods or not condition.fits(one):
        return False
    if expect.rejected is not None:
        return condition.refusals
    observed = any(aspect not in condition.hides for aspect, _ in expect.observe)
    return observed or bool(expect.contains or expect.forbid or expect.any_of or expect.bounds)


def pairs(dealt: Sequence[Dealt]) -> Tuple[Set[Tuple[str, str]], Set[Tuple[str, str]]]:
    """Pairs of a requirement and a condition that meet in a question, and all that could."""
    met: Set[Tuple[str, str]] = set()
    possible: Set[Tuple[str, str]] = set()
    for one in dealt:
        for case in (case for group in one.graphs for case in group):
            fitting = [other.name for other in CONDITIONS.values() if fits(other, case)]
            for name in case.case.requirements:
                met.update((name, condition) for condition in one.conditions if condition in CONDITIONS)
                possible.update((name, condition) for condition in fitting)
    return met, possible


def option_pairs(dealt: Sequence[Dealt]) -> Tuple[Set[Tuple[str, str]], Set[Tuple[str, str]]]:
    """Pairs of a requirement and an option's value that meet in a question, and all that could."""
    met: Set[Tuple[str, str]] = set()
    possible: Set[Tuple[str, str]] = set()
    for one in dealt:
        for case in (case for group in one.graphs for case in group):
            params = case.case.params
            asked = {**params["values"], **params.get("env", {})}
            fitting = neutral_options.beside(case.case.method, (params["surface"], case.edition), asked)
            for name in case.case.requirements:
                met.update((name, condition) for condition in one.conditions if condition not in CONDITIONS)
                possible.update((name, condition) for condition in fitting)
    return met, possible | met


# -- asking -----------------------------------------------------------------------------------------------------------


def request(
    dealt: Dealt, way: Way, params: Mapping[str, Any], listed: bool, load: Callable[..., Graph]
) -> Tuple[Dict[str, Any], bytes]:
    """What to ask in one way: parameters, and the bytes of the graph that they are about.

    Args:
        params: the prepared parameters of the first graph.
        listed: whether the backend takes an operator list.
        load: gives the graph of a path, no feeds and no fetches.
    """
    first, *others = (load(dealt.graphs[place][0].case.params["graph"], (), ()).to_def() for place in way.graphs)
    asked = Request(dict(params), first)
    for other in others:
        _join(first, conditions.prefixed(Request({"values": {}}, other), SECOND).graph)
    for name in _of_table(way.conditions):
        changed = CONDITIONS[name].change(asked) if listed or not CONDITIONS[name].lists else None
        asked = asked if changed is None else changed
    beside = [name for name in way.conditions if name not in CONDITIONS]
    asked = asked._replace(params=neutral_options.beside_of(beside, asked.params))
    if "ops_info" in asked.params:
        nodes, functions = asked.graph.node, asked.graph.library
        asked.params["ops_info"] = with_kernels_of(asked.params["ops_info"], nodes, functions)
    return asked.params, _as_text(asked.graph) if TEXT in way.conditions else asked.graph.SerializeToString()


def _of_table(names: Sequence[str]) -> List[str]:
    """The conditions that are no options beside."""
    return [name for name in names if name in CONDITIONS]


def form(way: Way) -> str:
    """How the file of a graph ends that is asked about in one way."""
    return "pbtxt" if TEXT in way.conditions else "pb"


def _as_text(graph: Any) -> bytes:
    return graph_to_text(graph).replace("\n", "\r\n").encode()


def _join(graph: Any, other: Any) -> None:
    """Another graph's nodes and functions behind those of one; functions get other names, too."""
    names = {function.signature.name: SECOND + function.signature.name for function in other.library.function}
    for function in other.library.function:
        function.signature.name = names[function.signature.name]
    for gradient in other.library.gradient:
        gradient.function_name = names.get(gradient.function_name, gradient.function_name)
        gradient.gradient_func = names.get(gradient.gradient_func, gradient.gradient_func)
    if names:
        for node in [*other.node, *(node for function in other.library.function for node in function.node_def)]:
            node.op = names.get(node.op, node.op)
            for value in node.attr.values():
                kind = value.WhichOneof("value")
                for called in (value.func,) if kind == "func" else value.list.func if kind == "list" else ():
                    called.name = names.get(called.name, called.name)
    for node in other.node:
        if "frame_name" in node.attr:  # loops of one name would be one loop
            node.attr["frame_name"].s = SECOND.encode() + node.attr["frame_name"].s
    graph.node.extend(other.node)
    graph.library.function.extend(other.library.function)
    graph.library.gradient.extend(other.library.gradient)


# -- judging ----------------------------------------------------------------------------------------------------------


def difference(dealt: Dealt, way: Way, outcome: Optional[client.Outcome], claims: judge.Claims) -> str:
    """How an answer in one way is not what the cases say; nothing where it is."""
    if outcome is None:
        return "asked no more: it ended too often"
    table = [CONDITIONS[name] for name in _of_table(way.conditions)]
    hidden = frozenset().union(*(one.hides for one in table))
    hidden |= _OF_TWO if len(way.graphs) > 1 else frozenset()
    for number, place in enumerate(way.graphs):
        said = outcome
        if isinstance(outcome, client.Answered):
            ends = any(one.ends for one in table)
            said = client.Answered(own(outcome.ok, number if len(way.graphs) > 1 else None, ends))
            if FED in way.conditions:
                said = client.Answered(_named(said.ok, feeds_read_back(dealt.first.case.params["feeds"])))
        for one in dealt.graphs[place]:
            asserted = _asserted(one.case, one.edition, hidden)
            if asserted is None:
                continue
            result = judge.judge(one._replace(case=asserted), said, None, claims)
            if result.status not in ("pass", "unsupported"):
                told = result.differences[0] if result.differences else None
                return f"{one.id}: {result.status} {f'{told.kind} {told.fact}' if told else result.detail}"
    return ""


def spared(
    dealt: Dealt, way: Way, outcome: Optional[client.Outcome], refused: AbstractSet[str], load: Callable[[str], Graph]
) -> Optional[Way]:
    """The way to ask instead of one that shows a fault, where documents leave open whether a condition matters: it may
    be refused by itself, or for its options; what is in mixed computing may be several GEOPs, or on the host; and the
    other surface may have other defaults."""
    gone: Set[str] = set()
    if isinstance(outcome, client.Rejected):
        gone = {name for name in _of_table(way.conditions) if CONDITIONS[name].refusable}
        gone.update(refused if dealt.first.case.expect.rejected is None else ())
    elif isinstance(outcome, client.Answered) and WHOLLY_MIXED in way.conditions:
        told = own(outcome.ok, None)["nodes"]
        operators = [node for place in way.graphs for node in load(dealt.graphs[place][0].case.params["graph"]).nodes]
        lacking = len(told) < sum(node.op not in _NOT_COMPUTED for node in operators)
        gone = {WHOLLY_MIXED} if lacking or len({one.get("geop") for one in told}) > 1 else set()
    if dealt.first.edition == "current":  # a session has 002's table there, or an NPURunConfig's of 003
        gone |= {name for name in _of_table(way.conditions) if CONDITIONS[name].surface}
    left = tuple(name for name in way.conditions if name not in gone)
    return way._replace(conditions=left) if left != way.conditions else None


#: Operators of which no dtype has to be told.
_NOT_COMPUTED = frozenset({"Const", "NoOp", "Placeholder", "_Arg", "_Retval"})


def of_options(way: Way) -> List[str]:
    """The conditions that give options, or ask for them on another surface."""
    table = {name: CONDITIONS[name] for name in _of_table(way.conditions)}
    return [name for name in way.conditions if name not in table or table[name].gives or table[name].surface]


#: Aspects that two graphs have together, not each by itself.
_OF_TWO = frozenset({"min_geops", "notes", "notices"})


@functools.lru_cache(maxsize=4096)
def _asserted_of(case_id: str, edition: str, hidden: Any, box: Any) -> Optional[Case]:
    case: Case = box.case
    expect = case.expect
    if not hidden or expect.rejected is not None:
        return case
    observe = tuple(pair for pair in expect.observe if pair[0] not in hidden)

    def shown(texts: Sequence[str]) -> Tuple[str, ...]:
        return tuple(text for text in texts if forms.aspect_of(case.method, text) not in hidden)

    left = expect._replace(
        observe=observe,
        golden={edition: shown(expect.golden[edition])} if observe else {},
        contains=shown(expect.contains),
        forbid=shown(expect.forbid),
        any_of=() if any(len(shown(group)) < len(group) for group in expect.any_of) else expect.any_of,
        bounds={
            name: bound
            for name, bound in expect.bounds.items()
            if forms.aspect_of(case.method, f"{name} ") not in hidden
        },
    )
    return case._replace(expect=left) if any((observe, left.contains, left.forbid, left.any_of, left.bounds)) else None


class _Box:
    """A case where its contents need not be compared: its id says all."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Box)

    def __hash__(self) -> int:
        return 0


def _asserted(case: Case, edition: str, hidden: Any) -> Optional[Case]:
    """The case without what it says of some aspects; None where nothing is left."""
    return _asserted_of(case.id, edition, hidden, _Box(case))


def own(answer: Mapping[str, Any], number: Optional[int], ends: bool = False) -> Dict[str, Any]:
    """What an answer says of one graph's operators, in the graph's own names.

    Args:
        number: of two that were asked as one, the first or the second; None of one alone.
        ends: whether what stands for a fetch is none of its operators.
    """

    def mine(name: str) -> bool:
        if ends and name.startswith("_retval_"):
            return False
        return BESIDE not in name and (number is None or (SECOND in name) == (number == 1))

    found = dict(answer)
    if "geops" in answer:
        geops = []
        for geop in answer["geops"]:
            kept = {key: [one for one in part if mine(_name(one))] for key, part in geop.items() if key != "name"}
            if kept["nodes"]:
                geops.append({**geop, **kept})
        found["geops"] = geops
    for key, member in (("host", "node"), ("borders", "source"), ("nodes", "node"), ("casts", "source")):
        if key in answer:
            found[key] = [one for one in answer[key] if mine(one[member])]
    return _stripped(found)


def _named(value: Any, names: Mapping[str, str]) -> Any:
    """A value with other names, of operators and of their tensors."""
    if isinstance(value, str):
        name, colon, slot = value.partition(":")
        return names.get(name, name) + colon + slot
    if isinstance(value, dict):
        return {key: _named(part, names) for key, part in value.items()}
    return [_named(part, names) for part in value] if isinstance(value, list) else value


def _name(one: Any) -> str:
    return one if isinstance(one, str) else str(one["node"])


def _stripped(value: Any) -> Any:
    if isinstance(value, str):
        return stripped(value)
    if isinstance(value, dict):
        return {key: _stripped(part) for key, part in value.items()}
    return [_stripped(part) for part in value] if isinstance(value, list) else value


# -- the smallest combination -----------------------------------------------------------------------------------------


def smaller(way: Way) -> Iterator[Way]:
    """The way with one graph less, half of the conditions where they are many, or one condition less."""
    if len(way.graphs) > 1:
        for place in way.graphs:
            yield way._replace(graphs=(place,))
    half = len(way.conditions) // 2
    if half > 1:
        yield way._replace(conditions=way.conditions[:half])
        yield way._replace(conditions=way.conditions[half:])
    for name in way.conditions:
        yield way._replace(conditions=tuple(other for other in way.conditions if other != name))


def usable_of(dealt: Dealt, claims: judge.Claims) -> Dealt:
    """What of a question a backend can be judged by."""
    graphs = (tuple(one for one in group if judge.applicable(one, claims) is None) for group in dealt.graphs)
    return dealt._replace(graphs=tuple(group for group in graphs if group))


def words(dealt: Dealt, way: Way) -> str:
    """A way in words."""
    found = list(way.conditions)
    if len(way.graphs) > 1:
        found.append(f"as one graph with that of {dealt.graphs[1][0].case.id}")
    return ", ".join(found) or "as it is"
