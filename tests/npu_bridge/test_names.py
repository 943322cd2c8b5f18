"""Every name of the table is where the table says, by all ways to it, and answers as the table says."""

from __future__ import annotations

import importlib
import sys
import types

import pytest
import tensorflow as tf

from npu_reference import surface
from npu_reference.surface import MODULES, NAMES, REFUSED, STAR

v1 = tf.compat.v1
IDS = [name.dotted for name in NAMES]


@pytest.fixture(autouse=True)
def imported():
    """A package has its modules as attributes once they are imported, whichever tests ran before."""
    for module in MODULES:
        importlib.import_module(module)


def star_import(**names):
    exec("from npu_bridge.npu_init import *", names)
    return names


@pytest.mark.parametrize("module", list(MODULES))
def test_a_module_can_be_imported(module):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("name", NAMES, ids=IDS)
def test_a_name_is_given_by_each_of_its_modules(name):
    found = [getattr(importlib.import_module(module), name.name) for module in name.modules]
    if name.status == REFUSED:
        assert all(isinstance(one, surface.Refused) for one in found)
        with pytest.raises(surface.NameRefused, match=name.name):
            found[0]()
    else:
        assert all(one is found[0] for one in found)
        assert not isinstance(found[0], surface.Refused)


@pytest.mark.parametrize("name", NAMES, ids=IDS)
def test_a_name_is_of_its_kind(name):
    if name.status != REFUSED:
        found = getattr(importlib.import_module(name.module), name.name)
        assert callable(found) == (name.kind in ("function", "class", "scope"))
        # TensorFlow's own modules may be wrapped, which are no module type.
        assert isinstance(found, types.ModuleType) == (name.kind == "module")


def test_the_star_import_gives_what_the_table_says_and_nothing_else():
    assert set(star_import()) - {"__builtins__"} == set(surface.star_names())


def test_the_star_import_gives_tensorflow_with_the_names_of_version_1():
    names = star_import()
    assert names["tf"].Session is v1.Session and names["os"] is importlib.import_module("os")


@pytest.mark.parametrize("own", [tf, v1], ids=["tensorflow", "compat.v1"])
def test_the_star_import_leaves_a_script_the_tensorflow_it_has(own):
    assert star_import(tf=own)["tf"] is own


def test_another_tf_is_replaced_as_the_adapter_replaces_it():
    assert star_import(tf=3)["tf"].Session is v1.Session


def test_a_name_that_no_adapter_has_is_an_attribute_error_with_the_nearest():
    module = importlib.import_module(STAR)
    assert not hasattr(module, "npu_confg_proto")
    with pytest.raises(AttributeError, match="Did you mean npu_config_proto"):
        module.npu_confg_proto  # noqa: B018
    with pytest.raises(ImportError):
        exec("from npu_bridge.npu_init import npu_confg_proto")


def test_the_way_of_tensorflow_2_leads_to_the_same_modules():
    mirror = importlib.import_module("npu_device.compat.v1.estimator.npu.util")
    assert mirror is importlib.import_module("npu_bridge.estimator.npu.util")
    assert mirror.__spec__.name == mirror.__name__ == "npu_bridge.estimator.npu.util"
    assert importlib.import_module("npu_device.compat.v1.npu_init") is sys.modules[STAR]
    with pytest.raises(ModuleNotFoundError, match=r"npu_device\.compat\.v1\.nothing"):
        importlib.import_module("npu_device.compat.v1.nothing")


def test_enable_v1_leaves_version_1_behaviour():
    npu_device = importlib.import_module("npu_device")
    npu_device.compat.enable_v1()
    assert not v1.executing_eagerly()


@pytest.mark.parametrize(
    "use",
    [
        "npu_device.open().as_default()",
        "npu_device.global_options().precision_mode = 'fp16'",
        "npu_device.distribute.all_reduce([1.0], 'mean')",
        "npu_device.distribute.npu_distributed_keras_optimizer_wrapper(None)",
        "npu_device.set_npu_loop_size(10)",
        "npu_device.train.optimizer.NpuLossScaleOptimizer(None)",
    ],
)
def test_what_needs_tf_function_says_what_to_use(use):
    with pytest.raises(surface.NameRefused, match=r"use sessions, with npu_device\.compat\.enable_v1\(\)"):
        exec("import npu_device\n" + use, {})
