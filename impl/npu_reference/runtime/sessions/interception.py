"""Which methods of TensorFlow's sessions are replaced, and what each does when a session belongs to the device."""

from __future__ import annotations

import contextlib
import functools
import logging
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from npu_reference.runtime import config as configs
from npu_reference.runtime import ranks
from npu_reference.runtime.observing.log import Notice, say
from npu_reference.runtime.sessions.engine import Engine
from npu_reference.runtime.sessions.failures import refused
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["engine_of", "install", "sessions_of_a_program", "uninstall"]

_ATTRIBUTE = "_npu_reference_engine"
_ORIGINALS: Dict[str, Any] = {}
#: Engines in use.
_OPEN: weakref.WeakSet[Engine] = weakref.WeakSet()


def engine_of(session: Any) -> Optional[Engine]:
    """The engine of a session that was taken over; None for any other session."""
    # Sessions made before install() have no such attribute.
    return getattr(session, _ATTRIBUTE, None)


def install() -> None:
    """Replace methods of ``BaseSession``, from which Session, InteractiveSession and all wrappers derive. Idempotent.

    Patching the class and not the name ``tf.Session`` reaches sessions that libraries make for themselves:
    MonitoredSession, Estimator, Keras.
    """
    base = tensorflow().session.BaseSession
    for name, replacement in _REPLACEMENTS.items():
        if name in _ORIGINALS:
            continue
        original = getattr(base, name)
        _ORIGINALS[name] = original
        setattr(base, name, functools.wraps(original)(replacement))


def uninstall() -> None:
    """Take no further session over; put the original methods back.

    While a session that was taken over is open its methods stay replaced, which for any other session changes nothing.
    """
    base = tensorflow().session.BaseSession
    if "__init__" in _ORIGINALS:
        setattr(base, "__init__", _ORIGINALS.pop("__init__"))  # noqa: B010
    _put_back()


@contextlib.contextmanager
def sessions_of_a_program() -> Iterator[None]:
    """Sessions that are made in here and never closed end with it, as with a program.

    Nobody else might: TensorFlow 1.15 keeps the variables of a script as long as one of them holds part of a graph.
    """
    before = set(_OPEN)
    try:
        yield
    finally:
        for engine in sorted(set(_OPEN) - before, key=lambda one: one.number):
            engine.close()
            _OPEN.discard(engine)
        _put_back()


def _put_back() -> None:
    """Once switched off and nobody needs them any more, the remaining methods are TensorFlow's own again."""
    if "__init__" in _ORIGINALS or _OPEN:
        return
    for name, original in _ORIGINALS.items():
        setattr(tensorflow().session.BaseSession, name, original)
    _ORIGINALS.clear()


def _original(name: str) -> Callable[..., Any]:
    """A method of BaseSession as TensorFlow has it, whether installed or not."""
    return _ORIGINALS[name] if name in _ORIGINALS else getattr(tensorflow().session.BaseSession, name)


def _init(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
    settings, place = None, None
    if configs.names_npu(config) and not target:
        # Before TensorFlow makes anything, so that a refused option leaves nothing behind (G10).
        try:
            with refused():
                settings = configs.settings(config)
                device = settings.resolution.typed.ranks.device
                place = ranks.place_of_session(device)
                ranks.device_of(device, place)
        except Exception:
            # What TensorFlow's __del__ looks at.
            self._session, self._closed = None, True
            raise
    _original("__init__")(self, target, graph, config)
    if settings is not None:
        engine = Engine(self, settings, place)
        setattr(self, _ATTRIBUTE, engine)
        _OPEN.add(engine)
    elif configs.names_npu(config):
        text = f"{target!r} is a remote session: it is left to TensorFlow, nothing runs on the device."
        say(logging.WARNING, Notice("remote_target", "target", text))
    else:
        _hint(config)


def _hint(config: Any) -> None:
    """TensorFlow ignores an optimizer it does not know, so a misspelt name would never be noticed."""
    spelling = configs.near_spelling(config)
    if spelling is not None:
        text = f"TensorFlow ignores this name and nothing runs on the device. Did you mean {configs.OPTIMIZER!r}?"
        say(logging.WARNING, Notice("near_spelling", f"custom optimizer {spelling!r}", text))


def _do_run(
    self: Any,
    handle: Any,
    target_list: Sequence[Any],
    fetch_list: Sequence[Any],
    feed_dict: Dict[Any, Any],
    options: Any,
    run_metadata: Any,
) -> List[Any]:
    engine = engine_of(self)
    if engine is None:
        result: List[Any] = _original("_do_run")(
            self, handle, target_list, fetch_list, feed_dict, options, run_metadata
        )
        return result
    # TensorFlow 2 keys the dictionary by references to tensors.
    feeds = {(t.deref() if hasattr(t, "deref") else t).name: value for t, value in feed_dict.items()}
    fetches = [tensor.name for tensor in fetch_list]
    targets = [op.name for op in target_list]
    if handle is not None:
        return engine.partial_run(handle, feeds, fetches, targets)
    return engine.run(feeds, fetches, targets, options, run_metadata)


def _make_callable(self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
    if engine_of(self) is None or feed_list is not None:
        # With a feed list TensorFlow itself goes through run().
        result: Callable[..., Any] = _original("make_callable")(self, fetches, feed_list, accept_options)
        return result
    # What TensorFlow checks when the callable is made is checked then: a fetch that is none raises here.
    handler = tensorflow().session._FetchHandler(self._graph, fetches, {})
    if not handler.fetches() and not handler.targets():
        return _run_nothing

    def call(options: Any = None, run_metadata: Any = None) -> Any:
        if self._closed:  # run() refuses that in Python, and otherwise
            raise tensorflow().v1.errors.CancelledError(None, None, "Session has been closed.")
        return self.run(fetches, options=options, run_metadata=run_metadata)

    return call if accept_options else lambda: call()


def _run_nothing(*args: Any, **kwargs: Any) -> Any:
    """What calls a callable that fetches nothing: TensorFlow refuses the call, but not ``session.run([])``."""
    raise tensorflow().v1.errors.InvalidArgumentError(
        None, None, "Must specify at least one target to fetch or execute."
    )


def _make_callable_from_options(self: Any, callable_options: Any) -> Callable[..., Any]:
    engine = engine_of(self)
    if engine is None:
        result: Callable[..., Any] = _original("_make_callable_from_options")(self, callable_options)
        return result
    if self._closed:
        raise tensorflow().v1.errors.CancelledError(None, None, "Session has been closed.")
    return engine.callable(callable_options)


def _partial_run_setup(self: Any, fetches: Any, feeds: Any = None) -> Any:
    engine = engine_of(self)
    if engine is None:
        return _original("partial_run_setup")(self, fetches, feeds)
    if self._closed:
        raise RuntimeError("Attempted to use a closed Session.")
    handler = tensorflow().session._FetchHandler(self._graph, fetches, {})
    return engine.partial_run_setup(
        [tensor.name for tensor in _feed_tensors(self._graph, feeds)],
        [tensor.name for tensor in handler.fetches()],
        [op.name for op in handler.targets()],
    )


def _feed_tensors(graph: Any, feeds: Any) -> List[Any]:
    """The tensors a feed specification stands for, composite ones taken apart."""
    if feeds is None:
        return []
    tensors: List[Any] = []
    for feed in feeds if isinstance(feeds, (list, tuple)) else [feeds]:
        for kind, _, _, expand in tensorflow().session._REGISTERED_EXPANSIONS:
            if isinstance(feed, kind):
                tensors.extend(expand(feed))
                break
    return [graph.as_graph_element(tensor, allow_tensor=True, allow_operation=False) for tensor in tensors]


def _close(self: Any) -> None:
    engine = engine_of(self)
    _original("close")(self)
    if engine is not None:
        engine.close()
        _OPEN.discard(engine)
        _put_back()


_REPLACEMENTS: Dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "_do_run": _do_run,
    "make_callable": _make_callable,
    "_make_callable_from_options": _make_callable_from_options,
    "partial_run_setup": _partial_run_setup,
    "close": _close,
}
