"""Mutants of every option on both surfaces: each kind of fault that the option can have there, from one table."""

from __future__ import annotations

from typing import Callable, Dict, Mapping, Tuple

from npu_conformance.backends.mutants import fault_kinds
from npu_conformance.backends.mutants.option_faults import (
    Fault,
    accepts,
    declare,
    environment_wins,
    given,
    ignores,
    out_of_scenario,
    refuses,
    silent,
    unbounded,
    untyped,
    without_advice,
    without_rule,
    wrong_default,
)
from npu_conformance.library import citing
from npu_conformance.library.stated import domains_of
from npu_reference.options import OPTIONS

__all__ = ["RULES"]

#: Kind to the last word of the requirement it breaks, what is wrong, and the fault of an option with this field.
_PLAIN: Mapping[str, Tuple[str, str, Callable[[str, str], Fault]]] = {
    "any_type": ("type", "Takes values of any type for {}.", lambda name, field: untyped(name)),
    "wrong_default": ("default", "Has another default of {} than the document.", wrong_default),
    "ignored": ("example", "Takes no notice of {}.", lambda name, field: ignores(name)),
    "out_of_scenario": (
        "scope",
        "Does with {} outside its scenario what it should not.",
        lambda name, field: out_of_scenario(name),
    ),
}

#: Requirements that state these in other words, by surface, option and kind.
_STATED: Dict[Tuple[str, str, str], str] = {
    ("runconfig", "quant_dumpable", "out_of_scenario"): "runconfig.quant_dumpable.inference_only",
    (
        "runconfig",
        "graph_max_parallel_model_num",
        "out_of_scenario",
    ): "runconfig.graph_max_parallel_model_num.inference",
    **{
        ("runconfig", f"{name}_memory_max_size", "wrong_default"): f"runconfig.{name}_memory_max_size.no_effect"
        for name in ("graph", "variable")
    },
}

#: Made by hand, since they show in more than the effective value.
_OF_THEIR_OWN = {("session", "stream_max_parallel_num", "wrong_default")}

for _surface in fault_kinds.EDITIONS:
    for _name, _facet in fault_kinds.facets(_surface).items():
        for _kind, (_word, _sentence, _make) in _PLAIN.items():
            if (_surface, _name, _kind) in _OF_THEIR_OWN:
                continue
            if not fault_kinds.reason_without(_surface, _name, _kind):
                declare(
                    f"options.{_surface}.{_name}.{_kind}",
                    _STATED.get((_surface, _name, _kind), f"{_surface}.{_name}.{_word}"),
                    _sentence.format(_name),
                    _make(_name, _facet.field),
                )
        if _facet.status in ("deprecated", "ignored"):
            declare(
                f"options.{_surface}.{_name}.silent_deprecation",
                f"{_surface}.{_name}.deprecated",
                f"Does not say that {_name} will be removed.",
                silent(_name, "deprecated"),
            )
        if _facet.status == "unsupported":
            declare(
                f"options.{_surface}.{_name}.silent_unsupported",
                f"{_surface}.{_name}.unsupported",
                f"Does not say that {_name} is not supported.",
                silent(_name, "unsupported"),
            )

declare(
    "options.precision_mode.mixed_refused",
    "precision.g.modes",
    "Has no mixed precision in the legacy edition.",
    refuses(
        "precision_mode",
        lambda params: params["edition"] == "legacy" and given(params, "precision_mode") == "allow_mix_precision",
        "OPTION_VALUE",
    ),
)

# Domains. A bool has no domain beside its type.

for _surface, _words, _unbound in (
    ("runconfig", "Takes whatever is given for {}.", accepts),
    # What stands beside a value in a parameter map is not looked over.
    ("session", "Takes any value of the right type for {} in a parameter map.", unbounded),
):
    for _name in OPTIONS:
        _stated = next(filter(citing.find, domains_of(_surface, _name)), "")
        if _stated:
            declare(f"options.{_surface}.{_name}.skipped_domain", _stated, _words.format(_name), _unbound(_name))

_CLASSES = ("memory_config", "dump_config", "profiling_config", "experimental_config")
for _name, _kind in [("distribute", "ps_worker")] + [(name, "class") for name in _CLASSES]:
    declare(
        f"options.runconfig.{_name}.any_class",
        f"runconfig.{_name}.{_kind}",
        f"Takes objects of any class for {_name}.",
        untyped(_name, lambda params, name=_name: isinstance(given(params, name), dict)),
        kind="skipped_domain",
    )

#: Requirement to the rule between options that its mutant does not know.
RULES: Dict[str, str] = {
    "session.input_shape.needs_dynamic_dims": "S1",
    "session.dynamic_dims.count": "session.dynamic_dims.count",
    "session.dynamic_graph_execute_mode.only_when_dynamic": "session.dynamic_graph_execute_mode.only_when_dynamic",
    "session.memory.sum_31g": "session.memory.sum_31g",
    "session.optypelist_for_implmode.needs_implmode": "session.optypelist_for_implmode.needs_implmode",
    "session.op_precision_mode.over_implmode": "session.op_precision_mode.over_implmode",
    "session.enable_dump.path_none": "session.dump_path.required",
    "session.profiling_options.fp_point.required": "session.profiling_options.fp_point.required",
    "session.profiling_options.output.precreated": "session.profiling_options.output.precreated",
    "session.op_compiler_cache_mode.force_parallel": "runconfig.op_compiler_cache_mode.force_parallel",
    "session.op_debug_level.advice": "runconfig.op_debug_level.advice",
    "session.enable_small_channel.advice": "session.enable_small_channel.advice",
    "session.enable_data_pre_proc.loop_prerequisite": "runconfig.enable_data_pre_proc.prerequisite",
    "session.profiling_options.inference.no_training_trace": "session.profiling_options.inference.no_training_trace",
    "session.profiling_mode.false": "session.profiling_mode.false",
    "session.use_off_line.false_overrides": "session.use_off_line.false_overrides",
    "runconfig.enable_small_channel.training_default": "runconfig.enable_small_channel.training_default",
    "env.HCCL_EXEC_TIMEOUT.fallback": "env.HCCL_EXEC_TIMEOUT.fallback",
    "env.AOE_MODE.fallback": "env.AOE_MODE.fallback",
    "runconfig.enable_small_channel.inference_fixed": "runconfig.enable_small_channel.inference_fixed",
    "runconfig.variable_placement.host_needs_mix": "runconfig.variable_placement.host_needs_mix",
    "runconfig.iterations_per_loop.mixed_one": "mixed.iterations.must_be_one",
    "runconfig.op_debug_config.npu_collect_no_oom": "runconfig.op_debug_config.npu_collect_no_oom",
    "runconfig.op_debug_level.2_oom_exclusive": "runconfig.op_debug_level.2_oom_exclusive",
    "runconfig.op_debug_level.advice": "runconfig.op_debug_level.advice",
    "runconfig.op_precision_mode.over_implmode": "session.op_precision_mode.over_implmode",
    "runconfig.op_precision_mode.keep_fp16.advice": "runconfig.op_precision_mode.keep_fp16.advice",
    "runconfig.optypelist_for_implmode.pair": "session.optypelist_for_implmode.needs_implmode",
    "runconfig.op_compiler_cache_mode.force_parallel": "runconfig.op_compiler_cache_mode.force_parallel",
    "runconfig.op_compiler_cache_mode.debug_level_gate": "runconfig.op_compiler_cache_mode.debug_level_gate",
    "runconfig.op_compiler_cache_mode.debug_cfg_no_list": "runconfig.op_compiler_cache_mode.debug_cfg_no_list",
    "runconfig.op_compiler_cache_dir.priority": "runconfig.op_compiler_cache_dir.priority",
    "runconfig.enable_exception_dump.npu_collect_forces_1": "runconfig.enable_exception_dump.npu_collect_forces_1",
    "runconfig.session_device_id.over_env": "env.ASCEND_DEVICE_ID.lower",
    "runconfig.debug_dir.priority": "env.ASCEND_WORK_PATH.uses",
    "runconfig.hccl_timeout.quantize": "runconfig.hccl_timeout.quantize",
    "runconfig.hccl_timeout.over_env": "env.HCCL_EXEC_TIMEOUT.fallback",
    "runconfig.aoe_mode.over_env": "env.AOE_MODE.fallback",
    "runconfig.stream_sync_timeout.gt_hccl": "runconfig.stream_sync_timeout.gt_hccl",
    "runconfig.dynamic_inputs_shape_range.dynamic_dims_wins": "runconfig.dynamic_inputs_shape_range.dynamic_dims_wins",
    "runconfig.dynamic_inputs_shape_range.deprecated": "S9",
    "runconfig.dynamic_graph_execute_mode.effect": "session.dynamic_graph_execute_mode.only_when_dynamic",
    "runconfig.compile_dynamic_mode.true": "S14",
    "runconfig.work_path.precreated": "runconfig.work_path.precreated",
    "runconfig.enable_data_pre_proc.prerequisite": "runconfig.enable_data_pre_proc.prerequisite",
    "runconfig.input_fusion_size.range": "T7",
    "runconfig.local_device_list.pair": "T15",
    "precision.v1_v2_exclusive": "precision.v1_v2_exclusive",
    "precision.v2.replaces_v1": "precision.v2.replaces_v1",
    "precision.force_fp16.inference_only": "precision.force_fp16.inference_only",
    "precision.customize.must_keep_off": "precision.customize.must_keep_off",
    "precision.s.mixlist.context": "P12",
    "files.cache.neither": "files.cache.neither",
    "files.op_cache_ini.over_env": "files.op_cache_ini.over_env",
    "files.aoe_cfg.deeper_opat_needs_2": "files.aoe_cfg.deeper_opat_needs_2",
}
#: Stated for NPURunConfig of options of which a session alone has one.
_EVERYWHERE = {"runconfig.dynamic_inputs_shape_range.dynamic_dims_wins"}
for _requirement, _rule in RULES.items():
    declare(
        f"options.dropped_rule.{_requirement}",
        _requirement,
        f"Knows nothing of the rule {_rule}.",
        without_rule(_rule),
        everywhere=_requirement in _EVERYWHERE,
    )

# What the documents say and nobody has to act on

_SURFACES = {"legacy": "session", "current": "runconfig"}
#: Stated of what a run leaves or does, so that a note shows no more than that it is known.
_OF_RUNS: Tuple[str, ...] = (
    "files.",
    "runconfig.op_debug_level.mc2",
    "runconfig.dynamic_inputs_shape_range.subgraphs",
    "precision.v1_v2",
    "session.is_tailing_optimization.distributed_only",
    "session.dynamic_input.subgraphs",
)
for _name, _option in OPTIONS.items():
    for _advice in _option.advice:
        if _advice.requirement.startswith(_OF_RUNS):
            continue
        _place = f"{_SURFACES[_advice.editions[0]]}.{_name}" if len(_advice.editions) == 1 else f"runconfig.{_name}"
        _words = _advice.requirement.rpartition(".")[2]
        declare(
            f"options.{_place}.no_{_words}",
            _advice.requirement,
            f"Says nothing of it: {_advice.text}",
            without_advice(_name),
        )

# Precedence: the option, the variable it goes before, and where that is stated

_PRECEDENCE = (
    ("hccl_timeout", "HCCL_EXEC_TIMEOUT", "runconfig.hccl_timeout.over_env"),
    ("aoe_mode", "AOE_MODE", "runconfig.aoe_mode.over_env"),
    ("session_device_id", "ASCEND_DEVICE_ID", "runconfig.session_device_id.over_env"),
    ("debug_dir", "ASCEND_WORK_PATH", "runconfig.debug_dir.priority"),
    ("op_compiler_cache_dir", "ASCEND_CACHE_PATH", "runconfig.op_compiler_cache_dir.priority"),
)
for _name, _variable, _requirement in _PRECEDENCE:
    declare(
        f"options.runconfig.{_name}.environment_wins",
        _requirement,
        f"Lets {_variable} go before {_name}.",
        environment_wins(_name, _variable),
    )
