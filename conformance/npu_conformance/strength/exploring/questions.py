"""What is asked: options of several cases together and a little changed, and random graphs under random options.

A seed and a number give the same question in every version of Python.
"""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.library.library import Library
from npu_conformance.strength.laws import graphs, precise
from npu_conformance.strength.laws.graphs import Step

__all__ = ["METHODS", "Material", "Question", "draw", "material", "simpler"]

#: Methods that are asked; an area of the documents is explored by the method of its cases.
METHODS = ("options", "partition", "precision")

#: What of a question are tables whose entries can be left out.
_TABLES = ("values", "env", "files")


class Question(NamedTuple):
    """One question.

    params: as a case has them, without edition and graph; steps: of the graph, none for options.
    """

    method: str
    edition: str
    params: Mapping[str, Any]
    steps: Tuple[Step, ...] = ()

    @property
    def surface(self) -> str:
        return str(self.params["surface"])


class Material(NamedTuple):
    """What the cases give, by (surface, edition): parameters, and the values of each option."""

    params: Mapping[Tuple[str, str], Sequence[Mapping[str, Any]]]
    values: Mapping[Tuple[str, str], Mapping[str, Sequence[Any]]]


def material(library: Library) -> Material:
    """The parameters of all option cases; a question is made of several."""
    params: Dict[Tuple[str, str], List[Mapping[str, Any]]] = {}
    values: Dict[Tuple[str, str], Dict[str, Dict[str, Any]]] = {}
    for one in library.instances():
        if one.case.method != "options" or one.twin or one.case.area != "options":
            continue
        key = (one.case.params.get("surface", "session"), one.edition)
        if key == ("runconfig", "legacy"):
            continue  # no document has its table
        params.setdefault(key, []).append(one.case.params)
        for name, value in one.case.params["values"].items():
            values.setdefault(key, {}).setdefault(name, {})[repr(value)] = value
    pools = {
        key: {name: [found[text] for text in sorted(found)] for name, found in sorted(options.items())}
        for key, options in values.items()
    }
    return Material({key: params[key] for key in sorted(params)}, pools)


Below = Callable[[int], int]


def draw(seed: int, number: int, methods: Sequence[str], editions: Sequence[str], given: Material) -> Question:
    """The question of a seed with this number."""
    rng = random.Random(f"explore/{seed}/{number}")  # of a text: hashed by SHA-512, in every version alike

    def below(count: int) -> int:
        return int(rng.random() * count)  # the one draw whose sequence Python promises to keep

    method = methods[number % len(methods)]
    edition = editions[below(len(editions))]
    if method == "options":
        return _of_options(below, edition, given)
    return _of_graph(below, method, edition, f"explore/{seed}/{number}")


def _of_options(below: Below, edition: str, given: Material) -> Question:
    keys = [key for key in given.params if key[1] == edition]
    key = keys[below(len(keys))]
    params: Dict[str, Any] = {"surface": key[0], "values": {}}
    for _ in range(1 + below(3)):
        one = given.params[key][below(len(given.params[key]))]
        for table in _TABLES:
            if table in one:
                params[table] = {**params.get(table, {}), **one[table]}
    names = sorted(params["values"])
    for _ in range(below(3) if names else 0):
        name = names[below(len(names))]
        pool = given.values[key][name]
        value = pool[below(len(pool))]
        params["values"][name] = _nudged(below, value) if below(2) else value
    return Question("options", edition, params)


def _nudged(below: Below, value: Any) -> Any:
    """A value near another one, such as people write by mistake."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return (value + 1, value - 1, -value, value * 2, 0)[below(5)]
    if isinstance(value, str) and value:
        at = below(len(value))
        twice = value[: at + 1] + value[at:]
        return (value[:at] + value[at + 1 :], f"{value},", value.swapcase(), f" {value}", twice)[below(5)]
    return value


def _of_graph(below: Below, method: str, edition: str, seed: str) -> Question:
    steps = tuple(graphs.draw(seed, most=12))
    values: Dict[str, Any] = {"mix_compile_mode": below(4) != 0}
    if method == "precision":
        modes = precise.MODES[edition]
        values["precision_mode"] = modes[below(len(modes))]
        if values["precision_mode"] == "force_fp16":
            values["graph_run_mode"] = 0
    elif values["mix_compile_mode"] and below(3) == 0:
        asked = graphs.request(steps)
        names = [node.name for node in asked.graph.nodes if node.op != "Placeholder"] if asked is not None else []
        if names:
            ends = [names[below(len(names))] for _ in range(2)]
            values.update(in_out_pair=str([[ends[:1], ends[1:]]]), in_out_pair_flag=bool(below(2)), graph_run_mode=0)
    return Question(method, edition, {"surface": "session", "values": values}, steps)


def simpler(question: Question) -> Iterator[Question]:
    """The question with one entry of its tables left out."""
    for table in _TABLES:
        for name in question.params.get(table, {}):
            rest = {key: value for key, value in question.params[table].items() if key != name}
            params = {**question.params, table: rest}
            if not rest and table != "values":
                del params[table]
            yield question._replace(params=params)
