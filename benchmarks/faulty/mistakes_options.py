"""Kinds of mistakes in options: what is refused is taken, what is allowed is refused, another default."""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterable, Optional

from faulty.answered import hush, told_value
from faulty.asked import (
    EVERY_METHOD,
    EVERYWHERE,
    Change,
    When,
    all_values,
    given,
    in_32_bits,
    is_about,
    mapped,
    plain,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, tells
from npu_reference.errors import NpuError


def defaults_to(
    name: str, sentence: str, option: str, value: Any, when: Callable[[Params], bool], *methods: str
) -> None:
    """An option that nobody gives is as if it were given with this value."""

    def fault(ask: Any, params: Params) -> Answer:
        if given(params, option) or not when(params):
            return dict(ask(params))
        answer = dict(ask(all_values(params, lambda values: {option: value, **values})))
        if "effective" in answer:
            told_value(answer, option, value, "default")
            hush(answer, option)
        return answer

    fault.__name__ = name
    broken("options", sentence, *methods)(fault)


def reads_where(
    name: str, sentence: str, option: str, change: Callable[[Any], Any], when: Callable[[Params], bool], *methods: str
) -> None:
    """A value is read as another one in every variant and turn; what is shown is as it was given."""

    def fault(ask: Any, params: Params) -> Answer:
        if not when(params):
            return dict(ask(params))
        told = value_of(params, option)
        answer = dict(ask(all_values(params, mapped(option, change))))
        if told is not None and change(told) != told and "effective" in answer:
            told_value(answer, option, told, "given")
        return answer

    fault.__name__ = name
    broken("options", sentence, *(methods or ("options",)))(fault)


def takes_type(name: str, option: str, kind: type, sentence: str, **instead: Any) -> None:
    accepts(name, sentence, option, lambda params: type(value_of(params, option)) is kind, **instead)


def takes_as(
    name: str,
    sentence: str,
    option: str,
    when: Callable[[Params, NpuError], bool],
    without: Callable[[Params], Params],
    area: str = "options",
    *methods: str,
) -> None:
    """What is refused because of an option is taken where `when` holds, and answered as another question."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or not when(params, error):
                raise
            answer = ask(without(params))
            if option in answer.get("effective", {}):
                answer["effective"][option] = {"value": value_of(params, option), "origin": "given"}
            return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def refuses_where(name: str, sentence: str, option: str, when: When, area: str = "options") -> None:
    """What a document allows is refused, whatever is asked."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if when(params):
            raise NpuError("OPTION_VALUE", option, "is out of range")
        return dict(answer)

    fault.__name__ = name
    broken(area, sentence, *EVERY_METHOD)(fault)


def takes_where(name: str, sentence: str, option: str, when: When, change: Change) -> None:
    """What a document refuses is taken, whatever is asked, and works as what `change` makes of the question."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return dict(ask(params))
        except NpuError as error:
            if error.subject != option or not when(params):
                raise
            answer = dict(ask(change(params)))
        if "effective" in answer:
            answer["effective"] = {
                **answer["effective"],
                option: {"value": value_of(params, option), "origin": "given"},
            }
        return answer

    fault.__name__ = name
    broken("options", sentence, *EVERY_METHOD)(fault)


def has_default(name: str, sentence: str, option: str, value: Callable[[Params], Any], *methods: str) -> None:
    """An option that is not given has another value, which is told."""

    def fault(ask: Any, params: Params) -> Answer:
        wanted = None if given(params, option) else value(params)
        if wanted is None:
            return dict(ask(params))
        answer = dict(ask(with_values(params, **{option: wanted})))
        if "effective" in answer:
            told_value(answer, option, wanted, "default")
        return answer

    fault.__name__ = name
    broken("options", sentence, *methods)(fault)


def lenient(name: str, edition: str, surface: str, *values: Any) -> None:
    """Registers a backend that takes these values of an option as if nothing had been given."""

    def fault(ask: Any, params: Params) -> Answer:
        here = params["surface"] == surface and params["edition"] == edition
        if here and any(plain(params["values"].get(name)) == value for value in values):
            given = plain(params["values"][name])
            answer = ask(with_values(params, **{name: None}))
            answer["effective"][name] = {"value": given, "origin": "given"}
            return answer
        return ask(params)

    fault.__name__ = f"takes_{name}_{surface}_{edition}"
    broken("options", f"{name} takes {values}")(fault)


def directive(name: str, change: Callable[[Any], Any], topic: str, surface: str = "runconfig") -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if params["surface"] == surface:
            answer["directives"][topic] = change(answer["directives"][topic])
        return answer

    fault.__name__ = name
    broken("options", name)(fault)


def meaning_on(name: str, option: str, change: Callable[[Any], Any], surface: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if params["surface"] == surface and option in answer["meaning"]:
            answer["meaning"][option] = change(answer["meaning"][option])
        return answer

    fault.__name__ = name
    broken("options", name)(fault)


def default_on(option: str, value: Any, surface: str, edition: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        entry = answer["effective"].get(option)
        here = params["surface"] == surface and params["edition"] == edition
        if here and entry is not None and entry["origin"] == "default":
            entry["value"] = value
        return answer

    fault.__name__ = f"default_of_{option}_{surface}_{edition}"
    broken("options", f"the default of {option} is {value}")(fault)


def takes(name: str, sentence: str, option: str, surface: str, edition: str, *values: Any) -> None:
    """These values of an option are taken as they are, as if the domain were wider."""

    def fault(ask: Any, params: Params) -> Answer:
        given = plain(params["values"].get(option))
        if not is_about(params, surface, edition) or not any(
            given == one and type(given) is type(one) for one in values
        ):
            return ask(params)
        answer = ask(with_values(params, **{option: None}))
        answer["effective"][option] = {"value": given, "origin": "given"}
        return answer

    fault.__name__ = name
    broken("options", sentence)(fault)


def refuses(name: str, sentence: str, option: str, surface: str, edition: str, *values: Any) -> None:
    """These values of an option, which a document allows, are refused."""

    def fault(ask: Any, params: Params) -> Answer:
        given = plain(params["values"].get(option))
        if is_about(params, surface, edition) and any(given == one and type(given) is type(one) for one in values):
            raise NpuError("OPTION_VALUE", option, f"{given!r} is out of range")
        return ask(params)

    fault.__name__ = name
    broken("options", sentence)(fault)


def meaning(name: str, sentence: str, option: str, change: Callable[[Any], Any]) -> None:
    """What a text means is told otherwise."""

    def edit(answer: Answer, params: Params) -> None:
        found = answer.get("meaning", {})
        if option in params["values"] and found.get(option) is not None:
            found[option] = change(found[option])

    tells(name, sentence, edit)


def is_narrow(name: str, sentence: str, option: str, valid: Callable[[int], bool]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        number, value = in_32_bits(params, option), value_of(params, option)
        if value is None or number == value or not valid(number):
            return dict(ask(params))
        return dict(ask(with_values(params, **{option: number})))

    fault.__name__ = name
    broken("options", sentence)(fault)


def kindly(
    name: str,
    sentence: str,
    options: Iterable[str],
    when: Callable[[Params], bool],
    instead: Callable[[Params], Params],
    mend: Optional[Callable[[Answer, Params], None]] = None,
) -> None:
    """What is refused because of one of `options` is taken where `when` holds, by every method, as `instead` is."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return dict(ask(params))
        except NpuError as error:
            if error.subject not in tuple(options) or not when(params):
                raise
        found = copy.deepcopy(ask(instead(params)))
        for one in options:
            if one in found.get("effective", {}) and given(params, one):
                found["effective"][one] = {"value": value_of(params, one), "origin": "given"}
        if mend is not None and "effective" in found:
            mend(found, params)
        return dict(found)

    fault.__name__ = name
    broken("options", sentence, *EVERYWHERE)(fault)
