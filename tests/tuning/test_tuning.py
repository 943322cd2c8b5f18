"""Tuning: never slower, kept in files that are trusted only whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference import tuning
from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import cost_of, search, tile
from npu_reference.hardware import built_in
from npu_reference.options import resolve
from npu_reference.tuning import BANK, TuningPlan
from tests.timing.networks import mlp, step

ALL = TuningPlan("2", ".", None, None, True)

sizes = st.integers(1, 700)
products = st.builds(Gemm, st.integers(1, 64), sizes, sizes, sizes, st.sampled_from([2, 4]), st.just(2))


@given(products, st.booleans())
@settings(deadline=None)
def test_what_the_search_finds_is_never_slower(gemm, fine):
    device = built_in()
    own, best = tile(gemm, device), search(gemm, device, fine=fine)

    def takes(one):
        return max(one.compute, one.read / device.l2_bytes_per_ns)

    assert takes(best) <= takes(own)
    assert takes(cost_of(best.tile, gemm, device)) == takes(best)
    assert best.tile.m * best.tile.n * 4 <= device.l0c


@given(products)
@settings(deadline=None, max_examples=30)
def test_a_finer_search_finds_no_worse(gemm):
    device = built_in()
    coarse, fine = (search(gemm, device, fine=level) for level in (False, True))
    assert max(fine.compute, fine.read / device.l2_bytes_per_ns) <= max(
        coarse.compute, coarse.read / device.l2_bytes_per_ns
    )


@pytest.mark.parametrize(
    "asked, fine",
    [
        ({}, False),
        ({"tune_optimization_level": "O1"}, True),
        ({"tune_optimization_level": "O2"}, False),
        ({"feature": ["deeper_opat"]}, True),
        ({"feature": ["deeper_opat"], "tune_optimization_level": "O2"}, True),
        ({"feature": ["deeper_opat"], "tune_ops_type": ["MatMul"]}, True),
    ],
)
def test_a_level_or_in_depth_tuning_makes_the_search_finer_with_and_without_lists(asked, fine):
    """What a finer search finds no document says, so that no case asks it."""
    values = {"aoe_mode": "2", "aoe_config_file": "/aoe.cfg"}
    found = resolve(values, surface="runconfig", files={"/aoe.cfg": json.dumps(asked)})
    found.raise_first()
    plan = tuning.plan_of(found)
    assert plan.fine == fine and (plan.types is not None) == ("tune_ops_type" in asked)


def bank(device):
    gemm = Gemm(1, 300, 64, 200, 2, 2)
    best = search(gemm, device, fine=True)
    return {gemm: best.tile}


def written(folder, device):
    tiles = bank(device)
    files = tuning.result_files(ALL, [], device, tiles)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return tiles


def test_a_bank_is_read_as_it_was_written(tmp_path):
    tiles = written(tmp_path, built_in())
    assert tuning.read(str(tmp_path), built_in()) == (tiles, None)


def test_no_bank_is_no_complaint(tmp_path):
    assert tuning.read(str(tmp_path), built_in()) == ({}, None)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_bank_that_is_torn_or_changed_is_not_trusted(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bank")
    tiles = written(folder, built_in())
    whole = (folder / BANK).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        changed = whole[:at]
    else:
        changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 127))]) + whole[at + 1 :]
    (folder / BANK).write_bytes(changed)
    found, complaint = tuning.read(str(folder), built_in())
    assert found == tiles or (not found and complaint)


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"device": "Ascend910B"}, {"tiles": [[[1], [2]]]}, {"tiles": None}, {"digest": ""}]
)
def test_a_bank_of_another_kind_is_not_used(tmp_path, change):
    written(tmp_path, built_in())
    told = json.loads((tmp_path / BANK).read_text())
    (tmp_path / BANK).write_text(json.dumps({**told, **change}))
    found, complaint = tuning.read(str(tmp_path), built_in())
    assert not found
    assert BANK in complaint


def test_the_step_is_faster_with_what_was_found():
    net = mlp(batch=3300, width=2100)
    first = step(*net)
    tuned = tuning.tune([first.compiled], ALL)
    second = step(*net, tiles=tuning.tiles_of(tuned))
    assert any(one.better for one in tuned)
    assert second.step < first.step


def test_files_are_equal_for_equal_findings():
    first = tuning.tune([step(*mlp()).compiled], ALL)
    second = tuning.tune([step(*mlp()).compiled], ALL)
    device = built_in()
    assert tuning.result_files(ALL, first, device, {}) == tuning.result_files(ALL, second, device, {})
