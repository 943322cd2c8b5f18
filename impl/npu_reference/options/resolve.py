"""Which value every option takes: types and domains, then scenarios, then the rules between options."""

from __future__ import annotations

from typing import Collection, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.classes import session_values
from npu_reference.options.declaration import EDITIONS, SURFACES, Facet
from npu_reference.options.domains import ConfigObject, Path, Text, echo
from npu_reference.options.fields import problem_with, unwrapped
from npu_reference.options.fileview import Disk, Given
from npu_reference.options.outcome import Effective, Resolution, Warning_
from npu_reference.options.rules import RULES, Rule
from npu_reference.options.state import State
from npu_reference.options.table import OPTIONS

__all__ = ["resolve"]

_ORDER = {name: position for position, name in enumerate(OPTIONS)}

#: Options that keep their effect outside the scenario the documents list them for (A37).
_ADVISORY_SCENARIO = frozenset({"in_out_pair", "in_out_pair_flag"})

_STATUS_TEXTS = {
    "deprecated": "{name} will be removed in a later version.",
    "experimental": "{name} is for debugging and may change; do not use it in a product.",
    "reserved": "{name} is documented for NPURunConfig only; as a session key it takes effect all the same.",
    "unsupported": "{name} is not supported in this edition; it is ignored.",
    "removed": "{name} no longer exists in this edition; it is ignored.",
}


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
    carried: Collection[str] = (),
) -> Resolution:
    """The effective value of every option.

    Args:
        values: option name to value. On the session surface a bool stands for the field ``.b`` of the parameter map,
            an int for ``.i``, a float for ``.f``, a str for ``.s``; ``{"field": "s", "value": "1"}`` names the field.
            On the RunConfig surface a value stands for itself, a configuration object for its keyword arguments.
        surface: ``session`` or ``runconfig``.
        edition: ``legacy`` or ``current``.
        env: the whole environment that may be seen; the process's own is never read.
        files: path to content of everything that options may name, see :class:`fileview.Given`; without it the named
            files are read from disk.
        carried: names of session values that NPURunConfig wrote. They are held to what that surface documents, its
            scenarios among it, and not warned about: their author was told when NPURunConfig was made.

    Returns:
        The resolution; whatever is wrong with a value is in its ``errors``.

    Raises:
        NpuError: USAGE, for a surface, an edition, values, an environment or files that are none.
    """
    for what, given in (("values", values), ("env", env or {}), ("files", files or {})):
        if not isinstance(given, Mapping):
            raise NpuError("USAGE", what, f"{echo(given)} is no mapping.", "Give name to value.")
    view = _view(surface, edition)
    if carried:
        view = _with_carried(view, edition, carried)
    state = State(surface, edition, _environment(env), Disk() if files is None else Given(files))
    accepted = _accepted(state, view, values)
    mode = accepted.get("graph_run_mode")
    state.run_mode = 1 if mode is None else int(mode)  # type: ignore[call-overload]
    state.defaults = view.defaults[state.run_mode]
    state.effective = dict(state.defaults)
    for name, value in accepted.items():
        _take_effect(state, name, view.facets[name], value)
    for rule in view.rules:
        if rule.applies(state):
            rule.check(state)
    told = [warning for warning in state.warnings if warning.option not in carried]
    errors, warnings = _errors(state.errors), _warnings(told)
    return Resolution(surface, edition, state.run_mode, state.effective, state.parsed, errors, warnings)


def _environment(env: Optional[Mapping[str, str]]) -> Mapping[str, str]:
    if env is None:
        return {}
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise NpuError("USAGE", "env", f"{echo(name)} is no variable with a text.", "Give name to text.")
    return env


def _view(surface: str, edition: str) -> _View:
    key = (surface, edition)
    if surface not in SURFACES:
        raise NpuError("USAGE", "surface", f"{echo(surface)} is no surface.", f"Choose {' or '.join(SURFACES)}.")
    if edition not in EDITIONS:
        raise NpuError("USAGE", "edition", f"{echo(edition)} is no edition.", f"Choose {' or '.join(EDITIONS)}.")
    if key not in _VIEWS:
        facets = {name: option.facets[key] for name, option in OPTIONS.items() if key in option.facets}
        _VIEWS[key] = _View(
            facets,
            (_defaults(facets, surface, 0), _defaults(facets, surface, 1)),
            tuple(rule for rule in RULES if surface in rule.surfaces and edition in rule.editions),
        )
    return _VIEWS[key]


def _with_carried(view: _View, edition: str, carried: Collection[str]) -> _View:
    """The session's view in which the carried options are those of NPURunConfig; defaults stay the session's."""
    facets = dict(view.facets)
    for name in carried:
        facet = OPTIONS[name].facet("runconfig", edition) if name in OPTIONS else None
        if facet is not None and facet.field != "o":
            facets[name] = facet
    return view._replace(facets=facets)


def _defaults(facets: Mapping[str, Facet], surface: str, run_mode: int) -> Dict[str, Effective]:
    effective = {name: Effective(facet.default_in(run_mode), "default") for name, facet in facets.items()}
    if surface == "runconfig":
        # NPURunConfig has no such argument: it always means the device.
        effective = {"use_off_line": Effective(True, "forced", "A38"), **effective}
    return effective


def _accepted(state: State, view: _View, values: Mapping[str, object]) -> Dict[str, object]:
    """The given values that exist, are set and have the right type and domain; the others are reported."""
    accepted: Dict[str, object] = {}
    for name, raw in values.items():
        facet = _known(state, view, name)
        if facet is None or not _looked_at(state, name, facet):
            continue
        field, value = unwrapped(raw)
        if value is None or (value == "" and facet.field == "s"):
            if name == "op_select_implmode" and value == "":
                accepted[name] = "high_performance"  # B5: given without a value
            continue  # G9: as if it were not given
        problem = problem_with(state.surface, name, facet, field, value)
        if problem is None:
            accepted[name] = value
        else:
            state.errors.append((name, NpuError(problem.code, name, problem.reason, problem.remedy)))
    return accepted


def _known(state: State, view: _View, name: object) -> Optional[Facet]:
    """The facet of a given name; None, with a warning, for one that is ignored."""
    if not isinstance(name, str):
        error = NpuError("OPTION_TYPE", echo(name), "the name of an option is a str.", "Give a str.")
        state.errors.append(("", error))
        return None
    facet = view.facets.get(name)
    if facet is not None:
        return facet
    option = OPTIONS.get(name)
    if option is None:
        shown = echo(name)[1:-1]
        state.warn(shown, "unknown", f"There is no option {shown}; it is ignored.{_hint(name, view)}")
    elif state.surface not in option.surfaces:
        state.warn(name, "not_on_surface", f"{name} does not exist on the {state.surface} surface; it is ignored.")
    else:
        state.warn(name, "not_in_edition", f"{name} does not exist in the {state.edition} edition; it is ignored.")
    return None


def _hint(name: str, view: _View) -> str:
    from difflib import get_close_matches  # loaded for the rare misspelling only

    near = get_close_matches(name, view.facets, 1, 0.7) if 3 <= len(name) < 80 else []
    return f" Did you mean {near[0]}?" if near else ""


def _looked_at(state: State, name: str, facet: Facet) -> bool:
    """Whether the value of an option matters at all; a warning says when it does not (G7)."""
    if facet.status in ("unsupported", "removed"):
        state.warn(name, facet.status, _STATUS_TEXTS[facet.status].format(name=name))
        return False
    if facet.status == "ignored":
        state.warn(name, "deprecated", _STATUS_TEXTS["deprecated"].format(name=name))
        state.warn(name, "no_effect", f"{name} has no effect in the {state.edition} edition.")
        return False
    return True


def _take_effect(state: State, name: str, facet: Facet, value: object) -> None:
    """Let a right value take effect, unless its scenario, grammar or file says otherwise."""
    state.given[name] = value
    state.effective[name] = Effective(value, "given")
    if facet.status in _STATUS_TEXTS:
        state.warn(name, facet.status, _STATUS_TEXTS[facet.status].format(name=name))
    if not _in_scenario(state, name, facet):
        return
    domain = facet.domain
    if isinstance(domain, Text) and domain.parse is not None:
        state.parse(name, str(value), domain.parse)
    elif isinstance(domain, Path) and domain.read is not None:
        state.read(name, str(value), domain.read)
    elif isinstance(domain, ConfigObject):
        _take_apart(state, name, domain, value)


def _in_scenario(state: State, name: str, facet: Facet) -> bool:
    """G13: an option outside its scenario is ignored with a warning."""
    if ("T" if state.training else "I") in facet.applies:
        return True
    code = "inference_only" if state.training else "training_only"
    listed, running = ("online inference", "training") if state.training else ("training", "online inference")
    kept = name in _ADVISORY_SCENARIO
    fate = "it takes effect all the same" if kept else "it is ignored"
    message = f"{name} is listed for {listed}, but graph_run_mode {state.run_mode} means {running}; {fate}."
    state.warn(name, code, message)
    if not kept:
        state.drop(name, "G13")
    return kept


def _take_apart(state: State, name: str, domain: ConfigObject, value: object) -> None:
    """The arguments of a configuration object, and the session options they stand for (A48, A49)."""
    arguments = domain.arguments(value)
    state.parsed[name] = arguments
    for option, given in session_values(domain.class_name, arguments).items():
        facet = OPTIONS[option].facets["session", state.edition]
        actual = unwrapped(given)[1]
        if actual is None or actual == "":
            state.effective[option] = Effective(facet.default_in(state.run_mode), "default", name)
            continue
        _take_effect(state, option, facet, actual)
        if option in state.given:
            state.adjust(option, actual, name)


def _position(name: str) -> int:
    return _ORDER.get(name, len(_ORDER))


def _errors(found: Iterable[Tuple[str, NpuError]]) -> Tuple[NpuError, ...]:
    return tuple(error for _, error in sorted(found, key=lambda item: _position(item[0])))


def _warnings(found: List[Warning_]) -> Tuple[Warning_, ...]:
    return tuple(sorted(found, key=lambda item: _position(item.option)))
