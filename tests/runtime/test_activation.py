"""Switching the simulated device on and off leaves no trace, and no real adapter is ever shadowed unasked."""

from __future__ import annotations

import importlib
import os
import sys

import pytest
import tensorflow.compat.v1 as tf

import npu_reference
from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import npu

BASE = tf.Session.__mro__[1]
PATCHED = ["__init__", "_do_run", "make_callable", "_make_callable_from_options", "partial_run_setup", "close"]


PACKAGES = ["npu_bridge", "hccl", "npu_device"]


def forget():
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    """Off at the start of these tests, and no package of the adapter anywhere on the path."""
    activation.deactivate()
    forget()
    path = [entry for entry in sys.path if not os.path.isdir(os.path.join(entry, "npu_bridge"))]
    monkeypatch.setattr(sys, "path", path)
    importlib.invalidate_caches()
    yield
    activation.deactivate()
    forget()


def test_activation_is_idempotent_and_can_be_undone():
    before = [getattr(BASE, name) for name in PATCHED]
    finders = list(sys.meta_path)
    npu_reference.activate()
    patched = [getattr(BASE, name) for name in PATCHED]
    npu_reference.activate()
    assert [getattr(BASE, name) for name in PATCHED] == patched != before
    npu_reference.deactivate()
    npu_reference.deactivate()
    assert [getattr(BASE, name) for name in PATCHED] == before
    assert sys.meta_path == finders


def test_without_activation_no_npu_bridge_and_no_engine():
    with pytest.raises(ImportError):
        importlib.import_module("npu_bridge")
    with tf.Graph().as_default(), tf.Session(config=npu()) as session:
        assert engine_of(session) is None


def test_the_drop_in_is_found_when_active_and_gone_afterwards():
    npu_reference.activate()
    module = importlib.import_module("npu_bridge.npu_init")
    assert module.__file__.startswith(activation.dropin_folder())
    npu_reference.deactivate()
    assert not [name for name in sys.modules if name.split(".")[0] == "npu_bridge"]
    with pytest.raises(ImportError):
        importlib.import_module("npu_bridge")


def test_an_installed_adapter_is_shadowed_only_while_active(tmp_path, monkeypatch):
    (tmp_path / "npu_bridge").mkdir()
    (tmp_path / "npu_bridge" / "__init__.py").write_text("REAL = True\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    npu_reference.activate()
    assert not hasattr(importlib.import_module("npu_bridge"), "REAL")
    npu_reference.deactivate()
    importlib.invalidate_caches()
    assert importlib.import_module("npu_bridge").REAL
    heard = []
    with listening(heard.append):
        npu_reference.activate()
    assert [entry.code for entry in heard] == ["imported_before"]
    npu_reference.deactivate()
    assert sys.modules["npu_bridge"].REAL, "what is not ours stays"


def test_methods_keep_their_names_and_documentation():
    original = tf.Session.__mro__[1]._do_run.__doc__
    npu_reference.activate()
    assert BASE._do_run.__name__ == "_do_run" and BASE._do_run.__doc__ == original


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_of_the_adapter_comes_and_goes_with_activation(package):
    with pytest.raises(ImportError):
        importlib.import_module(package)
    npu_reference.activate()
    assert importlib.import_module(package).__file__.startswith(activation.dropin_folder(package))
    importlib.import_module("npu_device.compat.v1.estimator.npu.util")
    npu_reference.deactivate()
    assert [name for name in sys.modules if name.split(".")[0] in PACKAGES] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_real_package_that_was_imported_before_stays_and_is_named(package, tmp_path, monkeypatch):
    real = tmp_path / package
    real.mkdir()
    (real / "__init__.py").write_text("IS = 'real'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(package)
    heard = []
    with listening(heard.append):
        npu_reference.activate()
    assert [entry.subject for entry in heard if entry.code == "imported_before"] == [package]
    npu_reference.deactivate()
    assert sys.modules[package].IS == "real"


def test_the_mirror_is_not_put_into_a_real_npu_device(tmp_path, monkeypatch):
    (tmp_path / "npu_device").mkdir()
    (tmp_path / "npu_device" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("npu_device")
    npu_reference.activate()
    with pytest.raises(ImportError):
        importlib.import_module("npu_device.compat.v1.npu_init")
