"""Operators, the kinds of mistakes: each makes a fault of what it is told.

Where the fault is made says `when` of a `FaultSpec`; elsewhere the reference answers.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Optional

from faulty.answered import hush, to_host, told_value
from faulty.asked import (
    Change,
    all_values,
    given,
    graph_of,
    is_inside_functions,
    named_by,
    texts,
    value_of,
    with_values,
)
from faulty.making import REFERENCE, Answer, Ask, Fault, Files, Params
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def

Said = Dict[str, Any]

# Another question is answered


def asks(change: Change) -> Fault:
    """Another question is answered."""
    return lambda ask, params: ask(change(params))


def asks_quietly(change: Change, shown: bool = True) -> Fault:
    """Another question is answered, but files are, and where `shown` options too, as they were given."""

    def fault(ask: Ask, params: Params) -> Answer:
        wanted = change(params)
        before = ask(params)
        if wanted == params:
            return before
        answer = ask(wanted)
        for key in ("effective", "warnings", "notes"):
            if shown and "effective" in before and key in before:
                answer[key] = before[key]
        for turn, first in zip(answer.get("turns", ()), before.get("turns", ())):
            for key in ("files", "left"):
                for file in set(first.get(key, {})) & set(turn.get(key, {})):
                    if file.endswith(("op_cache.ini", ".cfg")):
                        turn[key][file] = first[key][file]
        return answer

    return fault


def misreads(option: str, change: Callable[[str], str]) -> Fault:
    """The text of the file that an option names is read as another; it lies there as it was given."""

    def fault(ask: Ask, params: Params) -> Answer:
        found = ask(texts(params, option, change))
        try:
            right = ask(params)
        except NpuError:
            return found
        named = {name.lstrip("/") for name in named_by(params, option)}
        told = [(right.get("base", {}), found.get("base", {})), *zip(right.get("turns", ()), found.get("turns", ()))]
        told += [(step, found["variants"][name]) for name, step in right.get("variants", {}).items()]
        for true, wrong in told:
            for key in ("files", "left"):
                for name in named & set(true.get(key) or {}) & set(wrong.get(key) or {}):
                    wrong[key][name] = true[key][name]
        return found

    return fault


def reads_as(option: str, change: Callable[[Params, Any], Any]) -> Fault:
    """An option's value, whatever field it stands in, is read as another one; what is shown is as it was given."""

    def fault(ask: Ask, params: Params) -> Answer:
        told = value_of(params, option)
        wanted = None if told is None else change(params, told)
        if wanted is None or (wanted == told and type(wanted) is type(told)):
            return ask(params)
        answer = ask(with_values(params, **{option: wanted}))
        if option in answer.get("effective", {}):
            told_value(answer, option, told, "given")
        return answer

    return fault


def has_default(option: str, value: Callable[[Params], Any]) -> Fault:
    """An option that is not given has another value, which is told; none where that is None."""

    def fault(ask: Ask, params: Params) -> Answer:
        wanted = None if given(params, option) else value(params)
        if wanted is None:
            return ask(params)
        answer = ask(all_values(params, lambda values: {option: wanted, **values}))
        if "effective" in answer:
            told_value(answer, option, wanted, "default")
            hush(answer, option)
        return answer

    return fault


def of_graph(change: Callable[[Any], None]) -> Fault:
    """The graph is partitioned with an edit of its GraphDef."""

    class Reader(ReferenceBackend):
        def graph(self, params: Params) -> Any:
            definition = super().graph(params).to_def()
            change(definition)
            return graph_from_def(definition)

    return lambda ask, params: Reader().partition(params)


def decided_inside(change: Change) -> Fault:
    """Operators in functions are decided as another question's."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if not graph_of(params).functions:
            return answer
        is_inside = is_inside_functions(params)
        try:
            other = {one["node"]: one for one in ask(change(params))["nodes"]}
        except NpuError:
            return answer
        answer["nodes"] = [other.get(one["node"], one) if is_inside(one["node"]) else one for one in answer["nodes"]]
        return answer

    return fault


def repeats(method: str) -> Fault:
    """The first answer of a surface and edition is given again and again."""
    seen: Dict[str, Answer] = {}

    def fault(ask: Ask, params: Params) -> Answer:
        key = f"{params.get('surface')} {params.get('edition')}"
        if key not in seen:
            seen[key] = json.loads(json.dumps(getattr(REFERENCE, method)(params)))
        return copy.deepcopy(seen[key])

    return fault


# What is refused is taken, and what is allowed is refused


def accepts(option: str, instead: Optional[Change] = None, said: str = "", **values: Any) -> Fault:
    """What is refused because of `option` is taken: answered as `instead` is, else with `values`, else without it.

    Where `said` is given the refusal's code or text has it.
    """

    def fault(ask: Ask, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or said not in f"{error.code} {error}":
                raise
        answer = ask(instead(params) if instead else with_values(params, **(values or {option: None})))
        if "effective" in answer:
            for one in {option, *values} & set(params["values"]):
                answer["effective"][one] = {"value": value_of(params, one), "origin": "given"}
        return answer

    return fault


def takes_refused(code: str, subject: str, instead: Change) -> Fault:
    """What is refused by a code because of a subject is taken, in turns and variants too: `instead` is answered."""

    def about(rejected: Mapping[str, Any]) -> bool:
        return rejected.get("code") in (code, None) and str(rejected.get("subject", "")).startswith(subject)

    def fault(ask: Ask, params: Params) -> Answer:
        try:
            answer = ask(params)
        except NpuError as error:
            if not about({"code": error.code, "subject": error.subject}):
                raise
            return ask(instead(params))
        told = [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]
        if any(about(one["rejected"]) for one in told if "rejected" in one):
            return ask(instead(params))
        return answer

    return fault


def goes_on(when: Callable[[Said, Params], bool], instead: Change) -> Fault:
    """A step that ends in an error goes on, as it does without its cause."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for name, laid in [("", {}), *params.get("variants", {}).items()]:
            one = {**with_values(params, **laid), "variants": {}}
            step = answer["variants"][name] if name else answer["base"]
            if step.get("rejected") and when(step["rejected"], one):
                found = ask(instead(one))["base"]
                answer.update({"variants": {**answer["variants"], name: found}} if name else {"base": found})
        return answer

    return fault


def denies(option: str) -> Fault:
    """What a document allows is refused."""

    def fault(ask: Ask, params: Params) -> Answer:
        ask(params)
        raise NpuError("OPTION_VALUE", option, "is out of range")

    return fault


# The answer is changed


def changed(change: Callable[[Answer, Params], Any]) -> Fault:
    """`change` edits the answer, or returns another."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        found = change(answer, params)
        return found if isinstance(found, dict) else answer

    return fault


def defaults(option: str, value: Any) -> Fault:
    """The option is told to have another default."""
    return changed(lambda answer, params: None if given(params, option) else told_value(answer, option, value))


def says(key: str, part: str, change: Callable[[Any], Any]) -> Fault:
    """A part of what is told under `key` is told otherwise."""

    def edit(answer: Answer, params: Params) -> None:
        if answer.get(key, {}).get(part) is not None:
            answer[key][part] = change(answer[key][part])

    return changed(edit)


def stays(*ops: str) -> Fault:
    """Operators of these types stay on the host."""
    return changed(
        lambda answer, params: to_host(answer, [one.name for one in graph_of(params).nodes if one.op in ops])
    )


def of_nodes(change: Callable[[Said, Params, Any], Any]) -> Fault:
    """`change` edits what is told of each operator, or returns another; its last argument is the graph's."""

    def edit(answer: Answer, params: Params) -> None:
        ops = {node.name: node for node in graph_of(params).nodes}
        for number, node in enumerate(answer["nodes"]):
            found = change(node, params, ops.get(node["node"]))
            answer["nodes"][number] = found if isinstance(found, dict) else node

    return changed(edit)


def of_steps(change: Callable[[Said, Params, Said], Any]) -> Fault:
    """`change` edits each step that ends well; its last argument are the values."""

    def edit(answer: Answer, params: Params) -> None:
        for key, step in [("", answer["base"]), *answer.get("variants", {}).items()]:
            if "rejected" not in step:
                change(step, params, {**params["values"], **params.get("variants", {}).get(key, {})})

    return changed(edit)


def _turns(answer: Answer, params: Params) -> List[Any]:
    """The turns that end well, each with what it is asked."""
    values, found = dict(params["values"]), []
    for turn, asked in zip(answer.get("turns", ()), params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        env = {**params.get("env", {}), **(asked.get("env") or {})}
        if "rejected" not in turn:
            found.append((turn, {**asked, "values": dict(values), "env": env}))
    return found


def of_turns(change: Callable[[Said, Said], Any]) -> Fault:
    """`change` edits each turn of a compilation; its last argument is what the turn is asked."""
    return changed(lambda answer, params: [change(turn, asked) for turn, asked in _turns(answer, params)])


def lacks_switches(gone: str, when: Callable[[Said, int, Params], bool]) -> Fault:
    """Switches of the compiler are missing from kernels of some turns."""

    def edit(answer: Answer, params: Params) -> None:
        for number, turn in enumerate(answer["turns"]):
            for kernel in turn.get("kernels", ()):
                if kernel.get("switches") and when(turn, number, params):
                    kernel["switches"] = [one for one in kernel["switches"] if not re.search(gone, one)]

    return changed(edit)


def of_files(change: Callable[[Files, Said], Optional[Files]]) -> Fault:
    """`change` edits the files that turns, steps and runs leave, or returns others; it is told what was asked."""

    def edit(answer: Answer, params: Params) -> None:
        told = [(turn, asked, key) for turn, asked in _turns(answer, params) for key in ("files", "left")]
        others = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ())), answer.get("base", {})]
        told += [(one, dict(params), "files") for one in [*others, *answer.get("variants", {}).values()]]
        for one, asked, key in told:
            if one.get(key):
                found = change(one[key], asked)
                one[key] = one[key] if found is None else found

    return changed(edit)


def of_ranks(change: Callable[[Answer, Params], Any]) -> Fault:
    """`change` edits an answer to `run`, and that of every rank."""

    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *[rank["ok"] for rank in answer.get("ranks", []) if "ok" in rank]]:
            change(one, params)

    return changed(edit)


def of_trace(change: Callable[[Said], Any]) -> Fault:
    """`change` edits every session.run of a trace."""
    return of_ranks(lambda answer, params: [change(one) for one in answer.get("trace") or []])
