"""Profile trees: what they hold follows from the step, and they come into a folder whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings

from npu_reference import profiling
from npu_reference.errors import NpuError
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.profiling.metrics import GROUPS, columns
from tests.timing.networks import mlp, nets, step

ALL = ProfilingOptions("/out", True, True, True, "", "", "PipeUtilization")


def tables(content):
    found = {}
    for path, data in content.items():
        if path.endswith(".csv"):
            name = path.rpartition("/")[2].rpartition("_")[0]
            found[name] = list(csv.DictReader(io.StringIO(data.decode("utf-8"))))
    return found


@given(nets())
@settings(max_examples=20, deadline=None)
def test_tables_agree_with_the_timeline(net):
    made = step(*net)
    found = tables(profiling.files([profiling.ProfiledRun(made), profiling.ProfiledRun(made, made.step)], ALL))
    kernels = [task for task in made.timeline.tasks if task.kernel >= 0]
    assert len(found.get("op_summary", [])) == len(found.get("task_time", [])) == 2 * len(kernels)
    assert sum(int(row["Count"]) for row in found.get("op_statistic", [])) == 2 * len(kernels)
    assert [row["Iteration ID"] for row in found["step_trace"]] == ["1", "2"]
    assert all(float(row["task_stop(us)"]) >= float(row["task_start(us)"]) for row in found.get("task_time", []))
    on_cpu = [task for task in kernels if task.kind == "aicpu"]
    assert len(found.get("aicpu", [])) == 2 * len(on_cpu)


def test_equal_runs_give_equal_files():
    first, second = step(*mlp()), step(*mlp())
    assert profiling.files([profiling.ProfiledRun(first)], ALL) == profiling.files([profiling.ProfiledRun(second)], ALL)


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_metrics_fills_its_own_columns(group):
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL._replace(aic_metrics=group))
    rows = tables(content)["op_summary"]
    assert rows
    assert set(columns(group)) <= set(rows[0])
    assert not {name for other in GROUPS if other != group for name in GROUPS[other][0]} & set(rows[0])
    ratios = [float(row[name]) for row in rows for name in row if name.endswith("_ratio") and row[name] != "N/A"]
    assert all(0 <= ratio <= 1 for ratio in ratios)


def test_points_are_found_where_none_is_named():
    found = tables(profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL))
    trace, tasks = found["step_trace"][0], found["op_summary"]
    assert trace["FP Start(us)"] == min((row["Task Start Time(us)"] for row in tasks), key=float)
    assert float(trace["BP End(us)"]) <= float(trace["Iteration End(us)"])


@pytest.mark.parametrize("suffix", ["", "_Reduce", "_Reduce_2", "_npu_float16_0"])
def test_a_point_may_have_suffixes_that_fusion_gave_it(suffix):
    plain, named = (
        tables(profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL._replace(fp_point=f"matmul1{end}")))[
            "step_trace"
        ][0]
        for end in ("", suffix)
    )
    assert named["FP Start(us)"] == plain["FP Start(us)"] != "N/A"


def test_a_point_that_the_step_does_not_compute_is_not_guessed():
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL._replace(fp_point="nowhere"))
    assert tables(content)["step_trace"][0]["FP Start(us)"] == "N/A"


def test_everything_says_that_it_is_simulated():
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL)
    for path, data in content.items():
        text = data.decode("utf-8")
        assert "simulated" in text.lower(), path
    assert json.loads(content["device_0/info.json.0"])["simulated"] is True


def test_trees_in_one_folder_have_numbers_of_their_own(tmp_path):
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL)
    first, second = (profiling.write(str(tmp_path), content) for _ in range(2))
    assert Path(first).name.startswith("PROF_000001_")
    assert Path(second).name.startswith("PROF_000002_")
    left = {str(path.relative_to(first)): path.read_bytes() for path in Path(first).rglob("*") if path.is_file()}
    assert left == {path.replace("/", os.sep): data for path, data in content.items()}


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(NpuError) as caught:
        profiling.write(str(tmp_path), content)
    assert caught.value.code == "OPTION_FILE"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error(tmp_path):
    content = profiling.files([profiling.ProfiledRun(step(*mlp()))], ALL)
    with pytest.raises(NpuError) as caught:
        profiling.write(str(tmp_path / "none"), content)
    assert caught.value.subject == "profiling_options" and "none" in caught.value.reason
