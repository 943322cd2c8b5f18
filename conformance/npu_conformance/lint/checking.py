"""What the option table says of the options in sight: only what holds whatever the values out of sight may be."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.lint.configs import FIELDS, OPTIMIZER, RUN_CONFIG, Config, GivenConfig, configs
from npu_conformance.lint.finding import Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import Check, LintReport, LintSettings, rule
from npu_conformance.lint.values import UNKNOWN, Object
from npu_reference.errors import NpuError
from npu_reference.options import CLASSES, EDITIONS, OPTIONS, Facet, resolve
from npu_reference.options.domains import Boolean, Choice, Integer, Path, Text
from npu_reference.options.fields import of_earlier, problem_with, unwrapped
from npu_reference.options.fileview import LARGEST
from npu_reference.options.grammars import GrammarError
from npu_reference.spelling import nearest

__all__ = ["Problem", "facet_of", "nearest_word", "other_edition", "problems", "takes", "telling"]


class Problem(NamedTuple):
    """Something about one option of one configuration.

    ``code`` is one of OPTION_* of the error catalogue, a warning code of :mod:`npu_reference.options.outcome`, or
    ``argument`` for a name that a class does not have.
    """

    config: Config
    given: GivenConfig
    code: str
    reason: str
    remedy: str
    value: Any

    @property
    def message(self) -> str:
        """One sentence or two, the option's name first."""
        text = self.reason.strip()
        if not text.startswith(self.given.name):
            text = f"{self.given.name}: {text}"
        stop = "" if text.endswith((".", "!", "?")) else "."
        return f"{text}{stop} {self.remedy}".strip() if self.remedy else text


def problems(module: Module, edition: str) -> List[Problem]:
    """Everything that is wrong with the configurations of a file in one edition, in its order."""
    return module.fact(f"problems of {edition}", lambda one: list(_problems(one, edition)))


Mend = Callable[[Module, Problem, str], Optional[Fix]]


def telling(
    documented: str,
    code: str,
    name: str,
    *told: str,
    at: str = "key",
    fix: str = "",
    why: str = "",
    mend: Optional[Mend] = None,
) -> Check:
    """Register a rule that tells of all problems with the codes ``told``, at the ``key`` or ``value`` that was given.

    Args:
        documented: the module whose docstring explains it.
        fix, why: as of :func:`registry.rule`, where ``mend`` mends a problem in an edition.
    """

    def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
        for problem in problems(module, settings.edition):
            if problem.code in told:
                mended = None if mend is None else mend(module, problem, settings.edition)
                yield LintReport(getattr(problem.given, at), problem.message, mended, safe=fix == "safe")

    check.__module__ = documented
    return rule(code, name, fix, why)(check)


def facet_of(config: Config, name: str, edition: str) -> Optional[Facet]:
    """Type and domain of an option where it is given; None where it does not exist."""
    if config.kind in CLASSES:
        found = [argument for argument in CLASSES[config.kind] if argument.name == name]
        return found[0].its_facet() if found else None
    option = OPTIONS.get(name)
    return option.facet(config.surface, edition) if option is not None else None


def takes(config: Config, name: str, value: object, edition: str) -> bool:
    """Whether a value has the type and lies in the domain of its option."""
    facet = facet_of(config, name, edition)
    return facet is not None and problem_with(config.surface, name, facet, None, value) is None


def other_edition(edition: str) -> str:
    return next(one for one in EDITIONS if one != edition)


def nearest_word(config: Config, name: str, value: object, edition: str) -> str:
    """The word of a choice that was probably meant; empty where none is near."""
    facet = facet_of(config, name, edition)
    if facet is None or not isinstance(value, str) or not isinstance(facet.domain, Choice) or len(value) > 80:
        return ""
    return nearest(value, facet.domain.words, 0.75)


def _problems(module: Module, edition: str) -> Iterator[Problem]:
    folder = os.path.dirname(module.source.path) or "."
    for config in configs(module):
        together = config.kind in (OPTIMIZER, RUN_CONFIG)
        yield from (_of_options if together else _of_arguments)(config, edition, folder)


# -- objects --------------------------------------------------------------------------------------------------------
def _of_arguments(config: Config, edition: str, folder: str) -> Iterator[Problem]:
    for given in config.given:
        facet = facet_of(config, given.name, edition)
        if facet is None:
            known = ", ".join(argument.name for argument in CLASSES[config.kind])
            yield Problem(config, given, "argument", f"{config.kind} has no such argument", f"It has {known}.", None)
            continue
        for value in given.values.values:
            yield from _of_value(config, given, facet, value, folder)


def _of_value(config: Config, given: GivenConfig, facet: Facet, value: Any, folder: str) -> Iterator[Problem]:
    value = unwrapped(value)[1]
    if value is None or (value == "" and facet.field == "s"):
        return
    problem = problem_with(config.surface, given.name, facet, None, value)
    if problem is not None:
        yield Problem(config, given, problem.code, problem.reason, problem.remedy, value)
    elif isinstance(facet.domain, Text) and facet.domain.parse is not None:
        yield from _parsed(config, given, facet.domain.parse, value)


def _parsed(config: Config, given: GivenConfig, parse: Any, value: Any) -> Iterator[Problem]:
    try:
        parse(value)
    except GrammarError as wrong:
        reason = f"at {wrong.where}: {wrong.reason} Its value is {value!r}."
        yield Problem(config, given, "OPTION_SYNTAX", reason, wrong.remedy, value)


# -- options ----------------------------------------------------------------------------------------------------------
class _Layout(NamedTuple):
    """The options given for certain on one way through a script, and those that may be given besides."""

    certain: Dict[str, GivenConfig]
    maybe: Dict[str, Tuple[Any, ...]]


def _of_options(config: Config, edition: str, folder: str) -> Iterator[Problem]:
    known, wrong = [], []
    for given in config.given:
        found = list(_alone(config, given, edition))
        if given.values.only is UNKNOWN:
            found += _of_name(config, given, edition)
        wrong += found
        known.append((given, not any(problem.code in _SPOILT for problem in found)))
    yield from wrong
    told: Set[Tuple[int, str, str]] = {(id(p.given.key), p.given.name, p.code) for p in wrong}
    usable = [given for given, right in known if right]
    spoilt = {given.name for given, right in known if not right}
    for path in sorted({given.path for given in usable}, key=len):
        layout = _layout(config, usable, spoilt, path)
        for problem in _together(config, layout, edition, folder):
            mark = (id(problem.given.key), problem.given.name, problem.code)
            if mark not in told:
                told.add(mark)
                yield problem
    yield from _twice(config)


#: Problems of a single option that leave its value out of all rules between options.
_SPOILT = frozenset(["field", "argument", "OPTION_TYPE", "OPTION_VALUE", "bytes"])


def _alone(config: Config, given: GivenConfig, edition: str) -> Iterator[Problem]:
    """What is wrong with one option by itself: its field, its type, a value among several that it may have."""
    facet = facet_of(config, given.name, edition) or facet_of(config, given.name, other_edition(edition))
    if config.kind == RUN_CONFIG and facet is None:
        elsewhere = f'It is a session option: parameter_map["{given.name}"].' if given.name in OPTIONS else ""
        yield Problem(config, given, "argument", "NPURunConfig has no such argument", elsewhere, None)
        return
    if facet is None or facet.status in ("unsupported", "removed", "ignored"):
        return  # whether its value is right is no question
    if config.kind == OPTIMIZER:
        if given.field != facet.field and facet.field in FIELDS and given.field != facet.earlier:
            reason = f"it is read from field .{facet.field}, not .{given.field}"
            if given.field == "?":
                reason = "an entry of the parameter map cannot be assigned as a whole"
            elif given.field not in FIELDS:
                reason = f"an entry of the parameter map has no field {given.field}"
            remedy = f'Write parameter_map["{given.name}"].{facet.field}.'
            yield Problem(config, given, "field", reason, remedy, given.values.only)
            return
        if given.text and facet.field == "s":
            yield Problem(config, given, "bytes", "field .s takes bytes, and this is a text",
                          "Write tf.compat.as_bytes(…) around it.", given.values.only)  # fmt: skip
    facet = facet_of(config, given.name, edition)
    if facet is None:
        return
    for value in given.values.values:
        value = _of_field(given.field, unwrapped(value)[1])
        if isinstance(value, Object) or value is None or (value == "" and facet.field == "s"):
            continue
        meant = of_earlier(facet, None, value)
        problem = problem_with(config.surface, given.name, facet, None, value if meant is None else meant)
        if problem is not None:
            yield Problem(config, given, problem.code, problem.reason, problem.remedy, value)


#: Warnings about an option's name alone, whatever its value.
_OF_NAME = frozenset(
    ["unknown", "not_on_surface", "not_in_edition", "unsupported", "removed", "deprecated", "no_effect"]
)


def _of_name(config: Config, given: GivenConfig, edition: str) -> Iterator[Problem]:
    """What is wrong with the name of an option whose value cannot be seen."""
    typical = [value for value in _typical(facet_of(config, given.name, edition)) if value is not None]
    value = typical[0] if typical else True
    for (name, code), (reason, remedy) in _resolved(config, {given.name: value}, edition, {}).items():
        if name == given.name and code in _OF_NAME and (code != "no_effect" or _is_idle(config, given, edition)):
            yield Problem(config, given, code, reason, remedy, None)


def _is_idle(config: Config, given: GivenConfig, edition: str) -> bool:
    """Whether an option has no effect whatever its value and the others are."""
    facet = facet_of(config, given.name, edition)
    return facet is not None and facet.status in ("ignored", "idle")


def _of_field(field: str, value: Any) -> Any:
    """The value as a field of the parameter map holds it: protobuf takes 0 and 1 for a bool, and a bool for an int."""
    if field == "b" and isinstance(value, int):
        return bool(value)
    if field == "i" and isinstance(value, bool):
        return int(value)
    return value


def _layout(config: Config, usable: Sequence[GivenConfig], spoilt: Set[str], path: Tuple[Any, ...]) -> _Layout:
    certain: Dict[str, GivenConfig] = {}
    maybe: Dict[str, Tuple[Any, ...]] = dict.fromkeys(spoilt, (UNKNOWN,))
    for given in usable:
        if path[: len(given.path)] == given.path:
            if given.values.only is not UNKNOWN and not _is_open(given.values.only):
                certain[given.name] = given
                maybe.pop(given.name, None)
            else:
                certain.pop(given.name, None)
                maybe[given.name] = (*given.values.values, UNKNOWN)
        elif not _excludes(given.path, path):
            maybe[given.name] = (*maybe.get(given.name, ()), *(given.values.values or (UNKNOWN,)), None)
    return _Layout(certain, maybe)


def _is_open(value: Any) -> bool:
    return isinstance(value, Object) and any(part is UNKNOWN for _, part in value.arguments)


def _excludes(one: Tuple[Any, ...], other: Tuple[Any, ...]) -> bool:
    """Whether two places are in different branches of one statement."""
    return any(a[0] == b[0] and a[1] != b[1] for a, b in zip(one, other))


def _together(config: Config, layout: _Layout, edition: str, folder: str) -> Iterator[Problem]:
    """What resolving says of options together, kept only if no value out of sight could change it."""
    values = {name: _plain(given) for name, given in layout.certain.items()}
    unread = [name for name in values if _names_missing_file(config, name, values[name], edition, folder)]
    maybe = dict(layout.maybe)
    files = {**_files(config, values, edition, folder), **_stand_ins(config, values, unread, edition)}
    found = _resolved(config, values, edition, files)
    found = {key: problem for key, problem in found.items() if key[0] not in unread or key[1] == "OPTION_CONFLICT"}
    if not found:
        return
    for name, given in maybe.items():
        for value in _samples(config, name, given, edition):
            changed = {key: part for key, part in values.items() if key != name}
            if value is not None:
                changed[name] = value
            also = _resolved(config, changed, edition, {**_seen(config, changed, edition, folder), **files})
            found = {key: problem for key, problem in found.items() if key in also}
    if not config.complete and found:
        for name in _unseen(config, values, maybe, edition):
            for value in _samples(config, name, (UNKNOWN,), edition):
                also = _resolved(
                    config, {**values, name: value}, edition, _seen(config, {**values, name: value}, edition, folder)
                )
                found = {key: problem for key, problem in found.items() if key in also}
    for (name, code), (reason, remedy) in found.items():
        told = layout.certain.get(name) or _culprit(config, layout, values, (name, code), edition, files)
        if told is not None:
            yield Problem(config, told, code, reason, remedy, told.values.only)


def _plain(given: GivenConfig) -> Any:
    value = _of_field(given.field, unwrapped(given.values.only)[1])
    if isinstance(value, Object):
        return {"class": value.class_name, "arguments": dict(value.arguments)}
    return value


_Found = Dict[Tuple[str, str], Tuple[str, str]]


def _resolved(config: Config, values: Dict[str, Any], edition: str, files: Dict[str, object]) -> _Found:
    """(option, code) to reason and remedy, of everything that resolving says."""
    try:
        resolution = resolve(values, surface=config.surface, edition=edition, files=files)
    except NpuError:
        return {}
    found: _Found = {}
    for error in resolution.errors:
        if isinstance(values.get(error.subject), dict) and error.code != "OPTION_CONFLICT":
            continue  # told where the object is made
        found.setdefault((error.subject, error.code), (error.reason, error.remedy))
    for warning in resolution.warnings:
        effective = resolution.effective.get(warning.option)
        if warning.code in _OF_MODE and effective is not None and effective.origin == "given":
            continue  # it takes effect all the same
        if warning.code not in _UNTOLD:
            found.setdefault((warning.option, warning.code), (warning.message, ""))
    return found


#: Warnings about options listed for the other graph run mode.
_OF_MODE = frozenset(["inference_only", "training_only"])

#: Warnings of what takes effect as it is written, or depends on the machine: ``options`` and a run tell them.
_UNTOLD = frozenset(["reserved", "undocumented", "advice", "environment", "experimental", "not_checked"])


def _samples(config: Config, name: str, given: Tuple[Any, ...], edition: str) -> Iterator[Any]:
    """Values that stand for what an option may be; None for not given."""
    for value in given:
        if value is UNKNOWN or isinstance(value, Object):
            yield from _typical(facet_of(config, name, edition))
        else:
            yield value


def _typical(facet: Optional[Facet]) -> Iterator[Any]:
    domain = facet.domain if facet is not None else None
    if isinstance(domain, Boolean):
        yield from (True, False)
    elif isinstance(domain, Choice):
        yield from domain.words
    elif isinstance(domain, Integer):
        low = 0 if domain.low is None else domain.low
        high = low + 1000 if domain.high is None else domain.high
        yield from sorted({low, min(low + 1, high), min(low + 2, high), high, *domain.special})
    elif isinstance(domain, Text):
        yield domain.example or "0"
    elif isinstance(domain, Path):
        yield _UNSEEN
    yield None


def _unseen(config: Config, values: Dict[str, Any], maybe: Dict[str, Any], edition: str) -> List[str]:
    every = [name for name, option in OPTIONS.items() if option.facet(config.surface, edition) is not None]
    return [name for name in every if name not in values and name not in maybe]


def _culprit(
    config: Config,
    layout: _Layout,
    values: Dict[str, Any],
    key: Tuple[str, str],
    edition: str,
    files: Dict[str, object],
) -> Optional[GivenConfig]:
    """The first option without which a problem about an option that is not given would be none."""
    for name, given in layout.certain.items():
        rest = {one: value for one, value in values.items() if one != name}
        if key not in _resolved(config, rest, edition, files):
            return given
    return None


def _twice(config: Config) -> Iterator[Problem]:
    """An option that is given two different values on the same way: the later one counts."""
    last: Dict[Tuple[str, Any], GivenConfig] = {}
    for given in config.given:
        before = last.get((given.name, given.path))
        last[given.name, given.path] = given
        if before is None or before.values.only is UNKNOWN or given.values.only is UNKNOWN:
            continue
        if before.key is given.key and before.target is given.target:
            continue  # one statement in a loop, which may make a config each time
        if before.values.only != given.values.only or before.field != given.field:
            message = f"it is given twice; this value, {given.values.only!r}, counts, and not {before.values.only!r}"
            yield Problem(config, given, "overridden twice", message, "Give it once.", given.values.only)


#: Stands for a file or directory that the script names in a way that cannot be seen.
_UNSEEN = "/unseen"

#: Contents of which each reader of option files takes one: an unseen file is taken to be right.
_CONTENTS = ("", "{}", '{"Switch":{}}', "[ByOpType]\n", "0\n", "OpType::Add:InputDtype:float32:OutputDtype:float32\n",
             "op_debug_config=oom\n")  # fmt: skip


def _seen(config: Config, values: Dict[str, Any], edition: str, folder: str) -> Dict[str, object]:
    """The files of values of which one may be unseen."""
    found = _files(config, values, edition, folder)
    for name, value in values.items():
        facet = facet_of(config, name, edition) if value == _UNSEEN else None
        if facet is not None and isinstance(facet.domain, Path) and facet.domain.read is not None:
            found.pop(_UNSEEN + "/", None)
            found[_UNSEEN] = _taken(facet.domain.read)
    return found


def _stand_ins(config: Config, values: Dict[str, Any], names: Sequence[str], edition: str) -> Dict[str, object]:
    """For the files that are not there to be read, contents that say next to nothing."""
    facets = {name: facet_of(config, name, edition) for name in names}
    domains = {name: facet.domain for name, facet in facets.items() if facet is not None}
    return {values[name]: _taken(domain.read) for name, domain in domains.items() if isinstance(domain, Path)}


def _taken(read: Any) -> str:
    for content in _CONTENTS:
        try:
            read(content)
        except GrammarError:
            continue
        return content
    return ""


# -- files ------------------------------------------------------------------------------------------------------------
def _names_missing_file(config: Config, name: str, value: Any, edition: str, folder: str) -> bool:
    """Whether an option names a file to be read that is not beside the script: nothing is known of it then."""
    facet = facet_of(config, name, edition)
    readable = facet is not None and isinstance(facet.domain, Path) and facet.domain.read is not None
    return readable and isinstance(value, str) and _content(value, folder) is None


def _content(path: str, folder: str) -> Optional[bytes]:
    """A file as the script would find it when started in its own folder; None where there is none."""
    place = path if os.path.isabs(path) else os.path.join(folder, path)
    try:
        if not os.path.isfile(place) or os.path.getsize(place) > LARGEST:
            return None
        with open(place, "rb") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def _files(config: Config, values: Dict[str, Any], edition: str, folder: str) -> Dict[str, object]:
    """What the options name: files that are there with their content; directories are taken to be made beforehand."""
    found: Dict[str, object] = {}
    for name, value in _with_objects(values):
        if not isinstance(value, str) or not value:
            continue
        option = OPTIONS.get(name)
        facet = None if option is None else option.facet("session", edition) or option.facet("runconfig", edition)
        if facet is not None and isinstance(facet.domain, Path) and "\0" not in value:
            content = _content(value, folder) if facet.domain.read is not None else None
            found[value if content is not None else value.rstrip("/") + "/"] = "" if content is None else content
        if value.lstrip().startswith("{"):
            for directory in _directories(value):
                found[directory.rstrip("/") + "/"] = ""
    return found


def _with_objects(values: Dict[str, Any]) -> Iterator[Tuple[str, Any]]:
    from npu_reference.options.classes import session_values

    for name, value in values.items():
        yield name, value
        if isinstance(value, dict) and "class" in value:
            yield from session_values(value["class"], value["arguments"]).items()


def _directories(text: str) -> Iterator[str]:
    """Absolute paths among the values of a JSON text: directories that have to exist on the device's machine."""
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(settings, dict):
        for value in settings.values():
            if isinstance(value, str) and value:
                yield value
