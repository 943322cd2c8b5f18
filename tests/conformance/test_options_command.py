"""``options`` shows what matters first, and every complaint with what it rests on."""

from __future__ import annotations

import json

import pytest

from npu_conformance import cli
from npu_conformance.library import inventory


@pytest.fixture
def asked(capsys):
    """Runs ``npu-conformance`` in this process: status, lines of stdout, lines of stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main(list(arguments))
        said = capsys.readouterr()
        return left.value.code, said.out.splitlines(), said.err.splitlines()

    return run


def answered(asked, *arguments):
    _, out, _ = asked("options", *arguments, "--format", "json")
    return json.loads(out[0])


def test_what_was_given_comes_first_and_the_rest_is_counted(asked):
    status, out, err = asked("options", "dump_mode=all")
    assert (status, err) == (0, [])
    assert out[0].split() == ["Option", "Value", "Origin", "Rule"]
    assert out[1].split() == ["dump_mode", "all", "given"]
    assert out[-1].endswith("--all shows them.") and len(out) < 6
    _, everything, _ = asked("options", "dump_mode=all", "--all")
    assert everything[1].split() == out[1].split() and len(everything) > 60


def test_a_name_that_is_no_option_is_the_first_line(asked):
    status, out, _ = asked("options", "dump_mode=all", "precison_mode=force_fp32")
    assert status == 0
    assert "precison_mode" in out[0] and "Did you mean precision_mode?" in out[0]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("name", ["precison_mode=force_fp32", "dump_config={}"])
def test_strict_fails_where_a_name_is_no_option_here(asked, form, name):
    status, _, err = asked("options", name, "--strict", "--format", form)
    assert status == 2 and not any("error" in line and "ignored" in line for line in err)
    assert asked("options", "precision_mode=force_fp32", "--strict", "--format", form)[0] == 0


def test_errors_are_one_line_each_on_stderr_and_what_was_refused_is_in_the_table(asked):
    status, out, err = asked("options", "iterations_per_loop=ten", "dump_mode=both")
    assert status == 2
    assert [line.split(":")[0] for line in err] == [
        "error[OPTION_TYPE] iterations_per_loop",
        "error[OPTION_VALUE] dump_mode",
    ]
    row = next(line for line in out if line.startswith("iterations_per_loop"))
    assert "refused" in row
    assert not [line for line in out if line.startswith("error")]


def test_every_complaint_has_its_rule_its_requirement_and_the_sentence(asked):
    known = inventory.load()
    answer = answered(
        asked, "iterations_per_loop=ten", "hccl_timeout=600", "precision_mode=fast", "no_such=1", "op_debug_level=2",
        "stream_max_parallel_num=AIcoreEngine:1",
    )  # fmt: skip
    told = [*answer["errors"], *answer["warnings"], *answer["notes"]]
    assert len(told) >= 6
    for one in told:
        assert one["rule"] or one["requirement"], one
        if one["requirement"]:
            assert one["sentence"] == " ".join(known[one["requirement"]].statement.split())
    (hccl,) = [one for one in answer["warnings"] if one["option"] == "hccl_timeout"]
    assert hccl["requirement"] == "runconfig.hccl_timeout.quantize"
    assert {one["subject"]: one["requirement"] for one in answer["errors"]} == {
        "iterations_per_loop": "session.iterations_per_loop.type",
        "precision_mode": "precision.domain",
    }


def test_the_text_cites_what_a_line_rests_on_in_brackets(asked):
    _, out, _ = asked("options", "hccl_timeout=600", "dump_path=/x")
    assert any(line.endswith("[runconfig.hccl_timeout.quantize]") for line in out)
    assert any(line.endswith("[session.enable_dump.false]") for line in out)


@pytest.mark.parametrize(
    "assignment, near",
    [
        ("precision_mode=allow_mixed_precision", "allow_mix_precision"),
        ("precision_mode=ALLOW_MIX_PRECISION", "allow_mix_precision"),
        ("variable_placement=host", "Host"),
        ("op_compiler_cache_mode=Enable", "enable"),
    ],
)
def test_a_value_that_was_nearly_right_is_answered_with_the_right_one(asked, assignment, near):
    _, _, err = asked("options", assignment)
    assert f"Did you mean {near}?" in err[0]


@pytest.mark.parametrize(
    "arguments, where",
    [
        (["precision_mode=cube_fp16in_fp32out", "--edition", "legacy"], "The current edition takes this value."),
        (["enable_exception_dump=2", "--edition", "legacy"], "The current edition takes this value."),
        (["hccl_timeout=20000"], "The legacy edition takes this value."),
        (["auto_tune_mode=RL"], "The legacy edition has it."),
        (["deterministic=1", "--edition", "legacy"], "an argument of NPURunConfig"),
        (["export_compile_stat=1", "--edition", "legacy", "--surface", "runconfig"], "The current edition has it."),
    ],
)
def test_what_only_the_other_edition_or_surface_knows_is_said(asked, arguments, where):
    _, out, err = asked("options", *arguments)
    assert any(where in line for line in [*out, *err])


def test_a_path_of_the_device_host_need_not_exist_here(asked):
    sample = [
        "enable_dump=true",
        "dump_path=/home/HwHiAiUser/output",
        "fusion_switch_file=/home/test/fusion_switch.cfg",
    ]
    assert asked("options", *sample)[0] == 2
    status, out, err = asked("options", *sample, "--no-files")
    assert (status, err) == (0, [])
    assert sum("not looked at" in line for line in out) == 2
    answer = answered(asked, *sample, "--no-files")
    assert {one["code"] for one in answer["warnings"]} == {"not_checked"}
    assert answer["effective"]["dump_path"]["origin"] == "given"


def test_no_name_is_doubled_and_articles_are_right(asked):
    _, out, err = asked(
        "options", "stream_max_parallel_num=DNN_VM_TF:3", "dump_mode.i=3", "graph_run_mode.s=1", "dump_path=/x"
    )
    text = "\n".join([*out, *err])
    assert "stream_max_parallel_num: stream_max_parallel_num" not in text
    assert "warning stream_max_parallel_num: engine" in text
    assert "dump_path: dump_path" not in text
    assert " a int" not in text and " a object" not in text
    assert "is an int, but the option is a str" in text


def test_output_that_is_piped_breaks_no_name(asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    pairs = "[[['" + "scope/" * 30 + "a'],['b']]]"
    _, out, _ = asked("options", "mix_compile_mode=true", "graph_run_mode=0", f"in_out_pair={pairs}")
    assert any(pairs in line for line in out)


def test_meaning_and_directives_are_in_the_answer(asked):
    answer = answered(asked, 'profiling_options={"output":"/tmp"}', "profiling_mode=true")
    assert answer["meaning"]["profiling_options"]["aic_metrics"] == "PipeUtilization"
    assert answer["directives"]["timeouts"]["hccl_seconds"] == 1836


@pytest.mark.parametrize("command", ["partition", "precision", "profile"])
def test_a_misspelt_option_is_told_before_anything_else_and_fails_under_strict(asked, command):
    graph = "fixtures/graphs/precision/convolutions.pbtxt"
    status, out, err = asked(command, graph, "-o", "precison_mode=force_fp32")
    assert status == 0 and out
    assert "precison_mode" in err[0] and "precision_mode" in err[0]
    # What is proposed to be pasted repeats what was given.
    told = [line for line in out if "npu-conformance" not in line and not line.startswith("   ")]
    assert not any("precison_mode" in line for line in told)
    status, out, err = asked(command, graph, "-o", "precison_mode=force_fp32", "--strict")
    assert (status, out) == (2, [])
    assert err[-1].startswith("error[USAGE]")


@pytest.mark.parametrize("word", ["precision_mode", "precision_mod"])
def test_an_option_without_a_value_is_answered_with_what_explains_it(asked, word):
    status, _, err = asked("options", word)
    assert status == 2 and err[0].endswith("; npu-conformance explain precision_mode says what it is.")
