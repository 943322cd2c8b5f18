"""Callables made from CallableOptions, which Keras uses to run a session."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from npu_reference.errors import NpuError
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
        fed = [*self._feeds, *(to for _, to in self._connections)]
        for name in fed:
            if fed.count(name) > 1:
                raise _invalid(f'Endpoint "{name}" fed more than once.')
            if name in self._fetches:
                raise _invalid(f"{name} is both fed and fetched.")

    def __call__(self, *args: Any, **kwargs: Any) -> List[Any]:
        if len(args) != len(self._feeds):
            raise _invalid(f"Expected {len(self._feeds)} feed tensors, but got {len(args)}")
        feeds: Dict[str, Any] = {name: np.asarray(value) for name, value in zip(self._feeds, args)}
        return self._run(feeds, kwargs.get("run_metadata"))

    def _run(self, feeds: Dict[str, Any], run_metadata: Any) -> List[Any]:
        c_session = tensorflow().c_session
        options = c_session.TF_NewBufferFromString(self._run_options) if self._run_options else None
        metadata = c_session.TF_NewBuffer() if run_metadata is not None else None
        try:
            values = self._run_signature(feeds, self._fetches, self._targets, options, metadata, self._connections)
            if metadata is not None:
                run_metadata.ParseFromString(bytes(c_session.TF_GetBuffer(metadata)))
            return values
        except tensorflow().v1.errors.OpError as error:
            if isinstance(error, NpuError):
                raise
            # TensorFlow looks for no operator where it is called so.
            raise type(error)(None, None, error.message) from None
        finally:
            if metadata is not None:
                c_session.TF_DeleteBuffer(metadata)
            if options is not None:
                c_session.TF_DeleteBuffer(options)


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _invalid(message: str) -> Exception:
    return tensorflow().v1.errors.InvalidArgumentError(None, None, message)
