"""The rules between options, one sentence each; those of dumps and profiles are in test_dump_rules.py."""

from __future__ import annotations

import pytest

from npu_reference.options import merge, resolve
from tests.options.resolving import codes, legacy, runconfig, warned

# Precision


@pytest.mark.parametrize("v1, v2", [("allow_mix_precision", "origin"), ("must_keep_origin_dtype", "origin")])
def test_precision_mode_and_its_second_form_exclude_each_other(v1, v2):  # P27
    refused = runconfig(precision_mode=v1, precision_mode_v2=v2)
    assert codes(refused) == [("precision_mode_v2", "OPTION_CONFLICT")]
    assert "precision_mode" in refused.errors[0].reason
    assert refused.values["precision_mode"] == v1


def test_the_second_form_alone_decides():
    resolution = runconfig(precision_mode_v2="fp16")
    assert not resolution.errors  # P28: also in training
    assert resolution.effective["precision_mode"] == (None, "forced", "precision.v2.replaces_v1")


def test_force_fp16_in_training_takes_effect_with_a_warning_in_the_current_edition():  # A7
    resolution = runconfig(precision_mode="force_fp16")
    assert warned(resolution) == [("precision_mode", "inference_only")]
    assert resolution.effective["precision_mode"] == ("force_fp16", "given", "")
    assert not runconfig(precision_mode="force_fp16", graph_run_mode=0).warnings
    assert not legacy(precision_mode="force_fp16").warnings


@pytest.mark.parametrize(
    "mode, fine",
    [
        ({"precision_mode": "allow_mix_precision"}, True),
        ({"precision_mode": "allow_mix_precision_fp16"}, True),
        ({"precision_mode_v2": "mixed_float16"}, True),
        ({"precision_mode_v2": "origin"}, False),
        ({"precision_mode": "force_fp32"}, False),
        ({}, False),
    ],
)
def test_mixlists_need_mixed_precision(mode, fine):  # P12
    resolution = runconfig(files={"/l.json": "{}"}, modify_mixlist="/l.json", **mode)
    assert codes(resolution) == ([] if fine else [("modify_mixlist", "OPTION_CONFLICT")])


@pytest.mark.parametrize("mode", [{"precision_mode": "must_keep_origin_dtype"}, {"precision_mode_v2": "origin"}])
def test_customised_dtypes_have_no_effect_while_precision_is_kept(mode):  # B29
    files = {"/c.cfg": "OpType::Relu:InputDtype:float16,OutputDtype:float16"}
    resolution = runconfig(files=files, customize_dtypes="/c.cfg", **mode)
    assert warned(resolution) == [("customize_dtypes", "no_effect")]
    assert resolution.effective["customize_dtypes"] == (None, "forced", "precision.customize.must_keep_off")
    assert runconfig(files=files, customize_dtypes="/c.cfg").values["customize_dtypes"] == "/c.cfg"


def test_a_type_list_needs_an_implementation_mode():
    assert codes(legacy(optypelist_for_implmode="Pooling")) == [("optypelist_for_implmode", "OPTION_CONFLICT")]
    assert not legacy(optypelist_for_implmode="Pooling", op_select_implmode="high_precision").errors


def test_the_precision_file_goes_before_the_implementation_mode():  # P24
    resolution = resolve(
        {"op_precision_mode": "/p.ini", "op_select_implmode": "high_precision", "optypelist_for_implmode": "LRN"},
        edition="legacy",
        files={"/p.ini": "LRN=high_performance"},
    )
    assert not resolution.errors
    assert warned(resolution) == [("op_select_implmode", "overridden"), ("optypelist_for_implmode", "overridden")]
    assert resolution.effective["op_select_implmode"].rule == "session.op_precision_mode.over_implmode"
    assert resolution.values["op_select_implmode"] is None
    assert resolution.values["optypelist_for_implmode"] is None


def test_an_implementation_mode_without_a_value_is_high_performance():  # B5
    assert runconfig(op_select_implmode="").values["op_select_implmode"] == "high_performance"
    assert runconfig(op_select_implmode=None).values["op_select_implmode"] is None


def test_keep_fp16_is_not_recommended():
    assert warned(runconfig(files={"/p.ini": "A=keep_fp16"}, op_precision_mode="/p.ini")) == [
        ("op_precision_mode", "advice")
    ]
    assert not runconfig(files={"/p.ini": "A=high_precision"}, op_precision_mode="/p.ini").warnings


# Memory


@pytest.mark.parametrize(
    "sizes, refused",
    [
        ({}, []),
        ({"graph": 26, "variable": 5}, []),
        ({"graph": 27, "variable": 4}, []),
        ({"graph": 27}, ["graph_memory_max_size"]),  # T31: the other one counts with its default
        ({"variable": 6}, ["variable_memory_max_size"]),
        ({"graph": 20, "variable": 12}, ["graph_memory_max_size", "variable_memory_max_size"]),
    ],
)
def test_memory_sizes_add_up_to_31_gib_at_most(sizes, refused):
    values = {f"{kind}_memory_max_size": str(size * 1024**3) for kind, size in sizes.items()}
    assert codes(legacy(**values)) == [(name, "OPTION_CONFLICT") for name in refused]


def test_a_single_byte_above_31_gib_is_refused():  # T11
    values = {"graph_memory_max_size": str(26 * 1024**3 + 1), "variable_memory_max_size": str(5 * 1024**3)}
    (first, _) = legacy(**values).errors
    assert str(26 * 1024**3 + 1) in first.reason and str(5 * 1024**3) in first.reason


@pytest.mark.parametrize("value, effective", [(-1, 0), (33554433, 33554432), (0, 0), (33554432, 33554432)])
def test_the_fusion_size_is_clamped(value, effective):  # T7
    resolution = runconfig(input_fusion_size=value)
    assert resolution.values["input_fusion_size"] == effective
    assert warned(resolution) == ([] if value == effective else [("input_fusion_size", "adjusted")])
    assert resolution.effective["input_fusion_size"].rule == ("" if value == effective else "T7")


# Shapes


SHAPE = {"input_shape": "data:1,1,40,-1;label:1,-1;mask:-1,-1", "dynamic_node_type": 0, "graph_run_mode": 0}


def test_profiles_of_the_document_are_accepted():
    resolution = legacy(dynamic_dims="20,20,1,1;40,40,2,2;80,60,4,4", **SHAPE)
    assert not resolution.errors and not resolution.warnings
    shape, profiles = resolution.parsed["input_shape"], resolution.parsed["dynamic_dims"]
    third = dict(shape.in_profile(profiles.profiles[2]).inputs)
    assert third == {"data": (1, 1, 40, 80), "label": (1, 60), "mask": (4, 4)}


def test_a_profile_has_a_size_for_every_dynamic_dimension():
    assert codes(legacy(dynamic_dims="20,20,1;40,40,2", **SHAPE)) == [("dynamic_dims", "OPTION_CONFLICT")]


def test_profile_options_are_given_together():  # S1
    assert codes(legacy(**SHAPE)) == [("input_shape", "OPTION_CONFLICT"), ("dynamic_node_type", "OPTION_CONFLICT")]
    assert codes(legacy(dynamic_dims="1;2", graph_run_mode=0)) == [("dynamic_dims", "OPTION_CONFLICT")]


def test_a_refused_profile_is_reported_once():
    assert codes(legacy(dynamic_dims="1", **SHAPE)) == [("dynamic_dims", "OPTION_SYNTAX")]


def test_profiles_exclude_mixed_computing():  # S7
    resolution = legacy(dynamic_dims="20,20,1,1;40,40,2,2", mix_compile_mode=True, **SHAPE)
    assert codes(resolution) == [("input_shape", "OPTION_CONFLICT"), ("dynamic_dims", "OPTION_CONFLICT")]


def test_generalised_shapes_exclude_dynamic_input():  # S14
    assert codes(runconfig(compile_dynamic_mode=True, dynamic_input=True)) == [
        ("compile_dynamic_mode", "OPTION_CONFLICT")
    ]
    assert not runconfig(compile_dynamic_mode=False, dynamic_input=True).errors
    assert not runconfig(compile_dynamic_mode=True, dynamic_input=False).errors


def test_the_execute_mode_needs_dynamic_input():
    idle = legacy(dynamic_graph_execute_mode="dynamic_execute")
    assert warned(idle) == [("dynamic_graph_execute_mode", "no_effect")]
    assert idle.effective["dynamic_graph_execute_mode"].origin == "forced"
    used = legacy(dynamic_graph_execute_mode="dynamic_execute", dynamic_input=True)
    assert used.values["dynamic_graph_execute_mode"] == "dynamic_execute" and not used.warnings


def test_ranges_need_dynamic_input():  # S9
    idle = legacy(dynamic_inputs_shape_range="data:[1]")
    assert warned(idle) == [("dynamic_inputs_shape_range", "no_effect")]
    assert idle.effective["dynamic_inputs_shape_range"] == (None, "forced", "S9")


def test_profiles_go_before_ranges():  # A50
    resolution = legacy(
        dynamic_dims="20,20,1,1;40,40,2,2", dynamic_input=True, dynamic_inputs_shape_range="data:[1]", **SHAPE
    )
    assert ("dynamic_inputs_shape_range", "overridden") in warned(resolution)
    assert resolution.effective["dynamic_inputs_shape_range"].rule.endswith("dynamic_dims_wins")


# Speed


def test_loops_on_the_device_read_on_the_device():  # T19
    loop = {"enable_data_pre_proc": False, "iterations_per_loop": 10}
    assert ("enable_data_pre_proc", "incomplete") in warned(runconfig(**loop))
    assert ("enable_data_pre_proc", "incomplete") not in warned(runconfig(**{**loop, "iterations_per_loop": 1}))
    assert ("enable_data_pre_proc", "incomplete") not in warned(runconfig(**{**loop, "enable_data_pre_proc": True}))


def test_a_default_earns_the_warning_that_the_same_value_given_earns():  # documents.md A3
    for values in ({"iterations_per_loop": 10}, {"iterations_per_loop": 10, "enable_data_pre_proc": False}):
        assert ("enable_data_pre_proc", "incomplete") in warned(legacy(**values))
    assert not warned(runconfig(iterations_per_loop=10)), "NPURunConfig has it on by default"


def test_a_scope_pass_that_is_not_registered_is_noted():  # D22
    assert not runconfig(enable_scope_fusion_passes="ScopeLayerNormPass,ScopeClipBoxesPass").warnings
    assert warned(runconfig(enable_scope_fusion_passes="ScopeFlyPass")) == [
        ("enable_scope_fusion_passes", "part_ignored")
    ]


def test_small_channels_are_always_optimised_in_inference():  # A28
    resolution = runconfig(graph_run_mode=0, enable_small_channel=0)
    assert resolution.effective["enable_small_channel"] == (
        1, "forced", "runconfig.enable_small_channel.inference_fixed"
    )  # fmt: skip
    assert warned(resolution) == [("enable_small_channel", "overridden")]
    assert legacy(graph_run_mode=0, enable_small_channel=0).values["enable_small_channel"] == 0
    assert runconfig(enable_small_channel=1).values["enable_small_channel"] == 1


def test_rank_and_devices_belong_together():  # T15
    assert warned(runconfig(local_rank_id=0)) == [("local_rank_id", "incomplete")]
    assert warned(runconfig(local_device_list="0,1")) == [("local_device_list", "incomplete")]
    assert not runconfig(local_rank_id=0, local_device_list="0,1").warnings


def test_an_unusual_rank_is_warned_about():  # T16
    assert warned(runconfig(local_rank_id=8, local_device_list="0")) == [("local_rank_id", "advice")]
    assert not runconfig(local_rank_id=7, local_device_list="0").warnings


# Operator cache


@pytest.mark.parametrize("edition, levels", [("legacy", {0, 3}), ("current", {0})])
@pytest.mark.parametrize("level", range(5))
def test_debug_levels_switch_the_cache_off(edition, levels, level):  # A2
    resolution = resolve(
        {"op_debug_level": level, "op_compiler_cache_mode": "enable", "graph_run_mode": 0}, edition=edition, files={}
    )
    effective = resolution.effective["op_compiler_cache_mode"]
    assert (effective.value, effective.origin) == (("enable", "given") if level in levels else ("disable", "forced"))
    assert (("op_compiler_cache_mode", "overridden") in warned(resolution)) == (level not in levels)


def test_a_disabled_cache_stays_disabled_without_a_word():
    resolution = legacy(op_debug_level=4)
    assert resolution.effective["op_compiler_cache_mode"].origin == "default"
    assert not [one for one in resolution.warnings if one.option == "op_compiler_cache_mode"]


@pytest.mark.parametrize("listed, mode", [("", "disable"), ("op_debug_list=Relu", "enable")])
def test_a_debug_file_without_a_list_switches_the_cache_off(listed, mode):
    files = {"/d.cfg": f"op_debug_config=ccec_g\n{listed}\n"}
    resolution = runconfig(files=files, op_debug_config="/d.cfg", op_compiler_cache_mode="enable")
    assert resolution.values["op_compiler_cache_mode"] == mode


def test_clearing_a_shared_cache_is_advised_against():
    assert warned(runconfig(op_compiler_cache_mode="force")) == [("op_compiler_cache_mode", "advice")]


# Tuning


def test_the_tuning_directory_exists_while_something_is_tuned():  # T29
    assert codes(runconfig(aoe_mode="2", work_path="/nowhere")) == [("work_path", "OPTION_FILE")]
    assert not runconfig(work_path="/nowhere").errors
    assert not runconfig(files={"/there/": None}, aoe_mode="2", work_path="/there").errors
    assert not runconfig(aoe_mode="2").errors


@pytest.mark.parametrize("feature, mode", [("deeper_opat", "2"), ("nonhomo_split", "1")])
def test_a_tuning_feature_needs_its_mode(feature, mode):
    files = {"/t.cfg": f'{{"feature":["{feature}"]}}'}
    for given in ("1", "2", "4", None):
        resolution = runconfig(files=files, aoe_config_file="/t.cfg", aoe_mode=given)
        assert codes(resolution) == ([] if given == mode else [("aoe_config_file", "OPTION_CONFLICT")])


# Timeouts


@pytest.mark.parametrize(
    "seconds, effective",
    [(600, 544), (1, 68), (67, 68), (68, 68), (135, 68), (136, 136), (1800, 1768), (1836, 1836), (17340, 17340)],
)
@pytest.mark.parametrize("surface", ["session", "runconfig"])
def test_the_collective_timeout_counts_in_steps_of_68_seconds(surface, seconds, effective):  # B6
    resolution = resolve({"hccl_timeout": seconds}, surface=surface)
    assert resolution.effective["hccl_timeout"] == (effective, "given", "runconfig.hccl_timeout.quantize")
    assert resolve({"hccl_timeout": seconds}, edition="legacy").values["hccl_timeout"] == seconds  # T3


@pytest.mark.parametrize(
    "milliseconds, hccl, fine",
    [(60000, None, False), (1836000, None, False), (1836001, None, True), (-1, None, True), (600001, 600, True),
     (600000, 600, False), (560000, 600, False), (68000, 1, True)],
)  # fmt: skip
def test_in_a_cluster_streams_outlast_collectives(milliseconds, hccl, fine):  # B17, T6
    values = {"stream_sync_timeout": milliseconds, "hccl_timeout": hccl}
    assert codes(runconfig({"RANK_SIZE": "8"}, **values)) == (
        [] if fine else [("stream_sync_timeout", "OPTION_CONFLICT")]
    )
    for alone in ({}, {"RANK_SIZE": "1"}, {"RANK_SIZE": "many"}):
        told = [one for one in warned(runconfig(alone, **values)) if one[0] == "stream_sync_timeout"]
        assert told == ([] if fine else [("stream_sync_timeout", "advice")])


def test_in_a_cluster_streams_outlast_the_collectives_of_the_environment():
    env = {"RANK_SIZE": "8", "HCCL_EXEC_TIMEOUT": "600"}
    assert codes(runconfig(env, stream_sync_timeout=560000)) == [("stream_sync_timeout", "OPTION_CONFLICT")]
    assert not codes(runconfig(env, stream_sync_timeout=600001))


# After a refusal


@pytest.mark.parametrize(
    "values",
    [
        {"precision_mode": "no_such", "modify_mixlist": "/f"},
        {"local_rank_id": 0, "local_device_list": "0,,1"},
        {"op_select_implmode": "fast", "optypelist_for_implmode": "Pooling"},
        {"mix_compile_mode": "yes", "in_out_pair": "[[['a'],['b']]]", "graph_run_mode": 0},
        {"enable_dump": "yes", "dump_path": "/f"},
        {"dynamic_input": "yes", "dynamic_graph_execute_mode": "dynamic_execute"},
        {"profiling_mode": "yes", "profiling_options": "{}"},
        {"graph_memory_max_size": "30000000000", "variable_memory_max_size": "x"},
        {"iterations_per_loop": "2", "mix_compile_mode": True},
    ],
)
def test_no_rule_speaks_of_a_default_as_if_it_had_been_given(values):  # documents.md A5
    resolution = resolve(values, edition="legacy", files={"/f": "{}"})
    assert len(resolution.errors) == 1
    assert not resolution.warnings


def test_what_a_later_rule_decides_is_said_in_true_words():
    (error,) = legacy(optypelist_for_implmode="Pooling").errors  # whose default is high_performance
    assert "not given" not in error.reason


# Several places


def test_a_later_layer_wins_and_says_so():  # G3, G4
    values, warnings = merge([{"dump_mode": "all", "graph_run_mode": 1}, {"dump_mode": b"input", "graph_run_mode": 1}])
    assert values == {"dump_mode": b"input", "graph_run_mode": 1}
    assert [warning[:2] for warning in warnings] == [("dump_mode", "overridden")]
    assert "'input'" in warnings[0].message and "'all'" in warnings[0].message


def test_true_and_one_differ_between_layers():
    assert len(merge([{"graph_run_mode": 1}, {"graph_run_mode": True}])[1]) == 1


def test_errors_and_warnings_come_in_table_order():
    resolution = resolve({"op_wait_timeout": 0, "zebra": 1, "mix_compile_mode": 1, "graph_run_mode": 7})
    assert [error.subject for error in resolution.errors] == ["graph_run_mode", "mix_compile_mode", "op_wait_timeout"]
    backwards = resolve({"graph_run_mode": 7, "mix_compile_mode": 1, "zebra": 1, "op_wait_timeout": 0})
    assert [error.message for error in backwards.errors] == [error.message for error in resolution.errors]


@pytest.mark.parametrize("surface", ["session", "runconfig"])
@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_recompiling_for_every_shape_does_not_loop(surface, edition):
    lazy = {"dynamic_input": True, "dynamic_graph_execute_mode": "lazy_recompile"}
    (error,) = resolve({**lazy, "iterations_per_loop": 10}, surface=surface, edition=edition).errors
    assert (error.subject, error.code, error.rule) == ("iterations_per_loop", "OPTION_CONFLICT", "S16")
    assert not resolve({**lazy, "iterations_per_loop": 1}, surface=surface, edition=edition).errors
    assert not resolve({"iterations_per_loop": 10}, surface=surface, edition=edition).errors
