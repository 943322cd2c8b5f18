"""Gives TensorFlow's protocol buffer classes without TensorFlow, from a private descriptor pool.

The pool is private so that the same classes may exist twice in a process: an imported TensorFlow registers its own in
protobuf's default pool, and the two never meet.
"""

from __future__ import annotations

import os
import threading
import zlib
from typing import Any, Dict

from .wire import fields

__all__ = ["message_class", "enum_names"]

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "protos.pb.gz")
_LOCK = threading.Lock()
_STATE: Dict[str, Any] = {}


def _pool() -> Any:
    with _LOCK:
        if "pool" not in _STATE:
            from google.protobuf import descriptor_pool

            with open(_DATA, "rb") as stream:
                files = zlib.decompress(stream.read(), 16 + zlib.MAX_WBITS)
            pool = descriptor_pool.DescriptorPool()
            for file in fields(files):  # a FileDescriptorSet holds nothing but files
                pool.AddSerializedFile(files[file.start : file.end])
            _STATE["pool"] = pool
        return _STATE["pool"]


def message_class(name: str) -> Any:
    """The class of ``tensorflow.<name>``, e.g. ``message_class("GraphDef")``; the same object at every call."""
    key = "class " + name
    if key not in _STATE:
        descriptor = _pool().FindMessageTypeByName("tensorflow." + name)
        from google.protobuf import message_factory

        with _LOCK:
            if key not in _STATE:
                if hasattr(message_factory, "GetMessageClass"):
                    _STATE[key] = message_factory.GetMessageClass(descriptor)
                else:  # protobuf < 4.22: one factory, or the same message would get two classes
                    factory = _STATE.setdefault("factory", message_factory.MessageFactory(_STATE["pool"]))
                    _STATE[key] = factory.GetPrototype(descriptor)
    return _STATE[key]


def enum_names(name: str) -> Dict[int, str]:
    """Number to name of the values of enum ``tensorflow.<name>``."""
    values = _pool().FindEnumTypeByName("tensorflow." + name).values
    return {value.number: value.name for value in values}
