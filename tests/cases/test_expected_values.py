"""The numbers in goldens of graphs that are run, worked out again from the programs by plain arithmetic."""

from __future__ import annotations

import struct

import pytest

from fixtures.programs.case_subjects.drawn import random_program
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

FEEDS = {"x": [1.0, -2.0, 3.0, 0.0], "y": [-4.0, 5.0, 1.0, 2.0]}

OPERATIONS = {
    "AddV2": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Maximum": max,
    "Minimum": min,
    "Abs": abs,
    "Neg": lambda a: -a,
    "text": lambda a: a,
}


def _bits(values):
    return " ".join("{:08x}".format(*struct.unpack("<I", struct.pack("<f", value))) for value in values)


def _golden(name):
    return corpus().cases[name].expect.golden["current"]


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_a_random_program_sums_to_what_its_golden_says(seed):
    values = dict(FEEDS)
    total = [0.0] * 4
    for step in random_program(seed):
        operands = zip(*(values[name] for name in step["inputs"]))
        values[step["name"]] = [OPERATIONS[step["op"]](*operand) for operand in operands]
        total = [a + b for a, b in zip(total, values[step["name"]])]
    assert max(abs(value) for one in values.values() for value in one) < 2**20, "small integers are exact in float32"
    assert f"fetch sum:0 float32 [4] {_bits(total)}" in _golden(f"random-program-{seed}")


def test_every_random_program_has_operators_on_both_sides():
    for seed in (1, 2, 3, 4, 5):
        program = random_program(seed)
        host = [step for step in program if step["host"] or step["op"] == "text"]
        assert 3 <= len(host) <= len(program) - 3


def test_the_feeds_of_the_cases_are_those_worked_with():
    for seed in (1, 2, 3, 4, 5):
        feeds = corpus().cases[f"random-program-{seed}"].params["feeds"]
        for name, values in FEEDS.items():
            assert feeds[name + ":0"]["raw"] == struct.pack("<4f", *values)


def test_a_chain_of_device_operators_ends_in_what_its_golden_says():
    node = FEEDS["x"]
    for op in ("AddV2", "Relu", "Mul", "Abs", "AddV2"):
        node = [{"AddV2": v + v, "Relu": max(v, 0.0), "Mul": v * v, "Abs": abs(v)}[op] for v in node]
    assert f"fetch step4:0 float32 [4] {_bits(node)}" in _golden("no-transfers-inside-a-geop")


def test_the_variable_takes_the_values_its_goldens_say():
    value, reads = 2.0, []
    for _ in range(3):
        first = value + 3.0
        value = first + 10.0
        reads.append((first, value))
    for name, run in (("effects-in-order-around-host-operators", 0), ("effects-in-order-over-steps", 2)):
        first, second = reads[run]
        assert f"fetch read1:0 float32 [] {_bits([first])}" in _golden(name)
        assert f"fetch read2:0 float32 [] {_bits([second])}" in _golden(name)


def test_dumps_hold_what_the_operators_read_and_gave():
    x, y, start = [1.5, -2.0], [0.25, 4.0], [-8.0, 16.0]
    total = [a + b for a, b in zip(x, y)]
    held = {
        "math/total input 0": x,
        "math/total input 1": y,
        "math/total output 0": total,
        "math/parts output 0": total[:1],
        "math/parts output 1": total[1:],
        "math/left output 0": [total[0] ** 2],
        "image/biased input 0": total,
        "image/biased output 0": [a + b for a, b in zip(total, y)],
    }
    golden = _golden("dump-of-both-sides")
    for which, values in held.items():
        assert f"dump out step 0 {which} holds {_bits(values)}" in golden
    contains = corpus().cases["dump-of-both-sides"].expect.contains
    after = [a + b for a, b in zip(start, total)]
    for which, values in {"input 0": start, "input 1": total, "output 0": after}.items():
        assert f"dump out step 0 state/old {which} holds {_bits(values)}" in contains


def test_collectives_give_what_their_definitions_say():
    given = [[float(10 * rank + k) for k in range(4)] for rank in range(2)]
    turned = given[1] + given[0]
    sums = [a + b for a, b in zip(*given)]
    golden = _golden("run-collectives-of-two-ranks")
    for rank in range(2):
        said = {
            "sum": sums,
            "prod": [a * b for a, b in zip(*given)],
            "max": [max(pair) for pair in zip(*given)],
            "min": [min(pair) for pair in zip(*given)],
            "turned allgather": turned,
            "turned broadcast": given[1],
            "reduce_scatter": sums[2 * rank : 2 * rank + 2],
            "turned reduce_scatter": sums[2 - 2 * rank : 4 - 2 * rank],
            "several times": [2 * max(pair) - sum(pair) for pair in zip(*given)],
            "sum of int8": sums,
            "number": [12.0],
        }
        for name, values in said.items():
            assert f"rank {rank} printed {name}: {[int(value) for value in values]}" in golden
