"""Kinds of mistakes in what is told of graphs: placement, dtypes, steps, compilation and runs."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, Mapping, Tuple

from faulty.answered import to_host
from faulty.asked import (
    Change,
    Values,
    all_values,
    facets,
    graph_of,
    is_inside_functions,
    is_mixed,
    mapped,
    with_env,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, turns
from npu_conformance.backends.mutants import edits
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def


def compiled_without(name: str, sentence: str, **values: Any) -> None:
    """Options that have no effect, in every turn; a value that is not None takes their place."""

    def fault(ask: Any, params: Params) -> Answer:
        found = with_values(params, **values)
        found["turns"] = [
            {**turn, "values": {key: value for key, value in turn["values"].items() if key not in values}}
            if "values" in turn
            else turn
            for turn in params.get("turns", [])
        ]
        if "turns" not in params:
            del found["turns"]
        return ask(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


def decided_otherwise(
    name: str, sentence: str, ops: Any, when: Callable[[Params], bool], change: Callable[[Params], Params]
) -> None:
    """Operators in functions are decided as another question's, where `when` holds."""

    def fault(ask: Any, params: Params) -> Answer:
        answer: Answer = ask(params)
        if not when(params) or not graph_of(params).functions:
            return answer
        is_inside = is_inside_functions(params, *ops)
        try:
            other = {one["node"]: one for one in ask(change(params))["nodes"]}
        except NpuError:
            return answer
        answer["nodes"] = [other.get(one["node"], one) if is_inside(one["node"]) else one for one in answer["nodes"]]
        return answer

    fault.__name__ = name
    broken("precision", sentence)(fault)


def takes_refused(
    area: str,
    name: str,
    sentence: str,
    refused: Tuple[str, str],
    when: Callable[[Params], bool],
    instead: Callable[[Params], Params],
    *methods: str,
) -> None:
    """What is refused by a code because of a subject is taken where `when` holds: `instead` is answered."""
    code, subject = refused

    def fault(ask: Any, params: Params) -> Answer:
        def about(said: Mapping[str, Any]) -> bool:
            return said.get("code") in (code, None) and str(said.get("subject", "")).startswith(subject)

        try:
            answer = dict(ask(params))
        except NpuError as error:
            if not (about({"code": error.code, "subject": error.subject}) and when(params)):
                raise
            return dict(ask(instead(params)))
        told = [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]
        if any(about(one["rejected"]) for one in told if "rejected" in one) and when(params):
            return dict(ask(instead(params)))
        return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def reads_values(area: str, name: str, sentence: str, change: Callable[[Values], Values], *methods: str) -> None:
    """The values are read as others, in every turn and variant."""
    asks(name, sentence, area, lambda params: all_values(params, change), *methods)


def reads_value(area: str, name: str, sentence: str, option: str, change: Callable[[Any], Any], *methods: str) -> None:
    """One option's value is read as another."""
    reads_values(area, name, sentence, mapped(option, change), *methods)


def another_default(
    area: str, name: str, sentence: str, option: str, value: Any, when: Callable[[Params, Values], bool], *methods: str
) -> None:
    """The option has another default."""

    def change(params: Params) -> Params:
        if option not in facets(params):
            return params

        def default(values: Values) -> Values:
            return {**values, option: value} if values.get(option) is None and when(params, values) else values

        return all_values(params, default)

    asks(name, sentence, area, change, *methods)


def asks_quietly(area: str, name: str, sentence: str, change: Change, *methods: str, shown: bool = True) -> None:
    """Another question is answered, but files are, and where `shown` options too, as they were given."""

    def fault(ask: Any, params: Params) -> Answer:
        wanted = change(params)
        if wanted == params:
            return dict(ask(params))
        before = ask(params)
        answer = dict(ask(wanted))
        for key in ("effective", "warnings", "notes"):
            if shown and "effective" in before and key in before:
                answer[key] = before[key]
        for turn, first in zip(answer.get("turns", ()), before.get("turns", ())):
            for key in ("files", "left"):
                for file in set(first.get(key, {})) & set(turn.get(key, {})):
                    if file.endswith(("op_cache.ini", ".cfg")):
                        turn[key][file] = first[key][file]
        return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def takes_values(
    area: str,
    name: str,
    sentence: str,
    change: Callable[[Dict[str, Any]], Dict[str, Any]],
    when: Callable[[Params], bool],
    *methods: str,
) -> None:
    """Where `when` holds other values are taken, also of variants and turns."""
    asks(name, sentence, area, lambda params: all_values(params, change) if when(params) else params, *methods)


def lacks_switches(name: str, sentence: str, gone: str, when: Callable[[Mapping[str, Any], int, Params], bool]) -> None:
    """Switches of the compiler are missing from kernels of some turns."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = copy.deepcopy(dict(ask(params)))
        for number, turn in enumerate(answer["turns"]):
            for kernel in turn.get("kernels", ()):
                if kernel.get("switches") and when(turn, number, params):
                    kernel["switches"] = [one for one in kernel["switches"] if not re.search(gone, one)]
        return answer

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


def stays(name: str, sentence: str, *ops: str) -> None:
    """These operators stay on the host although they are on the list."""

    def change(answer: Answer, params: Params) -> Any:
        moved = [node.name for node in graph_of(params).nodes if node.op in ops]
        return to_host(answer, moved) if is_mixed(params) else None

    changed("partition", name, sentence, change)


def goes(name: str, sentence: str, chosen: Callable[[Any], bool]) -> None:
    """These operators go into the first GEOP although they may not."""

    def change(answer: Answer, params: Params) -> Any:
        graph = graph_of(params)
        host = [entry["node"] for entry in answer["host"]]
        moved = [name for name in host if name in graph.index and chosen(graph.nodes[graph.index[name]])]
        return edits.to_device(answer, moved)

    changed("partition", name, sentence, change)


def other_graph(name: str, sentence: str, change: Callable[[Any], None], wanted: Callable[[Params], bool]) -> None:
    """The graph is read with an edit of its GraphDef."""

    class Reader(ReferenceBackend):
        def graph(self, params: Params) -> Any:
            definition = super().graph(params).to_def()
            change(definition)
            return graph_from_def(definition)

    def fault(ask: Any, params: Params) -> Answer:
        return Reader().partition(params) if wanted(params) else ask(params)

    fault.__name__ = name
    broken("partition", sentence)(fault)


def each_node(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """`change` edits every operator of an answer, or returns another."""

    def edit(answer: Answer, params: Params) -> None:
        answer["nodes"] = [change(dict(node), params) or node for node in answer["nodes"]]

    changed("precision", name, sentence, edit)


def library_flags(name: str, sentence: str, change: Callable[[Any], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        text = params.get("ops_info")
        try:
            found = json.loads(text) if isinstance(text, str) else text
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return ask(params)
        for entry in found.values():
            flag = entry.get("precision_reduce", {}).get("flag") if isinstance(entry, dict) else None
            if flag is not None:
                entry["precision_reduce"]["flag"] = change(flag)
        return ask({**params, "ops_info": json.dumps(found)})

    fault.__name__ = name
    broken("precision", sentence)(fault)


def answers(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """`change` edits an answer, and that of every rank."""

    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *[rank["ok"] for rank in answer.get("ranks", []) if "ok" in rank]]:
            change(one, params)

    changed("run", name, sentence, edit)


def records(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    """`change` edits every session.run of a trace."""
    answers(name, sentence, lambda answer, params: [change(one) for one in answer.get("trace") or []])


def run_without(name: str, sentence: str, **values: Any) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        return ask(with_values(params, **values) if set(values) & set(params["values"]) else params)

    fault.__name__ = name
    broken("run", sentence)(fault)


def each_step(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """`change` edits every step of an answer that ends well."""

    def edit(answer: Answer, params: Params) -> None:
        for step in [answer["base"], *answer.get("variants", {}).values()]:
            if "rejected" not in step:
                change(step, params)

    changed("timeline", name, sentence, edit)


def timed_without(name: str, sentence: str, **values: Any) -> None:
    """Options that have no effect, in the base and in every variant."""

    def fault(ask: Any, params: Params) -> Answer:
        found = with_values(params, **dict.fromkeys(values))
        found["variants"] = {
            variant: {key: value for key, value in given.items() if key not in values}
            for variant, given in params.get("variants", {}).items()
        }
        return ask(found)

    fault.__name__ = name
    broken("timeline", sentence)(fault)


def unseen(area: str, name: str, sentence: str, option: str, *methods: str) -> None:
    """An option is checked and told, and has no effect in these methods."""

    def fault(ask: Any, params: Params) -> Answer:
        return ask(all_values(params, without(option)))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def compiled_without_env(name: str, sentence: str, *variables: str) -> None:
    asks(
        name,
        sentence,
        "artifacts",
        lambda params: with_env(params, lambda env: {key: one for key, one in env.items() if key not in variables}),
        "compile",
    )


def files_changed(name: str, sentence: str, change: Callable[[Dict[str, Any], Dict[str, Any]], Any]) -> None:
    """The files of every turn are changed, those there before it ends and after."""

    def edit(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
        for key in ("files", "left"):
            if turn.get(key):
                found = change(turn[key], asked)
                turn[key] = turn[key] if found is None else found

    turns(name, sentence, edit)


def runs_changed(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("run", name, sentence, change)
