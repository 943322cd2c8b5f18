"""Callbacks of Keras that the adapter adds; made when one is asked for, since TensorFlow 2 loads Keras late."""

from __future__ import annotations

from typing import Any, List

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_reference.runtime.operators.gradients import spread
from npu_reference.runtime.ranks import rank_size

__all__ = ["NPUBroadcastGlobalVariablesCallback"]


class NPUBroadcastGlobalVariablesCallback:
    """Gives all ranks the variables of one when training begins; with one rank it does nothing.

    Args:
        root_rank: the rank that gives them.
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
                if rank_size() == 1:
                    return
                session = v1.keras.backend.get_session()
                with session.graph.as_default():
                    session.run(v1.group(*spread(v1.global_variables(), self.root_rank)))

        _CLASSES.append(BroadcastCallback)
    return _CLASSES[0]


__getattr__ = module_getattr(__name__)
