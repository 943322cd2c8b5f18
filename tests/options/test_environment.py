"""What the environment decides, and that nothing but the given environment is looked at."""

from __future__ import annotations

import pytest

from npu_reference.options import resolve

WORK = {"/work/": None}


def effective(name, env, surface="session", edition="current", files=None, **values):
    return resolve(values, surface=surface, edition=edition, env=env, files=files or {}).effective[name]


def test_the_process_environment_is_never_read(monkeypatch):
    for name in ("HCCL_EXEC_TIMEOUT", "ASCEND_DEVICE_ID", "AOE_MODE", "ASCEND_MAX_OP_CACHE_SIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("NPU_COLLECT_PATH", "/x")
    monkeypatch.setenv("ASCEND_CACHE_PATH", "/x")
    assert resolve({}).effective == resolve({}, env={}).effective


@pytest.mark.parametrize("text, value", [("600", 544), ("1", 68), ("17340", 17340), ("1836", 1836)])
def test_the_collective_timeout_of_the_environment(text, value):  # T2, B7
    env = {"HCCL_EXEC_TIMEOUT": text}
    assert effective("hccl_timeout", env) == (value, "environment", "env.HCCL_EXEC_TIMEOUT.fallback")
    assert effective("hccl_timeout", env, hccl_timeout=700) == (680, "given", "runconfig.hccl_timeout.quantize")
    assert effective("hccl_timeout", env, edition="legacy").value is None


@pytest.mark.parametrize("text", ["0", "-1", "17341", "10.5", "many", "9" * 5000])
def test_a_collective_timeout_that_cannot_be_is_ignored(text):
    resolution = resolve({}, env={"HCCL_EXEC_TIMEOUT": text})
    assert resolution.effective["hccl_timeout"] == (1836, "default", "")
    assert [warning[:2] for warning in resolution.warnings] == [("HCCL_EXEC_TIMEOUT", "environment")]


@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_the_device_of_the_environment(edition):
    env = {"ASCEND_DEVICE_ID": "3"}
    assert effective("session_device_id", env, edition=edition) == (3, "environment", "env.ASCEND_DEVICE_ID.lower")
    assert effective("session_device_id", env, edition=edition, session_device_id=1) == (1, "given", "")


@pytest.mark.parametrize("text", ["-1", "x", "1.0"])
def test_a_device_that_is_no_number_is_refused(text):
    (error,) = resolve({}, env={"ASCEND_DEVICE_ID": text}).errors
    assert (error.subject, error.code) == ("ASCEND_DEVICE_ID", "OPTION_VALUE")


def test_the_tuning_mode_of_the_environment():
    assert effective("aoe_mode", {"AOE_MODE": "2"}) == ("2", "environment", "env.AOE_MODE.fallback")
    assert effective("aoe_mode", {"AOE_MODE": "2"}, aoe_mode="1") == ("1", "given", "")
    for word in ("2", "3"):  # T38
        inferred = resolve({"graph_run_mode": 0}, env={"AOE_MODE": word})
        assert inferred.values["aoe_mode"] is None and not inferred.errors + inferred.warnings
    (error,) = resolve({}, env={"AOE_MODE": "3"}).errors
    assert (error.subject, error.code) == ("AOE_MODE", "OPTION_VALUE")


def test_debug_files_go_to_the_work_path():  # A5
    env = {"ASCEND_WORK_PATH": "/work"}
    assert effective("debug_dir", env, files=WORK) == ("/work", "environment", "env.ASCEND_WORK_PATH.uses")
    assert effective("debug_dir", env, files=WORK, debug_dir="/home/test") == ("/home/test", "given", "")
    assert effective("debug_dir", env, edition="legacy") == (".", "default", "")


@pytest.mark.parametrize("files", [{}, {"/work": "file"}, {"/work/": {"access": "r"}}])
def test_the_work_path_must_be_usable(files):
    (error,) = resolve({}, env={"ASCEND_WORK_PATH": "/work"}, files=files).errors
    assert (error.subject, error.code) == ("ASCEND_WORK_PATH", "OPTION_FILE")


def test_collecting_forces_the_exception_dump():
    env = {"NPU_COLLECT_PATH": "/collect"}
    forced = (1, "forced", "runconfig.enable_exception_dump.npu_collect_forces_1")
    assert effective("enable_exception_dump", env, surface="runconfig") == forced
    assert effective("enable_exception_dump", env, surface="runconfig", enable_exception_dump=0) == forced
    assert effective("enable_exception_dump", env, edition="legacy").value == 0


def test_the_cache_directory_has_an_order_of_places():  # A4
    env = {"ASCEND_CACHE_PATH": "/cache", "HOME": "/home/u"}
    assert effective("op_compiler_cache_dir", env, op_compiler_cache_dir="/given").value == "/given"
    assert effective("op_compiler_cache_dir", env)[:2] == ("/cache/kernel_cache_0", "environment")
    assert effective("op_compiler_cache_dir", {"HOME": "/home/u"}) == (
        "/home/u/atc_data", "default", "env.HOME.default_cache"
    )  # fmt: skip
    assert effective("op_compiler_cache_dir", env, edition="legacy").value == "/home/u/atc_data"


INI = "[op_compiler_cache]\nmax_op_cache_size=70\nremain_cache_size_ratio=80\n"


def limits(env, ini=None, **values):
    files = {} if ini is None else {"/cache/op_cache.ini": ini}
    resolution = resolve({"op_compiler_cache_dir": "/cache", **values}, env=env, files=files)
    names = ("max_op_cache_size", "remain_cache_size_ratio")
    return [resolution.effective[name][:2] for name in names], [
        warning[:2] for warning in resolution.warnings if warning.code != "no_effect"
    ]


def test_the_cache_limits_have_an_order_of_places():
    env = {"ASCEND_MAX_OP_CACHE_SIZE": "40", "ASCEND_REMAIN_CACHE_SIZE_RATIO": "30"}
    assert limits({}) == ([(500, "default"), (50, "default")], [])
    assert limits(env) == ([(40, "environment"), (30, "environment")], [])
    assert limits(env, INI) == ([(70, "file"), (80, "file")], [])
    assert limits({"ASCEND_MAX_OP_CACHE_SIZE": "-1"}) == ([(-1, "environment"), (50, "default")], [])  # C3
    assert limits({}, INI, op_compiler_cache_mode="disable") == ([(500, "default"), (50, "default")], [])


@pytest.mark.parametrize(
    "ini",
    [
        "",
        INI.replace("70", "0"),  # C6
        INI.replace("70", "-2"),
        INI.replace("70", "many"),
        INI.replace("80", "0"),
        INI.replace("80", "101"),
        INI.replace("[op_compiler_cache]\n", ""),
        INI.replace("max_op_cache_size=70\n", ""),
        INI + "max_op_cache_size=5\n",
        b"\xff\xfe",
    ],
)
def test_a_cache_file_with_one_wrong_value_is_ignored_as_a_whole(ini):  # C2
    env = {"ASCEND_MAX_OP_CACHE_SIZE": "40"}
    found, warned = limits(env, ini)
    assert found == [(40, "environment"), (50, "default")]
    assert warned == [("op_compiler_cache_dir", "file_ineffective")]


@pytest.mark.parametrize(
    "name, texts",
    [
        ("ASCEND_MAX_OP_CACHE_SIZE", ["0", "-2", "x", "1.5"]),
        ("ASCEND_REMAIN_CACHE_SIZE_RATIO", ["0", "101", "-1", "x"]),
    ],
)
def test_a_cache_limit_that_cannot_be_is_ignored(name, texts):
    for text in texts:
        assert limits({name: text}) == ([(500, "default"), (50, "default")], [(name, "environment")])


def test_the_older_edition_knows_no_cache_limits():
    assert "max_op_cache_size" not in resolve({}, edition="legacy").effective
