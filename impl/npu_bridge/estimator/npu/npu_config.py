"""NPURunConfig: which options an Estimator's sessions get, checked when it is constructed (G10).

Its arguments are those of tf.estimator.RunConfig and, derived from the one option table, every option of
the RunConfig surface. What ends up in the sessions is written by :func:`npu_session_config`.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any, Dict, List

from npu_bridge._names import module_getattr
from npu_bridge._session_config import npu_entry, npu_keys, switch_rewrites_off, write_option
from npu_bridge._tensorflow import run_config_class, v1
from npu_bridge.estimator.npu.config_objects import (
    ConfigObject,
    DumpConfig,
    ExperimentalConfig,
    MemoryConfig,
    ProfilingConfig,
)
from npu_reference.options import OPTIONS, Resolution, resolve
from npu_reference.options.classes import OptionTypeError, OptionValueError, raise_for_python
from npu_reference.runtime.config import RUN_CONFIG_MARK, current_overrides, surroundings
from npu_reference.runtime.observing.log import LOG
from npu_reference.spelling import did_you_mean

__all__ = [
    "DumpConfig",
    "ExperimentalConfig",
    "MemoryConfig",
    "NPURunConfig",
    "NpuExecutePlacement",
    "ProfilingConfig",
    "npu_session_config",
]


_FIELDS = {bool: "b", int: "i", str: "s"}

_RunConfig: Any = run_config_class()

#: Arguments of RunConfig that the adapter has another default for (T52).
_DEFAULTS = {"save_summary_steps": 0, "save_checkpoints_steps": None, "save_checkpoints_secs": None}

#: Steps from one checkpoint to the next where neither of both is given.
_CHECKPOINT_STEPS = 100


def _base_parameters() -> List[inspect.Parameter]:
    parameters = list(inspect.signature(_RunConfig.__init__).parameters.values())[1:]
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(parameter.name, parameter.default))
        for parameter in parameters
    ]


def _option_names() -> List[str]:
    return [name for name, option in OPTIONS.items() if "runconfig" in option.surfaces]


def _signature() -> inspect.Signature:
    """``__init__`` as ``help()`` shows it; None, the default of every option, means not given (G9)."""
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _option_names()]
    return inspect.Signature([own, *_base_parameters(), *options])


class NpuExecutePlacement(enum.Enum):
    """Where something is to be: anywhere on the device, on one of its engines or its processor, or on the host."""

    ALL = "ALL"
    CUBE = "CUBE"
    VECTOR = "VECTOR"
    TAISHAN = "TAISHAN"
    DVPP = "DVPP"
    HOST = "HOST"


class NPURunConfig(_RunConfig):
    """Configuration of an NPUEstimator, all arguments by keyword.

    >>> config = NPURunConfig(session_config=session_config, mix_compile_mode=True, iterations_per_loop=1)

    An option left out, None or empty takes what the environment says, else its documented default, and is not written
    to the session, which reads the same environment. The value of each option is an attribute of the same name.
    Of the arguments of RunConfig, ``save_summary_steps`` is 0 where it is left out, and a checkpoint comes every 100
    steps where neither ``save_checkpoints_steps`` nor ``save_checkpoints_secs`` has a value (T52).

    Raises:
        OptionTypeError: an unknown argument, or an option of the wrong type; a bool is no int (G12).
        OptionValueError: an option outside its domain, options that exclude each other, or a cluster in TF_CONFIG.
    """

    def __init__(self, **arguments: Any) -> None:
        _refuse_unknown(arguments)
        names = _option_names()
        given = {name: arguments.pop(name) for name in names if name in arguments}
        super().__init__(**_with_defaults(arguments))
        _refuse_cluster(self)
        self._npu_resolution = _resolved(given)
        objects = [value for value in given.values() if isinstance(value, ConfigObject)]
        self._npu_object_options = {k: v for value in objects for k, v in value.session_options().items()}
        values = self._npu_resolution.values
        for name in names:
            is_object = OPTIONS[name].facets["runconfig", "current"].field == "o"
            setattr(self, name, given.get(name) if is_object else values.get(name))
        loop = self._npu_resolution.typed.partition.iterations
        _tell_of_late_checkpoints(arguments.get("save_checkpoints_steps"), loop)

    __init__.__signature__ = _signature()  # type: ignore[attr-defined]


def _refuse_unknown(arguments: Dict[str, Any]) -> None:
    known = list(_signature().parameters)[1:]
    for name in arguments:
        if name not in known:
            remedy = did_you_mean(name, known, "help(NPURunConfig) lists them all.")
            raise OptionTypeError("OPTION_TYPE", name, "NPURunConfig has no such argument.", remedy)


def _with_defaults(arguments: Dict[str, Any]) -> Dict[str, Any]:
    found = {**_DEFAULTS, **arguments}
    if found["save_checkpoints_steps"] is None and found["save_checkpoints_secs"] is None:
        found["save_checkpoints_steps"] = _CHECKPOINT_STEPS
    return found


def _refuse_cluster(config: Any) -> None:
    """TensorFlow would wait for the others of the cluster, which nobody starts (T53)."""
    cluster = getattr(config, "cluster_spec", None)
    if cluster is not None and cluster.as_dict():
        raise OptionValueError(
            "OPTION_CONFLICT", "TF_CONFIG", "it has a cluster, and parameter servers are not simulated.",
            "Leave the cluster out; several devices are several ranks (RANK_SIZE, RANK_ID).",
        )  # fmt: skip


def _tell_of_late_checkpoints(steps: Any, loop: int) -> None:
    if steps and steps % loop:
        LOG.warning(
            "NPURunConfig: save_checkpoints_steps is %d, which is no multiple of iterations_per_loop (%d): "
            "a checkpoint is saved after the loop in which one is due", steps, loop,
        )  # fmt: skip


def _resolved(given: Dict[str, Any]) -> Resolution:
    values = {name: _as_option(value) for name, value in given.items()}
    around = current_overrides()
    edition, env = surroundings()
    resolution = resolve(values, surface="runconfig", edition=edition, env=env, files=around.files)
    for warning in resolution.warnings:
        if warning.code != "environment":  # the session reads the same environment, and says so
            LOG.warning("NPURunConfig: %s", warning.message)
    if resolution.errors:
        raise_for_python(resolution.errors[0])
    return resolution


def _as_option(value: Any) -> Any:
    """A value as the option table knows it; an object there is its class and arguments."""
    if isinstance(value, ConfigObject):
        return value.as_option()
    if any(kind.__name__.startswith("ParameterServerStrategy") for kind in type(value).__mro__):
        return {"class": "ParameterServerStrategy", "arguments": {}}  # its arguments are TensorFlow's business
    if isinstance(value, dict):
        return {"class": "dict", "arguments": {}}  # the table writes objects as such: a script's own is none
    return value


def npu_session_config(config: NPURunConfig) -> Any:
    """The ConfigProto of the sessions that ``config`` describes; the user's own is not changed.

    One more ``NpuOptimizer`` entry goes to its end, since later entries win key by key (G3, G4): what was given
    here overrides the same key of ``session_config``. What was not given is left to ``session_config`` and to the
    session's defaults, except where NPURunConfig documents another default than the session does (A17).
    """
    proto = v1.ConfigProto()
    if config.session_config is not None:
        proto.CopyFrom(config.session_config)
    kept = npu_keys(proto)  # of the user's own entries, before ours is there
    switch_rewrites_off(proto)
    entry = npu_entry(proto)
    write_option(entry, RUN_CONFIG_MARK, "b", True)
    write_option(entry, "use_off_line", "b", True)  # A38
    resolution = config._npu_resolution
    env = surroundings()[1]
    session = resolve({"graph_run_mode": resolution.run_mode}, edition=resolution.edition, env=env).values
    for name in _option_names():
        facet = OPTIONS[name].facet("runconfig", resolution.edition)
        if facet is None or facet.field == "o" or name not in resolution.effective:
            continue  # an object, or an option that this edition takes without effect
        value, origin, rule = resolution.effective[name]
        if value is None or rule == "G13":  # ignored outside its scenario, which is as if not given
            continue
        differs = name in session and value != session[name] and name not in kept
        if origin in ("given", "forced") or (origin == "default" and differs):
            write_option(entry, name, facet.field, value)
    for name, value in config._npu_object_options.items():
        write_option(entry, name, _FIELDS[type(value)], value)
    return proto


__getattr__ = module_getattr(__name__)
