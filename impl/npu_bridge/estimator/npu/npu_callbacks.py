"""Callbacks of Keras that the adapter adds; made when one is asked for, since TensorFlow 2 loads Keras late."""

from __future__ import annotations

from typing import Any, List

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_reference.runtime.ranks import require_one

__all__ = ["NPUBroadcastGlobalVariablesCallback"]


class NPUBroadcastGlobalVariablesCallback:
    """Gives all devices the variables of one when training begins; with one device it does nothing.

    Args:
        root_rank: the device that gives them.
    """

    def __new__(cls, root_rank: int = 0) -> Any:
        return _callback_class()(root_rank)


_CLASSES: List[Any] = []


def _callback_class() -> Any:
    if not _CLASSES:

        class BroadcastCallback(v1.keras.callbacks.Callback):
            """What :class:`NPUBroadcastGlobalVariablesCallback` makes."""

            def __init__(self, root_rank: int) -> None:
                super().__init__()
                self.root_rank = root_rank

            def on_train_begin(self, logs: Any = None) -> None:
                require_one("NPUBroadcastGlobalVariablesCallback")

        _CLASSES.append(BroadcastCallback)
    return _CLASSES[0]


__getattr__ = module_getattr(__name__)
