"""What `inspect` tells of profiles, caches, kernel files, fusion results, weights, tuning and operator libraries."""

from __future__ import annotations

import csv
import io
import json
import os
import re

import pytest

from npu_conformance.cli import main
from npu_conformance.inspecting import hints, registry
from npu_conformance.protocol import schema
from npu_reference import profiling, tuning
from npu_reference.artifacts.places import LEVEL_KINDS
from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import Tile
from npu_reference.hardware import built_in
from npu_reference.options import OPTIONS
from npu_reference.options.grammars.profiling import ProfilingOptions
from tests.artifacts.making import Machine
from tests.timing.networks import mlp, step, two_engines

pytestmark = pytest.mark.oldest_at_night

ALL = ProfilingOptions("/out", True, True, True, "", "", "PipeUtilization")


def profile(folder, made=None, runs=2, wanted=ALL):
    """A profile of some runs of a step; its path."""
    os.makedirs(str(folder), exist_ok=True)
    made = made or step(*two_engines())
    content = profiling.files([profiling.ProfiledRun(made, number * made.step) for number in range(runs)], wanted)
    return profiling.write(str(folder), content)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["inspect", *arguments])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def answer(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--format", "json")
    assert not err
    found = json.loads(out)
    assert schema.fault(found, schema.load("inspect"), schema.load("inspect")) is None
    return code, found


def content(capsys, *arguments):
    return answer(capsys, *arguments)[1]["content"]


# -- profiles ----------------------------------------------------------------------------------------------------------


def test_a_profile_says_where_the_time_of_its_kernels_went(tmp_path, capsys):
    made = step(*two_engines())
    found = content(capsys, profile(tmp_path, made))
    kernels = [task for task in made.timeline.tasks if task.kernel >= 0]
    assert (found["simulated"], found["device"], found["iterations"]) == (True, "Ascend910A", 2)
    assert sum(row["count"] for row in found["operators"]) == 2 * len(kernels)
    assert sum(row["share"] for row in found["operators"]) == pytest.approx(1, abs=1e-4)
    assert found["types"][0]["type"] == "MatrixInverse" and found["types"][0]["engine"] == "AI_CPU"
    assert found["aicpu"] and found["steps"]["count"] == 2
    whole = 2 * sum(task.duration for task in kernels) / 1000
    assert sum(row["total_us"] for row in found["operators"]) == pytest.approx(whole, rel=1e-3)


def test_an_engine_is_busy_once_where_kernels_overlap(tmp_path, capsys):
    found = content(capsys, profile(tmp_path))
    assert all(row["busy_us"] <= found["wall_us"] for row in found["engines"])
    assert found["busy_us"] + found["idle_us"] == pytest.approx(found["wall_us"], abs=0.01)


def test_operators_and_iterations_can_be_chosen(tmp_path, capsys):
    folder = profile(tmp_path)
    found = content(capsys, folder, "--op", "MatMul*", "--step", "1")
    assert {row["type"] for row in found["operators"]} == {"MatMulV2"}
    assert {row["count"] for row in found["operators"]} == {1}
    assert [row["iteration"] for row in found["steps"]["rows"]] == [2]


def test_a_profile_is_known_by_any_folder_around_or_in_it(tmp_path, capsys):
    folder = profile(tmp_path)
    inner = os.path.join(folder, "mindstudio_profiler_output")
    assert [one.folder for one in registry.find(str(tmp_path))] == [folder]
    assert content(capsys, inner)["operators"] == content(capsys, folder)["operators"]


def test_tables_of_a_real_profiler_with_tabs_and_its_own_places_are_read(tmp_path, capsys):
    where = tmp_path / "PROF_000001_20240101_ABC" / "device_0" / "summary"
    where.mkdir(parents=True)
    out = io.StringIO()
    csv.writer(out).writerows(
        [
            ["Op Name", "OP Type", "Task Type", "Task Start Time(us)", "Task Duration(us)", "Stream ID"],
            ["a/conv", "Conv2D", "AI_CORE", "1700000000000000.125\t", "12.5", "3"],
            ["a/topk", "TopKV2", "AI_CPU", "1700000000000020.125\t", "7.5", "3"],
        ]
    )
    (where / "op_summary_0_1.csv").write_text("\ufeff" + out.getvalue(), encoding="utf-8")
    code, found = answer(capsys, str(tmp_path))
    assert code == 0 and found["folder"] == str(tmp_path / "PROF_000001_20240101_ABC")
    assert not found["content"]["simulated"]
    assert [(row["op"], row["total_us"]) for row in found["content"]["operators"]] == [
        ("a/conv", 12.5),
        ("a/topk", 7.5),
    ]
    assert found["content"]["wall_us"] == 27.5


def test_hints_name_the_engine_and_options_that_exist(tmp_path, capsys):
    found = content(capsys, profile(tmp_path))
    assert found["hints"][0]["code"] == "aicpu" and found["hints"][0]["share"] > 0.9
    _, out, _ = run(capsys, profile(tmp_path))
    assert "hint: the AI CPU computes" in " ".join(out.split())


def quiet(**changes):
    """A profile that no rule has anything to say of, but for what is changed."""
    told = {
        "wall_us": 100.0, "idle_us": 0.0, "engines": [], "types": [], "operators": [], "steps": None,
        "communication": {"alone_us": 0.0},
    }  # fmt: skip
    return {**told, **changes}


def operator(**changes):
    told = {"op": "a", "type": "Relu", "engine": "AI_CORE", "share": 0.5, "bound": "", "dtypes": "", "state": "static"}
    return {**told, **changes}


CAUSES = [
    ("aicpu", {"engines": [{"engine": "AI_CPU", "share": 0.3}], "operators": [operator(engine="AI_CPU")]}),
    ("idle", {"idle_us": 40.0}),
    ("input", {"steps": {"means": {"iteration_us": 100.0, "input_us": 20.0}}}),
    ("communication", {"communication": {"alone_us": 20.0}}),
    ("float32", {"operators": [operator(type="MatMulV2", dtypes="FLOAT32;FLOAT32")]}),
    ("conversions", {"operators": [operator(type="Cast")]}),
    ("tiles", {"operators": [operator(type="MatMulV2", bound="mte2")]}),
    ("dynamic", {"operators": [operator(state="dynamic")]}),
    ("small", {"types": [{"mean_us": 1.0, "engine": "AI_CORE", "count": 9, "share": 0.6}]}),
]


@pytest.mark.parametrize(("code", "changes"), CAUSES)
def test_each_cause_has_its_hint_and_nothing_else_does(code, changes):
    found = hints.hints(quiet(**changes))
    assert [row["code"] for row in found] == [code]
    assert set(found[0]["options"]) <= set(OPTIONS)
    assert hints.hints(quiet()) == []


def test_the_page_lists_every_hint_with_its_options():
    path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "inspect.md")
    with open(path, encoding="utf-8") as stream:
        rows = [line.split("|") for line in stream if line.startswith("| `")]
    listed = {row[1].strip(" `"): re.findall(r"`([a-z_]+)`", row[3]) for row in rows}
    for code, changes in CAUSES:
        assert listed[code] == hints.hints(quiet(**changes))[0]["options"]
    assert len(CAUSES) == len(hints.RULES)


def test_a_slower_profile_is_told_operator_by_operator(tmp_path, capsys):
    slow, fast = step(*two_engines(rows=2048)), step(*two_engines(rows=1024))
    here, there = profile(tmp_path / "a", slow), profile(tmp_path / "b", fast)
    code, found = answer(capsys, here, "--against", str(tmp_path / "b"))
    compared = found["comparison"]
    assert code == 1 and compared["slower"]
    first = compared["operators"][0]
    assert first["op"].startswith("MatrixInverse") and first["change_us"] > 0
    assert first["here_us"] - first["there_us"] == pytest.approx(first["change_us"], abs=0.002)
    assert answer(capsys, there, "--against", here)[0] == 0
    assert answer(capsys, here, "--against", there, "--error", "9")[0] == 0


def test_a_profile_does_not_differ_from_itself(tmp_path, capsys):
    folder = profile(tmp_path)
    code, found = answer(capsys, folder, "--against", folder)
    assert code == 0
    assert found["comparison"]["faster"] == 1
    assert not any(row["change_us"] for row in found["comparison"]["operators"])


def test_operators_beyond_those_that_are_listed_are_compared(tmp_path, capsys):
    heads = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
    for name, slow in (("a", 9), ("b", 1)):
        (tmp_path / name).mkdir()
        rows = "".join(
            f"op{number},T,AI_CORE,{20 * number},{slow if number == 1500 else 2}\n" for number in range(2000)
        )
        (tmp_path / name / "op_summary_1.csv").write_text(heads + rows, encoding="ascii")
    found = answer(capsys, str(tmp_path / "a"), "--against", str(tmp_path / "b"))[1]["comparison"]
    assert found["operators_compared"] == 2000 and not found["only_here"] and not found["only_there"]
    assert [row["op"] for row in found["operators"] if row["change_us"]] == ["op1500"]


def test_operators_of_one_profile_alone_are_named(tmp_path, capsys):
    here, there = profile(tmp_path / "a", step(*mlp(layers=3))), profile(tmp_path / "b", step(*mlp(layers=2)))
    found = answer(capsys, here, "--against", there)[1]["comparison"]
    assert any("2" in name for name in found["only_here"])


# -- caches ------------------------------------------------------------------------------------------------------------


def machine(path, **more):
    return Machine(path, **{"op_compiler_cache_dir": "/c", "op_compiler_cache_mode": "enable", **more})


def cached(tmp_path):
    made = machine(tmp_path)
    os.makedirs(str(tmp_path / "c"), exist_ok=True)
    made.compile()
    return made, sorted((tmp_path / "c" / "kernel_cache" / "ascend910").glob("te_*.json"))


def test_a_cache_tells_entries_sizes_limits_and_what_was_taken(tmp_path, capsys):
    made, entries = cached(tmp_path)
    made.compile()
    found = content(capsys, str(tmp_path / "c"))
    size = sum(os.path.getsize(str(one)) for one in (tmp_path / "c").rglob("te_*"))
    assert (found["entries_in_all"], found["whole"], found["bytes"]) == (len(entries), len(entries), size)
    assert found["limits"] == {
        "max_op_cache_size": 500,
        "remain_cache_size_ratio": 50,
        "from": "op_cache.ini",
        "flaw": "",
    }
    assert (found["hits"], found["misses"]) == (len(entries), len(entries))
    assert [row["operators"] for row in found["entries"] if "matmul" in row["kernel"]] == [["MatMul"]]


def test_a_cache_without_limit_records_no_use(tmp_path, capsys):
    made = machine(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "op_cache.ini").write_text(
        "[op_compiler_cache]\nmax_op_cache_size=-1\nremain_cache_size_ratio=50\n", encoding="ascii"
    )
    made.compile()
    found = content(capsys, str(tmp_path / "c"))
    assert found["compilations"] == [] and found["limits"]["max_op_cache_size"] == -1 and found["full"] is None


@pytest.mark.parametrize(
    ("harm", "state"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:40]), "torn"),
        (lambda path: path.with_suffix(".o").unlink(), "torn"),
        (lambda path: path.with_suffix(".o").write_bytes(b"x"), "torn"),
        (lambda path: path.write_text(path.read_text().replace('"AiCore"', '"Other"')), "forged"),
        (lambda path: path.write_text(path.read_text().replace('"form": 1', '"form": 2')), "other version"),
    ],
)
def test_an_entry_that_no_run_takes_is_named_with_its_reason(tmp_path, capsys, harm, state):
    made, entries = cached(tmp_path)
    harmed = next(one for one in entries if "matmul" in one.name)
    harm(harmed)
    found = content(capsys, str(tmp_path / "c"))
    assert [row["state"] for row in found["entries"] if row["kernel"] == harmed.stem] == [state]
    assert (found["unusable"], found["whole"]) == (1, len(entries) - 1)
    _, out, _ = run(capsys, str(tmp_path / "c"))
    assert f"{state}: {harmed.stem}: " in " ".join(out.split())
    left = made.compile()  # the cache itself agrees
    assert (left.hits, left.misses) == (len(entries) - 1, 1)


def test_an_entry_under_another_name_is_forged(tmp_path, capsys):
    _, entries = cached(tmp_path)
    one, other = entries[:2]
    for end in (".json", ".o"):
        other.with_suffix(end).write_bytes(one.with_suffix(end).read_bytes())
    found = content(capsys, str(tmp_path / "c"))
    assert [row["state"] for row in found["entries"] if row["kernel"] == other.stem] == ["forged"]


# -- the rest of what compilation leaves ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_kernel_files_name_the_level_that_left_them(tmp_path, capsys, level):
    (tmp_path / "d").mkdir()
    Machine(tmp_path, debug_dir="/d", op_debug_level=level).compile()
    found = content(capsys, str(tmp_path / "d"))
    assert f"op_debug_level={level}" in found["left_by"]
    assert all(set(row["files"]) == set(LEVEL_KINDS[level]) for row in found["kernels"])
    assert all(row["bytes"] == sum(row["files"].values()) for row in found["kernels"])


def test_fusion_results_are_one_table_over_all_graphs(tmp_path, capsys):
    counts = {"match_times": "2", "effect_times": "1"}
    graph = {"graph_fusion": {"A": counts}, "ub_fusion": {"B": {**counts, "repository_hit_times": "3"}}}
    keys = ["session_and_graph_id_0_0", "session_and_graph_id_0_1"]
    (tmp_path / "fusion_result.json").write_text(json.dumps(dict.fromkeys(keys, graph)), encoding="ascii")
    found = content(capsys, str(tmp_path))
    rows = {
        row["pass"]: (row["match_times"], row["effect_times"], row["repository_hit_times"]) for row in found["passes"]
    }
    assert rows == {"A": (4, 2, 0), "B": (4, 2, 6)} and found["graphs"] == 2
    _, out, _ = run(capsys, str(tmp_path))
    assert "repository: hit 6 times" in out


def test_weights_that_no_longer_hold_what_their_name_says_are_named(tmp_path, capsys):
    graph = machine(tmp_path, external_weight=True)
    graph.compile()
    (folder,) = tmp_path.glob("tmp_weight_*")
    (weight,) = folder.glob("weight_*")
    assert content(capsys, str(tmp_path / folder.name))["unusable"] == 0
    weight.write_bytes(b"x")
    found = content(capsys, str(folder))
    assert found["unusable"] == 1 and found["files"][0]["state"] == "changed"


def test_a_bank_tells_its_tiles_or_why_no_run_takes_it(tmp_path, capsys):
    net = mlp(batch=3300, width=2100)
    plan = tuning.TuningPlan("2", ".", None, None, True)
    tuned = tuning.tune([step(*net).compiled], plan)
    for name, data in tuning.result_files(plan, tuned, built_in(), {}).items():
        (tmp_path / name).write_bytes(data)
    found = content(capsys, str(tmp_path))
    assert found["asked"]["aoe_mode"] == "2" and found["better"] == len(found["bank"]["tiles"]) > 0
    assert not found["bank"]["why"]
    (tmp_path / tuning.BANK).write_bytes((tmp_path / tuning.BANK).read_bytes()[:-9])
    assert content(capsys, str(tmp_path))["bank"]["why"]


def test_a_bank_of_a_device_of_somebody_else_is_told_and_not_judged(tmp_path, capsys):
    told = tuning.result_files(
        tuning.TuningPlan("2", ".", None, None, True), [], built_in(), {Gemm(1, 16, 16, 16, 2, 2): Tile(16, 16)}
    )
    bank = json.loads(told[tuning.BANK])
    (tmp_path / tuning.BANK).write_text(json.dumps({**bank, "device": "Mine"}), encoding="ascii")
    assert "Mine" in content(capsys, str(tmp_path))["bank"]["why"]


def test_an_edited_operator_library_says_what_was_edited(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["library", str(tmp_path)])
    capsys.readouterr()
    (file,) = tmp_path.rglob("*.json")
    (told,) = content(capsys, str(tmp_path))["files"]
    assert not (told["changed"] or told["added"] or told["removed"] or told["writable"] or told["why"])
    entries = json.loads(file.read_text())
    entries["Relu"]["precision_reduce"] = {"flag": "false"}
    entries["Mine"] = entries["Relu"]
    del entries["ReduceSumD"]
    file.chmod(0o644)
    file.write_text(json.dumps(entries), encoding="ascii")
    (told,) = content(capsys, str(tmp_path))["files"]
    assert [row["op"] for row in told["changed"]] == ["Relu"]
    assert (told["added"], told["removed"], told["writable"]) == (["Mine"], ["ReduceSumD"], True)


# -- several, and none -------------------------------------------------------------------------------------------------


def test_a_folder_of_several_kinds_shows_each(tmp_path, capsys):
    profile(tmp_path / "p")
    cached(tmp_path)
    code, found = answer(capsys, str(tmp_path))
    assert code == 0 and found["kind"] == "several"
    assert [one["kind"] for one in found["folders"]] == ["cache", "profile"]
    _, out, _ = run(capsys, str(tmp_path))
    assert out.split()[0] == "cache" and "profile" in out.split()


def test_a_folder_of_no_kind_says_what_was_looked_for(tmp_path, capsys):
    (tmp_path / "readme.txt").write_text("x")
    code, out, err = run(capsys, str(tmp_path))
    assert code == 2 and not out and err.count("\n") == 1
    assert all(one.name in err for one in registry.kinds())


@pytest.mark.parametrize(
    "words",
    [
        ["--tensor", "a:0"],
        ["--tensor", "a:0", "--html", "x.html"],
        ["--against", "."],
        ["--against", "p", "--cosine", "0.5"],
    ],
)
def test_what_a_kind_cannot_be_asked_is_one_line(tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    cached(tmp_path)
    profile(tmp_path / "p")
    code, out, err = run(capsys, "c" if "p" not in words else "p", *words)
    assert code == 2 and not out and err.startswith("error[") and err.count("\n") == 1


def test_tables_fit_eighty_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    profile(tmp_path / "p")
    cached(tmp_path)
    (tmp_path / "d").mkdir()
    machine(tmp_path, debug_dir="/d", op_debug_level=4).compile()
    _, out, _ = run(capsys, str(tmp_path))
    rows = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert len(rows) > 40 and max(len(line) for line in rows) <= 80


def test_every_kind_has_a_view():
    from npu_conformance.report import inspect_views

    assert set(inspect_views._SHOWN) == {one.name for one in registry.kinds()}
    assert set(inspect_views._COMPARED) == {one.name for one in registry.kinds() if one.compare}
