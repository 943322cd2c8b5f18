"""The option table against the documents: names, surfaces, types, defaults and status."""

from __future__ import annotations

import pytest

from fixtures.programs.option_tables.declared import WORDS
from fixtures.programs.option_tables.runconfig import RUNCONFIG
from fixtures.programs.option_tables.session import CHANGED, SESSION
from npu_reference.options import EDITIONS, OPTIONS, SURFACES, resolve
from npu_reference.options.declaration import STATUSES
from npu_reference.options.domains import Text
from npu_reference.options.rules import RULES

#: The tables of the documents have no rows for objects, nor for what is not supported.
ON_SESSION = {row.name for row in SESSION} | {
    "enable_dump_debug", "dump_debug_mode", "distribute_config", "device_type", "aoe_mode", "work_path",
    "op_execute_timeout",
}  # fmt: skip
ON_RUNCONFIG = {row.name for row in RUNCONFIG} | {
    "distribute", "memory_config", "enable_reduce_precision", "dump_config", "profiling_config", "experimental_config",
    "graph_memory_max_size", "variable_memory_max_size",
}  # fmt: skip

#: Defaults that the documents give in words, or for a directory of the user's.
_CACHE = {"op_compiler_cache_dir": "$HOME/atc_data", "debug_dir": "."}

#: Document 002, table of session options; what is not here is not set. Values of A17 to A32 are marked.
SESSION_LEGACY = {
    **{row.name: row.default for row in SESSION if row.default is not WORDS},
    **_CACHE, "stream_max_parallel_num": "DNN_VM_TF:1,DNN_V100:1",
}  # fmt: skip

#: Document 003, table of NPURunConfig.
RUNCONFIG_CURRENT = {
    **{row.name: row.default for row in RUNCONFIG if row.default is not WORDS},
    **_CACHE, "hcom_parallel": True,  # A19
    "stream_max_parallel_num": "DNN_VM_AICPU:1,AIcoreEngine:1", "work_path": ".",
    "use_off_line": True, "max_op_cache_size": 500, "remain_cache_size_ratio": 50,
}  # fmt: skip

#: Session keys in the current edition: document 002, changed by the rows that are a matter of age.
SESSION_CURRENT = {
    **SESSION_LEGACY,
    **{name: RUNCONFIG_CURRENT.get(name) for name in ON_RUNCONFIG if name in CHANGED or name not in ON_SESSION},
    "max_op_cache_size": 500, "remain_cache_size_ratio": 50,
}  # fmt: skip

#: Options that NPURunConfig shares with the session have their older defaults, but for A17.
RUNCONFIG_LEGACY = {
    **{name: value for name, value in SESSION_LEGACY.items() if name in ON_RUNCONFIG},
    "enable_data_pre_proc": True, "iterations_per_loop": 1, "use_off_line": True,
}  # fmt: skip

INFERENCE = {"precision_mode": "force_fp16"}

#: Keywords of published constructors of NPURunConfig that no document has.
G19 = {
    "horovod_mode", "HCCL_algorithm", "enable_compress_weight", "compress_weight_conf", "hcom_multi_mode", "soc_config",
    "topo_sorting_mode", "insert_op_file",
}  # fmt: skip


def test_the_documents_list_74_options_and_what_was_added_since():
    listed = {name: {key[0] for key, facet in option.facets.items() if facet.listed and facet.status != "reserved"}
              for name, option in OPTIONS.items()}  # fmt: skip
    assert len(ON_SESSION | ON_RUNCONFIG) >= 74
    assert {name for name, surfaces in listed.items() if "session" in surfaces} == ON_SESSION
    assert {name for name, surfaces in listed.items() if "runconfig" in surfaces} == ON_RUNCONFIG
    assert {name for name, surfaces in listed.items() if not surfaces} == G19


@pytest.mark.parametrize(
    "surface, edition, documented",
    [
        ("session", "legacy", SESSION_LEGACY),
        ("session", "current", SESSION_CURRENT),
        ("runconfig", "legacy", RUNCONFIG_LEGACY),
        ("runconfig", "current", RUNCONFIG_CURRENT),
    ],
)
def test_what_is_not_given_has_its_documented_default(surface, edition, documented):
    resolution = resolve({}, surface=surface, edition=edition)
    assert {name: value for name, value in resolution.values.items() if value is not None} == {
        name: value for name, value in documented.items() if value is not None
    }
    assert not resolution.errors and not resolution.warnings
    origins = {name: effective.origin for name, effective in resolution.effective.items()}
    assert set(origins.values()) <= {"default", "forced"}
    assert [name for name, origin in origins.items() if origin == "forced"] == (
        ["use_off_line"] if surface == "runconfig" else []
    )


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_online_inference_has_its_own_defaults(surface, edition):
    training = resolve({"graph_run_mode": 1}, surface=surface, edition=edition).values
    inference = resolve({"graph_run_mode": 0}, surface=surface, edition=edition).values
    expected = {"graph_run_mode": 0}
    if (surface, edition) != ("runconfig", "current"):
        expected["precision_mode"] = "force_fp16"  # A6
    if edition == "current":
        expected["enable_small_channel"] = 1  # A28
    assert {name: value for name, value in inference.items() if value != training[name]} == expected


@pytest.mark.parametrize(
    "name",
    ["enable_dump_debug", "dump_debug_mode", "distribute_config", "device_type", "aoe_mode", "work_path",
     "op_execute_timeout"],
)  # fmt: skip
def test_an_unsupported_option_is_ignored_whatever_its_value(name):  # G7
    for value in (1, "x", {"field": "f", "value": "y"}, [object()]):
        resolution = resolve({name: value}, edition="legacy")
        assert [warning[:2] for warning in resolution.warnings] == [(name, "unsupported")]
        assert resolution.effective[name] == (None, "default", "")
        assert not resolution.errors


def test_enable_reduce_precision_is_not_supported():
    (warning,) = resolve({"enable_reduce_precision": True}, surface="runconfig").warnings
    assert warning[:2] == ("enable_reduce_precision", "unsupported")


DEPRECATED = {
    "enable_data_pre_proc": True, "variable_format_optimize": True, "op_debug_level": 0,
    "op_select_implmode": "high_precision", "dynamic_input": True,
}  # fmt: skip


@pytest.mark.parametrize("name", DEPRECATED)
@pytest.mark.parametrize("surface", SURFACES)
def test_a_deprecated_option_takes_effect_with_a_warning(name, surface):  # G8
    resolution = resolve({name: DEPRECATED[name]}, surface=surface)
    assert [warning[:2] for warning in resolution.warnings if warning.code != "incomplete"] == [(name, "deprecated")]
    assert resolution.effective[name] == (DEPRECATED[name], "given", "")
    legacy = resolve({name: DEPRECATED[name]}, surface="session", edition="legacy").warnings
    assert not [warning for warning in legacy if warning.code != "incomplete"]


@pytest.mark.parametrize("name", ["graph_memory_max_size", "variable_memory_max_size"])
@pytest.mark.parametrize("value", ["-1", "99999999999999999999", "26G", 5, None])
def test_memory_sizes_no_longer_have_any_effect(name, value):  # A22
    resolution = resolve({name: value}, surface="runconfig")
    assert not resolution.errors
    assert resolution.values[name] is None
    assert {warning.code for warning in resolution.warnings} == {"deprecated", "no_effect"}


def test_auto_tune_mode_is_gone_in_the_current_edition():  # A35
    resolution = resolve({"auto_tune_mode": "no such"})
    assert [warning.code for warning in resolution.warnings] == ["removed"]
    assert resolve({"auto_tune_mode": "RL,GA"}, edition="legacy").values["auto_tune_mode"] == "RL,GA"


def test_an_option_of_the_newer_edition_is_ignored_in_the_older():
    resolution = resolve({"jit_compile": "true"}, surface="runconfig", edition="legacy")
    assert [warning[:2] for warning in resolution.warnings] == [("jit_compile", "not_in_edition")]
    assert "jit_compile" not in resolution.values


@pytest.mark.parametrize("name, value", [("jit_compile", "auto"), ("experimental_config", {})])
def test_experimental_options_say_so(name, value):
    assert [w.code for w in resolve({name: value}, surface="runconfig").warnings] == ["experimental"]


def test_a_runconfig_option_reaches_the_session_as_a_reserved_key():
    resolution = resolve({"deterministic": 1})
    assert [warning[:2] for warning in resolution.warnings] == [("deterministic", "reserved")]
    assert resolution.values["deterministic"] == 1


def test_every_facet_is_well_formed():
    for option in OPTIONS.values():
        for facet in option.facets.values():
            assert facet.status in STATUSES
            assert facet.applies in ("T", "I", "TI")
            assert facet.field in "biso"
            assert facet.source
            if facet.default is not None and facet.status not in ("unsupported", "removed", "ignored"):
                default = facet.default.lstrip("$") if facet.field == "s" else facet.default
                assert facet.domain.check(default) is None
            if isinstance(facet.domain, Text):
                assert facet.domain.parse is not None


def test_every_rule_says_what_it_looks_at():
    for rule in RULES:
        assert rule.meaning.endswith("."), rule.name
        for trigger in rule.triggers:
            assert trigger in OPTIONS or trigger.isupper() or trigger == "*", rule.name
