"""What a running script leaves on disk: what an option asks for, where it says, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from npu_reference.runtime.config import RUN_CONFIG_MARK, Overrides, overriding
from npu_reference.runtime.execution import compile_files
from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.tf_api import tensorflow

tf = pytest.importorskip("tensorflow")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("ASCEND_WORK_PATH", "ASCEND_CACHE_PATH", "NPU_COLLECT_PATH"):
        monkeypatch.delenv(name, raising=False)
    compile_files.end()
    activation.activate()
    yield tmp_path
    compile_files.end()


def files(folder):
    return sorted(
        str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file() and not one.name.startswith(".")
    )


def run(times=1, close=True, **values):
    """Runs a product and a Relu under options; the session, if it is to stay open."""
    v1 = tensorflow().v1
    config = v1.ConfigProto()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add()
    optimizer.name = "NpuOptimizer"
    for name, value in {"use_off_line": True, **values}.items():
        field = optimizer.parameter_map[name]
        if isinstance(value, bool):
            field.b = value
        elif isinstance(value, int):
            field.i = value
        else:
            field.s = str(value).encode()
    with v1.Graph().as_default():
        x = v1.placeholder(v1.float16, [None, 8], name="x")
        y = v1.nn.relu(v1.matmul(x, v1.constant(np.ones((8, 8), np.float16), name="w")), name="y")
        session = v1.Session(config=config)
        for _ in range(times):
            assert session.run(y, {x: np.ones((4, 8))}).sum() == 256.0
        if close:
            session.close()
        return session


def test_a_script_that_asks_for_nothing_leaves_nothing(folder):
    run()
    compile_files.end()
    assert files(folder) == []


def test_the_debug_level_leaves_kernel_files_once_a_signature(folder):
    run(times=2, op_debug_level=4)
    kinds = sorted(name[name.rindex("/") + 1 :].partition(".")[2] for name in files(folder))
    assert kinds == ["cce", "json", "json", "o"] and {name.split("/")[0] for name in files(folder)} == {"kernel_meta"}


def test_a_second_session_takes_its_kernels_from_the_cache(folder):
    said = []
    with listening(said.append, 20):
        for _ in range(2):
            run(op_compiler_cache_mode="enable", op_compiler_cache_dir=folder / "cache")
    told = [entry.said for entry in said if entry.code == compile_files.COUNTS]
    assert told == [
        "0 kernels were taken from the cache, 1 were compiled.",
        "1 kernels were taken from the cache, 0 were compiled.",
    ]  # fmt: skip
    assert {name.split("/")[0] for name in files(folder)} == {"cache"}


def test_a_directory_that_cannot_be_stops_the_run_before_it_begins(folder):
    (folder / "file").write_text("")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is no directory but a file"):
        run(op_debug_level=1, debug_dir=folder / "file")
    assert files(folder) == ["file"]


def test_weights_are_there_while_the_session_is_open_and_gone_after(folder):
    (folder / "work").mkdir()
    settings = {"external_weight": True, "export_compile_stat": 2}
    with overriding(Overrides(values=settings, surface="runconfig", env={"ASCEND_WORK_PATH": str(folder / "work")})):
        session = run(close=False)
        names = files(folder)
        session.close()
    assert sum("/weight_" in name for name in names) == 1
    (result,) = [name for name in names if name.endswith("fusion_result.json")]
    assert result.startswith("work/FE/") and list(json.loads((folder / result).read_text()))
    assert files(folder) == [result] and not list((folder / "work").glob("tmp_weight*"))


def test_a_session_that_is_closed_in_the_program_behind_its_own_takes_no_files_of_that(folder):
    settings = {"external_weight": True}
    with overriding(Overrides(values=settings, surface="runconfig")):
        process_trace().restart()
        before = run(close=False)
        compile_files.end()
        assert files(folder) == []
        process_trace().restart()
        session = run(close=False)  # which has the first one's number
        before.close()
        assert len(files(folder)) == 1
        session.close()
    assert files(folder) == []


def test_files_that_are_only_told_of_are_never_written(folder):
    with overriding(Overrides(files={})):
        run(op_debug_level=1, debug_dir=folder / "debug")
    assert files(folder) == []


def test_what_a_session_leaves_counts_from_the_directory_in_which_it_was_made(folder, monkeypatch):  # D8
    v1 = tensorflow().v1
    options = {"op_debug_level": 3, "enable_exception_dump": 1, "enable_dump": True, "dump_path": "dumps"}
    own = v1.Session
    for name in ("one", "two"):
        (folder / name / "dumps").mkdir(parents=True)
        monkeypatch.chdir(folder / name)
        # It runs elsewhere than it was made.
        monkeypatch.setattr(v1, "Session", lambda **given: (own(**given), monkeypatch.chdir(folder))[0])
        run(**options)
        monkeypatch.setattr(v1, "Session", own)
        left = {path.split("/")[1] for path in files(folder) if path.startswith(name)}
        assert left == {"dumps", "kernel_meta"}
    assert {path.split("/")[0] for path in files(folder)} == {"one", "two"}


@pytest.mark.parametrize("by", ["a run config", "a session"])
def test_what_a_run_config_has_tuned_lies_in_its_work_path(
    folder, by
):  # runconfig.aoe_mode, session.aoe_mode.unsupported
    (folder / "work").mkdir()
    mark = {RUN_CONFIG_MARK: True} if by == "a run config" else {}
    run(aoe_mode="2", work_path=str(folder / "work"), **mark)
    told = ["work/aoe_config.json", "work/aoe_result_opat.json"] if mark else []
    assert [name for name in files(folder) if not name.endswith("aoe_bank.json")] == told
