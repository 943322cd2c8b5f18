"""How an outcome is written into a file and read from it: the raw observation, tagged with its class."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from npu_conformance.protocol import client

__all__ = ["outcome_json", "outcome_of"]


def outcome_json(outcome: Optional[client.Outcome]) -> Optional[Dict[str, Any]]:
    """The raw observation, tagged with the class of the outcome."""
    if outcome is None:
        return None
    if isinstance(outcome, client.Answered):
        return {"outcome": "answered", "ok": outcome.ok}
    if isinstance(outcome, client.Rejected):
        return {"outcome": "rejected", "rejected": outcome.body}
    kind = type(outcome).__name__
    return {"outcome": _NAMES[kind], **outcome._asdict()}


_CLASSES: Mapping[str, Any] = {
    "unsupported": client.UnsupportedOutcome,
    "failed": client.Failed,
    "crashed": client.Crashed,
    "timed-out": client.TimedOut,
    "nonsense": client.Nonsense,
}
_NAMES = {cls.__name__: name for name, cls in _CLASSES.items()}


def outcome_of(body: Optional[Mapping[str, Any]]) -> Optional[client.Outcome]:
    """The outcome a raw observation stands for; None for none.

    Raises:
        ValueError: it is none.
    """
    if body is None:
        return None
    try:
        kind = body["outcome"]
        if kind == "answered":
            return client.Answered(body["ok"])
        if kind == "rejected":
            return client.Rejected(body["rejected"])
        outcome: client.Outcome = _CLASSES[kind](**{key: value for key, value in body.items() if key != "outcome"})
        return outcome
    except (KeyError, TypeError) as error:
        raise ValueError(f"no observation: {error}") from None
