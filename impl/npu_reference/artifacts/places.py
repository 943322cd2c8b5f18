"""Decides what compilation leaves under some options, and where: a value that no file system is asked for."""

from __future__ import annotations

import os
from typing import Any, FrozenSet, Mapping, NamedTuple, Optional, Tuple

from npu_reference.compiler.collectives import MC2
from npu_reference.options.files.op_debug import OpDebug
from npu_reference.options.resolution import Resolution
from npu_reference.options.typed import CacheOptions

__all__ = ["LEVEL_KINDS", "OPTION_KINDS", "Named", "ArtifactPlan", "kinds_of", "plan_of"]

#: Ends of the names of the files of one kernel: documents 002 and 003 § op_debug_level (files.kernel_meta.matrix).
LEVEL_KINDS: Mapping[int, Tuple[str, ...]] = {
    0: (),
    1: (".cce", "_loc.json", ".o", ".json"),
    2: (".cce", "_loc.json", ".o", ".json"),
    3: (".o", ".json"),
    4: (".o", ".json", ".cce", "_compute.json"),
}

#: The same by word of op_debug_config: document 003 (files.kernel_meta.cfg_matrix).
OPTION_KINDS: Mapping[str, Tuple[str, ...]] = {
    "oom": (".o", ".json"),
    "dump_cce": (".cce", ".o", ".json"),
    "dump_loc": (".cce", ".o", ".json", "_loc.json"),
    "check_flag": (".o", ".json"),
    "ccec_O0": (),
    "ccec_g": (),
}


class Named(NamedTuple):
    """A directory as options name it: the name, directories of ours below it, and who named it.

    asked: whether somebody named it; a default was not asked for.
    """

    name: str
    below: Tuple[str, ...]
    option: str
    asked: bool


class ArtifactPlan(NamedTuple):
    """What is left, where.

    Attributes:
        kernel_meta: of kernel files; None where none are kept.
        cache: of the kernel cache, with ``kernel_cache`` or without as the data lie; None where there is none.
        ini: of op_cache.ini, or None where the edition has none.
        caching: how it is cached.
        fusion_result: of fusion_result.json, or None; fusion_when: 0 never, 1 at the end of the program, 2 at once.
        weights: of the weight files, or None where weights stay in the graph.
    """

    kernel_meta: Optional[Named]
    cache: Optional[Named]
    ini: Optional[Named]
    caching: Optional[CacheOptions]
    fusion_result: Optional[Named]
    fusion_when: int
    weights: Optional[Named]


def plan_of(resolution: Resolution, env: Mapping[str, str], process: str, session: int) -> ArtifactPlan:
    """What a session with these options leaves.

    Args:
        env: the environment that was resolved with.
        process: the process id, as file names have it; session: the session's number.
    """
    work = env.get("ASCEND_WORK_PATH", "") if resolution.edition == "current" else ""
    base = Named(work, (), "ASCEND_WORK_PATH", True) if work else Named(".", (), "the current directory", False)
    options = resolution.typed.artifacts
    fusion_result = None
    if options.statistics:
        fusion_result = base._replace(below=("FE", process) if work else (), asked=options.statistics_asked)  # B11
    weights = None
    if resolution.typed.compiler.external_weights:
        weights = base._replace(below=(f"tmp_weight_{process}_{session}",), asked=True)  # B23
    cache, ini = _cache(options.cache)
    return ArtifactPlan(
        kernel_meta=_kernel_meta(resolution, env, base),
        cache=cache,
        ini=ini if resolution.edition == "current" else None,
        caching=options.cache,
        fusion_result=fusion_result,
        fusion_when=options.statistics,
        weights=weights,
    )


def kinds_of(resolution: Resolution, env: Mapping[str, str], members: FrozenSet[str], types: FrozenSet[str]) -> Any:
    """Which files of a kernel are kept, and the words of op_debug_config it is compiled with.

    Args:
        members: names of the operators it computes; types: their types, and its own.
    Returns:
        (ends of file names, words).
    """
    level, config = resolution.typed.compiler.debug_level, resolution.typed.artifacts.debug
    words = config.options if config is not None and _is_about(config, members, types) else ()
    kinds = dict.fromkeys(LEVEL_KINDS.get(level, ()))
    for word in words:
        kinds.update(dict.fromkeys(OPTION_KINDS.get(word, ())))  # files.kernel_meta.union
    if not level and _collects(resolution, env):
        kinds.update(dict.fromkeys(LEVEL_KINDS[3]))  # runconfig.op_debug_level.0_npu_collect
    # runconfig.op_debug_level.mc2, files.op_debug_config.mc2_excluded
    return (() if types & MC2 else tuple(kinds)), words


def is_recompiled(resolution: Resolution, members: FrozenSet[str], types: FrozenSet[str]) -> bool:
    """Whether a kernel goes past the cache because op_debug_list names it (runconfig.op_compiler_cache_mode)."""
    config = resolution.typed.artifacts.debug
    return config is not None and _is_about(config, members, types)


def _is_about(config: OpDebug, members: FrozenSet[str], types: FrozenSet[str]) -> bool:
    """D17: an entry without prefix is the name of an operator, or else of a type."""
    return not config.has_list or not (members | types).isdisjoint(config.names) or not types.isdisjoint(config.types)


def _collects(resolution: Resolution, env: Mapping[str, str]) -> bool:
    return resolution.edition == "current" and bool(env.get("NPU_COLLECT_PATH"))


def _kernel_meta(resolution: Resolution, env: Mapping[str, str], base: Named) -> Optional[Named]:
    options = resolution.typed.artifacts
    words = options.debug.options if options.debug is not None else ()
    if not resolution.typed.compiler.debug_level and not any(OPTION_KINDS.get(word) for word in words):
        if not _collects(resolution, env):
            return None
        return base._replace(below=("kernel_meta",), asked=True)  # D24: debug_dir counts for other levels only
    option = "ASCEND_WORK_PATH" if options.debug_dir_of_environment else "debug_dir"
    return Named(options.debug_dir, ("kernel_meta",), option, True)  # D14


def _cache(options: Optional[CacheOptions]) -> Tuple[Optional[Named], Optional[Named]]:
    if options is None:
        return None, None
    if options.origin == "environment":  # its kernel_cache_<host id> is that directory already (C11)
        above, name = os.path.split(options.directory)
        inner = Named(above, (name,), "ASCEND_CACHE_PATH", True)
        return inner, inner
    base = Named(options.directory, (), "op_compiler_cache_dir", options.origin != "default")
    return base._replace(below=("kernel_cache",)), base


def shown(named: Named) -> str:
    """The directory as a user would write it."""
    return os.path.join(named.name, *named.below)
