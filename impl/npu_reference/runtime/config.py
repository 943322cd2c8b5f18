"""Which sessions are taken over, and which option values their config gives."""

from __future__ import annotations

import itertools
import os
import threading
from contextlib import contextmanager
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference import options
from npu_reference.catalog import OpList
from npu_reference.device.faults import NONE, Faults
from npu_reference.dumps.settings import place
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options.typed import DataDump
from npu_reference.runtime.observing.log import Notice

__all__ = [
    "EDITION_VARIABLE", "PRECISIONS", "PRECISION_VARIABLE", "Places", "OPTIMIZER", "RUN_CONFIG_MARK", "Overrides",
    "Settings", "current_overrides", "device_precision", "give_threads_back", "inner_config", "names_npu",
    "near_spelling", "overriding", "settings", "surroundings",
]  # fmt: skip

#: The custom optimizer whose presence hands a session to the device (document 000, "In sess.run Mode").
OPTIMIZER = "NpuOptimizer"

#: Environment variable that chooses the edition of sessions (G14).
EDITION_VARIABLE = "NPU_REFERENCE_EDITION"

#: Environment variable that chooses how the GEOPs of sessions compute.
PRECISION_VARIABLE = "NPU_REFERENCE_DEVICE_PRECISION"

#: How GEOPs compute: in the graph's own types, as TensorFlow does, or in those the precision options decide.
PRECISIONS = ("off", "on")

#: Key of an entry that NPURunConfig wrote; whoever gave its options has been told about them already.
RUN_CONFIG_MARK = "npu_run_config"

#: Threads of a session whose operators may wait for other ranks: as many may wait at once (assumed).
_WAITING = 16

#: Names of the thread pools of open sessions.
_POOLS: Set[str] = set()
_POOLING = threading.Lock()

_FIELDS = ("b", "i", "f", "s")


class Places(NamedTuple):
    """Where what a session leaves goes.

    Attributes:
        folder: the current directory when the session was made (D8).
        root: the folder below which absolute paths lie; None for the file system's own.
        env: the environment that names further folders.
        edition: of the options.
    """

    folder: str = "."
    root: Optional[str] = None
    env: Mapping[str, str] = {}
    edition: str = "current"

    def of(self, path: str) -> str:
        """Where a path that an option or the environment names lies; empty is the current directory."""
        return place(path, self.folder, self.root)

    @property
    def device(self) -> int:
        """The number of the device, as launch scripts say it."""
        text = self.env.get("ASCEND_DEVICE_ID") or self.env.get("DEVICE_ID") or "0"
        return int(text) if text.isdigit() and len(text) < 6 else 0


class Settings(NamedTuple):
    """What the config of one session asks for.

    Attributes:
        resolution: effective option values.
        notices: for the log, each once per session.
        op_list: the operators the device has; None for the catalogue's.
        device_precision: one of :data:`PRECISIONS`.
        exact: operators whose results are not lowered whatever the options say, to find out what lowering costs.
        device: the simulated device, for its time and memory; None for the default one.
        clock: whether every run is told its time and memory.
        faults: what the device was asked to suffer.
        places: where the files go that it leaves.
        dump: what is dumped while it runs; None for nothing.
    """

    resolution: options.Resolution
    notices: Tuple[Notice, ...]
    op_list: Optional[OpList] = None
    device_precision: str = "off"
    exact: FrozenSet[str] = frozenset()
    device: Optional[Device] = None
    clock: bool = False
    faults: Faults = NONE
    places: Places = Places()
    dump: Optional[DataDump] = None


class Overrides(NamedTuple):
    """What replaces the surroundings of the process for the sessions made while it holds.

    Attributes:
        edition: instead of the environment variable's.
        env: the whole environment that options may see, instead of the process's own.
        files: contents of the files that options name, instead of those on disk.
        values: option values of another surface than the session's, instead of the config's.
        surface: the surface of ``values``.
        op_list: the operators the device has.
        device_precision: instead of the environment variable's.
        exact: operators not to be lowered.
        root: a folder below which absolute paths of what sessions leave lie.
        dump: what is dumped, whatever the options say.
        device: the simulated device.
        clock: whether runs are told their time and memory.
        faults: what the device suffers.
        grappler: whether TensorFlow may rewrite a graph before it runs it, as the session's config says.
    """

    edition: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    files: Optional[Mapping[str, object]] = None
    values: Optional[Mapping[str, object]] = None
    surface: str = "session"
    op_list: Optional[OpList] = None
    device_precision: Optional[str] = None
    exact: FrozenSet[str] = frozenset()
    root: Optional[str] = None
    dump: Optional[DataDump] = None
    device: Optional[Device] = None
    clock: bool = False
    faults: Faults = NONE
    grappler: bool = True


_OVERRIDES: List[Overrides] = [Overrides()]


def current_overrides() -> Overrides:
    """What holds now."""
    return _OVERRIDES[-1]


def surroundings() -> Tuple[str, Dict[str, str]]:
    """The edition, and the environment that options may see, of whatever is configured now (G14)."""
    around = _OVERRIDES[-1]
    env = dict(os.environ) if around.env is None else dict(around.env)
    return around.edition or env.get(EDITION_VARIABLE) or "current", env


@contextmanager
def overriding(overrides: Overrides) -> Iterator[None]:
    """Let the overrides hold for all sessions made in the block, on every thread."""
    _OVERRIDES.append(overrides)
    try:
        yield
    finally:
        _OVERRIDES.remove(overrides)


def names_npu(config: Any) -> bool:
    """Whether a ConfigProto names ``NpuOptimizer`` exactly; no other spelling counts (G5)."""
    return any(entry.name == OPTIMIZER for entry in _entries(config))


def near_spelling(config: Any) -> Optional[str]:
    """A custom optimizer's name that was probably meant to be ``NpuOptimizer`` (G5); None if there is none."""
    for entry in _entries(config):
        folded = entry.name.replace("_", "").replace("-", "").lower()
        if entry.name != OPTIMIZER and folded in ("npuoptimizer", "npuoptimiser", "npuoptimzer", "npuoptimize"):
            return str(entry.name)
    return None


def settings(config: Any) -> Settings:
    """Read and resolve the options of a ConfigProto that names ``NpuOptimizer``.

    The edition is that of :class:`Overrides`, else of the environment variable ``NPU_REFERENCE_EDITION``, else
    ``current`` (G14). How GEOPs compute is found the same way: ``NPU_REFERENCE_DEVICE_PRECISION``, else ``off``.

    Raises:
        NpuError: OPTION_*, the first refused option (G10); USAGE for an edition or a device
            precision that does not exist.
    """
    around = _OVERRIDES[-1]
    entries = [entry for entry in _entries(config) if entry.name == OPTIMIZER]
    values, notices = _merged(entries)
    edition, env = surroundings()
    resolution = options.resolve(
        values if around.values is None else around.values,
        surface=around.surface,
        edition=edition,
        env=env,
        files=around.files,
        carried=_carried(entries) if around.values is None else (),
    )
    resolution.raise_first()
    notices.extend(Notice(warning.code, warning.option, warning.message) for warning in resolution.warnings)
    if not _remapping_is_off(config):
        notices.append(
            Notice(
                "remapping_forced_off",
                "rewrite_options.remapping",
                "is not OFF; it is forced OFF for the partitioned graph."
                " Set config.graph_options.rewrite_options.remapping = RewriterConfig.OFF to say so yourself.",
            )
        )
    precision = device_precision(around.device_precision or env.get(PRECISION_VARIABLE) or "off")
    places = Places(os.getcwd(), around.root, env, edition)
    return Settings(
        resolution,
        tuple(notices),
        around.op_list,
        precision,
        around.exact,
        around.device,
        around.clock,
        around.faults,
        places,
        around.dump or resolution.typed.dump,
    )


def device_precision(value: str) -> str:
    """``value``, if it is one of :data:`PRECISIONS`; NpuError USAGE."""
    if value not in PRECISIONS:
        raise NpuError("USAGE", "device precision", f"{value!r} is not offered.", f"Choose {' or '.join(PRECISIONS)}.")
    return value


def inner_config(config: Any, *, repeatable: bool = False, waits: bool = False) -> Any:
    """The ConfigProto of the session that runs the partitioned graph: without the optimizer, remapping OFF (G6).

    Only what a signature reaches is placed, unless another custom optimizer asks for the whole graph.

    Args:
        repeatable: let sums be added in the same order in every run (``deterministic=1``): operators run one after the
            other, each in one thread.
        waits: whether operators wait for other ranks, which must not keep the threads of other sessions busy.
    """
    copy = type(config)()
    copy.CopyFrom(config)
    rewrite = copy.graph_options.rewrite_options
    others = [entry for entry in rewrite.custom_optimizers if entry.name != OPTIMIZER]
    del rewrite.custom_optimizers[:]
    rewrite.custom_optimizers.extend(others)
    rewrite.remapping = _off(rewrite)
    # TensorFlow 1.15 crashes where it may dissolve functions and calls one that is waited for, as GEOPs are; and what a
    # loop of version 1 calls would be taken out of the loop's frame.
    copy.graph_options.optimizer_options.do_function_inlining = False
    if copy.experimental.optimize_for_static_graph:
        copy.experimental.optimize_for_static_graph = False  # each new signature extends the graph
    if not others:
        # Else every new signature has TensorFlow copy, place and optimize all that the signatures before it have left.
        # Bodies of GEOPs are still optimized, each when it is first called.
        copy.graph_options.place_pruned_graph = True
        rewrite.disable_meta_optimizer |= not current_overrides().grappler
    if waits:
        copy.use_per_session_threads = True
        copy.inter_op_parallelism_threads = max(_WAITING, copy.inter_op_parallelism_threads)
    if repeatable:
        copy.use_per_session_threads = True
        copy.intra_op_parallelism_threads = copy.inter_op_parallelism_threads = 1
    if copy.use_per_session_threads and not copy.session_inter_op_thread_pool:
        # TensorFlow 1.15 crashes where a session's end frees its own threads, and then an iterator that runs a last
        # function on them. It keeps a pool that has a name.
        count = copy.inter_op_parallelism_threads
        with _POOLING:
            name = next(name for name in map(f"npu_{count}_{{}}".format, itertools.count()) if name not in _POOLS)
            _POOLS.add(name)
        copy.session_inter_op_thread_pool.add(num_threads=count, global_name=name)
    return copy


def give_threads_back(config: Any) -> None:
    """Let the next session have the threads of a closed one, whose :func:`inner_config` this is."""
    with _POOLING:
        _POOLS.difference_update(pool.global_name for pool in config.session_inter_op_thread_pool)
    del config.session_inter_op_thread_pool[:]  # a session may be closed again


def _entries(config: Any) -> Iterable[Any]:
    if config is None or not hasattr(config, "graph_options"):
        return ()
    return config.graph_options.rewrite_options.custom_optimizers


def _off(rewrite: Any) -> int:
    return int(type(rewrite).OFF)


def _remapping_is_off(config: Any) -> bool:
    rewrite = config.graph_options.rewrite_options
    return bool(rewrite.remapping == _off(rewrite))


def _carried(entries: Sequence[Any]) -> FrozenSet[str]:
    """The options whose value comes from NPURunConfig, rather than from an entry of the script's own."""
    written: Dict[str, bool] = {}
    for entry in entries:
        written.update(dict.fromkeys(entry.parameter_map, RUN_CONFIG_MARK in entry.parameter_map))
    return frozenset(name for name, by_run_config in written.items() if by_run_config)


def _merged(entries: Iterable[Any]) -> Tuple[Dict[str, object], List[Notice]]:
    """Values of all entries, the later one winning (G3), and a notice for each key on which they differ."""
    values: Dict[str, object] = {}
    notices: List[Notice] = []
    for entry in entries:
        for key in sorted(set(entry.parameter_map) - {RUN_CONFIG_MARK}):
            value = _value(key, entry.parameter_map[key])
            if value is None:
                continue
            if key in values and values[key] != value:
                text = f"several {OPTIMIZER} entries give it different values; the last one holds."
                notices.append(Notice("several_values", key, text))
            values[key] = value
    return values, notices


def _value(key: str, attr: Any) -> Optional[Dict[str, object]]:
    """One AttrValue with its field; None where the script touched a key without setting any field."""
    field = attr.WhichOneof("value")
    if field is None:
        return None
    if field not in _FIELDS:
        raise NpuError(
            "OPTION_TYPE", key, f"its value stands in the field .{field}.", "Use .b, .i, .f or .s of the parameter map."
        )
    value = getattr(attr, field)
    if field == "s":
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NpuError("OPTION_VALUE", key, "its text is not UTF-8.", "Give it as UTF-8 bytes.") from error
    return {"field": field, "value": value}
