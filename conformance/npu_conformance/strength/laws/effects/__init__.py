"""The laws of effects in company: what a case asserts of files and of time holds beside what no document relates to it.

A condition is declared once: what it changes of a question, which questions it fits, and how an answer reads without
it. Cases are asked once more, each under several conditions at a time, and judged by their own goldens.
"""

from __future__ import annotations

from npu_conformance.strength.laws.effects.changes import is_refused
from npu_conformance.strength.laws.effects.declared import CONDITIONS, fitting
from npu_conformance.strength.laws.effects.judging import EFFECTS, asked_for, fault, read_back, spared
from npu_conformance.strength.laws.effects.refusals import refused, refused_alone
from npu_conformance.strength.laws.effects.request import MIXED, EffectCondition, EffectQuestion, KeptEffect, question
from npu_conformance.strength.laws.effects.selection import details, effects, questions, usable

__all__ = [
    "CONDITIONS",
    "EffectCondition",
    "EFFECTS",
    "KeptEffect",
    "MIXED",
    "EffectQuestion",
    "asked_for",
    "details",
    "effects",
    "fault",
    "fitting",
    "is_refused",
    "question",
    "questions",
    "read_back",
    "refused",
    "refused_alone",
    "spared",
    "usable",
]
