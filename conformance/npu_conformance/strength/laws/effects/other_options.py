"""Another order, options of other subjects, and defaults that are given."""

from __future__ import annotations

import json
from typing import Any, Mapping, Tuple

from npu_conformance.strength.laws.effects import answers, changes
from npu_conformance.strength.laws.effects.applicable import (
    CACHE,
    OF_CACHE,
    OF_KERNELS,
    OF_PROFILES,
    OF_TUNING,
    accepted,
    all_of,
    compiles,
    has_session,
    in_003,
    laid,
    tabled,
    unlike,
)
from npu_conformance.strength.laws.effects.request import HERE, EffectCondition, EffectQuestion, Params
from npu_conformance.strength.laws.relations import conflicting

__all__ = ["CONDITIONS"]

#: Values that documents 002 and 003 give as defaults; which of them a session of the current edition has is open.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "session": {
        "graph_run_mode": 1, "mix_compile_mode": False, "use_off_line": True, "op_debug_level": 0,
        "enable_dump": False, "profiling_mode": False, "iterations_per_loop": 1, "is_tailing_optimization": False,
        "enable_data_pre_proc": False, "dynamic_input": False, "buffer_optimize": "l2_optimize",
        "enable_small_channel": 0, "dump_mode": "output",
    },
    "session legacy": {
        "hcom_parallel": False, "variable_format_optimize": True, "enable_exception_dump": 0,
        "stream_max_parallel_num": "DNN_VM_TF:1,DNN_V100:1", "op_compiler_cache_mode": "disable",
        "graph_memory_max_size": "27917287424", "variable_memory_max_size": "5368709120",
    },
    "runconfig": {
        "graph_run_mode": 1, "mix_compile_mode": False, "export_compile_stat": 1, "external_weight": False,
        "op_debug_level": 0, "deterministic": 0, "jit_compile": "auto", "input_fusion_size": 131072,
        "iterations_per_loop": 1, "is_tailing_optimization": False, "enable_data_pre_proc": True,
        "op_compiler_cache_mode": "enable", "hcom_parallel": True, "buffer_optimize": "l2_optimize",
        "enable_small_channel": 0, "quant_dumpable": "0", "enable_exception_dump": 2, "variable_placement": "Device",
        "ac_parallel_enable": "0", "compile_dynamic_mode": False, "dynamic_input": False, "op_wait_timeout": 120,
        "stream_max_parallel_num": "DNN_VM_AICPU:1,AIcoreEngine:1", "graph_max_parallel_model_num": 1,
    },
}  # fmt: skip


def _defaults(surface: str, edition: str) -> Mapping[str, Any]:
    return {**_DEFAULTS[surface], **_DEFAULTS.get(f"{surface} {edition}", {})}


def _shows_default(one: EffectQuestion) -> bool:
    """Whether a case is about an option that it does not give, which a default that is given would hide."""
    known = _defaults(one.params["surface"], one.instance.edition)
    about = {name.split(".")[1] for name in one.instance.case.requirements}
    return not about.isdisjoint(set(known) - one.options)


def _with_defaults(params: Params) -> Params:
    """With what is not given given as its default, but for what documents relate to what is given."""
    bears = set().union(*(conflicting(params["surface"]).names(one) for one in changes.told(params)))
    known = _defaults(params["surface"], params["edition"])
    return {**params, "values": changes.beside({key: one for key, one in known.items() if key not in bears}, params)}


#: Engines that work in parallel, by the names that they have in an edition.
_SIDE_BY_SIDE: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "legacy": changes.on_both(stream_max_parallel_num="DNN_VM_TF:10,DNN_V100:2"),
    "current": {
        "session": {"stream_max_parallel_num": "DNN_VM_AICPU:10,AIcoreEngine:2"},
        "runconfig": {"stream_max_parallel_num": "DNN_VM_AICPU:10,AIcoreEngine:2", "ac_parallel_enable": "1"},
    },
}

#: Options of other subjects, which leave no file and change no kernel and no order.
_UNRELATED: Mapping[str, Mapping[str, Any]] = {
    "session": {
        "op_wait_timeout": 77, "graph_memory_max_size": str(20 * 1024**3), "variable_memory_max_size": str(8 * 1024**3),
        "hccl_timeout": 1700, "enable_exception_dump": 1,
    },
    "runconfig": {
        "op_wait_timeout": 77, "op_execute_timeout": 90, "event_sync_timeout": 60000, "hccl_timeout": 1700,
        "quant_dumpable": "1", "enable_exception_dump": 1, "input_fusion_size": 1024, "variable_placement": "Device",
    },
}  # fmt: skip

#: Files of other options, about what no case has, or as it is by itself.
_FILES_OF_OTHERS: Mapping[str, Any] = {
    f"/{HERE}/files/op_precision.ini": "Nowhere=high_precision\n",
    f"/{HERE}/files/fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"SoftmaxFusionPass": "on"}}}),
}
_SWITCHES = f"/{HERE}/files/op_debug.cfg"
_NAMED_OF_OTHERS = dict(zip(("op_precision_mode", "fusion_switch_file"), _FILES_OF_OTHERS))


def _with_files(params: Params) -> Params:
    """With files of other options; one has sections in document 003, and of a current session neither form is sure."""
    named, files = dict(_NAMED_OF_OTHERS), dict(_FILES_OF_OTHERS)
    if params["edition"] == "current":
        files[named["op_precision_mode"]] = "[ByOpType]\nNowhere=high_precision\n"
        if params["surface"] == "session":
            del files[named.pop("op_precision_mode")]
    return changes.giving(changes.on_both(**named), files)(params)


CONDITIONS: Tuple[EffectCondition, ...] = (
    EffectCondition(
        "another order",
        ("session.table.unlisted_reserved", "files.op_debug_cfg.line", "files.op_cache_ini.section"),
        lambda one: True,
        changes.other_order,
        answers.same,
    ),
    EffectCondition(
        "white space in files",
        ("files.mixlist.current.is_json", "files.fusion_switch.current.grammar", "P22"),
        changes.has_files,
        lambda params: changes.rewritten(params, changes.spaced),
        answers.same,
    ),
    EffectCondition(
        "an empty choice in a profile",
        ("session.profiling_options.task_trace.junk_is_off", "session.profiling_options.aicpu.junk_is_off"),
        all_of(accepted, has_session, lambda one: any(map(changes.lacking, (one.params["values"], *laid(one))))),
        changes.choosing_nothing,
        answers.same,
    ),
    EffectCondition(
        "files of other options",
        ("runconfig.op_precision_mode.file", "files.fusion_switch.current.missing_section", "P23"),
        all_of(tabled, unlike(*_NAMED_OF_OTHERS, "op_select_implmode", "optypelist_for_implmode")),
        _with_files,
        answers.OWN,
        ("implementation",),
        roughly=True,
    ),
    EffectCondition(
        "another implementation of operators",  # of what is compared with itself
        ("session.op_select_implmode.high_precision",),
        all_of(tabled, lambda one: one.instance.case.method != "run",
             unlike("op_precision_mode", "op_select_implmode", "optypelist_for_implmode", said="tun|reused|cached")),
        changes.giving(changes.on_both(op_select_implmode="high_precision")),
        answers.same,
        ("implementation",),
        roughly=True,
    ),
    EffectCondition(
        "a pass for scopes that there are none of",
        ("session.enable_scope_fusion_passes.grammar", "session.enable_scope_fusion_passes.default"),
        all_of(tabled, unlike("enable_scope_fusion_passes", said=r"Scope\w+Pass|passes:")),
        changes.giving(changes.on_both(enable_scope_fusion_passes="ScopeClipBoxesPass")),
        answers.same,
    ),
    EffectCondition(
        "switches of the kernel compiler",  # no cache beside them
        ("runconfig.op_debug_config.ccec_g", "runconfig.op_compiler_cache_mode.debug_cfg_no_list"),
        all_of(compiles, in_003,
             unlike(*OF_KERNELS, *OF_CACHE, said=rf"{CACHE}|kernel_meta|reused|cached|kernels:")),
        changes.giving(changes.on_both(op_debug_config=_SWITCHES), {_SWITCHES: "op_debug_config = ccec_g\n"}),
        answers.OWN,
        ("kernels",),
    ),
    EffectCondition(
        "iterations on the device",  # of what is compiled: who starts a step is another matter
        ("runconfig.iterations_per_loop.example", "runconfig.iterations_per_loop.effect"),
        all_of(compiles, in_003, accepted,
             unlike("iterations_per_loop", "mix_compile_mode", "graph_run_mode", "enable_data_pre_proc",
                     "dynamic_input", *OF_PROFILES)),
        changes.giving(changes.on_both(iterations_per_loop=1000)),
        answers.same,
        ("mode", "mixed"),
        roughly=True,
    ),
    EffectCondition(
        "options of other subjects",
        ("session.op_wait_timeout.scope", "runconfig.quant_dumpable.0"),
        all_of(tabled, lambda one: "faults" not in one.params,
             unlike("graph_run_mode", "hccl_timeout", "stream_sync_timeout", "graph_memory_max_size",
                     "variable_memory_max_size", said="moved|transfers|memory|exception_dump")),
        changes.giving(_UNRELATED),
        answers.same,
    ),
    EffectCondition(
        "input shapes that are generalised",
        ("runconfig.compile_dynamic_mode.true",),
        all_of(compiles, in_003, accepted,
             unlike("compile_dynamic_mode", "jit_compile", "dynamic_input", "input_shape", "op_debug_config",
                     "op_debug_level", *OF_TUNING, said=r"reused|cached|kernels:|UBFusion|ub_fusion")),
        changes.giving(changes.on_both(compile_dynamic_mode=True)),
        answers.same,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "deterministic computing",  # slower, but of each step that is compared
        ("runconfig.deterministic.1", "runconfig.deterministic.perf"),
        all_of(in_003, unlike("deterministic")),
        changes.giving(changes.on_both(deterministic=1)),
        answers.same,
    ),
    EffectCondition(
        "engines side by side",  # of what is compiled: when it runs is another matter
        ("session.stream_max_parallel_num.effect", "runconfig.ac_parallel_enable.streams"),
        all_of(compiles, tabled, unlike("stream_max_parallel_num", "ac_parallel_enable")),
        lambda params: changes.giving(_SIDE_BY_SIDE[params["edition"]])(params),
        answers.same,
    ),
    EffectCondition(
        "gradients that are merged late",
        ("session.is_tailing_optimization.true", "session.hcom_parallel.true"),
        all_of(compiles, tabled, unlike("is_tailing_optimization", "hcom_parallel", "graph_run_mode")),
        changes.giving(changes.on_both(is_tailing_optimization=True, hcom_parallel=True)),
        answers.same,
        ("mode",),
        roughly=True,
    ),
    EffectCondition(
        "formats of variables that are kept",  # which kernels convert them is not said
        ("session.variable_format_optimize.false",),
        all_of(compiles, tabled,
             unlike("variable_format_optimize", "graph_run_mode", said=r"reused|cached|kernels:|compiled")),
        changes.giving(changes.on_both(variable_format_optimize=False)),
        answers.same,
        ("mode",),
        roughly=True,
    ),
    EffectCondition(
        "defaults that are given",
        ("session.graph_run_mode.default", "runconfig.export_compile_stat.default"),
        all_of(tabled, lambda one: one.instance.case.method == "run" or not _shows_default(one)),  # runs are dear
        _with_defaults,
        answers.same,
    ),
    EffectCondition(
        "the default that is shown, and others, given",
        ("session.graph_run_mode.default", "runconfig.op_wait_timeout.default"),
        all_of(tabled, lambda one: _shows_default(one)),
        _with_defaults,
        answers.same,
        dear=True,
        hiding=True,
    ),
)  # fmt: skip
