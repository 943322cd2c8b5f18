"""The graphs of precision cases in every mode."""

from __future__ import annotations

import os
from typing import Collection, Iterator, Sequence

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws import precision_laws
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds.kind import Found, Judged, LawKind, broken_by, closed, undecided
from npu_conformance.strength.laws.plans import Asked, LawFinding, Plan, shelved

__all__ = ["Moded"]


#: So many questions in succession are of one third: which options say the mode depends on the number by threes.
_TOGETHER = 3


class Moded(LawKind):
    """The dtypes of every graph of a precision case in every mode; a mode may demand what no kernel has."""

    name, method = "moded", "precision"

    def ask(self, asker: Asker, editions: Sequence[str], methods: Collection[str]) -> Iterator[Judged]:
        if self.method not in methods:
            return
        for number, (path, mode, edition) in enumerate(shelved(asker.plan).moded):
            if edition in editions and asker.asks_about(path, number, _TOGETHER):
                inference = mode == "force_fp16" or number % 2  # no document restricts the other modes (A7)
                values = {**({"graph_run_mode": 0} if inference else {}), "precision_mode": mode}
                # In the current edition an NPURunConfig has 003's modes and default, and a session 002's or those (A6).
                default = "force_fp16" if inference and edition == "legacy" else "allow_fp32_to_fp16"
                if number % 3 == 0 and mode == default:
                    del values["precision_mode"]
                second = precision_laws.SECOND.get(mode, "") if edition == "current" and number % 3 == 1 else ""
                if second:
                    values = {"precision_mode_v2": second}
                by_003 = second or (edition == "current" and mode not in precision_laws.ALIKE)
                params = {
                    "surface": "runconfig" if by_003 else "session",
                    "edition": edition,
                    "values": values,
                    "graph": path,
                }
                if "ops_info" in asker.claims.features:
                    params["ops_info"] = precision_laws.library_of(closed(path))
                yield Asked(number, edition, {"first": asker.method(self.method, params)}, self.name), None

    def faults(self, plan: Plan, claims: judge.Claims, asked: Asked) -> Found:
        outcome = asked.outcomes.get("first")
        if not isinstance(outcome, client.Answered):
            return undecided(asked, outcome)
        path, mode, _ = shelved(plan).moded[asked.number]
        reading = precision_laws.Precise(closed(path), mode, outcome.ok, asked.edition, "ops_info" in claims.features)
        return broken_by(asked, reading, outcome, claims, self.method)

    def named(self, plan: Plan, finding: LawFinding) -> str:
        path, mode, edition = shelved(plan).moded[finding.asked.number]
        return f"{os.path.basename(path)} with {mode} in {edition}"
