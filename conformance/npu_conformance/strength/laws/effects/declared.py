"""The conditions, in the order in which they are laid."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping, Tuple

from npu_conformance.strength.laws.effects import answers, changes
from npu_conformance.strength.laws.effects.asked import HERE, EffectCondition, EffectQuestion, Params
from npu_conformance.strength.laws.effects.fits import (
    accepted,
    all_of,
    compiles,
    gives,
    has_session,
    has_surface,
    in_003,
    lacks,
    laid,
    one_program,
    tabled,
    tells_time,
    unlike,
)
from npu_conformance.strength.laws.relations import conflicting

__all__ = ["BY_NAME", "CONDITIONS", "SECOND", "fitting"]


_OWN = answers.without(rf"\A{HERE}/(?!a/)")
_PROFILE = json.dumps({"output": f"/{HERE}", "task_trace": "on", "aicpu": "on"})
_PROFILED: Mapping[str, Mapping[str, Any]] = {
    "session": {"profiling_mode": True, "profiling_options": _PROFILE},
    "runconfig": {
        "profiling_config": {
            "class": "ProfilingConfig",
            "arguments": {"enable_profiling": True, "profiling_options": _PROFILE},
        }
    },
}
_DUMP = {"enable_dump": True, "dump_path": f"/{HERE}", "dump_mode": "all"}
_DUMPED: Mapping[str, Mapping[str, Any]] = {
    "session": _DUMP,
    "runconfig": {"dump_config": {"class": "DumpConfig", "arguments": _DUMP}},
}

#: Values that documents 002 and 003 give as defaults, those of both editions of a surface first.
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
    "session current": {
        "hcom_parallel": True, "enable_exception_dump": 2, "op_wait_timeout": 120,
        "stream_max_parallel_num": "DNN_VM_AICPU:1,AIcoreEngine:1", "op_compiler_cache_mode": "enable",
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
    surface, values = params["surface"], params["values"]
    turns = [one.get("values") or {} for one in [*(params.get("turns") or ()), *_variants(params)]]
    bears = set().union(*(conflicting(surface).names(one) for one in [values, *turns]))
    known = _defaults(surface, params["edition"])
    return {**params, "values": {**{key: one for key, one in known.items() if key not in bears}, **values}}


def _variants(params: Params) -> List[Params]:
    return [{"values": one} for one in (params.get("variants") or {}).values()]


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

_OF_CACHE = ("op_compiler_cache_mode", "op_compiler_cache_dir")
_OF_KERNELS = ("op_debug_level", "op_debug_config", "debug_dir")
_OF_TUNING = ("aoe_mode", "work_path", "aoe_config_file", "auto_tune_mode")
_OF_PROFILES = ("profiling_mode", *changes.OUTPUTS)
_CACHE = r"kernel_cache|op_cache|atc_data"
_TRACED = r"training_trace|forward|backward|updates|augmentation|aggregation"

#: Files of other options, about what no case has, or as it is by itself: of either age of documents.
_FILES_OF_OTHERS: Mapping[str, Any] = {
    f"/{HERE}/files/op_precision.ini": "Nowhere=high_precision\n",
    f"/{HERE}/files/fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"SoftmaxFusionPass": "on"}}}),
}
_SWITCHES = f"/{HERE}/files/op_debug.cfg"
_NAMED_OF_OTHERS = dict(zip(("op_precision_mode", "fusion_switch_file"), _FILES_OF_OTHERS))

#: Files that lie in the folder of a program, and are nobody's: some called as files of the samples are, which no option
#: names.
_OF_NOBODY: Mapping[str, str] = {
    "kernel_meta/notes.txt": "{}\n",
    "fusion_result.txt": "{}\n",
    "op_precision.ini": "MatMulV2=high_precision\n",
    "fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}),
    "test0.cfg": "op_debug_config = ccec_g,dump_cce\n",
    "tuning_config.cfg": json.dumps({"tune_ops_name": ["nowhere"]}),
    "ops_info.json": json.dumps({"black-list": {"to-add": ["MatMulV2"]}}),
}


def _of_any_ranks(one: EffectQuestion) -> bool:
    """Whether a step of two devices is one of more: of a script it is said, of `every_collective` by an operator."""
    graph = str(one.params.get("graph", "every_collective"))
    return one.params.get("ranks") == 2 and "every_collective" not in graph


#: In the order in which they are laid; what one gives, those after it leave alone.
CONDITIONS: Tuple[EffectCondition, ...] = (
    *(
        EffectCondition(
            name,  # with what is document 003's alone nothing can be laid beside it
            ("runconfig.mix_compile_mode.session_equivalence", "precision.g.session_same", "G16"),
            all_of(accepted, has_surface(surface), changes.on_both_surfaces, lacks("AOE_MODE"),
                 unlike(said="fusion_result")),
            changes.on_other_surface,
            answers.same,
            ("results", "weights", "tuning"),
            fully="surface",
            hiding=True,
        )
        for name, surface in (("by NPURunConfig", "session"), ("by a session", "runconfig"))
    ),
    EffectCondition(
        "by the environment",
        ("env.AOE_MODE.fallback", "env.ASCEND_DEVICE_ID.lower", "T14"),
        all_of(accepted, in_003, changes.once, lacks(*changes.VARIABLES.values())),
        changes.by_environment,
        answers.same,
        ("results", "weights", "tuning", "device"),
    ),
    EffectCondition(
        "names of every kind of character",
        ("session.op_compiler_cache_dir.charset", "runconfig.op_compiler_cache_dir.charset", "B1"),
        all_of(accepted, gives(*changes.DIRECTORIES, *changes.FILES, *changes.OUTPUTS)),
        changes.elsewhere,
        answers.renamed(lambda name: re.sub(r"\A(Named_by-00[23]\.[^/]+)/", "", name)),
    ),
    EffectCondition(
        "relative names",
        ("runconfig.work_path.relative", "session.profiling_options.output.relative", "D8"),
        lambda one: not one.options.isdisjoint((*changes.DIRECTORIES, *changes.FILES, *changes.OUTPUTS))
        or not one.env.isdisjoint(changes.OF_DIRECTORIES),
        changes.relative,
        answers.same,
        dear=True,
    ),
    EffectCondition(
        "slashes at the end",
        ("session.profiling_options.output.dest", "session.op_compiler_cache_dir.exists"),
        all_of(accepted, gives(*changes.DIRECTORIES, *changes.OUTPUTS)),
        lambda params: changes.everywhere(params, changes.DIRECTORIES, lambda path: f"{path.rstrip('/')}/"),
        answers.same,
    ),
    EffectCondition(
        "a cache of its own",
        ("session.op_compiler_cache_mode.enable", "session.op_compiler_cache_dir.created"),
        all_of(tabled, one_program, unlike(*_OF_CACHE, "op_debug_level", "op_debug_config", said=_CACHE)),
        changes.giving(changes.on_both(op_compiler_cache_mode="enable", op_compiler_cache_dir=f"/{HERE}")),
        _OWN,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "kernel files of level 4",  # no cache beside it
        ("session.op_debug_level.4.files", "session.debug_dir.contents"),
        all_of(
            compiles, tabled, unlike(*_OF_KERNELS, *_OF_CACHE, said=rf"{_CACHE}|kernel_meta|reused|cached|kernels:")
        ),
        changes.giving(changes.on_both(op_debug_level=4, debug_dir=f"/{HERE}")),
        _OWN,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "no cache",
        ("session.op_compiler_cache_mode.disable",),
        all_of(compiles, tabled, unlike(*_OF_CACHE, said=rf"{_CACHE}|reused|cached|kernels:")),
        changes.giving(changes.on_both(op_compiler_cache_mode="disable")),
        answers.same,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "a directory for files of debugging",
        ("session.debug_dir.contents",),
        all_of(tabled, unlike(*_OF_KERNELS, said="kernel_meta")),
        changes.giving(changes.on_both(debug_dir=f"/{HERE}")),
        _OWN,
        moves=True,
    ),
    EffectCondition(
        "fusion results at once",
        ("runconfig.export_compile_stat.2",),
        all_of(in_003, unlike("export_compile_stat", said="fusion_result")),
        changes.giving(changes.on_both(export_compile_stat=2)),
        answers.without(r"(\A|/)fusion_result\.json\Z"),
        ("results",),
        roughly=True,
    ),
    EffectCondition(
        "no fusion results",
        ("runconfig.export_compile_stat.0",),
        all_of(compiles, in_003, unlike("export_compile_stat", said="fusion_result")),
        changes.giving(changes.on_both(export_compile_stat=0)),
        answers.same,
        ("results",),
        roughly=True,
    ),
    EffectCondition(
        "weights in files",
        ("runconfig.external_weight.true_all_const", "runconfig.external_weight.numerics"),
        all_of(in_003, unlike("external_weight", said="constant|weight")),
        changes.giving(changes.on_both(external_weight=True)),
        answers.without(r"(\A|/)tmp_weight_"),
        ("weights",),
        roughly=True,
    ),
    EffectCondition(
        "a profile",
        ("session.profiling_mode.true", "session.profiling_options.output.dest"),
        all_of(tabled, lambda one: one.instance.case.method != "run",
             unlike(*_OF_PROFILES, "iterations_per_loop", said="profile")),
        changes.giving(_PROFILED, {f"/{HERE}/": ""}),
        _OWN,
    ),
    EffectCondition(
        "tuning",  # of what is compiled afterwards
        ("runconfig.aoe_mode.2", "runconfig.work_path.contents", "T26"),
        all_of(in_003, one_program, lacks("AOE_MODE"), unlike(*_OF_TUNING, said="tun|speed|repository")),
        changes.giving(changes.on_both(aoe_mode="2", work_path=f"/{HERE}"), {f"/{HERE}/": ""}),
        _OWN,
        ("tuning",),
        roughly=True,
    ),
    EffectCondition(
        "dumps",
        ("session.enable_dump.true", "session.dump_path.precreated"),
        all_of(tabled, unlike("enable_dump", "dump_config", "dump_path")),
        changes.giving(_DUMPED, {f"/{HERE}/": ""}),
        _OWN,
    ),
    EffectCondition(
        "online inference",  # with the precision of training; what documents list for training alone is left out
        ("session.graph_run_mode.0", "A6", "A28"),
        all_of(
            tabled,
            lacks("AOE_MODE"),
            unlike(
                "graph_run_mode", "iterations_per_loop", "enable_small_channel", "variable_format_optimize",
                "hcom_parallel", "is_tailing_optimization", "enable_data_pre_proc",
                "hccl_timeout", "op_wait_timeout", "op_execute_timeout", *_OF_TUNING, said=_TRACED,
            ),
        ),
        changes.in_inference,
        answers.same,
        ("mode", "run mode"),
        fully="mode",
        shading=True,
    ),
    EffectCondition(
        "mixed computing",  # of what the device computes anyway; a graph in pieces has copies of its own
        ("session.mix_compile_mode.true",),
        all_of(
            tabled,
            unlike(
                "mix_compile_mode", "use_off_line", "iterations_per_loop", "input_shape", "dynamic_dims",
                said=r"\bmoved",
            ),
        ),
        changes.giving(changes.on_both(mix_compile_mode=True)),
        answers.same,
        ("mixed", "run mode", "before"),
        fully="mixed",
        shading=True,
    ),
    EffectCondition(
        "the third device",
        ("session.session_device_id.effect", "session.session_device_id.over_env"),
        all_of(tabled, lacks("ASCEND_DEVICE_ID"), unlike("session_device_id", "local_rank_id", said="ran_on")),
        changes.of_both(
            changes.giving(changes.on_both(session_device_id=3)), changes.setting({"ASCEND_DEVICE_ID": "5"})
        ),
        answers.same,
        ("device",),
    ),
    EffectCondition(
        "a launched rank",
        ("T51",),
        all_of(
            lambda one: "ranks" not in one.params,
            lacks("RANK_ID", "RANK_SIZE", "DEVICE_ID"),
            unlike("local_rank_id", said=r"ran_on|\bdevice \d"),
        ),
        changes.setting({"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "3", "JOB_ID": "10087"}),
        answers.same,
    ),
    EffectCondition(
        "eight devices for two",
        ("session.is_tailing_optimization.distributed_only", "runconfig.hcom_parallel.true"),
        _of_any_ranks,
        lambda params: {**params, "ranks": 8},
        answers.same,
        ("device",),
    ),
    EffectCondition(
        "a work path in the environment",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.debug_dir.priority", "files.fusion_result.path_env"),
        lacks("ASCEND_WORK_PATH"),
        changes.setting({"ASCEND_WORK_PATH": f"/{HERE}/a"}, {f"/{HERE}/a/": ""}),
        answers.renamed(lambda name: re.sub(rf"\A{HERE}/a/(FE/\d+/?)?", "", name)),
        moves=True,
    ),
    EffectCondition(
        "a cache path in the environment",
        ("runconfig.op_compiler_cache_dir.priority",),
        all_of(gives("op_compiler_cache_dir"), lacks("ASCEND_CACHE_PATH")),
        changes.setting({"ASCEND_CACHE_PATH": f"/{HERE}/c"}),
        answers.same,
        moves=True,
    ),
    EffectCondition(
        "another home",
        ("runconfig.op_compiler_cache_dir.priority", "session.op_compiler_cache_dir.default"),
        all_of(one_program, lacks("HOME")),
        changes.setting({"HOME": f"/{HERE}/h"}),
        answers.without(rf"\A{HERE}/h/"),
        moves=True,
    ),
    EffectCondition(
        "a path of collections",  # oom is refused beside it
        ("env.NPU_COLLECT_PATH.uses", "D31"),
        all_of(compiles, lacks("NPU_COLLECT_PATH"), unlike("op_debug_config", said="kernel_meta")),
        changes.setting({"NPU_COLLECT_PATH": f"/{HERE}/n"}),
        answers.without(rf"(\A|/)kernel_meta/|\A{HERE}/n(/|\Z)"),
    ),
    EffectCondition(
        "a folder with files of others",
        ("C15", "D30", "runconfig.fusion_switch_file.default", "runconfig.op_debug_config.default"),
        lambda one: True,
        lambda params: {**params, "files": {**_OF_NOBODY, **params.get("files", {})}},
        answers.renamed(lambda name: None if name in _OF_NOBODY else name),
        seldom=True,
    ),
    EffectCondition(
        "an earlier program",
        ("files.fusion_result.keys", "session.op_compiler_cache_mode.disable"),
        all_of(compiles, accepted, tabled, unlike(said="size")),
        changes.after_another,
        answers.without_first,
        ("before",),
        dear=True,
        fully="program",
        shading=True,
    ),
    EffectCondition(
        "a killed program",
        ("runconfig.export_compile_stat.1", "D26"),
        all_of(compiles, unlike(said=r"\bleft|fusion_result|\bin \S|contents|repository")),
        lambda params: {**params, "turns": [{**one, "ends": "killed"} for one in params.get("turns") or [{}]]},
        answers.same,
    ),
    EffectCondition(
        "another model before",
        ("runconfig.external_weight.sharing", "D18"),
        all_of(compiles, lambda one: not one.params.get("models"),
             unlike(said=r"fusion_result|filler|reused none compiled none")),
        changes.with_other_first,
        answers.without_other_model,
        ("graph", "names"),
        dear=True,
        fully="model",
        shading=True,
    ),
    EffectCondition(
        "steps before",  # what the device is to do wrong may be of an operator that is on the host without them
        ("session.session_device_id.per_session",),
        all_of(tells_time, accepted, lambda one: not ("mix_compile_mode" in one.options and "faults" in one.params)),
        changes.after_steps,
        changes.from_last_step,
        ("before",),
        dear=True,
        fully="steps",
        shading=True,
    ),
    EffectCondition(
        "a variable, a text, a loop and a call in the graph",
        ("mixed.default.full_offload", "M2", "M4"),
        all_of(lambda one: bool(one.params.get("fetches")) and not one.params.get("models"),
             unlike("external_weight", "variable_memory_max_size", "graph_memory_max_size", said="constant|weight")),
        changes.targeted,
        answers.same,
        ("graph",),
        graph=changes.with_own_flow,
        seldom=True,
    ),
    EffectCondition(
        "a name scope around the graph",
        ("files.customize_dtypes.name_with_slash", "in_out_pair.names_no_port"),
        all_of(lambda one: one.instance.case.method != "run" and not one.params.get("models"), accepted,
             changes.names_no_operator,
             unlike("in_out_pair", "input_shape", "dynamic_dims", "enable_scope_fusion_passes", *_OF_TUNING,
                     *_OF_PROFILES, said=r"Scope\w+Pass|profile|passes:")),
        changes.named_in_scope,
        changes.out_of_scope,
        ("names",),
        graph=changes.scoped,
    ),
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
        changes.giving(changes.on_both(**_NAMED_OF_OTHERS), _FILES_OF_OTHERS),
        _OWN,
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
             unlike(*_OF_KERNELS, *_OF_CACHE, said=rf"{_CACHE}|kernel_meta|reused|cached|kernels:")),
        changes.giving(changes.on_both(op_debug_config=_SWITCHES), {_SWITCHES: "op_debug_config = ccec_g\n"}),
        _OWN,
        ("kernels",),
    ),
    EffectCondition(
        "iterations on the device",  # of what is compiled: who starts a step is another matter
        ("runconfig.iterations_per_loop.example", "runconfig.iterations_per_loop.effect"),
        all_of(compiles, in_003, accepted,
             unlike("iterations_per_loop", "mix_compile_mode", "graph_run_mode", "enable_data_pre_proc",
                     "dynamic_input", *_OF_PROFILES)),
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
                     "op_debug_level", *_OF_TUNING, said=r"reused|cached|kernels:|UBFusion|ub_fusion")),
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


def _second(params: Params) -> Params:
    """What the question gives is given in the second of two programs, the first of which gives nothing."""
    given = {key: params[key] for key in ("values", "env") if params.get(key)}
    return {**params, "values": {}, "env": {}, "turns": [{}, given]}


#: What is refused is so in a later program, too; nothing else is laid over it.
SECOND = EffectCondition(
    "in the second of two programs",
    ("session.table.unlisted_reserved",),
    all_of(compiles, lambda one: not accepted(one)),
    _second,
    answers.same,
)
BY_NAME = {one.name: one for one in (*CONDITIONS, SECOND)}


#: What runs are asked under: whatever else that changes is left, and leaves values, errors and dumps alone.
_OF_RUNS = frozenset({
    "by NPURunConfig", "by a session", "a cache of its own", "a directory for files of debugging", "weights in files",
    "online inference", "a work path in the environment", "a cache path in the environment", "another home",
    "a folder with files of others", "another order", "white space in files", "files of other options",
    "options of other subjects", "deterministic computing", "defaults that are given", "a launched rank", "tuning",
    "dumps", "a variable, a text, a loop and a call in the graph",
})  # fmt: skip


def fitting(asked: EffectQuestion) -> List[EffectCondition]:
    """The conditions that no document relates to a question."""
    runs = asked.instance.case.method == "run"
    return [one for one in CONDITIONS if (not runs or one.name in _OF_RUNS) and one.fits(asked)]
