"""Which fusion passes a ``fusion_switch_file`` switches on and off (files.fusion_switch.*)."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.files.fusion_passes import FIXED, KNOWN
from npu_reference.options.grammars.json_text import Pairs, again, key_error, parse_json
from npu_reference.options.grammars.scanner import ScannerNote, few
from npu_reference.spelling import did_you_mean

__all__ = ["EXAMPLE", "SECTIONS", "FusionSwitch", "parse", "write"]

EXAMPLE = '{"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"},"UBFusion":{"ALL":"off"}}}'
SECTIONS = ("GraphFusion", "UBFusion")
_MOST_NEAR = 10  # unknown passes to which the nearest known one is told (assumed)
_FORM = f"Write on or off for passes of the two sections, such as {EXAMPLE}."


class FusionSwitch(NamedTuple):
    """Pass name to whether it is on, for each section; ``ALL`` stands for every pass not named."""

    graph_fusion: Dict[str, bool]
    ub_fusion: Dict[str, bool]
    notes: Tuple[ScannerNote, ...] = ()

    def is_on(self, section: str, name: str) -> bool:
        """Whether a pass is on: one that cannot be switched always; else its own entry, else ALL, else on."""
        if name in FIXED:
            return True
        passes = self.graph_fusion if section == SECTIONS[0] else self.ub_fusion
        return passes.get(name, passes.get("ALL", True))


def parse(text: str) -> FusionSwitch:
    """The switches of a file. A pass named twice keeps its last value, with a note; so do one that stays on and one
    that nobody knows (D20, D21).

    Raises:
        GrammarError: another structure, with the keys that lead there.
    """
    document = parse_json(text)
    notes: List[ScannerNote] = []
    sections: Dict[str, Dict[str, bool]] = {section: {} for section in SECTIONS}
    for _, switch in _object(document, text, (), ("Switch",)):
        for name, passes in _object(switch, text, ("Switch",), SECTIONS):
            if not isinstance(passes, Pairs):
                raise key_error("it is no JSON object.", text, ("Switch", name), _FORM)
            for key, value in passes.pairs:
                if value not in ("on", "off"):
                    raise key_error(f"{_shown(value)} is neither on nor off.", text, ("Switch", name, key), _FORM)
                if sections[name].get(key, value == "on") != (value == "on"):
                    place = again(text, ("Switch", name, key))
                    notes.append(
                        ScannerNote(f"{name}.{key} is given twice with both values; the last one counts ({place}).")
                    )
                sections[name][key] = value == "on"
    notes += [note for name, switches in sections.items() for note in _about_passes(name, switches)]
    return FusionSwitch(sections[SECTIONS[0]], sections[SECTIONS[1]], few(notes))


def _about_passes(section: str, switches: Dict[str, bool]) -> Iterator[ScannerNote]:
    unknown = 0
    for name, on in switches.items():
        if name in FIXED and not on:
            yield ScannerNote(f"{section}.{name} cannot be switched off; it stays on.")
        elif name not in KNOWN and name != "ALL":
            unknown += 1
            # More are not shown, and a file of megabytes must not be compared with every pass there is.
            hint = did_you_mean(name, KNOWN, cutoff=0.8) if unknown <= _MOST_NEAR else ""
            yield ScannerNote(f"no documented fusion pass is called {name}. {hint}".rstrip())


def _shown(value: Any) -> str:
    return "an object" if isinstance(value, Pairs) else echo(value)


def _object(value: Any, text: str, path: Tuple[str, ...], keys: Tuple[str, ...]) -> Tuple[Tuple[str, Any], ...]:
    if not isinstance(value, Pairs):
        raise key_error("it is no JSON object.", text, path, _FORM)
    if not path and not value.pairs:
        raise key_error("it has no Switch.", text, path, _FORM)
    for key, _ in value.pairs:
        if key not in keys:
            raise key_error(f"key {echo(key)} is none of {', '.join(keys)}.", text, (*path, key), _FORM)
    return value.pairs


def write(switch: FusionSwitch) -> str:
    """The text that :func:`parse` reads as ``switch``."""
    words = {True: "on", False: "off"}
    sections = {
        section: {name: words[on] for name, on in passes.items()}
        for section, passes in zip(SECTIONS, (switch.graph_fusion, switch.ub_fusion))
        if passes
    }
    return json.dumps({"Switch": sections}, indent=4, ensure_ascii=False) + "\n"
