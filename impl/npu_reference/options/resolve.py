"""Which value every option takes: types and domains, then scenarios, then the rules between options."""

from __future__ import annotations

from collections import abc
from typing import Collection, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple, Union

from npu_reference.errors import NpuError
from npu_reference.options.classes import carried_facet, first_problem, session_values
from npu_reference.options.declaration import EDITIONS, SURFACES, Facet
from npu_reference.options.domains import ConfigObject, Path, Text, echo, with_article
from npu_reference.options.fields import FIELD_TYPES, of_earlier, problem_with, unwrapped
from npu_reference.options.fileview import Disk, FileView, Given
from npu_reference.options.outcome import Effective
from npu_reference.options.resolution import Resolution
from npu_reference.options.rules import ALWAYS, RULES, Rule
from npu_reference.options.state import State
from npu_reference.options.table import OPTIONS
from npu_reference.spelling import did_you_mean

__all__ = ["resolve"]

_ORDER = {name: position for position, name in enumerate(OPTIONS)}

_STATUS_TEXTS = {
    "deprecated": "{name} will be removed in a later version.",
    "experimental": "{name} is for debugging and may change; do not use it in a product.",
    "reserved": "{name} is documented for NPURunConfig only; as a session key it takes effect all the same.",
    "unsupported": "{name} is not supported in this edition; it is ignored.",
    "removed": "{name} no longer exists in this edition; it is ignored.",
    "undocumented": "{name} is not documented for this surface; it takes effect all the same.",
    "idle": "{name} is not documented, and means nothing here; it is ignored.",
}
#: The code of the warning that a status earns, where it is another word; and the reading behind it.
_STATUS_CODES = {"idle": "no_effect"}
_STATUS_READINGS = {
    "deprecated": "G8", "reserved": "G16", "unsupported": "G7", "removed": "A35", "undocumented": "G19", "idle": "G19",
}  # fmt: skip


class _View(NamedTuple):
    """The table as one surface in one edition sees it, prepared once."""

    facets: Dict[str, Facet]
    defaults: Tuple[Dict[str, Effective], Dict[str, Effective]]  # of inference, of training
    rules: Tuple[Rule, ...]
    meanings: Tuple[Tuple[str, object, object], ...]  # option, its default text, what that says


_VIEWS: Dict[Tuple[str, str], _View] = {}


def resolve(
    values: Mapping[str, object],
    *,
    surface: str = "session",
    edition: str = "current",
    env: Optional[Mapping[str, str]] = None,
    files: Optional[Union[Mapping[str, object], FileView]] = None,
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
            files are read from disk. Or a view of them: :class:`fileview.Unseen` looks at none.
        carried: names of session values that NPURunConfig wrote. They are held to what that surface documents, its
            scenarios among it, and not warned about: their author was told when NPURunConfig was made.

    Returns:
        The resolution; whatever is wrong with a value is in its ``errors``.

    Raises:
        NpuError: USAGE, for a surface, an edition, values, an environment or files that are none.
    """
    for what, given in (("values", values), ("env", env or {}), ("files", files or {})):
        if not isinstance(given, abc.Mapping) and not (what == "files" and isinstance(given, FileView)):
            raise NpuError("USAGE", what, f"{echo(given)} is no mapping.", "Give name to value.")
    view = _view(surface, edition)
    if carried:
        view = _with_carried(view, edition, carried)
    state = State(surface, edition, _environment(env), _view_of(files))
    accepted = _accepted(state, view, values)
    mode = accepted.get("graph_run_mode")
    state.run_mode = 1 if mode is None else int(mode)  # type: ignore[call-overload]
    state.defaults = view.defaults[state.run_mode]
    state.effective = dict(state.defaults)
    for name, value in accepted.items():
        _take_effect(state, name, view.facets[name], value, accepted)
    there = {ALWAYS, *state.given, *state.env}  # no rule gives anything, and most are about nothing of this
    for rule in view.rules:
        if not there.isdisjoint(rule.triggers) and rule.applies(state):
            state.rule = rule.name
            rule.check(state)
    state.rule = ""
    _advise(state)
    warnings = [warning for warning in state.warnings if warning.option not in carried]
    notes = [note for note in state.notes if note.option not in carried]
    return Resolution(
        surface,
        edition,
        state.run_mode,
        state.effective,
        {**state.parsed, **_defaults_told(state, view)},
        _errors(state.errors),
        tuple(sorted(warnings, key=lambda warning: _position(warning.option))),
        tuple(sorted(notes, key=lambda note: _position(note.option))),
        bool(carried) or surface == "runconfig",
    )


def _view_of(files: Optional[Union[Mapping[str, object], FileView]]) -> FileView:
    if files is None:
        return Disk()
    return files if isinstance(files, FileView) else Given(files)


def _advise(state: State) -> None:
    """What the documents say about the options that were given."""
    for name in state.given:
        option = OPTIONS.get(name)
        for advice in option.advice if option is not None else ():
            if advice.concerns(state.edition, state.run_mode, state.value(name)):
                state.note(name, advice.text, advice.requirement)


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
            tuple(
                (name, facet.default, facet.domain.parse(facet.default))
                for name, facet in facets.items()
                if isinstance(facet.default, str) and isinstance(facet.domain, Text) and facet.domain.parse is not None
            ),
        )
    return _VIEWS[key]


def _defaults_told(state: State, view: _View) -> Dict[str, object]:
    """The meanings of effective texts that nobody gave."""
    return {
        name: meaning
        for name, text, meaning in view.meanings
        if name not in state.parsed and state.effective[name].value == text
    }


def _with_carried(view: _View, edition: str, carried: Collection[str]) -> _View:
    """The session's view in which the carried options are those of NPURunConfig; defaults stay the session's."""
    facets = dict(view.facets)
    for name in carried:
        facet = (OPTIONS[name].facet("runconfig", edition) or carried_facet(name)) if name in OPTIONS else None
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
        if value == "None" and facet.field == "s" and field in (None, "s"):
            state.warn(name, "undocumented", f"the text None for {name} is taken as if nothing were given.", "G9")
            continue
        text = of_earlier(facet, field, value)
        given, field, value = value, (field if text is None else None), (value if text is None else text)
        problem = problem_with(state.surface, name, facet, field, value)
        if problem is None and isinstance(facet.domain, ConfigObject) and not facet.domain.foreign:
            problem = first_problem(facet.domain.class_name, facet.domain.arguments(value))
        if problem is None:
            accepted[name] = value
            if text is not None:
                kind = with_article(FIELD_TYPES[facet.earlier])
                state.warn(name, "undocumented", f"{echo(given)} for {name} is {kind}; it is taken as {text!r}.", "G27")
            continue
        remedy = f"{problem.remedy} {_elsewhere(state, name, value)}".strip()
        state.errors.append((name, NpuError(problem.code, name, problem.reason, remedy, rule=_READINGS[problem.code])))
    return accepted


#: The reading behind a refusal of the value itself.
_READINGS = {"OPTION_TYPE": "G2", "OPTION_VALUE": "G11", "OPTION_SYNTAX": "G11"}


def _elsewhere(state: State, name: str, value: object) -> str:
    """That the other edition takes a refused value, if it does."""
    other = "legacy" if state.edition == "current" else "current"
    facet = OPTIONS[name].facet(state.surface, other)
    if facet is None or facet.status not in ("active", "deprecated", "experimental", "reserved"):
        return ""
    return "" if problem_with(state.surface, name, facet, None, value) else f"The {other} edition takes this value."


_PLACES = {"session": 'parameter_map["{name}"] of a session', "runconfig": "an argument of NPURunConfig"}


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
        hint = did_you_mean(name, view.facets)
        state.warn(shown, "unknown", f"There is no option {shown}; it is ignored. {hint}".rstrip(), "G1")
        return None
    if state.surface not in option.surfaces:
        here = [surface for surface in option.surfaces if option.facet(surface, state.edition) is not None]
        places = " and ".join(_PLACES[surface].format(name=name) for surface in here or option.surfaces)
        if here:
            message = f"{name} does not exist on the {state.surface} surface; it is ignored. It is {places}."
        else:
            other = "legacy" if state.edition == "current" else "current"
            message = f"{name} does not exist in the {state.edition} edition; it is ignored."
            message += f" In the {other} one it is {places}."
        state.warn(name, "not_on_surface", message, "G17" if state.surface == "runconfig" else "G1")
    else:
        other = "legacy" if state.edition == "current" else "current"
        message = f"{name} does not exist in the {state.edition} edition; it is ignored. The {other} edition has it."
        state.warn(name, "not_in_edition", message, "G16")
    return None


def _looked_at(state: State, name: str, facet: Facet) -> bool:
    """Whether the value of an option matters at all; a warning says when it does not (G7)."""
    if facet.status in ("unsupported", "removed", "idle"):
        _tell_status(state, name, facet.status)
        return False
    if facet.status == "ignored":
        _tell_status(state, name, "deprecated")
        state.warn(name, "no_effect", f"{name} has no effect in the {state.edition} edition.", "A22")
        return False
    return True


def _tell_status(state: State, name: str, status: str) -> None:
    text = _STATUS_TEXTS[status].format(name=name)
    if status in ("unsupported", "removed"):
        other = OPTIONS[name].facet(state.surface, "legacy" if state.edition == "current" else "current")
        if other is not None and other.status in ("active", "undocumented"):
            text += f" The {'legacy' if state.edition == 'current' else 'current'} edition has it."
    state.warn(name, _STATUS_CODES.get(status, status), text, _STATUS_READINGS.get(status, ""))


def _take_effect(state: State, name: str, facet: Facet, value: object, beside: Mapping[str, object]) -> None:
    """Let a right value take effect, unless its scenario, grammar or file says otherwise.

    Args:
        beside: the right values given, this one among them.
    """
    state.given[name] = value
    state.effective[name] = Effective(value, "given")
    if facet.status in _STATUS_TEXTS:
        _tell_status(state, name, facet.status)
    if not _in_scenario(state, name, facet):
        return
    domain = facet.domain
    doubt = domain.doubt(value)
    if doubt:
        state.warn(name, "undocumented", f"{name}: {doubt}.", "G11")
    if isinstance(domain, Text) and domain.parse is not None:
        idle = facet.switch and beside.get(facet.switch) is not True and not state.refused(facet.switch)
        state.parse(name, str(value), domain.parse, facet.switch if idle else "")
    elif isinstance(domain, Path) and domain.read is not None:
        state.read(name, str(value), domain.read)
    elif isinstance(domain, ConfigObject):
        _take_apart(state, name, domain, value)


def _in_scenario(state: State, name: str, facet: Facet) -> bool:
    """G13: an option outside its scenario earns a warning, and is ignored where it means nothing there."""
    if ("T" if state.training else "I") in facet.applies:
        return True
    code = "inference_only" if state.training else "training_only"
    listed, running = ("online inference", "training") if state.training else ("training", "online inference")
    kept = not facet.bound
    fate = "it takes effect all the same" if kept else "it is ignored"
    message = f"{name} is listed for {listed}, but graph_run_mode {state.run_mode} means {running}; {fate}."
    state.warn(name, code, message, "G13")
    if not kept:
        state.drop(name, "G13")
    return kept


def _take_apart(state: State, name: str, domain: ConfigObject, value: object) -> None:
    """The arguments of a configuration object, and the session options they stand for (A48, A49)."""
    arguments = domain.arguments(value)
    state.parsed[name] = arguments
    stood_for = session_values(domain.class_name, arguments)
    beside = {option: unwrapped(given)[1] for option, given in stood_for.items()}
    for option, given in stood_for.items():
        facet = OPTIONS[option].facets["session", state.edition]
        actual = unwrapped(given)[1]
        if actual is None or actual in ("", "None"):
            state.effective[option] = Effective(facet.default_in(state.run_mode), "default", name)
            continue
        _take_effect(state, option, facet, actual, beside)
        if option in state.given:
            state.adjust(option, actual, name)


def _position(name: str) -> int:
    return _ORDER.get(name, len(_ORDER))


def _errors(found: Iterable[Tuple[str, NpuError]]) -> Tuple[NpuError, ...]:
    return tuple(error for _, error in sorted(found, key=lambda item: _position(item[0])))
