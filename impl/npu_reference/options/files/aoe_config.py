"""Which operators an ``aoe_config_file`` has tuned, and how (files.aoe_cfg.*)."""

from __future__ import annotations

import json
from typing import Any, Dict, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.grammars.json_text import Pairs, key_error, parse_json
from npu_reference.options.grammars.scanner import ScannerNote, few
from npu_reference.spelling import did_you_mean

__all__ = ["EXAMPLE", "FEATURES", "AoeConfig", "parse", "write"]

EXAMPLE = '{"tune_ops_name":["loss/MatMul"],"tune_ops_type":["Add","Mul"],"tune_optimization_level":"O1"}'
_FORM = f"Write one JSON object, such as {EXAMPLE}."
_LEVELS = ("O1", "O2")
_LISTS = ("tune_ops_name", "tune_ops_type", "feature")

#: Feature to the ``aoe_mode`` it needs.
FEATURES = {"deeper_opat": "2", "nonhomo_split": "1"}


class AoeConfig(NamedTuple):
    """Names and types to be tuned (their union), the level, and features."""

    names: Tuple[str, ...] = ()
    types: Tuple[str, ...] = ()
    level: str = "O2"
    features: Tuple[str, ...] = ()
    notes: Tuple[ScannerNote, ...] = ()


def parse(text: str) -> AoeConfig:
    """The configuration of a file, strict JSON (B10). Unknown keys are noted.

    Raises:
        GrammarError: another structure, level or feature.
    """
    document = parse_json(text)
    if not isinstance(document, Pairs):
        raise key_error("it is no JSON object.", text, (), _FORM)
    values: Dict[str, Any] = {}
    notes = []
    for key, value in document.pairs:
        if key in values:
            raise key_error("it is given twice.", text, (key,), _FORM)
        if key in _LISTS:
            values[key] = _names(value, text, key)
        elif key == "tune_optimization_level":
            values[key] = _level(value, text)
        else:
            hint = did_you_mean(key, (*_LISTS, "tune_optimization_level"))
            notes.append(ScannerNote(f"key {echo(key)} is unknown and ignored. {hint}".rstrip()))
    for feature in values.get("feature", ()):
        if feature not in FEATURES:
            raise key_error(f"{echo(feature)} is no feature.", text, ("feature",), f"Allowed: {', '.join(FEATURES)}.")
    return AoeConfig(
        values.get("tune_ops_name", ()),
        values.get("tune_ops_type", ()),
        values.get("tune_optimization_level", "O2"),
        values.get("feature", ()),
        few(notes),
    )


def _names(value: Any, text: str, key: str) -> Tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise key_error("it is no list of names.", text, (key,), _FORM)
    return tuple(dict.fromkeys(value))


def _level(value: Any, text: str) -> str:
    if value not in _LEVELS:
        shown = "an object" if isinstance(value, Pairs) else echo(value)
        raise key_error(f"{shown} is no level.", text, ("tune_optimization_level",), f"Allowed: {', '.join(_LEVELS)}.")
    return str(value)


def write(config: AoeConfig) -> str:
    """The text that :func:`parse` reads as ``config``."""
    document: Dict[str, object] = {}
    for key, names in zip(_LISTS, (config.names, config.types, config.features)):
        if names:
            document[key] = list(names)
    document["tune_optimization_level"] = config.level
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"
