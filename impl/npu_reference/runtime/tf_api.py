"""The parts of TensorFlow the runtime leans on, the private ones among them, found alike from 1.15 to 2.21."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, List, NamedTuple, Tuple

from npu_reference.collection import no_collection
from npu_reference.errors import NpuError

__all__ = ["TensorFlow", "loaded", "tensorflow"]


class TensorFlow(NamedTuple):
    """Modules of the installed TensorFlow.

    Attributes:
        v1: the ``tensorflow.compat.v1`` API.
        session: ``tensorflow.python.client.session``; its BaseSession is what every kind of session derives from.
        c_session: ``tensorflow.python.client.pywrap_tf_session``, or its older home.
        major: 1 or 2.
    """

    v1: Any
    session: Any
    c_session: Any
    version: Tuple[int, ...]

    @property
    def major(self) -> int:
        return self.version[0]

    @property
    def flavour(self) -> str:
        """Which build of the adapter this TensorFlow corresponds to."""
        return "tf1" if self.major < 2 else "tf2"


_LOADED: List[TensorFlow] = []


def tensorflow() -> TensorFlow:
    """Import TensorFlow, once.

    Raises:
        NpuError: TENSORFLOW_MISSING, when it is not installed or does not import.
    """
    if not _LOADED:
        _LOADED.append(_load())
    return _LOADED[0]


def _load() -> TensorFlow:
    try:
        # The top-level name first: TensorFlow 1.15 makes tensorflow.python importable through it.
        with no_collection():
            importlib.import_module("tensorflow")
            v1 = importlib.import_module("tensorflow.compat.v1")
            session = importlib.import_module("tensorflow.python.client.session")
    except ImportError as error:
        raise NpuError(
            "TENSORFLOW_MISSING",
            "tensorflow",
            f"it cannot be imported: {error}.",
            "Install it, for instance with: pip install 'npu-conformance[tf]'.",
        ) from error
    c_session: ModuleType = session.tf_session
    version = tuple(int(part) for part in v1.__version__.split(".")[:2])
    return TensorFlow(v1, session, c_session, version)


def loaded() -> bool:
    """Whether :func:`tensorflow` has been asked for in this process."""
    return bool(_LOADED)
