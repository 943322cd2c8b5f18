"""Keeps the scripts apart that one process answers for: what one sets for the whole process ends with it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from contextlib import ExitStack, contextmanager
from typing import Any, Iterator, List, Tuple

import numpy as np

from npu_reference.runtime import ranks
from npu_reference.runtime.operators import rank_calls
from npu_reference.runtime.sessions.interception import sessions_of_a_program
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["apart"]

#: Of the Keras that are loaded, each keeps a dtype of its own for layers that are given none.
_KERAS = ("keras.backend", "keras.src.backend", "tf_keras.src.backend", "tensorflow.python.keras.backend")


@contextmanager
def apart() -> Iterator[None]:
    """What a script switches for the whole process is as it was afterwards, so that the next one begins as it did.

    These are switches of TensorFlow that the next graph depends on, command-line flags, groups of ranks, the
    environment, the umask, how arrays are printed, and what is warned of or logged. Sessions that it has left open
    end, too; modules it has imported stay.
    """
    with ExitStack() as stack:
        for kept in (_environment, _umask, _flags, _switches, _levels, _floatx, sessions_of_a_program):
            stack.enter_context(kept())
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.printoptions())
        stack.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        stack.callback(ranks.forget_groups)
        stack.callback(rank_calls.restart)
        yield


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


@contextmanager
def _umask() -> Iterator[None]:
    before = os.umask(0o077)
    os.umask(before)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _flags() -> Iterator[None]:
    """Flags that a script defines are its own, and the next one's command line is read anew."""
    flags = sys.modules.get("absl.flags")
    if flags is None:
        yield
        return
    values = flags.FLAGS
    before, parsed = set(values), values.is_parsed()
    try:
        yield
    finally:
        for name in set(values) - before:
            delattr(values, name)
        if not parsed and values.is_parsed():
            values.unparse_flags()


@contextmanager
def _switches() -> Iterator[None]:
    v1 = tensorflow().v1
    ways = v1.disable_control_flow_v2, v1.enable_control_flow_v2
    kinds = v1.disable_resource_variables, v1.enable_resource_variables
    way, kind = v1.control_flow_v2_enabled(), v1.resource_variables_enabled()
    try:
        yield
    finally:
        ways[way]()
        kinds[kind]()


@contextmanager
def _levels() -> Iterator[None]:
    v1, root = tensorflow().v1, logging.getLogger()
    verbosity, level = v1.logging.get_verbosity(), root.level
    try:
        yield
    finally:
        v1.logging.set_verbosity(verbosity)
        root.setLevel(level)


@contextmanager
def _floatx() -> Iterator[None]:
    before = {name: module.floatx() for name, module in _keras()}
    try:
        yield
    finally:
        for name, module in _keras():
            module.set_floatx(before.get(name, "float32"))  # what one begins with that the script has loaded


def _keras() -> List[Tuple[str, Any]]:
    loaded = [(name, sys.modules[name]) for name in _KERAS if name in sys.modules]
    return [(name, module) for name, module in loaded if hasattr(module, "set_floatx")]
