"""The kinds of questions that laws are asked by. A new kind is a class of its own, and a line here."""

from __future__ import annotations

from typing import Mapping

from npu_conformance.strength.laws.kinds.cases import OfCases
from npu_conformance.strength.laws.kinds.effect_company import InCompany
from npu_conformance.strength.laws.kinds.kind import LawKind
from npu_conformance.strength.laws.kinds.option_company import OfOptions
from npu_conformance.strength.laws.kinds.precision_lists import Listed
from npu_conformance.strength.laws.kinds.precision_modes import Moded
from npu_conformance.strength.laws.kinds.random_graphs import Drawn, DtypesOfDrawn
from npu_conformance.strength.laws.kinds.run_values import OfRuns
from npu_conformance.strength.laws.kinds.step_times import OfSteps
from npu_conformance.strength.laws.kinds.under_conditions import UnderConditions

__all__ = ["KINDS", "LawKind"]

#: By name, in the order in which they are asked and their answers are kept.
KINDS: Mapping[str, LawKind] = {
    one.name: one
    for one in (
        DtypesOfDrawn(),
        Moded(),
        Listed(),
        OfCases(),
        UnderConditions(),
        OfOptions(),
        InCompany(),
        Drawn(),
        OfSteps(),
        OfRuns(),
    )
}
