"""Which requirement states what of an option: its domain, and what a complaint about it rests on."""

from __future__ import annotations

from typing import List, Mapping

__all__ = ["DOMAINS", "domains_of"]

#: Surface and option to the requirement that states its domain, grammar or file format, in the document of that
#: surface, where it is not called after the option; empty where no fault of the whole domain can be made. A bool has no
#: domain beside its type.
DOMAINS: Mapping[str, Mapping[str, str]] = {
    "runconfig": {
        "session_device_id": "runconfig.session_device_id.over_env",
        "precision_mode": "precision.domain",
        "precision_mode_v2": "precision.v2.domain",
        "dynamic_graph_execute_mode": "runconfig.dynamic_graph_execute_mode.effect",
        "iterations_per_loop": "runconfig.iterations_per_loop.positive",
        "graph_max_parallel_model_num": "runconfig.graph_max_parallel_model_num.range",
        "hccl_timeout": "runconfig.hccl_timeout.range",
        "op_wait_timeout": "runconfig.op_wait_timeout.effect",
        "op_execute_timeout": "runconfig.op_execute_timeout.effect",
        "stream_sync_timeout": "runconfig.stream_sync_timeout.effect",
        "event_sync_timeout": "runconfig.event_sync_timeout.effect",
        "fusion_switch_file": "runconfig.fusion_switch_file.charset",
        "op_compiler_cache_dir": "runconfig.op_compiler_cache_dir.charset",
        "stream_max_parallel_num": "runconfig.stream_max_parallel_num.limit",
        "enable_scope_fusion_passes": "runconfig.enable_scope_fusion_passes.list",
        "dynamic_inputs_shape_range": "runconfig.dynamic_inputs_shape_range.dims",
        "local_device_list": "runconfig.local_device_list.pair",
        "optypelist_for_implmode": "runconfig.optypelist_for_implmode.pair",
        "op_debug_config": "runconfig.op_debug_config.is_file",
        "op_precision_mode": "runconfig.op_precision_mode.file",
        "modify_mixlist": "files.mixlist.current.grammar",
        "customize_dtypes": "files.customize_dtypes.by_name",
        "aoe_config_file": "files.aoe_cfg.keys",
        "work_path": "runconfig.work_path.precreated",
    },
    "session": {
        "optypelist_for_implmode": "",
        "in_out_pair": "in_out_pair.grammar",
        "graph_memory_max_size": "session.graph_memory_max_size.range",
        "variable_memory_max_size": "session.variable_memory_max_size.range",
        "precision_mode": "precision.s.domain",
        "modify_mixlist": "files.mixlist.legacy.grammar",
        "op_precision_mode": "files.op_precision_ini.flat.values",
        "fusion_switch_file": "session.fusion_switch_file.charset",
        "op_compiler_cache_dir": "session.op_compiler_cache_dir.charset",
        "dump_path": "session.dump_path.precreated",
        "profiling_options": "session.profiling_options.json",
        "auto_tune_mode": "session.auto_tune_mode.list",
        "op_wait_timeout": "session.op_wait_timeout.unit",
    },
}


def domains_of(surface: str, option: str) -> List[str]:
    """Ids of which the first that the inventory has states the domain of an option; it may have none of them."""
    stated = DOMAINS[surface].get(option)
    if stated is not None:
        return [stated] if stated else []
    return [f"{surface}.{option}.domain", f"{surface}.{option}.grammar", f"files.{option}.grammar"]
