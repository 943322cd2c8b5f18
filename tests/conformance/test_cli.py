"""The command line: results on stdout, one line per error on stderr, exit statuses as designed, no traceback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any, List, NamedTuple

import pytest

from npu_conformance import cli
from npu_conformance.files import resources
from npu_conformance.library import library
from npu_conformance.protocol import client, schema
from npu_conformance.report import results
from tests.conformance.shelves import BACKENDS, MINIATURES, QUICK, Shelf

pytestmark = pytest.mark.oldest_at_night

CASES = os.path.join(resources.fixtures(), "graphs", "cases")
GRAPH = os.path.join(CASES, "pyfunc_chain.pbtxt")


class Done(NamedTuple):
    status: int
    out: str
    err: str

    def json(self, name: str) -> Any:
        """The answer, valid against its schema."""
        value = json.loads(self.out)
        declared = schema.load(name)
        assert schema.fault(value, declared, declared) is None
        return value


def call(*arguments: str, cwd: Any = None, **env: str) -> Done:
    """The command in a process of its own, outside a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "npu_conformance", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, timeout=120,
        env={**client.environment(QUICK.env), **env},
    )  # fmt: skip
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def inside(capsys: pytest.CaptureFixture, *arguments: str) -> Done:
    """The command in this process, which is quicker."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    captured = capsys.readouterr()
    return Done(int(caught.value.code or 0), captured.out, captured.err)


# Bad input


def hostile(shelf: Shelf) -> dict:
    with open(os.path.join(CASES, "pyfunc_chain.pb"), "rb") as stream:
        good = stream.read()
    files = {
        "truncated.pb": good[: len(good) // 2 + 3],
        "noise.pb": bytes(range(256)) * 8,
        "empty.pb": b"",
        "truncated.pb.gz": b"\x1f\x8b\x08\x00abc",
        "unclosed.pbtxt": b'node { name: "a" op: "NoOp"',
        "unknown.pbtxt": b'node { name: "a" op: "NoSuchOperator" }',
        "cycle.pbtxt": b'node { name: "a" op: "NoOp" input: "^b" } node { name: "b" op: "NoOp" input: "^a" }',
        "twice.pbtxt": b'node { name: "a" op: "NoOp" } node { name: "a" op: "NoOp" }',
        "missing_input.pbtxt": b'node { name: "a" op: "NoOp" input: "^b" }',
    }
    for name, content in files.items():
        with open(shelf.path(name), "wb") as stream:
            stream.write(content)
    return files


@pytest.mark.parametrize(
    "name, code",
    [
        ("truncated.pb", "GRAPH_FORMAT"),
        ("noise.pb", "GRAPH_FORMAT"),
        ("empty.pb", "GRAPH_FORMAT"),
        ("truncated.pb.gz", "GRAPH_FORMAT"),
        ("unclosed.pbtxt", "GRAPH_FORMAT"),
        ("unknown.pbtxt", "GRAPH_UNKNOWN_OP"),
        ("cycle.pbtxt", "GRAPH_CYCLE"),
        ("twice.pbtxt", "GRAPH_DUPLICATE_NODE"),
        ("missing_input.pbtxt", "GRAPH_INPUT"),
        ("no-such-file.pb", "GRAPH_FILE"),
    ],
)
def test_a_bad_graph_is_one_clear_line_and_status_2(
    shelf: Shelf, capsys: pytest.CaptureFixture, name: str, code: str
) -> None:
    hostile(shelf)
    done = inside(capsys, "partition", shelf.path(name), "-o", "mix_compile_mode=true")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error[{code}] ") or done.err.startswith("error[GRAPH_FORMAT] ")
    assert code in done.err
    assert done.err.count("\n") == 1


BAD_PAIR = "in_out_pair=b to d"


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["partition", GRAPH, "-o", "mix_compile_mode=7"], "OPTION_TYPE"),
        (["partition", GRAPH, "-o", "mix_compile_mode=true", "-o", BAD_PAIR], "OPTION_SYNTAX"),
        (["partition", GRAPH, "-o", "mix_compile_mode"], "USAGE"),
        (["partition", GRAPH, "--op-list", GRAPH], "OP_LIST"),
        (["partition", GRAPH, "--op-list", "/no/such.json"], "OP_LIST"),
        (["partition", GRAPH, "--fetch", "nothing:0"], "GRAPH_FEED_FETCH"),
        (["partition"], "USAGE"),
        (["fly"], "USAGE"),
        (["run", "--backend", "nobody"], "BACKEND_SPEC"),
        (["run", "--backend", "mutant:nobody"], "BACKEND_SPEC"),
        (["run", "--area", "nowhere"], "USAGE"),
        (["run", "-k", "(a or"], "USAGE"),
        (["run", "-k", "no-case-has-this"], "USAGE"),
        (["run", "-n", "0"], "USAGE"),
        (["run", "--timeout-factor", "nan"], "USAGE"),
        (["explore", "--seconds", "nan"], "USAGE"),
        (["golden", "check", "--tolerance", "nan", GRAPH], "USAGE"),
        (["inspect", "--against", "x", "--cosine", "nan", "y"], "USAGE"),
        (["golden"], "USAGE"),
        (["run", "--shard", "3"], "USAGE"),
        (["run", "--shard", "9/8"], "USAGE"),
        (["run", "--shard", "2/2", "-k", "mixed-pyfunc-stays-on-host@"], "USAGE"),
        (["run", "--shard-times", "/no/such/folder"], "USAGE"),
        (["run", "--shard", "1/2", "--shard-times", "/no/such/folder"], "OUTPUT"),
        (["run", "--known-failures", "/no/such.toml"], "CASE_FILE"),
        (["run", "--backend-env", "NOT_SET_ANYWHERE"], "USAGE"),
        (["run", "--out", "/proc/nowhere"], "OUTPUT"),
        (["verify", "/no/such/folder"], "OUTPUT"),
        (["compare", "/no/such/folder", "/nor/this"], "OUTPUT"),
        (["mutants", "nobody"], "USAGE"),
        (["worker", "nobody"], "BACKEND_SPEC"),
    ],
)
def test_bad_input_is_one_clear_line_and_status_2(
    capfd: pytest.CaptureFixture, tmp_path, monkeypatch: pytest.MonkeyPatch, arguments: List[str], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "worker":  # it moves file descriptors away
        done = call(*arguments)
    else:
        done = inside(capfd, *arguments)
    assert (done.status, done.out) == (2, ""), done
    assert done.err.startswith(f"error[{code}] ")
    assert done.err.count("\n") == 1
    assert os.listdir(str(tmp_path)) == []


def test_a_backend_that_does_not_start_is_status_3_and_leaves_nothing(tmp_path) -> None:
    spec = f"exec:{sys.executable} {MINIATURES} NeverStarts"
    done = call("run", "--backend", spec, "-k", "mixed-pyfunc", cwd=str(tmp_path))
    assert done.status == 3
    assert done.err.startswith("error[BACKEND_UNAVAILABLE] ")
    assert "no device found" in done.err
    assert os.listdir(str(tmp_path)) == []


def test_a_defect_of_ours_is_status_70_and_keeps_the_traceback_in_a_file(
    capsys: pytest.CaptureFixture, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(library, "load", lambda: 1 // 0)
    done = inside(capsys, "coverage")
    assert done.status == 70
    assert done.err.startswith("error[INTERNAL] npu-conformance: ZeroDivisionError")
    path = done.err.split("Details are in ")[1].strip().rstrip(".")
    with open(path, encoding="utf-8") as stream:
        assert "Traceback" in stream.read()


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f'"{sys.executable}" -m npu_conformance coverage --format json | head -c 10'
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=client.environment(QUICK.env), timeout=60)
    assert done.stderr == b""
    assert len(done.stdout) == 10


# Answers


def test_run_ends_with_the_table_by_area_the_verdict_and_the_path_of_its_report(tmp_path) -> None:
    done = call("run", "-k", "mixed-pyfunc-stays-on-host@", "--out", "report", cwd=str(tmp_path))
    assert done.status == 0, done
    text = done.out.splitlines()
    assert text[-1] == "Report: report/report.html"
    assert text[-2].startswith("conformant: reference ")
    assert any("mixed" in line and "pass" in line for line in text)
    assert "judged 6 of 6" in done.err
    assert os.path.exists(str(tmp_path / "report" / "report.html"))


def test_run_verify_and_compare_in_json(
    capsys: pytest.CaptureFixture, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    select = ["-k", "mixed-pyfunc-stays-on-host or mixed-plain-chain", "--format", "json", "-n", "2"]
    good = inside(capsys, "run", *select, "--out", "good")
    assert good.json("run")["verdict"] == "conformant"
    independent = f"exec:{sys.executable} {os.path.join(BACKENDS, 'independent.py')}"
    bad = inside(capsys, "run", *select, "--backend", independent, "--out", "bad")
    assert (bad.status, bad.json("run")["verdict"]) == (1, "not conformant")
    verified = inside(capsys, "verify", "good", "--format", "json")
    assert (verified.status, verified.json("verify")["holds"]) == (0, True)
    compared = inside(capsys, "compare", "good", "bad", "--format", "json")
    assert compared.status == 1
    assert compared.json("compare")["worse"] > 0
    assert inside(capsys, "compare", "bad", "good").status == 0
    with open(str(tmp_path / "good" / "statement.json")) as stream:
        declared = schema.load("statement")
        assert schema.fault(json.load(stream), declared, declared) is None


@pytest.mark.nightly
def test_shards_of_a_run_are_the_run_and_can_be_verified(tmp_path) -> None:
    def ids(*words: str) -> List[str]:
        done = call("run", "-k", "mixed-plain or mixed-diamond", *words, "--out", "part", cwd=str(tmp_path))
        assert done.status == 0, done
        assert call("verify", "part", cwd=str(tmp_path)).status == 0
        return [record["id"] for record in results.read(str(tmp_path / "part")).records]

    whole = ids()
    halves = [ids("--shard", f"{number}/2") for number in (1, 2)]
    assert all(halves) and sorted(halves[0] + halves[1]) == sorted(whole)


def test_run_says_when_the_page_cannot_be_made(
    shelf: Shelf, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "jinja2" else found(name, *more)
    )
    done = inside(capsys, "run", "-k", "mixed-plain-chain", "--out", shelf.path("report"))
    assert done.status == 0
    assert done.out.endswith("report/results.jsonl\n")
    assert "note: report.html needs jinja2" in done.err


def test_options_in_json_has_value_origin_and_rule(capsys: pytest.CaptureFixture) -> None:
    done = inside(capsys, "options", "mix_compile_mode=true", "no_such_option=1", "--format", "json")
    answer = done.json("options")
    assert answer["effective"]["mix_compile_mode"] == {"value": True, "origin": "given", "rule": ""}
    assert [warning["option"] for warning in answer["warnings"]] == ["no_such_option"]
    assert done.status == 0


def test_options_see_only_the_environment_they_are_given(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "600")

    def timeout(*arguments: str) -> Any:
        answer = inside(capsys, "options", *arguments, "--format", "json").json("options")
        return tuple(answer["effective"]["hccl_timeout"][key] for key in ("value", "origin"))

    assert timeout() == (1836, "default")
    assert timeout("--env", "HCCL_EXEC_TIMEOUT=700", "--env", "OTHER=a=b") == (680, "environment")
    assert timeout("--env-from-process") == (544, "environment")
    assert timeout("--env-from-process", "--env", "HCCL_EXEC_TIMEOUT=700") == (680, "environment")
    assert timeout("--env-from-process", "hccl_timeout=68") == (68, "given")


@pytest.mark.parametrize("text", ["HCCL_EXEC_TIMEOUT", "=600", ""])
def test_options_refuse_what_is_no_variable_with_a_value(capsys: pytest.CaptureFixture, text: str) -> None:
    done = inside(capsys, "options", "--env", text)
    assert done.status == 2 and "NAME=VALUE" in done.err


def test_options_with_an_error_is_status_2_and_still_shows_everything(capsys: pytest.CaptureFixture) -> None:
    done = inside(capsys, "options", "mix_compile_mode=7", "--format", "json")
    assert done.status == 2
    assert [error["code"] for error in done.json("options")["errors"]] == ["OPTION_TYPE"]
    assert "mix_compile_mode" in inside(capsys, "options", "mix_compile_mode=7").out


def test_partition_in_json_is_the_answer_of_the_protocol(capsys: pytest.CaptureFixture) -> None:
    answer = inside(capsys, "partition", GRAPH, "-o", "mix_compile_mode=true", "--format", "json").json("partition")
    assert [geop["nodes"] for geop in answer["geops"]] == [["add"], ["mul"]]
    assert answer["min_geops"] == 2


def test_partition_in_text_names_geops_reasons_and_borders(capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.chdir(os.path.dirname(GRAPH))
    text = inside(capsys, "partition", os.path.basename(GRAPH), "-o", "mix_compile_mode=true").out
    for words in ("in 2 GEOPs", "Fewest GEOPs possible: 2", "NOT_SUPPORTED", "PyFunc", "host to device"):
        assert words in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_partition_writes_a_page(capsys: pytest.CaptureFixture, tmp_path) -> None:
    path = str(tmp_path / "page.html")
    assert inside(capsys, "partition", GRAPH, "-o", "mix_compile_mode=true", "--html", path).status == 0
    with open(path, encoding="utf-8") as stream:
        assert "PyFunc" in stream.read()


def test_feeds_fetches_policy_and_op_list_change_the_answer(capsys: pytest.CaptureFixture, shelf: Shelf) -> None:
    def answer(*more: str) -> Any:
        return inside(capsys, "partition", GRAPH, "-o", "mix_compile_mode=true", "--format", "json", *more).json(
            "partition"
        )

    closed = answer("--feed", "x:0", "--fetch", "mul:0")
    assert any(entry["node"].startswith("_arg_x") for entry in closed["host"])
    nothing = shelf.write("op_list.json", "{}")
    assert answer("--op-list", nothing)["geops"] == []
    assert answer("--policy", "adapter", "--flavour", "tf2")["geops"] != []


def test_coverage_counts_the_whole_inventory(capsys: pytest.CaptureFixture) -> None:
    answer = inside(capsys, "coverage", "--format", "json").json("coverage")
    assert answer["total"] == 1103
    assert answer["requirements"]["mixed.purpose.host_fallback"]["cases"]
    text = inside(capsys, "coverage").out
    assert "1103" in text and "Option" in text
    assert sum(answer["seen"].values()) == answer["total"]
    only = [name for name, one in answer["requirements"].items() if one["seen"] == "option"]
    assert len(only) == answer["seen"]["option"] > 0
    assert set(answer["not_seen_without_tensorflow"]) <= set(answer["requirements"])


def test_coverage_lists_what_is_missing(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    done = inside(capsys, "coverage", "--missing")
    rows = [line for line in done.out.splitlines() if ": " in line and not line[0].isdigit()]
    answer = inside(capsys, "coverage", "--format", "json").json("coverage")["requirements"]
    bare = [name for name, one in answer.items() if not one["cases"] and not one["excused"]]
    assert done.status == (1 if bare else 0) and len(rows) == len(bare)
    assert all(row.split(": ", 1)[1] == answer[row.split(":")[0].split()[1]]["statement"] for row in rows)


@pytest.mark.nightly
def test_a_mutant_is_run_like_any_backend_and_is_killed_by_a_case_of_its_requirement(
    capsys: pytest.CaptureFixture,
) -> None:
    listed = inside(capsys, "mutants", "--list", "--format", "json").json("mutant-list")["mutants"]
    name = sorted(name for name, one in listed.items() if one["requirement"] == "mixed.partition.geop_split")[0]
    answer = inside(capsys, "mutants", name, "--format", "json").json("mutants")
    assert answer["total"] == answer["killed"] == 1
    assert answer["mutants"][name]["specific"] is True


@pytest.mark.nightly
def test_worker_check_tells_a_good_backend_from_a_bad_one() -> None:
    good = call("worker-check", "py:miniatures:Honest", "--format", "json")
    assert (good.status, good.json("worker-check")["passed"]) == (0, True)
    bad = call("worker-check", f"exec:{sys.executable} {MINIATURES} OldProtocol")
    assert bad.status == 1
    assert "wrong says hello" in bad.out


def test_every_command_of_the_design_that_exists_has_help(capsys: pytest.CaptureFixture) -> None:
    for name in sorted(cli.cli.commands):
        done = inside(capsys, name, "--help")
        assert (done.status, done.err) == (0, "")
        assert "Usage: npu-conformance" in done.out


def test_the_help_tells_every_command_once_and_whole(capsys: pytest.CaptureFixture) -> None:
    told = inside(capsys, "--help").out
    listed = [line.split()[0] for line in told.splitlines() if re.match(r"  [a-z]", line) and "  " in line.strip()]
    assert sorted(listed) == sorted(cli.cli.commands)
    assert "..." not in told.partition("Options:")[2]


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture) -> None:
    import npu_reference

    assert inside(capsys, "--version").out.strip() == npu_reference.__version__


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.nightly
def test_a_run_that_is_stopped_ends_its_workers_and_leaves_nothing(tmp_path, number: int) -> None:
    spec = f"exec:{sys.executable} {MINIATURES} StopsTheSuite {int(number)} {tmp_path}"
    env = {**client.environment(QUICK.env), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        # One worker: a second one would send a second signal, which ends the run at once and without a word.
        [sys.executable, "-m", "npu_conformance", "run", "-n", "1", "--backend", spec, "--out", "report"],
        capture_output=True, cwd=str(tmp_path), env=env, timeout=60,
        # A shell's background job ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == 130, done
    assert done.stderr.endswith(b"interrupted\n")
    assert os.listdir(str(tmp_path)) == []
    listing = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert str(tmp_path) not in listing
