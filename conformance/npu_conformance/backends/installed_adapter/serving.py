"""The protocol on standard input and output."""

import json
import os
import sys

from .asking import Adapter
from .refusing import Refused


def answer(adapter, line):
    """The message that answers one line."""
    identifier = None
    try:
        request = json.loads(line)
        identifier = request["id"] if isinstance(request.get("id"), int) else None
        method, params = request["method"], request.get("params", {})
        if not (isinstance(method, str) and isinstance(params, dict)):
            raise ValueError("method is no text, or params is no object")
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        return {"id": identifier, "error": {"message": f"malformed request: {error!r}"}}, ""
    if method == "shutdown":
        return {"id": identifier, "ok": {}}, method
    if method not in ("hello", "options", "run", "reset"):
        return {"id": identifier, "unsupported": {"feature": method}}, method
    try:
        return {"id": identifier, "ok": getattr(adapter, method)(params)}, method
    except Refused as error:
        return {"id": identifier, "rejected": error.body}, method
    except NotImplementedError as error:
        return {"id": identifier, "unsupported": {"feature": str(error) or method}}, method
    except Exception as error:  # noqa: BLE001  whatever an adapter raises is its answer
        return {"id": identifier, "error": {"message": f"{type(error).__name__}: {error}"[:4000]}}, method


def main():
    """Serves until ``shutdown`` or the end; stdout is the protocol's alone, wherever native code writes."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        adapter = Adapter()
    except Exception as error:  # noqa: BLE001  a native library may fail in any way
        sys.stderr.write(f"{sys.executable}: npu_bridge cannot be imported: {type(error).__name__}: {error}\n")
        return 3
    for line in requests:
        if line.strip():
            message, method = answer(adapter, line)
            answers.write(json.dumps(message, allow_nan=False).encode("utf-8") + b"\n")
            if method == "shutdown":
                break
    adapter.close()
    return 0
