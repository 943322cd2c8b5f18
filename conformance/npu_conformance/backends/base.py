"""What a Python backend looks like to the worker, and how its answers become messages."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Mapping, Optional

from npu_conformance.protocol import messages as protocol
from npu_reference.errors import NpuError

__all__ = ["Unsupported", "answer"]

#: Methods a backend without them still answers.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"reset": {}, "shutdown": {}}


class Unsupported(NotImplementedError):
    """Raised by a backend that lacks ``feature``; any NotImplementedError("feature") does as well."""


def answer(backend: object, identifier: Optional[int], method: str, params: Mapping[str, Any]) -> Dict[str, Any]:
    """Asks ``backend`` and returns the message of its answer.

    A backend is any object with methods named as those of the protocol, each taking ``params`` and returning the
    observation. It refuses by an exception with the texts ``code``, ``message`` and ``subject``; it is not able
    by NotImplementedError(feature) or by having no such method. Any other exception is its own error.
    """
    call: Optional[Callable[[Mapping[str, Any]], Any]] = getattr(backend, method, None)
    if method not in protocol.methods() or (call is None and method not in _DEFAULTS):
        return {"id": identifier, "unsupported": {"feature": method}}
    try:
        observation = call(params) if call is not None else dict(_DEFAULTS[method])
    except NpuError as error:
        return {"id": identifier, "rejected": error.to_json()}
    except NotImplementedError as error:
        return {"id": identifier, "unsupported": {"feature": str(error) or method}}
    except Exception as error:  # noqa: BLE001  whatever a backend raises is its answer
        return _failure(identifier, error)
    return {"id": identifier, "ok": observation if observation is not None else {}}


def _failure(identifier: Optional[int], error: Exception) -> Dict[str, Any]:
    body = {key: getattr(error, key, None) for key in ("code", "message", "subject")}
    if all(isinstance(value, str) for value in body.values()):
        return {"id": identifier, "rejected": body}
    told = {"message": f"{type(error).__name__}: {error}"[:4000]}
    raised = traceback.extract_tb(error.__traceback__)[1:]  # the first frame is the call in here
    own = [frame for frame in raised if frame.filename == raised[0].filename]  # not where a library of its gave up
    if own:
        told["at"] = f"{own[-1].filename}:{own[-1].lineno}"
    return {"id": identifier, "error": told}
