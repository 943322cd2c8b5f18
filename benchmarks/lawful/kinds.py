"""Kinds of lawful backends: what is ignored, refused, told or taken by default otherwise, in every turn and variant."""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Tuple

from faulty import operators
from faulty.asked import facets, plain, value_of
from faulty.making import REFERENCE, Answer, Ask, Fault, Params, registered

from npu_reference.errors import NpuError

Values = Dict[str, Any]
Change = Callable[[Values], Values]
#: What of the values is left out because of an error: the names.
Which = Callable[[NpuError, Params, Values], Iterable[str]]
#: The option, file or node that is refused, or nothing.
Find = Callable[[Params, Values], Optional[str]]

GRAPH_METHODS = ("partition", "precision", "timeline", "compile", "run")
METHODS = ("options", *GRAPH_METHODS)


def broken(area: str, sentence: str, *methods: str) -> Callable[[Fault], Fault]:
    """Registers the decorated function, by its name."""

    def register(fault: Fault) -> Fault:
        registered(fault.__name__, area, sentence, methods or (area,), fault)
        return fault

    return register


def changed(area: str, name: str, sentence: str, change: Callable[[Answer, Params], Any], *methods: str) -> None:
    """Registers a backend that changes the reference's answer; `change` edits it, or returns another."""
    registered(name, area, sentence, methods or (area,), operators.changed(change))


def asks(name: str, sentence: str, area: str, change: Callable[[Params], Params], *methods: str) -> None:
    """Registers a backend that answers another question."""
    registered(name, area, sentence, methods or (area,), operators.asks(change))


def misreads(area: str, name: str, sentence: str, option: str, change: Callable[[str], str], *methods: str) -> None:
    """Registers a backend that reads the file of an option as another."""
    registered(name, area, sentence, methods or (area,), operators.misreads(option, change))


def lawful(area: str, name: str, sentence: str, fault: Callable[[Ask, Params], Answer], *methods: str) -> None:
    """Registers a backend that answers by `fault`, in every method that takes options unless some are named.

    Policy `adapter` asks for what one adapter does, not for what the documents say; it is answered as ever.
    """

    def answer(ask: Ask, params: Params) -> Answer:
        if params.get("policy") == "adapter":
            return dict(ask(params))
        return dict(fault(ask, params))

    answer.__name__ = name
    broken(area, sentence, *(methods or METHODS))(answer)


def every(params: Params, change: Change) -> Dict[str, Any]:
    """The request with its values changed, those of every variant and turn as they hold together."""
    base = dict(params.get("values") or {})
    shown = change(dict(base))
    found: Dict[str, Any] = {**params, "values": shown}
    if params.get("variants"):
        found["variants"] = {
            name: _difference(shown, change(_present({**base, **own}))) for name, own in params["variants"].items()
        }
    if params.get("turns"):
        merged, turns = base, []
        for turn in params["turns"]:
            merged = _present({**merged, **(turn.get("values") or {})})
            wanted = change(dict(merged))
            turns.append({**turn, "values": _difference(shown, wanted)})
            shown = wanted
        found["turns"] = turns
    return found


def _present(values: Mapping[str, Any]) -> Values:
    return {name: value for name, value in values.items() if value is not None}


def _difference(before: Values, after: Values) -> Values:
    """What has to be laid over values to make others of them."""
    found = {name: value for name, value in after.items() if name not in before or before[name] != value}
    found.update({name: None for name in before if name not in after})
    return found


@functools.lru_cache(maxsize=1 << 13)
def _resolved(request: str) -> Tuple[Tuple[NpuError, ...], Tuple[Tuple[str, str], ...]]:
    try:
        found = REFERENCE.resolve(json.loads(request))
    except NpuError as error:
        return (error,), ()
    return tuple(found.errors), tuple((one.option, one.code) for one in found.warnings)


def _resolution(params: Params, values: Values) -> Tuple[Tuple[NpuError, ...], Tuple[Tuple[str, str], ...]]:
    files = {
        name: text
        for name, text in (params.get("files") or {}).items()
        if isinstance(text, str) or (isinstance(text, dict) and "access" in text)
    }
    asked = {"surface": params["surface"], "edition": params["edition"], "values": values, "files": files}
    return _resolved(json.dumps({**asked, "env": dict(params.get("env") or {})}, sort_keys=True))


def errors_of(params: Params, values: Values) -> Tuple[NpuError, ...]:
    """All that the reference refuses of these values."""
    return _resolution(params, values)[0]


def warned(params: Params, values: Values) -> Tuple[Tuple[str, str], ...]:
    """Option and code of each warning that the reference gives of these values."""
    return _resolution(params, values)[1]


def told_warning(answer: Answer, option: str, code: str) -> None:
    """One more warning, unless it is there."""
    one = {"option": option, "code": code}
    if one not in answer["warnings"]:
        answer["warnings"] = [*answer["warnings"], one]


def ignores(
    area: str, name: str, sentence: str, which: Which, code: str = "no_effect", told_as_given: bool = False,
    methods: Sequence[str] = METHODS,
) -> None:  # fmt: skip
    """Registers a backend that leaves values out, with a warning if it has a code, which the reference refuses.

    With `told_as_given` they are told as they were given: nothing asks for what they would say.
    """

    def fault(ask: Ask, params: Params) -> Answer:
        gone: Dict[str, Any] = {}

        def change(values: Values) -> Values:
            names = {one for error in errors_of(params, values) for one in which(error, params, values)} & set(values)
            gone.update({one: plain(values[one]) for one in values if one in names})
            return {one: value for one, value in values.items() if one not in names}

        answer = ask(every(params, change))
        if "effective" in answer:
            for one, value in gone.items():
                if code:
                    told_warning(answer, one, code)
                if told_as_given:
                    answer["effective"][one] = {"value": value, "origin": "given"}
        return answer

    lawful(area, name, sentence, fault, *methods)


def refuses(area: str, name: str, sentence: str, code: str, find: Find, methods: Sequence[str] = METHODS) -> None:
    """Registers a backend that refuses what the reference takes, in the request, a variant or a turn."""

    def refusal(params: Params, values: Values) -> Optional[NpuError]:
        if errors_of(params, values):
            return None  # it is refused as it is
        subject = find(params, values)
        return NpuError(code, subject, "this is not supported here") if subject else None

    def fault(ask: Ask, params: Params) -> Answer:
        base = dict(params.get("values") or {})
        turns = list(params.get("turns") or [])
        if len(turns) > 1:
            return _refused_turns(ask, params, refusal)
        if turns:
            base = _present({**base, **(turns[0].get("values") or {})})
        answer = ask(params)
        error = refusal(params, base)
        if error is not None:
            raise error
        for variant, own in (params.get("variants") or {}).items():
            error = refusal(params, _present({**base, **own}))
            if error is not None:
                answer["variants"][variant] = {"rejected": error.to_json()}
        return answer

    lawful(area, name, sentence, fault, *methods)


def _refused_turns(ask: Ask, params: Params, refusal: Callable[[Params, Values], Optional[NpuError]]) -> Answer:
    """The turns of a request, of which some are refused: these are asked with a value that the reference refuses."""
    merged, turns, errors = dict(params.get("values") or {}), [], {}
    for place, turn in enumerate(params["turns"]):
        own = dict(turn.get("values") or {})
        merged = _present({**merged, **own})
        error = refusal(params, merged)
        if error is not None:
            errors[place] = error
        turns.append({**turn, "values": {**own, "graph_run_mode": "none" if error else merged.get("graph_run_mode")}})
    if not errors:
        return dict(ask(params))
    answer = ask({**params, "turns": turns})
    for place, error in errors.items():
        answer["turns"][place] = {**answer["turns"][place], "rejected": error.to_json()}
    return answer


def takes_default(
    area: str, name: str, sentence: str, chosen: Mapping[str, Any], when: Callable[[Params, Values], bool]
) -> None:
    """Registers a backend with defaults of its own, by option, for those that are not given where `when` holds."""

    def fault(ask: Ask, params: Params) -> Answer:
        def added(values: Values) -> Values:
            if not when(params, values):
                return {}
            known, told = facets(params), {"values": values}
            return {one: value for one, value in chosen.items() if one in known and value_of(told, one) is None}

        def change(values: Values) -> Values:
            return {**values, **added(values)}

        answer = ask(every(params, change))
        if "effective" in answer:
            own = added(dict(params["values"]))
            for one in own:
                if one in answer["effective"]:
                    answer["effective"][one]["origin"] = "default"
            answer["warnings"] = [warning for warning in answer["warnings"] if warning["option"] not in own]
            answer["notes"] = [note for note in answer.get("notes", []) if note["option"] not in own]
        return answer

    lawful(area, name, sentence, fault)


def claims_less(
    area: str, name: str, sentence: str, features: Sequence[str], change: Callable[[Answer], Any], *methods: str
) -> None:
    """Registers a backend that does not claim some features, nor answers what they stand for."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if "capabilities" in answer:
            told = answer["capabilities"]
            told["features"] = [one for one in told["features"] if one not in features]
        else:
            change(answer)
        return answer

    lawful(area, name, sentence, fault, "hello", *methods)


def tells(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """Registers a backend that tells of options otherwise."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        change(answer, params)
        return answer

    lawful("options", name, sentence, fault, "options")


def warned_find(*codes: str, beside: Callable[[Params, str], bool] = lambda params, option: True) -> Find:
    """The first option of which the reference warns by one of these codes."""

    def find(params: Params, values: Values) -> Optional[str]:
        found = (option for option, code in warned(params, values) if code in codes and beside(params, option))
        return next(found, None)

    return find
