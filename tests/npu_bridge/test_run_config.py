"""NPURunConfig: its arguments, what it refuses, and what its sessions get."""

from __future__ import annotations

import inspect
import json
import logging

import pytest
import tensorflow as tf

from npu_bridge._tensorflow import HAS_ESTIMATOR
from npu_bridge.estimator.npu.npu_config import npu_session_config
from npu_bridge.npu_init import DumpConfig, MemoryConfig, NPUEstimator, NPURunConfig, ProfilingConfig, RewriterConfig
from npu_reference import NpuError
from npu_reference.options import OPTIONS, resolve
from npu_reference.runtime.config import Overrides, overriding
from npu_reference.runtime.config import settings as session_settings
from npu_reference.runtime.observing.log import listening

v1 = tf.compat.v1


def entries(config):
    """The NpuOptimizer entries of the session config: of each, key to value."""
    return [
        {key: getattr(one, one.WhichOneof("value")) for key, one in entry.parameter_map.items() if key in OPTIONS}
        for entry in npu_session_config(config).graph_options.rewrite_options.custom_optimizers
    ]


def merged(config):
    """What the session reads of all entries: the later wins (G3)."""
    together = {}
    for entry in entries(config):
        together.update(entry)
    return together


def session_config(**bools):
    config = v1.ConfigProto()
    entry = config.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    for name, value in bools.items():
        entry.parameter_map[name].b = value
    return config


def test_every_option_of_the_surface_is_a_keyword():
    names = set(inspect.signature(NPURunConfig).parameters)
    assert {name for name, option in OPTIONS.items() if "runconfig" in option.surfaces} <= names
    assert {"model_dir", "save_checkpoints_steps", "session_config", "tf_random_seed"} <= names
    assert not {"use_off_line", "in_out_pair", "in_out_pair_flag"} & names  # A38


def test_the_documented_line_reaches_the_session():
    # mixed.estimator.example
    proto = v1.ConfigProto(allow_soft_placement=True)
    config = NPURunConfig(session_config=proto, mix_compile_mode=True, iterations_per_loop=1)
    assert config.mix_compile_mode is True and config.iterations_per_loop == 1
    written = merged(config)
    assert written["mix_compile_mode"] is True and written["iterations_per_loop"] == 1
    assert npu_session_config(config).allow_soft_placement


def test_the_users_session_config_is_not_changed():
    proto = v1.ConfigProto()
    npu_session_config(NPURunConfig(session_config=proto, mix_compile_mode=True))
    assert proto == v1.ConfigProto()


def test_a_config_without_arguments_has_the_documented_defaults():
    config = NPURunConfig()
    assert config.iterations_per_loop == 1  # mixed.iterations.default_one
    assert config.mix_compile_mode is False
    assert config.variable_placement == "Device"
    assert config.graph_run_mode == 1


@pytest.mark.parametrize(
    ("given", "steps", "seconds"),
    [
        ({}, 100, None),
        ({"save_checkpoints_steps": None, "save_checkpoints_secs": None}, 100, None),
        ({"save_checkpoints_secs": 60}, None, 60),
        ({"save_checkpoints_steps": 7}, 7, None),
        ({"save_checkpoints_steps": 0}, 0, None),  # none at all, as ranks but one have it
    ],
)
def test_checkpoints_come_every_100_steps_unless_something_else_is_given(given, steps, seconds):
    # T52
    config = NPURunConfig(**given)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (steps, seconds)
    assert config.save_summary_steps == 0 and NPURunConfig(save_summary_steps=9).save_summary_steps == 9


def test_checkpoints_that_come_late_are_told():
    # T52
    told = []
    with listening(told.append, logging.WARNING):
        NPURunConfig(iterations_per_loop=10)
        NPURunConfig(iterations_per_loop=10, save_checkpoints_steps=20)
        assert not told
        NPURunConfig(iterations_per_loop=10, save_checkpoints_steps=25)
    assert ["save_checkpoints_steps is 25" in entry.text for entry in told] == [True]


@pytest.mark.skipif(not HAS_ESTIMATOR, reason="our own RunConfig does not read TF_CONFIG")
def test_a_cluster_is_refused(monkeypatch):
    # T53
    task = {"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    with pytest.raises(ValueError, match="TF_CONFIG"):
        NPURunConfig()


def test_what_is_not_given_is_not_written():
    # Only what NPURunConfig means otherwise than the session does: the device, and GetNext (A17, A38).
    assert merged(NPURunConfig()) == {"use_off_line": True, "enable_data_pre_proc": True}


@pytest.mark.parametrize("empty", [None, ""])
def test_none_and_empty_text_mean_not_given(empty):
    # G9
    config = NPURunConfig(variable_placement=empty, mix_compile_mode=None)
    assert config.variable_placement == "Device" and "variable_placement" not in merged(config)
    assert "mix_compile_mode" not in merged(config)


def test_an_argument_beats_the_same_key_of_the_session_config():
    # G4
    config = NPURunConfig(session_config=session_config(mix_compile_mode=False), mix_compile_mode=True)
    assert [entry.get("mix_compile_mode") for entry in entries(config)] == [False, True]
    assert merged(config)["mix_compile_mode"] is True


def test_a_default_does_not_beat_a_key_of_the_session_config():
    config = NPURunConfig(session_config=session_config(mix_compile_mode=True, enable_data_pre_proc=False))
    assert merged(config)["mix_compile_mode"] is True
    assert merged(config)["enable_data_pre_proc"] is False


def test_an_option_outside_its_scenario_is_not_written():
    # G13: iteration offload is for training, graph_run_mode 0 is online inference.
    written = merged(NPURunConfig(graph_run_mode=0, iterations_per_loop=5))
    assert written["graph_run_mode"] == 0 and "iterations_per_loop" not in written


def test_every_value_stands_in_the_field_of_its_type():
    config = NPURunConfig(mix_compile_mode=True, iterations_per_loop=1, variable_placement="Host")
    entry = npu_session_config(config).graph_options.rewrite_options.custom_optimizers[-1]
    fields = {name: entry.parameter_map[name].WhichOneof("value") for name in entry.parameter_map}
    assert fields["mix_compile_mode"] == "b"
    assert fields["iterations_per_loop"] == "i"
    assert fields["variable_placement"] == "s" and entry.parameter_map["variable_placement"].s == b"Host"


def test_rewriting_by_grappler_is_off():
    # G6
    rewrite = npu_session_config(NPURunConfig()).graph_options.rewrite_options
    assert (rewrite.remapping, rewrite.memory_optimization) == (RewriterConfig.OFF, RewriterConfig.OFF)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"iterations_per_loop": True}, "iterations_per_loop"),  # G12
        ({"mix_compile_mode": 1}, "mix_compile_mode"),  # G12
        ({"mix_compile_mode": "True"}, "mix_compile_mode"),
        ({"iterations_per_loop": 1.0}, "iterations_per_loop"),
        ({"variable_placement": 0}, "variable_placement"),
        ({"graph_run_mode": "1"}, "graph_run_mode"),
    ],
)
def test_a_wrong_type_is_refused_at_construction(arguments, option):
    # G10, G11
    with pytest.raises(TypeError) as caught:
        NPURunConfig(**arguments)
    assert option in str(caught.value) and repr(arguments[option]) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "option", "allowed"),
    [
        ({"graph_run_mode": 2}, "graph_run_mode", "0, 1"),
        ({"iterations_per_loop": 0}, "iterations_per_loop", "1"),
        ({"variable_placement": "host", "mix_compile_mode": True}, "variable_placement", "Host"),
    ],
)
def test_a_value_outside_its_domain_is_refused_with_what_is_allowed(arguments, option, allowed):
    # G10, G11
    with pytest.raises(ValueError, match=option) as caught:
        NPURunConfig(**arguments)
    assert allowed in str(caught.value)


def test_mixed_computing_refuses_iteration_offload():
    # mixed.iterations.must_be_one
    with pytest.raises(ValueError) as caught:
        NPURunConfig(mix_compile_mode=True, iterations_per_loop=10)
    assert "iterations_per_loop" in str(caught.value) and "mix_compile_mode" in str(caught.value)


def test_an_unknown_argument_is_refused_with_a_hint():
    with pytest.raises(TypeError, match="mix_compile_mode"):
        NPURunConfig(mix_compile_mod=True)


def test_errors_are_npu_errors_too():
    with pytest.raises(NpuError) as caught:
        NPURunConfig(graph_run_mode=7)
    assert (caught.value.code, caught.value.subject) == ("OPTION_VALUE", "graph_run_mode")


def test_the_environment_chooses_the_edition(monkeypatch):
    # G14: the legacy edition knows two values of enable_exception_dump (A20), and no variable_placement.
    monkeypatch.setenv("NPU_REFERENCE_EDITION", "legacy")
    with pytest.raises(ValueError, match="enable_exception_dump"):
        NPURunConfig(enable_exception_dump=2)
    config = NPURunConfig(variable_placement="Host", mix_compile_mode=True)
    assert "variable_placement" not in merged(config) and merged(config)["mix_compile_mode"] is True
    monkeypatch.setenv("NPU_REFERENCE_EDITION", "future")
    with pytest.raises(NpuError, match="future"):
        NPURunConfig()


def test_arguments_of_run_config_keep_their_meaning(tmp_path):
    config = NPURunConfig(model_dir=str(tmp_path), save_checkpoints_steps=7, tf_random_seed=3)
    assert (config.model_dir, config.save_checkpoints_steps, config.tf_random_seed) == (str(tmp_path), 7, 3)
    assert config.save_checkpoints_secs is None


def examples():
    """Option and value: for every option of the surface that has a domain of few or of bounded values."""
    for name, option in OPTIONS.items():
        facet = option.facet("runconfig", "current")
        if facet is None:
            continue
        for schema in facet.domain.schema().get("anyOf", [facet.domain.schema()]):
            values = schema.get("enum", [])
            if schema.get("type") == "boolean":
                values = [True, False]
            elif schema.get("type") == "integer" and "minimum" in schema:
                values = [schema["minimum"], schema.get("maximum", schema["minimum"])]
            for value in values:
                yield name, value


#: What an option needs beside it to be accepted.
COMPANIONS = {
    ("variable_placement", "Host"): {"mix_compile_mode": True},
    ("precision_mode", "force_fp16"): {"graph_run_mode": 0},  # A7
    ("buffer_optimize", "off_optimize"): {"graph_run_mode": 0},  # as a session key for online inference (document 002)
}


@pytest.mark.parametrize(("name", "value"), examples())
def test_what_the_constructor_accepts_the_session_takes_as_it_is(name, value):
    arguments = {name: value}
    arguments.update(COMPANIONS.get((name, value), {}))
    config = NPURunConfig(**arguments)
    written = {key: part.decode() if isinstance(part, bytes) else part for key, part in merged(config).items()}
    resolution = resolve(written, surface="session")
    assert not resolution.errors
    if OPTIONS[name].facets["runconfig", "current"].status in ("active", "deprecated", "experimental"):
        assert resolution.values[name] == getattr(config, name)


def test_a_strategy_of_parameter_servers_is_accepted_but_not_trained_with(tmp_path):
    class ParameterServerStrategyV1:
        pass

    config = NPURunConfig(distribute=ParameterServerStrategyV1())
    assert isinstance(config.distribute, ParameterServerStrategyV1)
    with pytest.raises(ValueError, match="parameter servers"):
        NPUEstimator(lambda features: None, config=config)
    with pytest.raises(TypeError, match="distribute"):
        NPURunConfig(distribute=1)


def test_a_replaced_field_leaves_the_options_alone():
    config = NPURunConfig(mix_compile_mode=True).replace(model_dir="elsewhere")
    assert isinstance(config, NPURunConfig) and config.model_dir == "elsewhere"
    assert merged(config)["mix_compile_mode"] is True


def test_configuration_objects_stand_for_session_options(tmp_path):
    # A48, A49
    dump = DumpConfig(enable_dump=True, dump_path=str(tmp_path), dump_step="0|5")
    profile = ProfilingConfig(enable_profiling=False, profiling_options=None)
    config = NPURunConfig(dump_config=dump, profiling_config=profile, memory_config=MemoryConfig())
    assert config.dump_config is dump and dump.dump_step == "0|5" and dump.dump_mode == "output"
    written = merged(config)
    assert written["enable_dump"] is True and written["dump_step"] == b"0|5"
    assert written["dump_path"] == str(tmp_path).encode()
    assert written["profiling_mode"] is False and "profiling_options" not in written


@pytest.mark.parametrize("name", ["memory_config", "dump_config", "profiling_config", "experimental_config"])
def test_an_object_of_another_class_is_refused(name):
    other = ProfilingConfig() if name != "profiling_config" else DumpConfig()
    for wrong in (other, object(), 1, "config", {}, {"class": "MemoryConfig"}):
        with pytest.raises(TypeError, match=name):
            NPURunConfig(**{name: wrong})


def test_configuration_objects_check_their_arguments():
    with pytest.raises(TypeError, match="enable_dump"):
        DumpConfig(enable_dump="yes")
    with pytest.raises(ValueError, match="dump_mode"):
        DumpConfig(dump_mode="both")
    with pytest.raises(TypeError, match="dump_pth"):
        DumpConfig(dump_pth="out")
    assert "dump_path" in inspect.signature(DumpConfig).parameters


def told(config):
    """What a session of the configuration says, and what it takes effect with."""
    settings = session_settings(npu_session_config(config))
    return {(notice.subject, notice.code) for notice in settings.notices}, settings.resolution


def test_a_session_does_not_repeat_what_npu_run_config_said():
    # Options of NPURunConfig alone, deprecated ones and advice: their author was told when the object was made.
    notices, resolution = told(
        NPURunConfig(deterministic=1, input_fusion_size=25600, op_debug_level=1, variable_format_optimize=True)
    )
    assert not notices
    assert resolution.values["deterministic"] == 1 and resolution.values["op_debug_level"] == 1


def test_an_option_keeps_the_scenarios_of_npu_run_config():
    # Document 003 lists buffer_optimize without a scenario, document 002 for online inference only.
    notices, resolution = told(NPURunConfig(buffer_optimize="off_optimize"))
    assert not notices and resolution.values["buffer_optimize"] == "off_optimize"


def test_a_session_still_says_what_its_own_config_has_wrong():
    proto = session_config(no_such_option=True, deterministic=True)
    proto.graph_options.rewrite_options.custom_optimizers[0].parameter_map["deterministic"].i = 1
    notices, _ = told(NPURunConfig(session_config=proto, ac_parallel_enable="1"))
    assert notices == {("no_such_option", "unknown"), ("deterministic", "reserved")}


def test_a_later_entry_of_the_script_is_its_own():
    proto = npu_session_config(NPURunConfig(deterministic=0))
    entry = proto.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    entry.parameter_map["deterministic"].i = 1
    notices = {(notice.subject, notice.code) for notice in session_settings(proto).notices}
    assert notices == {("deterministic", "several_values"), ("deterministic", "reserved")}


@pytest.mark.parametrize("edition", ["current", "legacy"])
def test_what_scripts_give_beyond_the_documents_is_taken_with_a_warning(edition, monkeypatch):  # G19
    monkeypatch.setenv("NPU_REFERENCE_EDITION", edition)
    heard = []
    with listening(heard.append):
        config = NPURunConfig(auto_tune_mode="RL,GA", horovod_mode=True, mix_compile_mode=True)
    assert all(any(name in entry.text for entry in heard) for name in ("auto_tune_mode", "horovod_mode"))
    written = npu_session_config(config).graph_options.rewrite_options.custom_optimizers[-1].parameter_map
    assert written["mix_compile_mode"].b and "horovod_mode" not in written
    assert ("auto_tune_mode" in written) == (edition == "legacy")


def test_the_environment_is_read_as_by_a_session(monkeypatch):
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "600")
    config = NPURunConfig()
    assert config.hccl_timeout == 544  # in whole steps of 68 s
    assert "hccl_timeout" not in merged(config)  # the session reads the environment itself
    assert session_settings(npu_session_config(config)).resolution.values["hccl_timeout"] == 544


def test_a_conflict_with_the_environment_is_refused_at_once(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "8")
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "600")
    with pytest.raises(ValueError, match=r"stream_sync_timeout.*600 s"):
        NPURunConfig(stream_sync_timeout=500_000)
    assert NPURunConfig(stream_sync_timeout=700_000).stream_sync_timeout == 700_000


def test_the_edition_is_that_of_the_surroundings():
    with overriding(Overrides(edition="legacy")):
        assert NPURunConfig(graph_memory_max_size="1024").graph_memory_max_size == "1024"
        assert session_settings(npu_session_config(NPURunConfig())).resolution.edition == "legacy"
        assert NPURunConfig()._npu_resolution.edition == "legacy"


def test_a_session_of_a_run_config_dumps_what_overflows_and_one_by_itself_does_not(tmp_path):  # A36, A49
    own = DumpConfig(enable_dump_debug=True, dump_path=str(tmp_path), dump_debug_mode="aicore_overflow")
    wanted = session_settings(npu_session_config(NPURunConfig(dump_config=own))).dump
    assert (wanted.overflow, wanted.path) == ("aicore_overflow", str(tmp_path))
    proto = npu_session_config(NPURunConfig())
    assert session_settings(proto).dump is None
    (entry,) = [one for one in proto.graph_options.rewrite_options.custom_optimizers if one.name == "NpuOptimizer"]
    del entry.parameter_map["npu_run_config"]
    entry.parameter_map["enable_dump_debug"].b = True
    entry.parameter_map["dump_path"].s = str(tmp_path).encode()
    assert session_settings(proto).dump is None


def test_what_overflows_is_dumped_only_into_a_folder_that_is_named():  # session.dump_path.required
    with pytest.raises(ValueError, match="dump_path is not given"):
        NPURunConfig(dump_config=DumpConfig(enable_dump_debug=True))
