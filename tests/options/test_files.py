"""The file formats that options name: samples of the documents, errors with positions, writers."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from npu_reference.options import resolve
from npu_reference.options.files import (
    aoe_config,
    customize_dtypes,
    fusion_passes,
    fusion_switch,
    mixlist,
    op_cache,
    op_debug,
    op_precision,
)
from npu_reference.options.grammars import GrammarError
from tests.options import strategies

LAW = settings(max_examples=40, deadline=None, derandomize=True)


def problem(option, text, edition="current"):
    """The one error that a file gives."""
    values = {option: "/f"}
    if option == "modify_mixlist":
        values["precision_mode"] = "allow_mix_precision"
    errors = resolve(values, surface="runconfig", edition=edition, files={"/f": text}).errors
    assert [(error.subject, error.code) for error in errors] == [(option, "OPTION_FILE")]
    return errors[0]


OPTIONS_WITH_FILES = list(strategies.FILES)


@pytest.mark.parametrize("option", OPTIONS_WITH_FILES)
def test_a_missing_file_is_refused(option):
    (error,) = resolve({option: "/f"}, surface="runconfig", files={}).errors
    assert (error.code, "does not exist" in error.reason) == ("OPTION_FILE", True)


@pytest.mark.parametrize("option", OPTIONS_WITH_FILES)
@pytest.mark.parametrize("content", [b"\xff\xfe{}", "\0", "{" * 100000, "\ud800", "x" * (5 << 20), "=", "]"])
def test_a_file_of_no_format_is_refused(option, content):
    assert problem(option, content).code == "OPTION_FILE"


@pytest.mark.parametrize("option", OPTIONS_WITH_FILES)
def test_files_on_disk_are_refused_without_being_hung_on(option, tmp_path):
    os.mkfifo(str(tmp_path / "pipe"))
    os.symlink(str(tmp_path / "loop"), str(tmp_path / "loop"))
    (tmp_path / "dir").mkdir()
    for name in ("pipe", "loop", "dir", "none"):
        (error,) = resolve({option: str(tmp_path / name)}, surface="runconfig").errors
        assert error.code in ("OPTION_FILE", "OPTION_VALUE")


def test_files_on_disk_are_read_with_mark_and_line_ends_of_any_system(tmp_path):
    path = tmp_path / "p.ini"
    path.write_bytes(b"\xef\xbb\xbfAvgPoolV2=high_precision\r\nReduceMeanD=high_performance\r\n")
    parsed = resolve({"op_precision_mode": str(path)}).parsed["op_precision_mode"]
    assert parsed.by_type == {"AvgPoolV2": "high_precision", "ReduceMeanD": "high_performance"}


# modify_mixlist


SAMPLE_LIST = """{
  "black-list": {                  // Blocklist
     "to-remove": [                // Move an operator from the blocklist to the graylist.
     "Xlog1py"
     ],
     "to-add": [                   // Move an operator from the trustlist or graylist to the blocklist.
     "Matmul",
     "Cast"
     ]
  },
  "white-list": {                  // Trustlist
     "to-remove": [                // Move an operator from the trustlist to the graylist.
     "Conv2D"
     ],
     "to-add": [                   // Move an operator from the blocklist or graylist to the trustlist.
     "Bias"
     ]
  }
}"""


def test_the_documents_list_is_read_with_its_comments():  # B21
    assert mixlist.parse(SAMPLE_LIST) == (("Xlog1py",), ("Matmul", "Cast"), ("Conv2D",), ("Bias",), ())
    assert mixlist.parse('{"white-list":{"to-add":["a//b"]}}').white_add == ("a//b",)
    assert mixlist.parse("{}") == mixlist.Mixlist()


@pytest.mark.parametrize(
    "text, where, says",
    [
        ("[]", "character 1", "object"),
        ('{"grey-list":{}}', "character 2", "grey-list"),
        ('{"black-list":[]}', "character 2", "black-list"),
        ('{"black-list":{"add":["A"]}}', "character 16", "black-list.add"),
        ('{"black-list":{\n"to-add":"A"}}', "line 2, column 1", "black-list.to-add"),
        ('{"black-list":{"to-add":[1]}}', "character 16", "operator type"),
        ('{"black-list":{"to-add":[""]}}', "character 16", "operator type"),
        ('{"black-list":{},"black-list":{}}', "character 2", "twice"),
        ('{"black-list":{"to-add":["A"]},"white-list":{"to-add":["A"]}}', "character 56", "both lists"),  # P6
        ('{"black-list":\n{"to-add": A}}', "line 2, column 12", "JSON"),
        ('{"black-list": /* c */ {}}', "character 16", "JSON"),
    ],
)
def test_a_malformed_list_is_refused_where_it_goes_wrong(text, where, says):
    error = problem("modify_mixlist", text)
    assert f"at {where}:" in error.reason
    assert says in error.reason


def test_removing_and_adding_ends_in_the_list():  # P8
    assert mixlist.parse('{"black-list":{"to-remove":["A"],"to-add":["A"]}}').notes


# fusion_switch_file


SAMPLE_SWITCH = """{
    "Switch":{
        "GraphFusion":{
            "RequantFusionPass":"on",
            "ConvToFullyConnectionFusionPass":"off",
            "SoftmaxFusionPass":"on"
        },
        "UBFusion":{
            "TbePool2dQuantFusionPass":"on"
        }
    }
}"""


def test_switches_of_the_document():
    switch = fusion_switch.parse(SAMPLE_SWITCH)
    assert switch.is_on("GraphFusion", "RequantFusionPass")
    assert not switch.is_on("GraphFusion", "ConvToFullyConnectionFusionPass")
    assert switch.is_on("UBFusion", "NotMentioned")


def test_a_pass_of_its_own_goes_before_all():
    switch = fusion_switch.parse('{"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"}}}')
    assert switch.is_on("GraphFusion", "SoftmaxFusionPass")
    assert not switch.is_on("GraphFusion", "Other")
    assert switch.is_on("UBFusion", "Other")


def test_a_pass_switched_both_ways_keeps_the_last():  # D21
    switch = fusion_switch.parse('{"Switch":{"UBFusion":{"A":"on","A":"off"}}}')
    assert not switch.is_on("UBFusion", "A") and "twice" in switch.notes[0]
    assert "character 33" in switch.notes[0]
    lines = fusion_switch.parse('{"Switch":{"GraphFusion":{"A":"on"},\n"UBFusion":{"A":"on",\n"A":"off"}}}')
    assert "UBFusion.A" in lines.notes[0] and "line 3, column 1" in lines.notes[0]


@pytest.mark.parametrize("edition", ["legacy", "current"])
@pytest.mark.parametrize(
    "name, says",
    [
        ("ConvConcatFusionPass", ""),
        ("GeluFusionPass", ""),
        ("ConstToAttrPass", "stays on"),
        ("FooFusionPass", "no documented"),
        ("SoftmaxFusionPas", "SoftmaxFusionPass"),
    ],
)
def test_a_pass_that_nobody_knows_or_that_stays_on_is_said(name, says, edition):  # D20, D21
    files = {"/f": '{"Switch":{"GraphFusion":{"NAME":"off"}}}'.replace("NAME", name)}
    resolution = resolve({"fusion_switch_file": "/f"}, edition=edition, files=files)
    assert [warning.code for warning in resolution.warnings] == (["part_ignored"] if says else [])
    assert says in " ".join(warning.message for warning in resolution.warnings)
    assert resolution.parsed["fusion_switch_file"].is_on("GraphFusion", name) == (says == "stays on")


def test_all_off_leaves_the_passes_on_that_cannot_be_switched():  # A47
    switch = fusion_switch.parse('{"Switch":{"GraphFusion":{"ALL":"off"}}}')
    assert switch.is_on("GraphFusion", "ConstToAttrPass") and not switch.is_on("GraphFusion", "SoftmaxFusionPass")


def test_what_the_documents_switch_can_be_switched():  # D20
    assert not fusion_passes.DOCUMENTED & fusion_passes.FIXED
    assert len(fusion_passes.DOCUMENTED) == 12


@pytest.mark.parametrize(
    "text, says",
    [
        ("{}", "no Switch"),
        ('{"switch":{}}', "switch"),
        ('{"Switch":[]}', "Switch"),
        ('{"Switch":{"Graph":{}}}', "Switch.Graph"),
        ('{"Switch":{"UBFusion":"off"}}', "Switch.UBFusion"),
        ('{"Switch":{"UBFusion":{"A":true}}}', "Switch.UBFusion.A"),
        ('{"Switch":{"UBFusion":{"A":"OFF"}}}', "Switch.UBFusion.A"),
        ('{"Switch":{"UBFusion":{"A":{}}}}', "an object"),
        ('{"Switch":{} // c\n}', "no comments"),
    ],
)
def test_a_malformed_switch_is_refused_with_its_keys(text, says):
    error = problem("fusion_switch_file", text)
    assert says in error.message


# op_precision_mode


def test_both_formats_of_the_precision_file():  # A23
    flat = op_precision.parse("AvgPoolV2=high_precision\nReduceMeanD=high_performance\n")
    assert flat.by_type == {"AvgPoolV2": "high_precision", "ReduceMeanD": "high_performance"}
    text = "[ByOpType]\noptype1=high_precision\noptype4=support_out_of_bound_index\n[ByNodeName]\nnode/1=keep_fp16\n"
    both = op_precision.parse(text)
    assert both.by_name == {"node/1": "keep_fp16"}
    assert both.mode_of("optype1", "node/1") == "keep_fp16"
    assert both.mode_of("optype1", "node/2") == "high_precision"
    assert both.mode_of("other", "node/2") is None


@pytest.mark.parametrize(
    "text, where",
    [
        ("A", "character 1"),
        ("A=\n", "line 1, column 3"),
        ("=high_precision", "character 1"),
        ("# c\n\n  A = fast\n", "line 3, column 7"),
        ("[ByType]", "character 1"),
        ("A=high_precision\nA=keep_fp16", "line 2, column 1"),
    ],
)
def test_a_malformed_precision_file_is_refused_where_it_goes_wrong(text, where):
    assert f"at {where}:" in problem("op_precision_mode", text).reason


def test_the_older_edition_has_two_modes():
    assert "Allowed: high_precision, high_performance." in problem("op_precision_mode", "A=keep_fp16", "legacy").remedy
    assert not resolve({"op_precision_mode": "/f"}, files={"/f": "A=keep_fp16"}).errors


# customize_dtypes


def test_dtypes_of_the_document():
    custom = customize_dtypes.parse(customize_dtypes.EXAMPLE)
    two = (("float16", "int8"), ("float16", "int8"))
    assert custom.by_name == {"resnet_v1_50/block1/unit_3/bottleneck_v1/Relu": two}
    assert custom.by_type == {"Relu": two}
    assert customize_dtypes.parse("a::InputDtype:int8OutputDtype:bool").by_name == {"a": (("int8",), ("bool",))}  # B16


@pytest.mark.parametrize(
    "text, where",
    [
        ("Relu", "character 5"),
        ("Relu::OutputDtype:int8", "character 23"),
        ("Relu::InputDtype:int8", "character 22"),
        ("::InputDtype:int8,OutputDtype:int8", "character 1"),
        ("OpType:::InputDtype:int8,OutputDtype:int8", "character 9"),
        ("\n\na::InputDtype:int8,half,OutputDtype:int8", "line 3, column 20"),
        ("a::InputDtype:int8,OutputDtype:", "character 32"),
        ("a::InputDtype:,OutputDtype:int8", "character 15"),
        ("a::InputDtype:int8,OutputDtype:int8 b::InputDtype:int8,OutputDtype:int8", "character 32"),
        ("a::InputDtype:int8,OutputDtype:int8\na::InputDtype:int8,OutputDtype:int8", "line 2, column 1"),
    ],
)
def test_malformed_dtypes_are_refused_where_they_go_wrong(text, where):
    assert f"at {where}:" in problem("customize_dtypes", text).reason


# op_debug_config


def test_debug_options_of_the_document():
    debug = op_debug.parse("op_debug_config= ccec_g,oom\nop_debug_list=GatherV2,opType::ReduceSum\n")  # B3
    assert debug == (("ccec_g", "oom"), ("GatherV2",), ("ReduceSum",), ())
    assert debug.has_list
    assert not op_debug.parse("op_debug_config = dump_cce").has_list


@pytest.mark.parametrize(
    "text, where, says",
    [
        ("op_debug_config = ccec_O0,ccec_g,oom", "character 1", "together"),  # B2
        ("op_debug_config = dump_bin", "character 19", "dump_bin"),  # B4
        ("op_debug_config = oom,,ccec_g", "character 23", "empty"),
        ("op_debug_config = oom ccec_g", "character 19", "oom ccec_g"),
        ("op_debug_config", "character 1", "'='"),
        ("op_debug_list = A", "character 1", "op_debug_config"),
        ("op_debug_config=oom\nop_debug_list=A,", "line 2, column 17", "empty"),
        ("op_debug_config=oom\nop_debug_list=OpType::", "line 2, column 15", "OpType::"),
        ("op_debug_config=oom\nop_debug_config=oom", "line 2, column 1", "twice"),
        ("debug=oom", "character 1", "debug"),
    ],
)
def test_a_malformed_debug_file_is_refused_where_it_goes_wrong(text, where, says):
    error = problem("op_debug_config", text)
    assert f"at {where}:" in error.reason
    assert says in error.reason


# aoe_config_file


def test_a_tuning_file_without_a_level_has_o2():
    config = aoe_config.parse('{"tune_ops_name":["loss/MatMul"],"tune_ops_type":["Add","Mul"]}')
    assert config == (("loss/MatMul",), ("Add", "Mul"), "O2", (), ())


SAMPLE_TUNING = """{
       "tune_ops_name":["bert/embeddings/addbert/embeddings/add_1","loss/MatMul"],
       "tune_ops_type":["Add", "Mul"]
       "tune_optimization_level":"O1",
       "feature":["deeper_opat"]
}"""


@pytest.mark.parametrize(
    "text, where, says",
    [
        (SAMPLE_TUNING, "line 4, column 8", "JSON"),  # B10: a comma is missing
        ("[]", "character 1", "object"),
        ('{"tune_ops_name":"A"}', "character 2", "list"),
        ('{"tune_ops_name":[1]}', "character 2", "list"),
        ('{"tune_optimization_level":"O3"}', "character 2", "O3"),
        ('{"tune_optimization_level":{}}', "character 2", "object"),
        ('{"feature":["faster"]}', "character 2", "faster"),
        ('{"feature":[],"feature":[]}', "character 2", "twice"),
    ],
)
def test_a_malformed_tuning_file_is_refused_where_it_goes_wrong(text, where, says):
    error = problem("aoe_config_file", text)
    assert f"at {where}:" in error.reason
    assert says in error.reason


def test_unknown_keys_of_a_tuning_file_are_noted():
    values = {"aoe_config_file": "/f", "aoe_mode": "2"}
    resolution = resolve(values, surface="runconfig", files={"/f": '{"speed":"high"}'})
    assert [warning.code for warning in resolution.warnings] == ["part_ignored"]


def test_the_repaired_sample_needs_operator_tuning():
    text = SAMPLE_TUNING.replace('"Mul"]', '"Mul"],')
    values = {"aoe_config_file": "/f", "aoe_mode": "2"}
    assert not resolve(values, surface="runconfig", files={"/f": text}).errors


# op_cache.ini


def test_a_written_cache_file_changes_nothing():  # B8
    assert op_cache.parse(op_cache.write(op_cache.DEFAULT)) == (500, 50)
    assert op_cache.parse(op_cache.EXAMPLE) == (500, 80)
    commented = "# one\n" + op_cache.EXAMPLE.replace("max", "# two\nmax")
    assert op_cache.parse(commented) == (500, 80)


def test_aging_can_be_switched_off():
    assert op_cache.parse(op_cache.EXAMPLE.replace("500", "-1")).max_op_cache_size == -1


# Laws


@pytest.mark.parametrize(
    "module, values",
    [
        (mixlist, strategies.MIXLISTS),
        (fusion_switch, strategies.SWITCHES),
        (op_precision, strategies.PRECISIONS),
        (customize_dtypes, strategies.CUSTOM),
        (op_debug, strategies.DEBUGS),
        (aoe_config, strategies.AOES),
        (op_cache, strategies.LIMITS),
    ],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2],
)
def test_a_file_survives_its_text(module, values):
    @LAW
    @given(values)
    def law(value):
        assert module.parse(module.write(value))[:4] == value[:4]

    law()


@pytest.mark.parametrize("module", [mixlist, fusion_switch, op_debug, customize_dtypes, op_precision, op_cache])
def test_every_cut_of_an_example_is_read_or_refused(module):
    for end in range(len(module.EXAMPLE)):
        try:
            module.parse(module.EXAMPLE[:end])
        except GrammarError as refused:
            assert 0 <= refused.position <= end


def test_a_switch_file_of_thousands_of_unknown_passes_is_compared_with_few(monkeypatch):  # D20
    looked = []
    monkeypatch.setattr(fusion_switch, "did_you_mean", lambda *asked, **how: looked.append(asked) or "")
    passes = ",".join(f'"P{number}FusionPass":"off"' for number in range(5000))
    found = fusion_switch.parse(f'{{"Switch":{{"GraphFusion":{{{passes}}},"UBFusion":{{{passes}}}}}}}')
    assert len(looked) <= 20 and len(found.graph_fusion) == 5000
    assert len(found.notes) == 11 and "9990 more" in found.notes[-1]
