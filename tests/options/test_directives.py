"""What options tell graph compilation and the device, as answers have it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.observing import observe
from npu_reference.options import resolve
from npu_reference.options.directives import directives
from tests.options import strategies

pytestmark = pytest.mark.oldest_at_night

PROFILES = {
    "graph_run_mode": 0,
    "input_shape": "data:1,1,40,-1;label:1,-1;mask:-1,-1",
    "dynamic_dims": "20,20,1,1;40,40,2,2;80,60,4,4",
    "dynamic_node_type": 0,
}


def told(values, edition="current", surface="session", **more):
    return directives(resolve(values, edition=edition, surface=surface, **more).typed)


@pytest.mark.parametrize("surface", ["session", "runconfig"])
@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_every_view_has_every_topic_as_json(surface, edition):
    found = told({}, edition, surface)
    assert found == json.loads(json.dumps(found))
    assert set(found) == {
        "buffer_optimize", "ccec", "engines", "implementation", "memory", "shapes", "timeouts", "tuning",
    }  # fmt: skip


@settings(max_examples=100)
@given(st.data())
def test_whatever_is_given_directives_are_json(data):
    surface, edition = data.draw(st.sampled_from(strategies.PLACES))
    found = told(data.draw(strategies.configurations(surface, edition)), edition, surface, files={})
    assert found == json.loads(json.dumps(found))


def test_refused_options_tell_what_their_defaults_do():
    assert told({"buffer_optimize": "none", "dynamic_input": "yes"}) == told({})


def test_profiles_fill_the_dynamic_dimensions_in_order():
    # session.dynamic_dims.order
    shapes = told(PROFILES)["shapes"]
    assert shapes["kind"] == "profiles" and shapes["source"] == "dataset"
    assert shapes["profile 2"] == {"data": [1, 1, 40, 80], "label": [1, 60], "mask": [4, 4]}


def test_dynamic_input_without_ranges_is_dynamic_altogether():
    # S8
    assert told({"dynamic_input": True})["shapes"] == {"kind": "dynamic"}
    assert told({"dynamic_inputs_shape_range": "data:[3]"})["shapes"] == {"kind": "fixed"}


def test_engines_go_by_their_place_and_not_by_their_name():
    # A25, B25: the AI CPU is first in either edition.
    assert told({"stream_max_parallel_num": "DNN_V100:2"}, "legacy")["engines"] == {"AI_CPU": 1, "AI_Core": 2}
    assert told({"stream_max_parallel_num": "AIcoreEngine:2"})["engines"] == {"AI_CPU": 1, "AI_Core": 2}


def test_the_compiler_words_of_a_debug_file_count_as_well():
    files = {"/c.cfg": "op_debug_config = ccec_g,dump_cce\n"}
    assert told({"op_debug_config": "/c.cfg"}, surface="runconfig", files=files)["ccec"] == ["-g"]


def test_memory_has_a_limit_in_the_legacy_edition_only():
    # A22
    assert told({"graph_memory_max_size": "28"}, "legacy")["memory"]["graph_bytes"] == 28
    assert told({"graph_memory_max_size": "28"})["memory"]["graph_bytes"] is None


def test_a_directive_is_one_fact_a_leaf():
    answer = {"effective": {}, "warnings": [], "directives": {"shapes": {"kind": "fixed"}, "ccec": ["-g"]}}
    assert observe.facts("options", answer) == ['directive ccec = ["-g"]', 'directive shapes kind = "fixed"']
