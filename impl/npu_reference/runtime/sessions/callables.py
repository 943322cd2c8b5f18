"""Callables made from CallableOptions, which Keras uses to run a session."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Callable_"]


class Callable_:
    """Runs one signature; takes the feeds by position and answers the values of the fetches as a list.

    Args:
        run: runs feeds, fetches and targets under options, metadata and connections, as ``Engine.run`` does.
        options: the CallableOptions.
    """

    def __init__(self, run: Callable[..., List[Any]], options: Any) -> None:
        self._run_signature = run
        self._feeds = [_full(name) for name in options.feed]
        self._fetches = [_full(name) for name in options.fetch]
        self._targets = [name.lstrip("^") for name in options.target]
        self._connections: Tuple[Tuple[str, str], ...] = tuple(
            (_full(connection.from_tensor), _full(connection.to_tensor)) for connection in options.tensor_connection
        )
        self._run_options = options.run_options.SerializeToString()

    def __call__(self, *args: Any, **kwargs: Any) -> List[Any]:
        feeds: Dict[str, Any] = {name: np.asarray(value) for name, value in zip(self._feeds, args)}
        missing = [name for name in self._fetches if name not in feeds]
        run_metadata = kwargs.get("run_metadata")
        found = dict(zip(missing, self._run(feeds, missing, run_metadata)))
        return [feeds[name] if name in feeds else found[name] for name in self._fetches]

    def _run(self, feeds: Dict[str, Any], fetches: List[str], run_metadata: Any) -> List[Any]:
        c_session = tensorflow().c_session
        options = c_session.TF_NewBufferFromString(self._run_options) if self._run_options else None
        metadata = c_session.TF_NewBuffer() if run_metadata is not None else None
        try:
            values = self._run_signature(feeds, fetches, self._targets, options, metadata, self._connections)
            if metadata is not None:
                run_metadata.ParseFromString(bytes(c_session.TF_GetBuffer(metadata)))
            return values
        finally:
            if metadata is not None:
                c_session.TF_DeleteBuffer(metadata)
            if options is not None:
                c_session.TF_DeleteBuffer(options)


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"
