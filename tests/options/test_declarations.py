"""Types, scenarios and allowed values as documents 002 and 003 state them, written down a second time."""

from __future__ import annotations

import re
from pathlib import Path as FilePath

import pytest

from fixtures.programs.option_tables.domains import DOMAINS
from fixtures.programs.option_tables.files import FILE_NAMES
from fixtures.programs.option_tables.runconfig import RUNCONFIG
from fixtures.programs.option_tables.session import SESSION
from npu_conformance.library import inventory
from npu_reference.options import OPTIONS
from npu_reference.options.domains import Anything, Boolean, Choice, ConfigObject, Integer, Path, Text
from npu_reference.options.rules import RULES

ROOT = FilePath(__file__).parents[2]

#: Field of every option: the parameter map's, or the Python type's. The tables of the documents have no rows for what
#: is not supported, nor for objects.
FIELDS = {
    "b": {"enable_dump_debug", "enable_reduce_precision"},
    "i": set(),
    "s": {"dump_debug_mode", "distribute_config", "device_type"},
    "o": {"distribute", "memory_config", "dump_config", "profiling_config", "experimental_config"},
}
for _row in (*SESSION, *RUNCONFIG):
    FIELDS[_row.field[0]].add(_row.name)

#: The column of document 002 that says where an option applies; the others apply to both.
SESSION_TRAINING = [
    "enable_data_pre_proc",
    "iterations_per_loop",
    "dump_step",
    "enable_dump_debug",
    "dump_debug_mode",
    "variable_format_optimize",
    "hcom_parallel",
    "auto_tune_mode",
    "is_tailing_optimization",
    "enable_exception_dump",
    "aoe_mode",
    "work_path",
    "distribute_config",
    "hccl_timeout",
    "op_wait_timeout",
    "op_execute_timeout",
]
SESSION_INFERENCE = [
    "input_shape",
    "dynamic_dims",
    "dynamic_node_type",
    "buffer_optimize",
    "enable_small_channel",
    "in_out_pair_flag",
    "in_out_pair",
]

#: Where the text of document 003 restricts an option.
RUNCONFIG_TRAINING = [
    "iterations_per_loop",
    "hcom_parallel",
    "is_tailing_optimization",
    "aoe_mode",
    "work_path",
    "aoe_config_file",
    "distribute",
]
RUNCONFIG_INFERENCE = ["quant_dumpable", "graph_max_parallel_model_num"]

WORDS = {
    ("dump_mode", "legacy"): "input output all",
    ("precision_mode", "legacy"): "allow_fp32_to_fp16 force_fp16 force_fp32 must_keep_origin_dtype allow_mix_precision",
    ("precision_mode", "current"): "allow_fp32_to_fp16 force_fp16 force_fp32 must_keep_origin_dtype "
    "allow_mix_precision cube_fp16in_fp32out allow_mix_precision_fp16",
    ("precision_mode_v2", "current"): "fp16 origin cube_fp16in_fp32out mixed_float16",
    ("op_select_implmode", "legacy"): "high_precision high_performance",
    ("op_compiler_cache_mode", "legacy"): "enable disable force",
    ("buffer_optimize", "legacy"): "l2_optimize off_optimize",
    ("dynamic_graph_execute_mode", "legacy"): "dynamic_execute",
    ("aoe_mode", "current"): "1 2 4",
    ("ac_parallel_enable", "current"): "0 1",
    ("quant_dumpable", "current"): "0 1",
    ("variable_placement", "current"): "Device Host",
    ("jit_compile", "current"): "auto true false",
}

#: Lowest and highest integer; None is without bound.
BOUNDS = {
    ("iterations_per_loop", "legacy"): (1, None),
    ("graph_run_mode", "legacy"): (0, 1),
    ("op_debug_level", "legacy"): (0, 4),
    ("enable_exception_dump", "legacy"): (0, 1),  # A20
    ("enable_exception_dump", "current"): (0, 2),
    ("dynamic_node_type", "legacy"): (0, 1),
    ("enable_small_channel", "legacy"): (0, 1),
    ("local_rank_id", "legacy"): (0, None),
    ("session_device_id", "legacy"): (0, None),
    ("hccl_timeout", "legacy"): (1, None),  # T3
    ("hccl_timeout", "current"): (1, 17340),  # T1
    ("op_wait_timeout", "legacy"): (1, None),  # T4
    ("op_execute_timeout", "current"): (1, None),
    ("deterministic", "current"): (0, 1),
    ("input_fusion_size", "current"): (None, None),  # T7: clamped by a rule
    ("export_compile_stat", "current"): (0, 2),
    ("graph_max_parallel_model_num", "current"): (1, 2147483647),
    ("stream_sync_timeout", "current"): (1, None),  # T5, and -1
    ("event_sync_timeout", "current"): (1, None),
}
FREE_TEXTS = [
    "in_out_pair",
    "dump_step",
    "input_shape",
    "dynamic_dims",
    "dynamic_inputs_shape_range",
    "profiling_options",
    "graph_memory_max_size",
    "variable_memory_max_size",
    "auto_tune_mode",
    "stream_max_parallel_num",
    "enable_scope_fusion_passes",
    "optypelist_for_implmode",
    "local_device_list",
]
DIRECTORIES = ["dump_path", "work_path", "op_compiler_cache_dir", "debug_dir"]


def edition_of(table, name, edition):
    """The entry of an edition; an edition without its own is as the other one."""
    return table.get((name, edition)) or table.get((name, "legacy")) or table.get((name, "current"))


def values_of(name):
    """The values that the tables of the documents accept of an option that is not here."""
    return [value for row in DOMAINS if row.requirement.endswith(f".{name}.domain") for value in row.accepts]


@pytest.mark.parametrize("field", FIELDS)
def test_an_option_has_the_documented_type(field):
    facets = {name: [facet for facet in option.facets.values() if facet.listed] for name, option in OPTIONS.items()}
    names = {name for name, found in facets.items() if {facet.field for facet in found} == {field}}
    assert names == FIELDS[field]


def test_the_session_table_says_where_an_option_applies():
    for name, option in OPTIONS.items():
        if "session" in option.surfaces:
            applies = "T" if name in SESSION_TRAINING else "I" if name in SESSION_INFERENCE else "TI"
            assert option.facets["session", "legacy"].applies == applies, name
            if name == "enable_small_channel":  # A28: in the current edition it is about both
                applies = "TI"
            assert option.facets["session", "current"].applies == applies, name


def test_the_runconfig_table_says_where_an_option_applies():
    for name, option in OPTIONS.items():
        if "runconfig" in option.surfaces and option.facets["runconfig", "current"].listed:
            applies = "T" if name in RUNCONFIG_TRAINING else "I" if name in RUNCONFIG_INFERENCE else "TI"
            assert option.facets["runconfig", "current"].applies == applies, name


def test_every_domain_is_the_documented_one():
    for name, option in OPTIONS.items():
        for (_, edition), facet in option.facets.items():
            domain = facet.domain
            if isinstance(domain, Anything):
                assert facet.status in ("unsupported", "ignored", "removed", "idle"), name
            elif facet.field == "b":
                assert isinstance(domain, Boolean), name
            elif isinstance(domain, Integer):
                bounds = edition_of(BOUNDS, name, edition) or (min(values_of(name)), max(values_of(name)))
                assert (domain.low, domain.high) == bounds, name
                assert domain.special == ((-1,) if name.endswith("sync_timeout") else ()), name
            elif isinstance(domain, Choice):
                words = edition_of(WORDS, name, edition)
                assert set(domain.words) == set(words.split() if words else values_of(name)), name
            elif isinstance(domain, Text):
                assert name in FREE_TEXTS
            elif isinstance(domain, Path):
                assert name in (FILE_NAMES if domain.kind == "file" else DIRECTORIES)
                assert (domain.read is not None) == (domain.kind == "file"), name
                assert bool(domain.charset) == (name in ("fusion_switch_file", "op_compiler_cache_dir")), name
            else:
                assert isinstance(domain, ConfigObject) and facet.field == "o", name


ROWS = set(re.findall(r"^\| ([A-Z]\d+) \|", (ROOT / "docs" / "readings.md").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_reading_cited_is_a_row():
    for option in OPTIONS.values():
        for reading in option.readings:
            assert reading in ROWS, option.name


def test_every_rule_implements_a_requirement_or_a_reading():
    requirements = inventory.load()
    for rule in RULES:
        assert rule.name in requirements or rule.name in ROWS, rule.name


def test_every_requirement_of_an_option_is_known_to_it():
    requirements = inventory.load()
    for option in OPTIONS.values():
        for prefix in option.requirements:
            assert any(name.startswith(prefix) for name in requirements), prefix
    general = {"table", "register", "memory", "experiment", "deprecated"}
    for name in requirements:
        surface, topic = name.split(".")[:2]
        if surface in ("session", "runconfig") and topic not in general:
            assert surface in OPTIONS[topic].surfaces, name
