"""Values in the type that an earlier adapter had for an option that is a text now (G27)."""

from __future__ import annotations

import pytest

from npu_reference.options import resolve
from npu_reference.options.classes import construct, named


@pytest.mark.parametrize("surface", ["session", "runconfig"])
@pytest.mark.parametrize("value", [True, False, {"field": "b", "value": False}])
def test_a_bool_for_jit_compile_is_its_text_and_is_told(surface, value):
    resolution = resolve({"jit_compile": value}, surface=surface)
    given = value["value"] if isinstance(value, dict) else value
    assert resolution.values["jit_compile"] == str(given).lower()
    assert [str(error) for error in resolution.errors] == []
    (told,) = [warning for warning in resolution.warnings if warning.rule == "G27"]
    assert (told.option, told.code) == ("jit_compile", "undocumented")
    assert f"{given} for jit_compile is a bool; it is taken as '{str(given).lower()}'." in told.text


@pytest.mark.parametrize("value", [1, 0.0, "False", {"field": "i", "value": 1}, {"field": "b", "value": "false"}])
def test_nothing_else_is_taken_for_jit_compile(value):
    assert resolve({"jit_compile": value}).errors[0].subject == "jit_compile"


@pytest.mark.parametrize("name", ["graph_memory_max_size", "variable_memory_max_size"])
def test_a_size_as_a_number_is_what_the_older_run_config_made_a_text_of(name):
    resolution = resolve({name: 5 << 30}, surface="runconfig", edition="legacy")
    assert not resolution.errors
    assert resolution.values[name] == str(5 << 30)
    assert resolve({name: 1 << 60}, surface="runconfig", edition="legacy").errors[0].code == "OPTION_SYNTAX"
    assert resolve({name: True}, surface="runconfig", edition="legacy").errors[0].code == "OPTION_TYPE"
    assert resolve({name: 5 << 30}, edition="legacy").errors[0].code == "OPTION_TYPE", "a session reads field .s alone"


@pytest.mark.parametrize(
    "name, value",
    [("enable_compress_weight", False), ("compress_weight_conf", "c"), ("hcom_multi_mode", True), ("soc_config", "s"),
     ("topo_sorting_mode", 1), ("insert_op_file", "f")],
)  # fmt: skip
@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_keywords_of_published_constructors_are_taken_and_said_to_do_nothing(name, value, edition):
    resolution = resolve({name: value}, surface="runconfig", edition=edition)
    assert not resolution.errors
    assert [(warning.option, warning.code) for warning in resolution.warnings] == [(name, "no_effect")]


def test_configuration_objects_take_their_arguments_in_order():
    assert named("DumpConfig", (True, "/tmp"), {"dump_mode": "all"}) == {
        "enable_dump": True, "dump_path": "/tmp", "dump_mode": "all",
    }  # fmt: skip
    assert construct("ProfilingConfig", named("ProfilingConfig", (False, None), {}))["enable_profiling"] is False


@pytest.mark.parametrize("ordered, by_name", [((1, 2, 3), {}), ((True,), {"enable_profiling": True})])
def test_too_many_in_order_and_one_given_twice_are_type_errors(ordered, by_name):
    with pytest.raises(TypeError, match="OPTION_TYPE"):
        named("ProfilingConfig", ordered, by_name)
