"""Configuration objects and the constructor of NPURunConfig, as Python callers meet them."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.options import OptionTypeError, OptionValueError, construct, resolve, run_config

OUT = {"/out/": None}


def dump(**arguments):
    return {"class": "DumpConfig", "arguments": arguments}


def test_arguments_left_out_have_their_defaults():
    assert construct("DumpConfig", {}) == {
        "enable_dump": False, "dump_path": None, "dump_step": None, "dump_mode": "output",
        "enable_dump_debug": False, "dump_debug_mode": "all",
    }  # fmt: skip
    assert construct("ProfilingConfig", {}) == {"enable_profiling": False, "profiling_options": None}


@pytest.mark.parametrize(
    "class_name, arguments, error",
    [
        ("DumpConfig", {"enable_dump": 1}, TypeError),
        ("DumpConfig", {"dump_mode": "both"}, ValueError),
        ("DumpConfig", {"dump_step": "5-3"}, ValueError),
        ("DumpConfig", {"path": "/x"}, TypeError),
        ("ProfilingConfig", {"profiling_options": "{", "enable_profiling": True}, ValueError),
        ("MemoryConfig", {"atomic_clean_policy": True}, TypeError),
        ("MemoryConfig", {"atomic_clean_policy": 2}, ValueError),
    ],
)
def test_a_wrong_argument_is_a_type_or_value_error_that_names_it(class_name, arguments, error):  # G11
    with pytest.raises(error) as refused:
        construct(class_name, arguments)
    assert isinstance(refused.value, NpuError)
    assert refused.value.subject == f"{class_name}.{next(iter(arguments))}"


def test_a_class_that_does_not_exist_is_a_usage_error():
    with pytest.raises(NpuError):
        construct("FlyConfig", {})


def test_a_dump_config_stands_for_the_dump_keys():  # A49
    values = {"dump_config": dump(enable_dump=True, dump_path="/out", dump_step="0|3-5")}
    resolution = resolve(values, surface="runconfig", files=OUT)
    assert not resolution.errors
    assert resolution.effective["enable_dump"] == (True, "given", "dump_config")
    assert resolution.effective["dump_path"] == ("/out", "given", "dump_config")
    assert 4 in resolution.parsed["dump_step"]


@pytest.mark.parametrize(
    "arguments, subject, code",
    [
        ({"enable_dump": True}, "dump_config", "OPTION_CONFLICT"),
        ({"enable_dump": True, "dump_path": "/nowhere"}, "dump_path", "OPTION_FILE"),
        ({"enable_dump": "yes"}, "dump_config", "OPTION_TYPE"),
        ({"dump_step": "x"}, "dump_config", "OPTION_SYNTAX"),
        ({"colour": "red"}, "dump_config", "OPTION_TYPE"),
    ],
)
def test_rules_of_dump_hold_for_a_dump_config(arguments, subject, code):
    errors = resolve({"dump_config": dump(**arguments)}, surface="runconfig", files=OUT).errors
    assert [(error.subject, error.code) for error in errors] == [(subject, code)]


def test_a_profiling_config_stands_for_the_profiling_keys():  # A48
    value = {"enable_profiling": True, "profiling_options": '{"output":"/out"}'}
    resolution = resolve({"profiling_config": value}, surface="runconfig", files=OUT)
    assert resolution.effective["profiling_mode"] == (True, "given", "profiling_config")
    assert resolution.parsed["profiling_options"].output == "/out"


@pytest.mark.parametrize("value", ["x", 7, [], {"class": "MemoryConfig", "arguments": {}}, object()])
def test_another_object_is_refused(value):
    (error,) = resolve({"dump_config": value}, surface="runconfig").errors
    assert (error.subject, error.code) == ("dump_config", "OPTION_TYPE")
    assert "DumpConfig" in error.remedy


class ParameterServerStrategyV1:
    """What TensorFlow 1.15 calls the strategy's class."""


def test_a_strategy_object_is_known_by_its_class():
    strategy = ParameterServerStrategyV1()
    resolution = resolve({"distribute": strategy}, surface="runconfig")
    assert resolution.values["distribute"] is strategy
    assert resolution.to_json()["effective"]["distribute"]["value"] == {"class": "ParameterServerStrategyV1"}
    (error,) = resolve({"distribute": object()}, surface="runconfig").errors
    assert error.code == "OPTION_TYPE"


def test_the_constructor_raises_what_python_callers_expect():  # G10
    assert run_config({"mix_compile_mode": True}).values["mix_compile_mode"] is True
    for arguments, kind, subject in (
        ({"mix_compile_mode": 1}, OptionTypeError, "mix_compile_mode"),
        ({"mix_compile_mode": True, "iterations_per_loop": 10}, OptionValueError, "iterations_per_loop"),
        ({"graph_run_mode": 2}, OptionValueError, "graph_run_mode"),
        ({"mix_compile_mod": True}, OptionTypeError, "mix_compile_mod"),
        ({"in_out_pair": "x"}, OptionTypeError, "in_out_pair"),
    ):
        with pytest.raises(kind) as refused:
            run_config(arguments)
        assert refused.value.subject == subject
    with pytest.raises(TypeError) as refused:
        run_config({"mix_compile_mod": True})
    assert "mix_compile_mode" in refused.value.remedy
    with pytest.raises(TypeError):
        run_config({"jit_compile": "auto"}, edition="legacy")
