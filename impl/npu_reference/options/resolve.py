"""Which value every option takes: types and domains, then scenarios, then the rules between options."""

from __future__ import annotations

from contextlib import suppress
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.declaration import EDITIONS, SURFACES, Facet
from npu_reference.options.domains import Problem, echo
from npu_reference.options.grammars import GrammarError
from npu_reference.options.outcome import Effective, Resolution, Warning_
from npu_reference.options.rules import RULES, Rule
from npu_reference.options.state import State
from npu_reference.options.table import OPTIONS

__all__ = ["resolve"]

_FIELD_TYPES = {"b": "bool", "i": "int", "f": "float", "s": "str", "o": "object"}
_ORDER = {name: position for position, name in enumerate(OPTIONS)}

#: Options that keep their effect outside the scenario the documents list them for (A37).
_ADVISORY_SCENARIO = frozenset({"in_out_pair", "in_out_pair_flag"})


class _View(NamedTuple):
    """The table as one surface in one edition sees it, prepared once."""

    facets: Dict[str, Facet]
    defaults: Tuple[Dict[str, Effective], Dict[str, Effective]]  # of inference, of training
    rules: Tuple[Rule, ...]


_VIEWS: Dict[Tuple[str, str], _View] = {}


def resolve(
    values: Mapping[str, object],
    *,
    surface: str = "session",
    edition: str = "current",
    env: Optional[Mapping[str, str]] = None,
    files: Optional[Mapping[str, object]] = None,
) -> Resolution:
    """The effective value of every option.

    Args:
        values: option name to value. On the session surface a bool stands for the field ``.b`` of the parameter map,
            an int for ``.i``, a float for ``.f``, a str for ``.s``; ``{"field": "s", "value": "1"}`` names the field.
            On the RunConfig surface a value stands for itself.
        surface: ``session`` or ``runconfig``.
        edition: ``legacy`` or ``current``.
        env: the whole environment that may be seen; the process's own is never read.
        files: contents of the files that options name; without it they are read from disk.

    Returns:
        The resolution; whatever is wrong with a value is in its ``errors``.

    Raises:
        NpuError: USAGE, for a surface or an edition that does not exist.
    """
    view = _view(surface, edition)
    state = State(surface, edition, env or {})
    accepted: Dict[str, Tuple[Facet, object]] = {}
    for name, raw in values.items():
        facet = _known(state, view, name)
        if facet is not None:
            value = _typed(state, name, facet, raw)
            if value is not None:
                accepted[name] = (facet, value)
    if "graph_run_mode" in accepted:
        state.run_mode = int(accepted["graph_run_mode"][1])  # type: ignore[call-overload]
    state.defaults = view.defaults[state.run_mode]
    state.effective = dict(state.defaults)
    for name, (facet, value) in accepted.items():
        _accept(state, name, facet, value)
    for rule in view.rules:
        if any(trigger in state.given or trigger in state.env for trigger in rule.triggers):
            rule.check(state)
    errors, warnings = _errors(state.errors), _warnings(state.warnings)
    return Resolution(surface, edition, state.run_mode, state.effective, state.parsed, errors, warnings)


def _view(surface: str, edition: str) -> _View:
    key = (surface, edition)
    if key not in _VIEWS:
        if surface not in SURFACES:
            raise NpuError("USAGE", "surface", f"{echo(surface)} is no surface.", f"Choose {' or '.join(SURFACES)}.")
        if edition not in EDITIONS:
            raise NpuError("USAGE", "edition", f"{echo(edition)} is no edition.", f"Choose {' or '.join(EDITIONS)}.")
        facets = {
            name: option.facets[key] for name, option in OPTIONS.items() if key in option.facets
        }
        _VIEWS[key] = _View(
            facets,
            (_defaults(facets, surface, 0), _defaults(facets, surface, 1)),
            tuple(rule for rule in RULES if surface in rule.surfaces and edition in rule.editions),
        )
    return _VIEWS[key]


def _defaults(facets: Mapping[str, Facet], surface: str, run_mode: int) -> Dict[str, Effective]:
    effective = {name: Effective(facet.default_in(run_mode), "default") for name, facet in facets.items()}
    if surface == "runconfig":
        # NPURunConfig has no such argument: it always means the device.
        effective = {"use_off_line": Effective(True, "forced", "A38"), **effective}
    return effective


def _known(state: State, view: _View, name: object) -> Optional[Facet]:
    """The facet of a given name; None, with a warning, for one that is ignored."""
    if not isinstance(name, str):
        state.errors.append(
            ("", NpuError("OPTION_TYPE", echo(name), "the name of an option is a str.", "Give a str."))
        )
        return None
    facet = view.facets.get(name)
    if facet is not None:
        return facet
    option = OPTIONS.get(name)
    shown = echo(name)[1:-1]
    if option is None:
        state.warn(shown, "unknown", f"There is no option {shown}; it is ignored.{_hint(name, view)}")
    elif state.surface not in option.surfaces:
        state.warn(name, "not_on_surface", f"{name} does not exist on the {state.surface} surface; it is ignored.")
    else:
        state.warn(name, "not_in_edition", f"{name} does not exist in the {state.edition} edition; it is ignored.")
    return None


def _hint(name: str, view: _View) -> str:
    from difflib import get_close_matches  # loaded for the rare misspelling only

    near = get_close_matches(name, view.facets, 1, 0.7) if len(name) < 80 else []
    return f" Did you mean {near[0]}?" if near else ""


def _typed(state: State, name: str, facet: Facet, raw: object) -> Optional[object]:
    """The given value when its type and domain are right; None when unset, ignored or refused."""
    if facet.status in ("unsupported", "removed", "ignored"):
        _warn_ignored(state, name, facet)
        return None
    field, value = _unwrapped(raw)
    if value is None or (value == "" and facet.field == "s"):
        return None  # G9: as if it were not given
    problem = _type_problem(state.surface, name, facet, field, value) or facet.domain.check(value)
    if problem is None:
        return value
    state.errors.append((name, NpuError(problem.code, name, problem.reason, problem.remedy)))
    return None


def _unwrapped(raw: object) -> Tuple[object, object]:
    """The field a value names, or None, and the value, with UTF-8 bytes read as text."""
    field = None
    value = raw
    if isinstance(raw, Mapping) and set(raw) == {"field", "value"}:
        field, value = raw["field"], raw["value"]
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            value = value.decode("utf-8")
    return field, value


def _type_problem(surface: str, name: str, facet: Facet, field: object, value: object) -> Optional[Problem]:
    allowed = f"Allowed: {facet.domain.describe()}."
    if isinstance(value, bytes):
        return Problem("OPTION_TYPE", "its bytes are not UTF-8.", "Give UTF-8 text.")
    actual = _field_of(value)
    if field is not None and field != actual:
        return Problem("OPTION_TYPE", f"field {echo(field)} cannot hold {echo(value)}.", "Fields are b, i, f and s.")
    if actual == facet.field:
        return None
    wanted = _FIELD_TYPES[facet.field]
    if surface == "session" and facet.field != "o":
        # G2: reading the field's empty value instead would flip behaviour without a word.
        return Problem(
            "OPTION_TYPE",
            f"{echo(value)} is a {_FIELD_TYPES[actual]}, but the option is a {wanted}, read from field .{facet.field}.",
            f'Write parameter_map["{name}"].{facet.field}. {allowed}',
        )
    return Problem("OPTION_TYPE", f"{echo(value)} is a {_FIELD_TYPES[actual]}, not a {wanted}.", allowed)


def _field_of(value: object) -> str:
    # bool before int: Python's True is an int, and no option wants both (G12).
    for kind, field in ((bool, "b"), (int, "i"), (float, "f"), (str, "s")):
        if isinstance(value, kind):
            return field
    return "o"


def _warn_ignored(state: State, name: str, facet: Facet) -> None:
    if facet.status == "unsupported":
        state.warn(name, "unsupported", f"{name} is not supported in the {state.edition} edition; it is ignored.")
    elif facet.status == "removed":
        state.warn(name, "removed", f"{name} no longer exists in the {state.edition} edition; it is ignored.")
    else:
        state.warn(name, "no_effect", f"{name} has no effect in the {state.edition} edition.")


def _accept(state: State, name: str, facet: Facet, value: object) -> None:
    """Let a well-typed value take effect, unless its grammar, status or scenario says otherwise."""
    state.given[name] = value
    state.effective[name] = Effective(value, "given")
    parse = getattr(facet.domain, "parse", None)
    if parse is not None:
        try:
            state.parsed[name] = parse(value)
        except GrammarError as problem:
            reason = f"at {problem.where}: {problem.reason} Its value is {echo(value)}."
            state.error(name, "OPTION_SYNTAX", reason, problem.remedy)
            return
    if facet.status in ("deprecated", "experimental", "reserved"):
        state.warn(name, facet.status, _STATUS_TEXTS[facet.status].format(name=name))
    _scenario(state, name, facet)


_STATUS_TEXTS = {
    "deprecated": "{name} will be removed in a later version.",
    "experimental": "{name} is for debugging and may change; do not use it in a product.",
    "reserved": "{name} is documented for NPURunConfig only; as a session key it takes effect all the same.",
}


def _scenario(state: State, name: str, facet: Facet) -> None:
    """G13: an option outside its scenario is ignored with a warning."""
    mode = "T" if state.run_mode == 1 else "I"
    if mode in facet.applies:
        return
    code = "inference_only" if mode == "T" else "training_only"
    listed, running = ("online inference", "training") if mode == "T" else ("training", "online inference")
    fate = "it takes effect all the same" if name in _ADVISORY_SCENARIO else "it is ignored"
    state.warn(
        name, code, f"{name} is listed for {listed}, but graph_run_mode {state.run_mode} means {running}; {fate}."
    )
    if name not in _ADVISORY_SCENARIO:
        state.drop(name, "G13")


def _position(name: str) -> int:
    return _ORDER.get(name, len(_ORDER))


def _errors(found: Iterable[Tuple[str, NpuError]]) -> Tuple[NpuError, ...]:
    return tuple(error for _, error in sorted(found, key=lambda item: _position(item[0])))


def _warnings(found: List[Warning_]) -> Tuple[Warning_, ...]:
    return tuple(sorted(found, key=lambda item: _position(item.option)))
