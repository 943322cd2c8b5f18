"""What a ``profiling_options`` text asks to be collected (session.profiling_options.*)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.grammars.json_text import Pairs, key_error, parse_json
from npu_reference.options.grammars.scanner import ScannerNote, few
from npu_reference.spelling import did_you_mean

__all__ = ["AIC_METRICS", "EXAMPLE", "ProfilingOptions", "parse", "write"]

EXAMPLE = '{"output":"/tmp/profiling","training_trace":"on","fp_point":"conv2d/Conv2D","bp_point":"gradients/AddN_70"}'

#: The first is the document's default.
AIC_METRICS = ("PipeUtilization", "ArithmeticUtilization", "Memory", "MemoryL0", "ResourceConflictRatio")
_KEYS = ("output", "training_trace", "task_trace", "aicpu", "fp_point", "bp_point", "aic_metrics")
_FORM = f"Write one JSON object of texts, such as {EXAMPLE}."


class ProfilingOptions(NamedTuple):
    """What is collected, where to, empty for nowhere; ``given`` are the keys that were written."""

    output: str
    training_trace: bool
    task_trace: bool
    aicpu: bool
    fp_point: str
    bp_point: str
    aic_metrics: str
    given: Tuple[str, ...] = ()
    notes: Tuple[ScannerNote, ...] = ()


def parse(text: str) -> ProfilingOptions:
    """The meaning of a ``profiling_options`` value.

    ``training_trace`` may only be ``on``; anything but ``on`` for ``task_trace`` and ``aicpu`` means off. Unknown
    keys are noted (D11), and one given twice, of which the last counts (D21).

    Raises:
        GrammarError: no JSON object of texts, or a value the documents do not list.
    """
    document = parse_json(text)
    if not isinstance(document, Pairs):
        raise key_error("it is no JSON object.", text, (), _FORM)
    values: Dict[str, str] = {}
    notes: List[ScannerNote] = []
    for key, value in document.pairs:
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS, f"Known are {', '.join(_KEYS)}.")
            notes.append(ScannerNote(f"key {echo(key)} is unknown and ignored. {hint}"))
            continue
        if not isinstance(value, str):
            raise key_error(f"{_shown(value)} is no text.", text, (key,), _FORM)
        if values.get(key, value) != value:
            notes.append(ScannerNote(f"{key} is given twice with two values; the last one counts."))
        values[key] = value
    _check(values, text)
    notes += [
        ScannerNote(f"{key} is {echo(values[key])}, which is neither on nor off; it means off.", "adjusted")
        for key in ("task_trace", "aicpu")
        if values.get(key, "on") not in ("on", "off")
    ]
    return ProfilingOptions(
        values.get("output", ""),
        values.get("training_trace") == "on",
        values.get("task_trace") == "on",
        values.get("aicpu") == "on",
        values.get("fp_point", ""),
        values.get("bp_point", ""),
        values.get("aic_metrics", AIC_METRICS[0]),
        tuple(values),
        few(notes),
    )


def _check(values: Dict[str, str], text: str) -> None:
    trace = values.get("training_trace", "on")
    if trace != "on":  # D9
        remedy = 'Write "on", or leave it out.'
        raise key_error(f"{echo(trace)} is not its one value.", text, ("training_trace",), remedy)
    metrics = values.get("aic_metrics", AIC_METRICS[0])
    if metrics not in AIC_METRICS:
        raise key_error(f"{echo(metrics)} is no metric.", text, ("aic_metrics",), f"Allowed: {', '.join(AIC_METRICS)}.")
    if "\0" in values.get("output", ""):
        raise key_error("a path holds no NUL.", text, ("output",), "Give a directory.")


def _shown(value: Any) -> str:
    return "an object" if isinstance(value, Pairs) else echo(value)


def write(options: ProfilingOptions) -> str:
    """The text that :func:`parse` reads as ``options``."""
    values: Dict[str, str] = {}
    for key in options.given:
        value = getattr(options, key)
        values[key] = {True: "on", False: "off"}.get(value, value)
    return json.dumps(values, ensure_ascii=False)
