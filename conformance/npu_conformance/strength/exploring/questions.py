"""What is asked: options of several cases together and a little changed, random graphs, steps of cases changed.

A seed and a number give the same question in every version of Python.
"""

from __future__ import annotations

import os
import random
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.library.library import Library
from npu_conformance.strength.laws import graphs, precision_laws
from npu_conformance.strength.laws.graphs import Step

__all__ = ["METHODS", "Material", "ExploreQuestion", "TimedQuestion", "claimed", "draw", "material", "simpler"]

#: Methods that are asked; an area of the documents is explored by the method of its cases.
METHODS = ("options", "partition", "precision", "timeline")

#: What of a question are tables whose entries can be left out.
_TABLES = ("values", "env", "files", "variants")

#: Options whose values name folders, files or operators of one case: not given to the step of another.
_OF_ITS_OWN = frozenset(
    {
        "profiling_options", "profiling_mode", "profiling_config", "dump_config", "in_out_pair", "input_shape",
        "dynamic_dims", "dynamic_node_type", "dynamic_inputs_shape_range",
    }
)  # fmt: skip


class ExploreQuestion(NamedTuple):
    """One question.

    params: as a case has them, without edition and graph; steps: of the graph, none for options. A question of a
    `timeline` has the graph of a case, and its requirements.
    """

    method: str
    edition: str
    params: Mapping[str, Any]
    steps: Tuple[Step, ...] = ()
    requirements: Tuple[str, ...] = ()

    @property
    def surface(self) -> str:
        return str(self.params["surface"])


class TimedQuestion(NamedTuple):
    """The parameters of a case of `timeline`, what a backend must claim to be asked, and what the case is about."""

    params: Mapping[str, Any]
    needs: FrozenSet[str]
    requirements: Tuple[str, ...]


class Material(NamedTuple):
    """What the cases give, by (surface, edition): parameters, and the values of each option; and steps, with the
    features that they need and the requirements they are about."""

    params: Mapping[Tuple[str, str], Sequence[Mapping[str, Any]]]
    values: Mapping[Tuple[str, str], Mapping[str, Sequence[Any]]]
    steps: Mapping[Tuple[str, str], Sequence[TimedQuestion]]


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
    return Material({key: params[key] for key in sorted(params)}, pools, _timed(library))


def _timed(library: Library) -> Mapping[Tuple[str, str], Sequence[TimedQuestion]]:
    found: Dict[Tuple[str, str], List[TimedQuestion]] = {}
    for one in library.instances():
        params = {"surface": "session", "values": {}, **one.case.params}
        if one.case.method != "timeline" or one.twin or not os.path.isfile(params["graph"]) or set(params) & _FIXTURES:
            continue
        key = (params["surface"], one.edition)
        found.setdefault(key, []).append(TimedQuestion(params, frozenset(one.case.needs), tuple(one.case.requirements)))
    return {key: found[key] for key in sorted(found)}


#: Parameters that are files of the library beside the graph.
_FIXTURES = frozenset({"op_list", "ops_info", "device"})


def claimed(given: Material, features: Collection[str], editions: Collection[str]) -> Material:
    """The material without steps that a backend of these claims is not asked."""
    steps = {
        key: [one for one in some if one.needs <= set(features)]
        for key, some in given.steps.items()
        if key[1] in editions
    }
    return given._replace(steps={key: some for key, some in steps.items() if some})


Below = Callable[[int], int]


def draw(seed: int, number: int, methods: Sequence[str], editions: Sequence[str], given: Material) -> ExploreQuestion:
    """The question of a seed with this number."""
    rng = random.Random(f"explore/{seed}/{number}")  # of a text: hashed by SHA-512, in every version alike

    def below(count: int) -> int:
        return int(rng.random() * count)  # the one draw whose sequence Python promises to keep

    method = methods[number % len(methods)]
    edition = editions[below(len(editions))]
    if method == "options":
        return _of_options(below, edition, given)
    if method == "timeline":
        return _of_step(below, edition, given)
    return _of_graph(below, method, edition, f"explore/{seed}/{number}")


def _of_options(below: Below, edition: str, given: Material) -> ExploreQuestion:
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
    return ExploreQuestion("options", edition, params)


def _of_step(below: Below, edition: str, given: Material) -> ExploreQuestion:
    """The step of a case with options of another one, and a number of one of them changed."""
    keys = [key for key in given.steps if key[1] == edition] or list(given.steps)
    key = keys[below(len(keys))]
    pool = given.steps[key]
    one = pool[below(len(pool))]
    params = {name: value for name, value in one.params.items() if name != "edition"}
    params["values"] = dict(params["values"])
    if below(2):
        other = pool[below(len(pool))].params
        if not other.get("files"):
            more = {name: value for name, value in other["values"].items() if name not in _OF_ITS_OWN}
            params["values"] = {**more, **params["values"]}
    names = [name for name, value in sorted(params["values"].items()) if type(value) is int]
    if names and below(2):
        name = names[below(len(names))]
        params["values"][name] = _nudged(below, params["values"][name])
    faults = [dict(fault) for fault in params.get("faults", ())]
    if faults and below(2):
        fault = faults[below(len(faults))]
        if isinstance(fault.get("seconds"), int):
            fault["seconds"] = max(1, _nudged(below, fault["seconds"]))
        params["faults"] = faults
    return ExploreQuestion("timeline", key[1], params, (), one.requirements)


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


def _of_graph(below: Below, method: str, edition: str, seed: str) -> ExploreQuestion:
    steps = tuple(graphs.draw(seed, most=12))
    values: Dict[str, Any] = {"mix_compile_mode": below(4) != 0}
    if method == "precision":
        modes = precision_laws.MODES[edition]
        values["precision_mode"] = modes[below(len(modes))]
        if values["precision_mode"] == "force_fp16":
            values["graph_run_mode"] = 0
    elif values["mix_compile_mode"] and below(3) == 0:
        asked = graphs.request(steps)
        names = [node.name for node in asked.graph.nodes if node.op != "Placeholder"] if asked is not None else []
        if names:
            ends = [names[below(len(names))] for _ in range(2)]
            values.update(in_out_pair=str([[ends[:1], ends[1:]]]), in_out_pair_flag=bool(below(2)), graph_run_mode=0)
    return ExploreQuestion(method, edition, {"surface": "session", "values": values}, steps)


def simpler(question: ExploreQuestion) -> Iterator[ExploreQuestion]:
    """The question with one entry of its tables left out."""
    for table in _TABLES:
        for name in question.params.get(table, {}):
            rest = {key: value for key, value in question.params[table].items() if key != name}
            params = {**question.params, table: rest}
            if not rest and table != "values":
                del params[table]
            yield question._replace(params=params)
    faults = list(question.params.get("faults", ()))
    for place in range(len(faults) if len(faults) > 1 else 0):
        yield question._replace(params={**question.params, "faults": faults[:place] + faults[place + 1 :]})
