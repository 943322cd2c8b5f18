"""The configuration classes of the RunConfig surface, and what their constructors accept."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.declaration import Facet
from npu_reference.options.domains import Boolean, Choice, Domain, Integer, Path, Problem, Text, echo
from npu_reference.options.fields import problem_with, unwrapped
from npu_reference.options.grammars import GrammarError
from npu_reference.options.table import OPTIONS
from npu_reference.spelling import did_you_mean

__all__ = [
    "CLASSES",
    "ClassArgument",
    "OptionTypeError",
    "OptionValueError",
    "carried_facet",
    "carried_values",
    "construct",
    "first_problem",
    "raise_for_python",
    "session_values",
]


class OptionTypeError(NpuError, TypeError):
    """An argument of the wrong type or name, for those who call the constructors from Python (G11)."""


class OptionValueError(NpuError, ValueError):
    """An argument of the right type with a value that cannot be (G11)."""


class ClassArgument(NamedTuple):
    """One keyword argument of a configuration class.

    ``option`` is the session option it stands for, whose facet it then has; otherwise ``facet`` is its own.
    """

    name: str
    option: str = ""
    facet: Optional[Facet] = None
    default: object = None

    def its_facet(self) -> Facet:
        """Type and domain of the argument."""
        if self.facet is not None:
            return self.facet
        return OPTIONS[self.option].facets["session", "current"]


def _own(name: str, domain: Domain, field: str, default: object = None) -> ClassArgument:
    return ClassArgument(name, "", Facet(domain, field), default)


#: Class to arguments. Documents 002 and 003 give the classes and the options behind dump and profiling (A48, A49);
#: arguments that stand for no session option are the adapter's own, and their domains ``assumed``.
CLASSES: Dict[str, Tuple[ClassArgument, ...]] = {
    "MemoryConfig": (
        _own("atomic_clean_policy", Integer(0, 1), "i", 0),
        _own("static_memory_policy", Integer(0, 4), "i", 0),
        _own("variable_use_1g_huge_page", Integer(0, 2), "i"),
    ),
    "DumpConfig": (
        ClassArgument("enable_dump", "enable_dump", None, False),
        ClassArgument("dump_path", "dump_path"),
        ClassArgument("dump_step", "dump_step"),
        ClassArgument("dump_mode", "dump_mode", None, "output"),
        _own("enable_dump_debug", Boolean(), "b", False),
        _own("dump_debug_mode", Choice("aicore_overflow", "atomic_overflow", "all"), "s", "all"),
    ),
    "ProfilingConfig": (
        ClassArgument("enable_profiling", "profiling_mode", None, False),
        ClassArgument("profiling_options", "profiling_options"),
    ),
    "ExperimentalConfig": (
        _own("logical_device_cluster_deploy_mode", Choice("LB", "SINGLE"), "s", "LB"),
        _own("logical_device_id", Text("logical device ids"), "s"),
        _own("resource_config_path", Path("file"), "s"),
        _own("graph_compiler_cache_dir", Path("directory"), "s"),
    ),
}


def _problem(class_name: str, name: str, arguments: Mapping[str, object]) -> Optional[Problem]:
    """Why a keyword argument cannot be; None when it can."""
    argument = next((argument for argument in CLASSES[class_name] if argument.name == name), None)
    if argument is None:
        names = [argument.name for argument in CLASSES[class_name]]
        remedy = did_you_mean(name, names, f"Its arguments are {', '.join(names)}.")
        return Problem("OPTION_TYPE", f"{class_name} has no argument {echo(name)}.", remedy)
    facet = argument.its_facet()
    value = unwrapped(arguments[name])[1]
    if value is None or (value in ("", "None") and facet.field == "s"):
        return None  # G9
    problem = problem_with("runconfig", name, facet, None, value)
    parse = getattr(facet.domain, "parse", None)
    if problem is None and parse is not None and not _idle(class_name, facet, arguments):
        try:
            parse(value)
        except GrammarError as wrong:
            problem = Problem("OPTION_SYNTAX", f"at {wrong.where}: {wrong.reason}", wrong.remedy)
    return problem and problem._replace(reason=f"argument {name} of {class_name}: {problem.reason}")


def _idle(class_name: str, facet: Facet, arguments: Mapping[str, object]) -> bool:
    """Whether the argument that switches this one on is there and off, so that nothing reads its text."""
    switches = [argument for argument in CLASSES[class_name] if argument.option and argument.option == facet.switch]
    return any(unwrapped(arguments.get(one.name, one.default))[1] is not True for one in switches)


def first_problem(class_name: str, arguments: Mapping[str, object]) -> Optional[Problem]:
    """The first problem among keyword arguments of a class; None when there is none."""
    found = (_problem(class_name, name, arguments) for name in arguments)
    return next((problem for problem in found if problem is not None), None)


def named(class_name: str, ordered: Sequence[object], arguments: Mapping[str, object]) -> Dict[str, object]:
    """The arguments of a call by their names.

    Raises:
        OptionTypeError: more in order than the class has, or one of them by its name as well.
    """
    names = [argument.name for argument in CLASSES[class_name]]
    if len(ordered) > len(names):
        reason = f"{len(ordered)} arguments are given in order, and there are {len(names)}."
        raise OptionTypeError("OPTION_TYPE", class_name, reason, f"Its arguments are {', '.join(names)}.")
    twice = [name for name in names[: len(ordered)] if name in arguments]
    if twice:
        raise OptionTypeError("OPTION_TYPE", f"{class_name}.{twice[0]}", "it is given twice.", "Give it by name alone.")
    return {**dict(zip(names, ordered)), **arguments}


def construct(class_name: str, arguments: Mapping[str, object]) -> Dict[str, object]:
    """The attributes of a configuration object: every argument of its class, given or default.

    Raises:
        OptionTypeError: an argument that does not exist, or has the wrong type.
        OptionValueError: a value outside its domain or grammar.
    """
    if class_name not in CLASSES:
        raise NpuError("USAGE", class_name, "there is no such configuration class.", f"Known: {', '.join(CLASSES)}.")
    for name in arguments:
        problem = _problem(class_name, name, arguments)
        if problem is not None:
            raise_for_python(NpuError(problem.code, f"{class_name}.{name}", problem.reason, problem.remedy))
    return {argument.name: arguments.get(argument.name, argument.default) for argument in CLASSES[class_name]}


def raise_for_python(error: NpuError) -> NoReturn:
    """Raise an error about an option as what a Python caller expects: a TypeError or a ValueError."""
    kind = OptionTypeError if error.code == "OPTION_TYPE" else OptionValueError
    raise kind(error.code, error.subject, error.reason, error.remedy)


def carried_values(class_name: str, arguments: Mapping[str, object]) -> Dict[str, object]:
    """What a session that an NPURunConfig describes carries of the given arguments: :func:`session_values`, and those
    that a session takes from such an object only (A36)."""
    own = {argument.name for argument in CLASSES.get(class_name, ()) if argument.name in OPTIONS}
    values = {name: value for name, value in arguments.items() if name in own}
    return {**values, **session_values(class_name, arguments)}


def carried_facet(name: str) -> Optional[Facet]:
    """What a configuration class documents of an option that a session has from its objects only; None for none."""
    found = (one.facet for arguments in CLASSES.values() for one in arguments if one.name == name)
    return next((facet for facet in found if facet is not None), None)


def session_values(class_name: str, arguments: Mapping[str, object]) -> Dict[str, object]:
    """The session options that the given arguments of an object stand for (A48, A49)."""
    return {
        argument.option: arguments[argument.name]
        for argument in CLASSES.get(class_name, ())
        if argument.option and argument.name in arguments
    }
