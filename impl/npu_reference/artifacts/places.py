"""Decides what compilation leaves under some options, and where: a value that no file system is asked for."""

from __future__ import annotations

import os
from typing import Any, FrozenSet, Mapping, NamedTuple, Optional, Tuple

from npu_reference.compiler.collectives import MC2
from npu_reference.options.outcome import Resolution

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
        cache_mode: enable or force.
        limits: MB and percentage; at_limit: whether a cache of just that size is too large already (B33).
        given_limits: whether a variable of the environment set one of them, so that no file is generated (C13).
        fusion_result: of fusion_result.json, or None; fusion_when: 0 never, 1 at the end of the program, 2 at once.
        weights: of the weight files, or None where weights stay in the graph.
    """

    kernel_meta: Optional[Named]
    cache: Optional[Named]
    ini: Optional[Named]
    cache_mode: str
    limits: Tuple[int, int]
    at_limit: bool
    given_limits: bool
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
    values = resolution.values
    when = values.get("export_compile_stat")
    when = when if isinstance(when, int) else 0
    fusion_result = None
    if when:
        asked = resolution.effective["export_compile_stat"].origin != "default"
        fusion_result = base._replace(below=("FE", process) if work else (), asked=asked)  # B11
    weights = None
    if values.get("external_weight") is True:
        weights = base._replace(below=(f"tmp_weight_{process}_{session}",), asked=True)  # B23
    cache, ini = _cache(resolution)
    return ArtifactPlan(
        kernel_meta=_kernel_meta(resolution, env, base),
        cache=cache,
        ini=ini,
        cache_mode=str(values.get("op_compiler_cache_mode")),
        limits=(_number(values.get("max_op_cache_size"), -1), _number(values.get("remain_cache_size_ratio"), 100)),
        at_limit=_origin(resolution, "max_op_cache_size") == "environment",
        given_limits="environment"
        in (_origin(resolution, "max_op_cache_size"), _origin(resolution, "remain_cache_size_ratio")),
        fusion_result=fusion_result,
        fusion_when=when,
        weights=weights,
    )


def kinds_of(resolution: Resolution, env: Mapping[str, str], members: FrozenSet[str], types: FrozenSet[str]) -> Any:
    """Which files of a kernel are kept, and the words of op_debug_config it is compiled with.

    Args:
        members: names of the operators it computes; types: their types, and its own.
    Returns:
        (ends of file names, words).
    """
    level = _number(resolution.values.get("op_debug_level"), 0)
    config: Any = resolution.parsed.get("op_debug_config")
    words: Tuple[str, ...] = ()
    if config is not None and (not config.has_list or _listed(config, members, types)):
        words = config.options
    kinds = dict.fromkeys(LEVEL_KINDS.get(level, ()))
    for word in words:
        kinds.update(dict.fromkeys(OPTION_KINDS.get(word, ())))  # files.kernel_meta.union
    if not level and _collects(resolution, env):
        kinds.update(dict.fromkeys(LEVEL_KINDS[3]))  # runconfig.op_debug_level.0_npu_collect
    # runconfig.op_debug_level.mc2, files.op_debug_config.mc2_excluded
    return (() if types & MC2 else tuple(kinds)), words


def is_recompiled(resolution: Resolution, members: FrozenSet[str], types: FrozenSet[str]) -> bool:
    """Whether a kernel goes past the cache because op_debug_list names it (runconfig.op_compiler_cache_mode)."""
    config: Any = resolution.parsed.get("op_debug_config")
    return config is not None and (not config.has_list or _listed(config, members, types))


def _listed(config: Any, members: FrozenSet[str], types: FrozenSet[str]) -> bool:
    """D17: an entry without prefix is the name of an operator, or else of a type."""
    return bool(members & set(config.names) or types & set(config.types) or types & set(config.names))


def _collects(resolution: Resolution, env: Mapping[str, str]) -> bool:
    return resolution.edition == "current" and bool(env.get("NPU_COLLECT_PATH"))


def _kernel_meta(resolution: Resolution, env: Mapping[str, str], base: Named) -> Optional[Named]:
    config: Any = resolution.parsed.get("op_debug_config")
    words = config.options if config is not None else ()
    if not resolution.values.get("op_debug_level") and not any(OPTION_KINDS.get(word) for word in words):
        if not _collects(resolution, env):
            return None
        return base._replace(below=("kernel_meta",), asked=True)  # D24: debug_dir counts for other levels only
    directory = resolution.effective["debug_dir"]
    option = "ASCEND_WORK_PATH" if directory.origin == "environment" else "debug_dir"
    return Named(str(directory.value), ("kernel_meta",), option, True)  # D14


def _cache(resolution: Resolution) -> Tuple[Optional[Named], Optional[Named]]:
    effective = resolution.effective.get("op_compiler_cache_dir")
    if resolution.values.get("op_compiler_cache_mode") not in ("enable", "force") or effective is None:
        return None, None
    name = str(effective.value)
    if "$" in name:  # HOME is not set: there is no default place
        return None, None
    option = "ASCEND_CACHE_PATH" if effective.origin == "environment" else "op_compiler_cache_dir"
    base = Named(name, (), option, effective.origin != "default")
    inner = base._replace(below=("kernel_cache",))
    if effective.origin == "environment":  # its kernel_cache_<host id> is that directory already (C11)
        base = inner = base._replace(name=os.path.dirname(name), below=(os.path.basename(name),))
    return inner, base if resolution.edition == "current" else None


def _origin(resolution: Resolution, name: str) -> str:
    found = resolution.effective.get(name)
    return found.origin if found is not None else ""


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def shown(named: Named) -> str:
    """The directory as a user would write it."""
    return os.path.join(named.name, *named.below)
