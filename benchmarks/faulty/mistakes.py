"""Kinds of mistakes: functions that register a faulty backend of a kind, whatever its area."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, Mapping

from faulty.answered import encoded, told_value
from faulty.asked import given, graph_of, is_mixed, named_by, texts, value_of, with_values
from faulty.making import Answer, Ask, Files, Params, broken
from npu_reference.errors import NpuError


def changed(area: str, name: str, sentence: str, change: Callable[[Answer, Params], Any], *methods: str) -> None:
    """Registers a backend that changes the reference's answer; `change` edits it, or returns another."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        found = change(answer, params)
        return answer if found is None else found

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def turn_values(name: str, sentence: str, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> None:
    """Registers a fault of compilation: the values of every turn are changed before they are taken."""

    def fault(ask: Any, params: Params) -> Answer:
        found = {**params, "values": change(dict(params["values"]))}
        if params.get("turns"):
            found["turns"] = [
                {**one, "values": change(dict(one["values"]))} if one.get("values") else one for one in params["turns"]
            ]
        return ask(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


def accepts(name: str, sentence: str, option: str, when: Callable[[Params], bool], **instead: Any) -> None:
    """What is refused because of `option` is taken where `when` holds; the answer is that of the values `instead`."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or not when(params):
                raise
            answer = ask(with_values(params, **(instead or {option: None})))
            for one in {option, *instead} & set(params["values"]):
                answer["effective"][one] = {"value": value_of(params, one), "origin": "given"}
            return answer

    fault.__name__ = name
    broken("options", sentence)(fault)


def denies(name: str, sentence: str, option: str, when: Callable[[Params], bool], method: str = "options") -> None:
    """What a document allows is refused."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if when(params):
            raise NpuError("OPTION_VALUE", option, "is out of range")
        return answer

    fault.__name__ = name
    broken("options", sentence, method)(fault)


def tells(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("options", name, sentence, change)


def asks(name: str, sentence: str, area: str, change: Callable[[Params], Params], *methods: str) -> None:
    """Another question is answered."""

    def fault(ask: Any, params: Params) -> Answer:
        return ask(change(params))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def node_change(name: str, sentence: str, change: Callable[[Dict[str, Any], Params, Any], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        graph = graph_of(params)
        ops = {node.name: node for node in graph.nodes}
        for node in answer["nodes"]:
            change(node, params, ops.get(node["node"]))

    changed("precision", name, sentence, edit)


def place(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    changed("partition", name, sentence, lambda answer, params: change(answer, params) if is_mixed(params) else None)


def steps(name: str, sentence: str, change: Callable[[Dict[str, Any], Params, Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for key, step in [("", answer["base"]), *answer.get("variants", {}).items()]:
            change(step, params, {**params["values"], **params.get("variants", {}).get(key, {})})

    changed("timeline", name, sentence, edit)


def turns(name: str, sentence: str, change: Callable[[Dict[str, Any], Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        values = dict(params["values"])
        given = params.get("turns") or [{}]
        for turn, asked in zip(answer["turns"], given):
            values.update(asked.get("values") or {})
            if "rejected" not in turn:
                change(turn, {**asked, "values": values, "env": {**params.get("env", {}), **(asked.get("env") or {})}})

    changed("artifacts", name, sentence, edit, "compile")


def defaults(name: str, sentence: str, option: str, value: Any, when: Callable[[Params], bool]) -> None:
    """The option has another default where `when` holds, and is told so."""

    def change(answer: Answer, params: Params) -> None:
        if not given(params, option) and when(params):
            told_value(answer, option, value)

    tells(name, sentence, change)


def leaves(name: str, sentence: str, change: Callable[[Files, Mapping[str, Any]], Files]) -> None:
    """What compilation leaves is changed, before and after the program's end."""

    def edit(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
        for key in ("files", "left"):
            if key in turn:
                turn[key] = change(turn[key], asked)

    turns(name, sentence, edit)


def misreads(
    area: str,
    name: str,
    sentence: str,
    option: str,
    change: Callable[[str], str],
    *methods: str,
    when: Callable[[Params], bool] = lambda params: True,
) -> None:
    """The text that an option names, a file's, is read as another where `when` holds; what is shown is as given."""

    def fault(ask: Any, params: Params) -> Answer:
        if not when(params):
            return dict(ask(params))
        found = ask(texts(params, option, change))
        named = named_by(params, option)
        for turn, asked in zip(found.get("turns", ()), params.get("turns") or [{}]):
            for file, text in {**params.get("files", {}), **(asked.get("files") or {})}.items():
                for key in ("files", "left"):
                    if file in named and isinstance(text, str) and file.lstrip("/") in turn.get(key, {}):
                        turn[key][file.lstrip("/")] = encoded(text)
        return dict(found)

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def reads_as(name: str, sentence: str, option: str, change: Callable[[Params, Any], Any], *methods: str) -> None:
    """An option's value, whatever field it stands in, is read as another one; what is shown is as it was given."""

    def fault(ask: Any, params: Params) -> Answer:
        told = value_of(params, option)
        wanted = None if told is None else change(params, told)
        if wanted is None or (wanted == told and type(wanted) is type(told)):
            return dict(ask(params))
        answer = dict(ask(with_values(params, **{option: wanted})))
        if option in answer.get("effective", {}):
            answer["effective"] = {**answer["effective"], option: {"value": told, "origin": "given"}}
        return answer

    fault.__name__ = name
    broken("options", sentence, *(methods or ("options",)))(fault)


def judged_when(
    area: str,
    name: str,
    sentence: str,
    method: str,
    when: Callable[[Params], bool],
    wrong: Callable[[Answer, Params], Any],
) -> None:
    """The answer is changed where a condition holds."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if not when(params):
            return answer
        answer = copy.deepcopy(answer)
        found = wrong(answer, params)
        return answer if found is None else found

    fault.__name__ = name
    broken(area, sentence, method)(fault)


def judged_partition(
    name: str, sentence: str, when: Callable[[Params], bool], wrong: Callable[[Answer, Params], Any]
) -> None:
    """A partition by the documents is changed where a condition holds."""

    def asked(params: Params) -> bool:
        return params.get("policy") != "adapter" and when(params)

    judged_when("partition", name, sentence, "partition", asked, wrong)


def left(name: str, sentence: str, change: Callable[[Files, Params], Files], *methods: str) -> None:
    """What runs and steps leave is changed."""

    def edit(answer: Answer, params: Params) -> None:
        told = [answer, *(one.get("ok", {}) for one in answer.get("ranks", ()))]
        told += [answer.get("base", {}), *answer.get("variants", {}).values()]
        for one in told:
            if one.get("files"):
                one["files"] = change(one["files"], params)

    changed("run", name, sentence, edit, *(methods or ("run", "timeline")))
