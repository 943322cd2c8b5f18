"""Random programs do on the device what they do in TensorFlow, and the program that tries them finds what differs."""

from __future__ import annotations

import functools
import hashlib
import json

import pytest
import tensorflow.compat.v1 as tf
from benchmarks.differential import comparing, running
from benchmarks.differential.drawing import draw
from benchmarks.differential.language import DEPTH, blocks_of, shown, walk
from benchmarks.differential.shrinking import shrink

from tests.depth import at_night

pytestmark = pytest.mark.not_between

SEED = "tests"


@pytest.mark.parametrize("first", [0, at_night(4), at_night(8)])
def test_random_programs_do_what_they_do_in_tensorflow(first):
    for number in range(first, first + 4):
        program = draw(f"{SEED}/{number}")
        found = comparing.examine(program)["differences"]
        assert not found, "\n".join([json.dumps(found), *shown(program)])


def test_a_seed_draws_the_same_program_everywhere():
    programs = json.dumps([draw(f"{SEED}/{number}") for number in range(50)], sort_keys=True)
    assert hashlib.sha256(programs.encode()).hexdigest()[:16] == "30033f43d0a74972"


def test_grappler_rewrites_no_function_that_a_program_calls():
    function = {"do": "function", "ids": [1], "in": [["v", 0]], "style": "function", "times": 1, "types": ["v"]}
    function["blocks"] = [{"params": [2], "block": [], "out": [["v", 2]]}]
    built = running.Program({"control_flow": 2, "serial": False, "declare": [], "block": [function], "runs": []})
    calls = [one for one in built.graph.get_operations() if one.type.endswith("PartitionedCall")]
    configs = [tf.ConfigProto.FromString(one.get_attr("config_proto")) for one in calls]
    assert configs and all(one.graph_options.rewrite_options.disable_meta_optimizer for one in configs)


def depth(statements):
    inside = [depth(block["block"]) for one in statements for block in blocks_of(one)]
    return 1 + max(inside) if inside else 0


def test_programs_nest_as_deep_as_told_and_use_all_there_is():
    programs = [draw(f"{SEED}/{number}") for number in range(200)]
    assert max(depth(program["block"]) for program in programs) == DEPTH
    kinds = {one["do"] for program in programs for one in walk(program["block"])}
    assert kinds >= {"cond", "while", "map", "function", "gradient", "python", "fail", "assign", "dequeue", "next"}
    assert {run["how"] for program in programs for run in program["runs"]} == {
        "run", "callable", "options", "partial", "threads", "save"
    }  # fmt: skip


def test_what_differs_is_found_and_made_small(monkeypatch):
    """A device that does not do what `tanh` does inside of a loop."""

    def math(fn, given, *read):
        return {"do": "math", "fn": fn, "ids": [given], "in": [["v", number] for number in read]}

    loop = {"do": "while", "ids": [9], "in": [["v", 1]], "types": ["v"], "turns": 12, "parallel": 3}
    loop["blocks"] = [{"params": [2, 3], "block": [math("square", 4, 3), math("tanh", 5, 4)], "out": [["v", 5]]}]
    branches = [{"params": [], "block": [loop, math("add", 6, 9, 1)], "out": [["v", 6]]}]
    branches.append({"params": [], "block": [math("softmax", 7, 1)], "out": [["v", 7]]})
    cond = {"do": "cond", "ids": [8], "in": [["b", 0]], "types": ["v"], "blocks": branches}
    program = {
        "control_flow": 1,
        "serial": False,
        "declare": [{"do": "placeholder", "ids": [1], "type": "v"}],
        "block": [math("reverse", 10, 1), cond, math("sub", 11, 8, 10)],
        "runs": [{"how": "callable", "fetch": [["v", 11], ["v", 8]], "feed": [[1, [0.5, 1.0, 2.0]]]}],
    }
    outcome = running.Program.outcome

    def faulty(self, mode):
        found = outcome(self, mode)
        if mode == "mixed" and any(op.type == "Tanh" and "while" in op.name for op in self.graph.get_operations()):
            found["runs"][0] = ["values", []]
        return found

    monkeypatch.setattr(running.Program, "outcome", faulty)
    found, varied = comparing.difference(running.Program(program), "mixed")
    assert found["kind"] == "other values" and not varied

    small = shrink(program, functools.partial(comparing.differs_so, found=found), tries=60)
    assert [one["do"] for one in walk(small["block"])] == ["while", "math", "alias"]
    assert small["block"][0]["turns"] == 0
    assert comparing._given("calls", [{"1": 2}, {"1": 3}], {"1": 4})
    assert not comparing._given("calls", [{"1": 2}, {"1": 2}], {"1": 3})
