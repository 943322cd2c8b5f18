"""Types and domains of single values, as the table declares them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS, resolve
from tests.options import strategies

SOME = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LIVE = ("active", "deprecated", "experimental", "reserved", "undocumented")


def mode_for(facet):
    return {"graph_run_mode": 1 if "T" in facet.applies else 0}


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@SOME
@given(data=st.data())
def test_what_is_inside_its_domain_is_accepted(surface, edition, data):
    name = data.draw(st.sampled_from(strategies.names_on(surface, edition)))
    facet = OPTIONS[name].facets[surface, edition]
    value = data.draw(strategies.inside(name, facet))
    files = {f"/given/{name}": data.draw(strategies.FILES[name])} if name in strategies.FILES else {}
    resolution = resolve({**mode_for(facet), name: value}, surface=surface, edition=edition, files=files)
    assert [error.message for error in resolution.errors if error.code != "OPTION_CONFLICT"] == []


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@SOME
@given(data=st.data())
def test_what_is_outside_its_domain_is_refused_and_the_default_holds(surface, edition, data):
    facets = {name: OPTIONS[name].facets[surface, edition] for name in strategies.names_on(surface, edition)}
    name = data.draw(st.sampled_from([name for name, facet in facets.items() if facet.status in LIVE]))
    value = data.draw(strategies.outside(facets[name]))
    resolution = resolve({name: value}, surface=surface, edition=edition, files={})
    assert [error.subject for error in resolution.errors] == [name]
    assert resolution.errors[0].code in ("OPTION_TYPE", "OPTION_VALUE")
    assert resolution.effective[name] == resolve({}, surface=surface, edition=edition).effective[name]
    with pytest.raises(NpuError):
        resolution.raise_first()


@pytest.mark.parametrize(
    "name, words",
    [
        ("dump_mode", "input output all"),
        ("precision_mode", "allow_fp32_to_fp16 force_fp32 must_keep_origin_dtype allow_mix_precision force_fp16"),
        ("op_select_implmode", "high_precision high_performance"),
        ("op_compiler_cache_mode", "enable disable force"),
        ("buffer_optimize", "l2_optimize off_optimize"),
        ("dynamic_graph_execute_mode", "dynamic_execute"),
    ],
)
def test_a_refused_word_is_answered_with_those_allowed(name, words):
    facet = OPTIONS[name].facets["session", "legacy"]
    assert sorted(facet.domain.words) == sorted(words.split())
    values = {**mode_for(facet), name: words.split()[0].upper()}
    (error,) = resolve(values, edition="legacy").errors
    assert error.code == "OPTION_VALUE"
    for word in words.split():
        assert word in error.message


@pytest.mark.parametrize(
    "surface, edition, name, allowed, refused",
    [
        ("session", "legacy", "graph_run_mode", [0, 1], [-1, 2]),
        ("session", "legacy", "op_debug_level", [0, 4], [-1, 5]),
        ("session", "legacy", "enable_exception_dump", [0, 1], [2, -1]),  # A20
        ("runconfig", "current", "enable_exception_dump", [0, 1, 2], [3, -1]),
        ("session", "legacy", "hccl_timeout", [1, 10**9], [0, -1]),  # T3
        ("runconfig", "current", "hccl_timeout", [1, 17340], [0, -1, 17341]),  # T1
        ("runconfig", "current", "op_wait_timeout", [1], [0, -1]),  # T4
        ("runconfig", "current", "op_execute_timeout", [1], [0, -1]),
        ("runconfig", "current", "stream_sync_timeout", [-1, 1, 2000000], [0, -2]),  # T5
        ("runconfig", "current", "event_sync_timeout", [-1, 1], [0, -2]),
        ("runconfig", "current", "deterministic", [0, 1], [2]),
        ("runconfig", "current", "export_compile_stat", [0, 2], [3, -1]),
        ("runconfig", "current", "session_device_id", [0, 7], [-1]),
    ],
)
def test_a_number_has_bounds(surface, edition, name, allowed, refused):
    for value in allowed:
        assert not resolve({name: value}, surface=surface, edition=edition).errors, value
    for value in refused:
        (error,) = resolve({name: value}, surface=surface, edition=edition).errors
        assert (error.subject, error.code) == (name, "OPTION_VALUE"), value


def test_threads_fit_an_int32():
    for value in (1, 2147483647):
        assert not resolve({"graph_run_mode": 0, "graph_max_parallel_model_num": value}, surface="runconfig").errors
    for value in (0, -1, 2147483648):
        assert resolve({"graph_max_parallel_model_num": value}, surface="runconfig").errors


@pytest.mark.parametrize("name", ["aoe_mode", "ac_parallel_enable", "quant_dumpable"])
def test_a_number_where_text_is_wanted_is_refused_with_a_hint(name):  # T27
    (error,) = resolve({name: 1}, surface="runconfig").errors
    assert error.code == "OPTION_TYPE"
    assert 'such as "1"' in error.remedy


@pytest.mark.parametrize("value", ["True", "on", 1])
def test_jit_compile_is_one_of_three_words_or_a_bool(value):
    assert [error.subject for error in resolve({"jit_compile": value}, surface="runconfig").errors] == ["jit_compile"]


@pytest.mark.parametrize(
    "edition, refused", [("legacy", ["cube_fp16in_fp32out", "allow_mix_precision_fp16"]), ("current", ["no_such"])]
)
def test_newer_precision_modes_are_refused_in_the_older_edition(edition, refused):  # A12
    for value in refused:
        (error,) = resolve({"precision_mode": value}, edition=edition).errors
        assert error.code == "OPTION_VALUE"


def test_bytes_are_read_as_utf8_and_nothing_else():
    assert resolve({"dump_mode": b"all"}).values["dump_mode"] == "all"
    (error,) = resolve({"dump_mode": b"\xff"}).errors
    assert error.code == "OPTION_TYPE"


def test_the_field_a_value_names_must_hold_it():
    assert not resolve({"graph_run_mode": {"field": "i", "value": 0}}).errors
    for field in ("b", "f", "s", "x", None, 7):
        resolution = resolve({"graph_run_mode": {"field": field, "value": 0}})
        assert [error.code for error in resolution.errors] == ([] if field is None else ["OPTION_TYPE"])


def test_a_name_that_is_no_text_is_refused():
    (error,) = resolve({7: 1}).errors
    assert error.code == "OPTION_TYPE"


@pytest.mark.parametrize("arguments", [{"values": ["a"]}, {"values": {}, "env": "x"}, {"values": {}, "files": [1]}])
def test_what_is_no_mapping_is_a_usage_error(arguments):
    with pytest.raises(NpuError) as refused:
        resolve(**arguments)
    assert refused.value.code == "USAGE"


@pytest.mark.parametrize("where", ["surface", "edition", "env", "files"])
def test_a_place_that_does_not_exist_is_a_usage_error(where):
    wrong = {"surface": "keras", "edition": "newest", "env": {"HOME": 1}, "files": {"/x": 7}}
    with pytest.raises(NpuError) as refused:
        resolve({}, **{where: wrong[where]})
    assert refused.value.code == "USAGE"


@pytest.mark.parametrize(
    "surface, edition, path, fine",
    [
        ("session", "legacy", "/home/用户/fusion.cfg", True),
        ("runconfig", "current", "/home/用户/fusion.cfg", False),  # A3
        ("session", "legacy", "/home/a b/fusion.cfg", False),
        ("session", "current", "/home/a-b_c.d/../fusion.cfg", True),  # B1
        ("session", "current", "~/fusion.cfg", False),
        ("session", "current", "$HOME/fusion.cfg", False),
    ],
)
@pytest.mark.parametrize("name", ["fusion_switch_file", "op_compiler_cache_dir"])
def test_path_components_have_their_characters(surface, edition, path, fine, name):
    errors = resolve({name: path}, surface=surface, edition=edition, files={path: '{"Switch":{}}'}).errors
    assert [error.code for error in errors] == ([] if fine else ["OPTION_VALUE"])


@pytest.mark.parametrize("name", ["fusion_switch_file", "op_compiler_cache_dir"])
def test_a_chinese_path_of_a_session_is_taken_in_the_current_edition_with_a_warning(name):  # A3
    resolution = resolve({name: "/用户"}, files={"/用户": '{"Switch":{}}'})
    assert not resolution.errors and resolution.values[name] == "/用户"
    assert [warning[:2] for warning in resolution.warnings] == [(name, "undocumented")]


#: What means nothing in the other graph run mode (G13); all else takes effect there, with a warning.
BOUND = {
    "dynamic_dims", "dynamic_node_type", "graph_max_parallel_model_num", "input_shape", "iterations_per_loop",
    "quant_dumpable",
}  # fmt: skip


@pytest.mark.parametrize("applies, code", [("T", "training_only"), ("I", "inference_only")])
@pytest.mark.parametrize("surface, edition", strategies.PLACES)
def test_outside_its_scenario_a_value_stays_with_a_warning_unless_it_means_nothing_there(
    applies, code, surface, edition
):  # G13
    examples = {"dump_step": "0", "auto_tune_mode": "RL", "input_shape": "a:1", "dynamic_dims": "1;2"}
    examples["in_out_pair"] = "[[['a'], ['b']]]"
    for name in strategies.names_on(surface, edition):
        facet = OPTIONS[name].facets[surface, edition]
        if facet.applies != applies or facet.status not in LIVE:
            continue
        value = examples.get(name, facet.default)
        if isinstance(value, bool):
            value = not value
        if value is None:
            value = {"s": "1", "i": 1, "o": {}, "b": True}[facet.field]
        values = {"graph_run_mode": 0 if applies == "T" else 1, name: value}
        if name == "in_out_pair":
            values["mix_compile_mode"] = True
        resolution = resolve(values, surface=surface, edition=edition, files={"1": "{}"})
        assert (name, code) in [warning[:2] for warning in resolution.warnings]
        if name not in BOUND:
            assert resolution.effective[name].origin == "given"
            assert resolution.values[name] == (1836 if (name, edition) == ("hccl_timeout", "current") else value)
            continue
        assert resolution.effective[name].origin == "forced"
        assert resolution.effective[name].rule == "G13"
        assert name not in resolution.parsed


CARRIED = {"buffer_optimize": "off_optimize", "deterministic": 1, "dynamic_input": True, "static_memory_policy": 0}


def test_values_that_npu_run_config_wrote_are_held_to_its_surface_and_not_warned_about():
    plain, carried = resolve(CARRIED, files={}), resolve(CARRIED, files={}, carried=CARRIED)
    assert {warning.option for warning in plain.warnings} == set(CARRIED)
    assert plain.values["buffer_optimize"] == "off_optimize"  # listed for online inference, but given (G13)
    assert not carried.warnings and not carried.errors
    assert carried.values["buffer_optimize"] == "off_optimize"
    assert list(carried.effective) == list(plain.effective)


def test_a_carried_option_leaves_the_warnings_of_the_others():
    given = {"deterministic": 1, "ac_parallel_enable": "1", "no_such_option": True}
    warnings = resolve(given, files={}, carried={"deterministic"}).warnings
    assert {warning.option for warning in warnings} == {"ac_parallel_enable", "no_such_option"}
