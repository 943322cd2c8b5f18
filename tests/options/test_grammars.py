"""The little languages inside option texts: examples of the documents, errors with positions, writers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from npu_reference.options import resolve
from npu_reference.options.grammars import GrammarError, dump_step, in_out_pair, lists, profiling, shapes
from tests.options import strategies

LAW = settings(max_examples=40, deadline=None, derandomize=True)


def refused(parse, text):
    with pytest.raises(GrammarError) as caught:
        parse(text)
    assert 0 <= caught.value.position <= len(text)
    return caught.value.position + 1


# dump_step


def test_steps_of_the_document():
    steps = dump_step.parse("0|3-5|10")
    assert [step for step in range(12) if step in steps] == [0, 3, 4, 5, 10]
    assert [step for step in range(12) if step in dump_step.parse("0|5|10")] == [0, 5, 10]


@pytest.mark.parametrize(
    "text, position",
    [
        ("|1", 1), ("1|", 3), ("1||2", 3), ("1,2", 2), ("-1", 1), ("+1", 1), (" 1", 1), ("1 |2", 2), ("1-", 3),
        ("5-3", 1), ("3-3", 1), ("1-2-3", 4), ("a", 1), ("1|0x2", 4), ("٣", 1), ("1" * 19, 1),
    ],
)  # fmt: skip
def test_malformed_steps_are_refused_where_they_go_wrong(text, position):  # D6
    assert refused(dump_step.parse, text) == position
    (error,) = resolve({"dump_step": text}).errors
    assert error.code == "OPTION_SYNTAX"
    assert f"at character {position}:" in error.reason
    assert dump_step.EXAMPLE in error.remedy


def test_a_hundred_groups_are_the_limit():  # D5
    assert len(dump_step.parse("|".join(["1"] * 100)).spans) == 100
    assert refused(dump_step.parse, "|".join(["1"] * 101)) == 201


# Profiles


@pytest.mark.parametrize(
    "text, position",
    [
        ("data", 5), ("data:", 6), ("data:1,", 8), ("data:1.5", 7), ("data:a", 6), (":1", 1), ("a:1;", 5),
        ("a:1;a:2", 5), ("a:-2", 3), ("a:1,0", 3), ("a:0,1", 3), ("a:1, 2", 5), ("a:1;b", 6), ("", 1),
    ],
)  # fmt: skip
def test_malformed_input_shapes_are_refused_where_they_go_wrong(text, position):
    assert refused(shapes.parse_input_shape, text) == position


def test_a_single_zero_is_a_scalar():  # S3
    assert shapes.parse_input_shape("a:0;b:1,0x".replace("0x", "2")).inputs == (("a", ()), ("b", (1, 2)))


def test_inputs_out_of_order_are_noted():  # S2
    assert shapes.parse_input_shape("b:1;a:1").notes
    assert not shapes.parse_input_shape("a:1;b:1").notes


@pytest.mark.parametrize(
    "text, position",
    [("1,2", 1), ("1;1", 1), ("1,2;3", 5), ("1;", 3), (";1", 1), ("1;0", 3), ("1;-1", 3), ("a;b", 1), ("1, 2;3,4", 3)],
)
def test_malformed_profiles_are_refused_where_they_go_wrong(text, position):
    assert refused(shapes.parse_dynamic_dims, text) == position


def test_a_profile_given_twice_is_kept_once():  # S4
    profiles = shapes.parse_dynamic_dims("1,2;3,4;1,2")
    assert profiles.profiles == ((1, 2), (3, 4))
    assert len(profiles.notes) == 1


def test_more_profiles_than_usual_are_noted():  # S5
    assert not shapes.parse_dynamic_dims(";".join(map(str, range(1, 101)))).notes
    assert shapes.parse_dynamic_dims(";".join(map(str, range(1, 102)))).notes


# Ranges


def test_ranges_of_the_document():
    text = "getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]"
    ranges = shapes.parse_shape_range(text)
    assert (len(ranges.getnext), len(ranges.data)) == (2, 1)
    assert ranges.data[0] == ((128, 128), (3, 5), (2, 128), (1, None))
    assert shapes.write_shape_range(ranges) == shapes.EXAMPLE_RANGE
    assert shapes.parse_shape_range("data:[1];getnext:[]") == shapes.Ranges(((),), (((1, 1),),))  # S11


def test_a_dimension_knows_its_sizes():
    fixed, bounded, free = shapes.parse_shape_range("data:[4,3~5,-1]").data[0]
    assert [n for n in range(8) if n in fixed] == [4]
    assert [n for n in range(8) if n in bounded] == [3, 4, 5]
    assert 10**9 in free


@pytest.mark.parametrize(
    "text, position",
    [
        ("input:[1]", 1), ("data", 5), ("data:", 6), ("data: []", 6), ("data:[1], []", 10), ("data:[1", 8),
        ("data:[1,]", 9), ("data:[1 2]", 9), ("data:[5~3]", 7), ("data:[0~3]", 7), ("data:[-2]", 7),
        ("data:[1];data:[2]", 10), ("data:[1];", 10), ("data:[1]]", 9), ("data:[1~]", 9), ("data:[1~-1]", 9),
        ("data :[1]", 5), ("data:[0]", 7),
    ],
)  # fmt: skip
def test_malformed_ranges_are_refused_where_they_go_wrong(text, position):  # S10, S12, B19
    assert refused(shapes.parse_shape_range, text) == position
    (error,) = resolve({"dynamic_inputs_shape_range": text, "dynamic_input": True}).errors
    assert f"at character {position}:" in error.reason


# Lists


@pytest.mark.parametrize("name", ["enable_scope_fusion_passes", "optypelist_for_implmode", "auto_tune_mode"])
@pytest.mark.parametrize("text", [",", "A,", ",A", "A,,B", "A B", "A;B"])
def test_a_list_has_names_between_its_commas(name, text):
    values = {name: text, "op_select_implmode": "high_precision"}
    assert [error.code for error in resolve(values, edition="legacy").errors] == ["OPTION_SYNTAX"]


def test_unknown_types_are_ignored_one_by_one():  # P26
    resolution = resolve({"optypelist_for_implmode": "Pooling,Relu", "op_select_implmode": "high_precision"})
    assert resolution.parsed["optypelist_for_implmode"].names == ("Pooling",)
    (warning,) = [warning for warning in resolution.warnings if warning.code == "part_ignored"]
    assert "Relu" in warning.message


def test_megabytes_of_unknown_types_are_not_as_many_warnings():
    text = ",".join(f"T{n}" for n in range(20000))
    assert len(lists.parse_optypes(text).notes) == 11


def test_an_unknown_tuning_algorithm_is_refused():  # T28
    assert refused(lists.parse_algorithms, "RL,XX") == 4


@pytest.mark.parametrize("text, position", [("a", 1), ("0,", 3), ("0;1", 2), ("0,0", 3), ("-1", 1)])
def test_devices_are_numbers(text, position):
    assert refused(lists.parse_devices, text) == position


@pytest.mark.parametrize(
    "edition, text, engines",
    [
        ("legacy", "DNN_VM_TF:10,DNN_V100:1", {"DNN_VM_TF": 10, "DNN_V100": 1}),
        ("legacy", "DNN_V100:3", {"DNN_VM_TF": 1, "DNN_V100": 3}),
        ("current", "DNN_VM_AICPU:10,AIcoreEngine:1", {"DNN_VM_AICPU": 10, "AIcoreEngine": 1}),
        ("current", "DNN_VM_TF:2", {"DNN_VM_AICPU": 2, "AIcoreEngine": 1}),
    ],
)
def test_engines_have_their_parallelism(edition, text, engines):
    resolution = resolve({"stream_max_parallel_num": text}, edition=edition)
    assert resolution.parsed["stream_max_parallel_num"].engines == engines
    foreign = edition == "current" and "DNN_VM_TF" in text  # A25
    assert [warning.code for warning in resolution.warnings] == (["undocumented"] if foreign else [])


@pytest.mark.parametrize(
    "edition, text, position",
    [
        ("legacy", "DNN_VM_TF:14", 11), ("legacy", "DNN_VM_TF:0", 11), ("legacy", "DNN_V100:4", 10),
        ("legacy", "GPU:1", 1), ("legacy", "DNN_V100", 9), ("legacy", "DNN_V100:", 10), ("legacy", "DNN_V100:1,", 12),
        ("legacy", "DNN_V100:1,DNN_V100:1", 12), ("legacy", "DNN_V100:x", 10), ("current", "AIcoreEngine:33", 14),
        ("current", "AIcoreEngine:1,DNN_V100:1", 16),
    ],
)  # fmt: skip
def test_malformed_parallelism_is_refused_where_it_goes_wrong(edition, text, position):
    (error,) = resolve({"stream_max_parallel_num": text}, edition=edition).errors
    assert error.code == "OPTION_SYNTAX"
    assert f"at character {position}:" in error.reason


@pytest.mark.parametrize("text", ["26G", "-1", "1.5", "0x10", "", " 5", "274877906945", "9" * 30])
def test_a_memory_size_is_a_decimal_number_of_bytes(text):  # T12
    refused(lists.parse_bytes, text)


@pytest.mark.parametrize(
    "text, size", [("16 * 1024 * 1024 * 1024", 16 * 1024**3), ("256*1024*1024*1024", 256 * 1024**3), ("5*0", 0)]
)
def test_a_memory_size_may_be_a_product_as_document_002_writes_its_range(text, size):  # T34
    assert lists.parse_bytes(text).size == size
    resolution = resolve({"variable_memory_max_size": text, "graph_memory_max_size": "0"}, edition="legacy")
    told = {error.code for error in resolution.errors} | {warning.code for warning in resolution.warnings}
    assert told == ({"OPTION_CONFLICT"} if size > 31 * 1024**3 else set()) | {"undocumented"}


@pytest.mark.parametrize("text", ["2*", "*2", "2**3", "2*x", "*".join(["1"] * 9), "1024*1024*1024*257"])
def test_a_product_has_numbers_between_its_stars_and_stays_within_the_bound(text):  # T34
    refused(lists.parse_bytes, text)


@pytest.mark.parametrize(
    "name, text",
    [
        ("local_device_list", "0, 1"),
        ("auto_tune_mode", "RL, GA"),
        ("optypelist_for_implmode", "Pooling ,LRN"),
        ("enable_scope_fusion_passes", "ScopeLayerNormPass, ScopeClipBoxesPass"),
        ("stream_max_parallel_num", "DNN_VM_TF:10, DNN_V100:1"),
    ],
)
def test_blanks_beside_the_commas_of_a_list_are_read_over_with_a_warning(name, text):  # G20
    beside = {"op_select_implmode": "high_precision"} if name == "optypelist_for_implmode" else {}
    beside = {"local_rank_id": 0} if name == "local_device_list" else beside
    resolution = resolve({**beside, name: text}, edition="legacy", files={})
    plain = resolve({**beside, name: text.replace(" ", "")}, edition="legacy", files={})
    assert not resolution.errors
    assert resolution.parsed[name][0] == plain.parsed[name][0]
    assert (name, "undocumented") in [warning[:2] for warning in resolution.warnings]
    assert not plain.warnings


def test_256_gib_is_a_memory_size():
    assert lists.parse_bytes("274877906944").size == 256 * 1024**3


# profiling_options


def test_profiling_options_of_the_document():
    options = profiling.parse(
        '{"output":"/tmp/profiling","training_trace":"on","fp_point":"resnet_model/conv2d/Conv2Dresnet_model/'
        'batch_normalization/FusedBatchNormV3_Reduce","bp_point":"gradients/AddN_70"}'
    )
    assert options.output == "/tmp/profiling"
    assert options.training_trace and not options.task_trace
    assert options.fp_point.endswith("FusedBatchNormV3_Reduce")  # B24: not looked into
    assert options.bp_point == "gradients/AddN_70"
    assert options.aic_metrics == "PipeUtilization"
    assert profiling.parse(profiling.write(options)) == options


@pytest.mark.parametrize("value, on", [("on", True), ("off", False), ("ON", False), ("junk", False), ("", False)])
def test_anything_but_on_is_off_for_task_trace_and_aicpu(value, on):
    options = profiling.parse(f'{{"task_trace":"{value}","aicpu":"{value}"}}')
    assert (options.task_trace, options.aicpu) == (on, on)


def test_a_key_given_twice_keeps_the_last_and_is_said():  # D21
    options = profiling.parse('{"aicpu":"on","aicpu":"off","output":"a","output":"a"}')
    assert not options.aicpu and [note for note in options.notes if "twice" in note] == [
        "aicpu is given twice with two values; the last one counts."
    ]


@pytest.mark.parametrize("metrics", profiling.AIC_METRICS)
def test_there_are_five_metrics(metrics):
    assert profiling.parse(f'{{"aic_metrics":"{metrics}"}}').aic_metrics == metrics
    assert len(profiling.AIC_METRICS) == 5


@pytest.mark.parametrize(
    "text, position, says",
    [
        ('{"training_trace":"off"}', 2, "training_trace"),  # D9
        ('{"training_trace":""}', 2, "training_trace"),
        ('{"aic_metrics":"Speed"}', 2, "PipeUtilization, ArithmeticUtilization, Memory, MemoryL0"),
        ('{"output":5}', 2, "output"),
        ('{"output":"a", "fp_point":["x"]}', 16, "fp_point"),
        ("[]", 1, "object"),
        ("on", 1, "JSON"),
        ('{"output":"a"', 14, "JSON"),
        ("{'output':'a'}", 2, "JSON"),
        ('{"output":"a"} // x', 16, "JSON"),
        ('{"output":NaN}', 11, "NaN"),
        ('{"output":' + "1" * 5000 + "}", 11, "too large"),
        ("[" * 100000, None, "deep"),
        ('{"output":"\\ud800"}', 12, "surrogate"),
        ('{"output":"a\\u0000"}', 2, "NUL"),
    ],
)
def test_malformed_profiling_options_are_refused_where_they_go_wrong(text, position, says):
    (error,) = resolve({"profiling_mode": True, "profiling_options": text}).errors
    assert error.code == "OPTION_SYNTAX"
    assert says in error.message
    if position is not None:
        assert f"at character {position}:" in error.reason


def test_blanks_before_a_shape_are_read_over_with_a_warning_but_a_scalar_has_none():  # B19
    values = {"dynamic_input": True, "dynamic_graph_execute_mode": "dynamic_execute"}
    resolution = resolve({**values, "dynamic_inputs_shape_range": "data: [3~5], [2]"}, edition="legacy")
    assert [warning.code for warning in resolution.warnings] == ["undocumented"]
    assert not resolution.errors


@pytest.mark.parametrize("key", ["task_trace", "aicpu"])
def test_a_switch_that_is_neither_on_nor_off_is_off_and_said(key):  # 002: treated as off
    values = {"profiling_mode": True, "profiling_options": '{"output":"/o","KEY":"yes"}'.replace("KEY", key)}
    resolution = resolve(values, edition="legacy", files={"/o/": None})
    assert [warning[:2] for warning in resolution.warnings] == [("profiling_options", "adjusted")]
    assert not getattr(resolution.parsed["profiling_options"], key)


def test_surrogate_pairs_are_characters():
    assert profiling.parse('{"output":"\\ud83d\\ude00"}').output == "\U0001f600"
    assert profiling.parse('{"output":"\\\\ud800"}').output == "\\ud800"


def test_unknown_keys_are_noted():  # D11
    values = {"profiling_mode": True, "profiling_options": '{"output":"/o","colour":"red"}'}
    resolution = resolve(values, files={"/o/": None})
    assert [warning.code for warning in resolution.warnings] == ["part_ignored"]
    assert "colour" in resolution.warnings[0].message


# Laws


@LAW
@given(strategies.RANGES)
def test_ranges_survive_their_text(ranges):
    assert in_out_pair.parse(in_out_pair.write(ranges)) == tuple(ranges)


@LAW
@given(strategies.STEPS)
def test_steps_survive_their_text(steps):
    assert dump_step.parse(dump_step.write(steps)) == steps


@LAW
@given(strategies.INPUT_SHAPES)
def test_input_shapes_survive_their_text(shape):
    assert shapes.parse_input_shape(shapes.write_input_shape(shape)).inputs == shape.inputs


@LAW
@given(strategies.PROFILES)
def test_profiles_survive_their_text(profiles):
    assert shapes.parse_dynamic_dims(shapes.write_dynamic_dims(profiles)) == profiles


@LAW
@given(strategies.SHAPE_RANGES)
def test_shape_ranges_survive_their_text(ranges):
    assert shapes.parse_shape_range(shapes.write_shape_range(ranges)) == ranges
