"""Which options and variables the documents relate to each other: all others leave each other alone."""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Dict, Mapping, NamedTuple, Set, Tuple

from npu_conformance.observing.values import unwrapped

__all__ = ["ALL", "RELATIONS", "Relation", "Related", "conflicting", "deciding", "related", "tokens"]

#: Stands for every option and variable.
ALL = "*"


class Relation(NamedTuple):
    """Any of `those` bears on any of `others`, or the other way round, by a requirement or a reading.

    A name stands for an option or a variable with whatever value, ``name=value`` (value in JSON) for one value of it.
    Without `others` those bear on each other. What they decide may be which value takes effect, and no more: where it
    `refuses`, a value that is refused alone is refused beside the others, too. Where it `ignores`, one has no effect
    at all beside the other, and nobody need look at what it is.
    """

    rule: str
    those: Tuple[str, ...]
    others: Tuple[str, ...] = ()
    surfaces: Tuple[str, ...] = ("session", "runconfig")
    refuses: bool = False
    ignores: bool = False


_PROFILES = ("input_shape", "dynamic_dims", "dynamic_node_type")
_DYNAMIC = ("dynamic_input", "dynamic_graph_execute_mode", "dynamic_inputs_shape_range")
_MODES = ("precision_mode", "precision_mode_v2")
_CACHE = ("op_compiler_cache_mode", "op_compiler_cache_dir", "max_op_cache_size", "remain_cache_size_ratio")
_CACHE_VARIABLES = ("HOME", "ASCEND_CACHE_PATH", "ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_REMAIN_CACHE_SIZE_RATIO")
_DUMP = ("enable_dump", "dump_path", "dump_step", "dump_mode", "dump_config")
_PROFILING = ("profiling_mode", "profiling_options", "profiling_config")
_MEMORY = ("graph_memory_max_size", "variable_memory_max_size")
_TUNING = ("aoe_mode", "AOE_MODE", "work_path", "aoe_config_file")
_INFERENCE = ("graph_run_mode=0",)

RELATIONS: Tuple[Relation, ...] = (
    # mixed computing, and where a graph runs at all
    Relation("mixed.iterations.must_be_one", ("iterations_per_loop",), ("mix_compile_mode",)),
    Relation("in_out_pair.needs_mix", ("in_out_pair", "in_out_pair_flag"), ("mix_compile_mode",)),
    Relation("in_out_pair.session.flag_alone", ("in_out_pair_flag",), ("in_out_pair",)),
    Relation("runconfig.variable_placement.host_needs_mix", ("variable_placement",), ("mix_compile_mode",)),
    Relation("S7", _PROFILES, ("mix_compile_mode",)),
    Relation("session.use_off_line.false_overrides", ("use_off_line=false",), (ALL,), ignores=True),
    Relation("session.enable_data_pre_proc.loop_prerequisite", ("enable_data_pre_proc",), ("iterations_per_loop",)),
    # shapes
    Relation("S1", _PROFILES),
    Relation("session.dynamic_graph_execute_mode.only_when_dynamic", _DYNAMIC),
    Relation("runconfig.dynamic_inputs_shape_range.dynamic_dims_wins", _PROFILES, _DYNAMIC, ignores=True),
    Relation("S14", ("compile_dynamic_mode",), (*_PROFILES, *_DYNAMIC)),
    Relation("S16", ("iterations_per_loop",), _DYNAMIC),
    Relation(
        "runconfig.op_debug_level.2_big_kernel",
        ("op_debug_level=2", "op_debug_config"),
        (*_PROFILES, *_DYNAMIC, "compile_dynamic_mode"),
    ),
    # precision, and implementations of operators
    Relation("precision.v1_v2_exclusive", _MODES),
    Relation("precision.mixlist.context", ("modify_mixlist",), _MODES),
    Relation("precision.customize.must_keep_off", ("customize_dtypes",), _MODES, ignores=True),
    Relation(
        "session.op_precision_mode.over_implmode", ("op_precision_mode",), ("op_select_implmode",), refuses=True
    ),
    Relation(
        "session.op_precision_mode.over_implmode",
        ("optypelist_for_implmode",),
        ("op_precision_mode", "op_select_implmode"),
        ignores=True,
    ),
    # memory
    Relation("session.memory.sum_31g", _MEMORY),
    # debugging and the cache of operators
    Relation("env.HOME.default_cache", (*_CACHE, *_CACHE_VARIABLES), refuses=True),
    Relation(
        "session.op_compiler_cache_mode.debug_level_gate", ("op_debug_level",), (*_CACHE, *_CACHE_VARIABLES),
        refuses=True,
    ),
    Relation(
        "runconfig.op_compiler_cache_mode.debug_cfg_no_list", ("op_debug_config",), (*_CACHE, *_CACHE_VARIABLES),
        refuses=True,
    ),
    Relation("runconfig.op_debug_level.2_oom_exclusive", ("op_debug_level=2",), ("op_debug_config",)),
    Relation("runconfig.op_debug_config.npu_collect_no_oom", ("NPU_COLLECT_PATH",), ("op_debug_config",)),
    Relation("runconfig.enable_exception_dump.npu_collect_forces_1", ("NPU_COLLECT_PATH",), ("enable_exception_dump",)),
    Relation("runconfig.debug_dir.priority", ("ASCEND_WORK_PATH",), ("debug_dir",), refuses=True),
    # dumps and profiling
    Relation("session.dump_path.required", _DUMP),
    Relation("session.profiling_mode.true", _PROFILING),
    # tuning
    Relation("T29", _TUNING),
    # timeouts and devices
    Relation("runconfig.hccl_timeout.over_env", ("HCCL_EXEC_TIMEOUT",), ("hccl_timeout",), refuses=True),
    Relation(
        "runconfig.stream_sync_timeout.gt_hccl",
        ("stream_sync_timeout",),
        ("hccl_timeout", "HCCL_EXEC_TIMEOUT", "RANK_SIZE"),
    ),
    Relation("session.session_device_id.over_env", ("ASCEND_DEVICE_ID",), ("session_device_id",), refuses=True),
    Relation("runconfig.local_device_list.pair", ("local_rank_id",), ("local_device_list",), refuses=True),
    # online inference: whatever is listed for training, or has another default there
    Relation("precision.s.default_inference", _INFERENCE, _MODES[:1], refuses=True),
    Relation("runconfig.enable_small_channel.inference_fixed", _INFERENCE, ("enable_small_channel",), ignores=True),
    Relation("session.profiling_options.inference.no_training_trace", _INFERENCE, _PROFILING, ignores=True),
    Relation(
        "session.table.scenario_column",
        _INFERENCE,
        (
            "enable_data_pre_proc", "hcom_parallel", "is_tailing_optimization",
            "variable_format_optimize", "dump_step", "dump_config", "enable_exception_dump", "auto_tune_mode",
            "hccl_timeout", "op_wait_timeout", "op_execute_timeout", "buffer_optimize", "in_out_pair",
            "in_out_pair_flag", *_TUNING, *_PROFILES, "distribute",
        ),
        ignores=True,
    ),
    Relation("G13", _INFERENCE, ("iterations_per_loop",), ignores=True),
    Relation(
        "runconfig.quant_dumpable.inference_only",
        _INFERENCE,
        ("quant_dumpable", "graph_max_parallel_model_num"),
        ignores=True,
    ),
    Relation("runconfig.op_debug_level.advice", _INFERENCE, ("op_debug_level",), refuses=True),
)  # fmt: skip

#: How a line about what graph compilation is told begins, and the options that decide it: those of their topics.
_DECIDED: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
    ("directive buffer_optimize", ("buffer_optimize",)),
    ("directive ccec", ("op_debug_level", "op_debug_config")),
    ("directive engines", ("stream_max_parallel_num",)),
    ("directive implementation", ("op_precision_mode", "op_select_implmode", "optypelist_for_implmode")),
    ("directive memory graph", ("graph_memory_max_size",)),
    ("directive memory variable", ("variable_memory_max_size",)),
    ("directive shapes", (*_PROFILES, *_DYNAMIC)),
    ("directive timeouts hccl", ("hccl_timeout",)),
    ("directive timeouts op_wait", ("op_wait_timeout",)),
    ("directive timeouts op_execute", ("op_execute_timeout",)),
    ("directive timeouts stream_sync", ("stream_sync_timeout",)),
    ("directive timeouts event_sync", ("event_sync_timeout",)),
    ("directive tuning auto_tune", ("auto_tune_mode",)),
    ("directive tuning aoe", ("aoe_mode",)),
)


@functools.lru_cache(maxsize=4096)
def deciding(line: str) -> Tuple[str, ...]:
    """The options or variables that a line of a golden is about."""
    for head, names in _DECIDED:
        if line.startswith(head):
            return names
    words = line.split(" ", 2)
    return (words[1],) if len(words) > 1 else ()


#: Names of which a relation is about single values.
_VALUED = frozenset(name.partition("=")[0] for one in RELATIONS for name in (*one.those, *one.others) if "=" in name)


def tokens(given: Mapping[str, Any]) -> Set[str]:
    """What options and variables with their values are called in relations."""
    return {*given, *(f"{name}={json.dumps(unwrapped(given[name]))}" for name in _VALUED if name in given)}


class Related:
    """Some relations of one surface, ready to be asked."""

    def __init__(self, surface: str, kept: Callable[[Relation], bool]) -> None:
        self._of: Dict[str, Set[str]] = {}
        for relation in RELATIONS:
            if surface in relation.surfaces and kept(relation):
                others = relation.others or relation.those
                for those, these in ((relation.those, others), (others, relation.those)):
                    for one in those:
                        names = {other.partition("=")[0] for other in these if other != one}
                        self._of.setdefault(one, set()).update(names)

    def names(self, given: Mapping[str, Any]) -> Set[str]:
        """The names of what is related to what is given, :data:`ALL` among them if that is everything."""
        found: Set[str] = set()
        for token in tokens(given):
            found.update(self._of.get(token, ()))
        return found


@functools.lru_cache(maxsize=None)
def related(surface: str, refused: bool = False, own: bool = False) -> Related:
    """The relations of a surface, made once; of a question that is `refused` those that may lift that, and of one that
    is refused for its `own` type or domain those beside which it is ignored."""
    return Related(surface, lambda one: not (refused and one.refuses) and (one.ignores or not own))


@functools.lru_cache(maxsize=None)
def conflicting(surface: str) -> Related:
    """The relations of a surface that may decide more than which value takes effect, or whether any does: what is
    accepted alone may be refused there."""
    return Related(surface, lambda one: not (one.refuses or one.ignores))
