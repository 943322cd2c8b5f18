"""Options in company: what a case says of its options must hold beside options that no document relates to them.

Every accepted question of the option cases of level `must` is asked once more together with several others, whose
options are neither the same nor related (:mod:`relations`), and each case is judged on the common answer by what it
says itself. Companies are filled so that soon every two options have stood in one, and every question under every
condition that no document relates to it. Those that are refused are refused in company, too.
"""

from __future__ import annotations

from npu_conformance.strength.laws.company.judging import LAWS, ask, faults, request
from npu_conformance.strength.laws.company.request import CONDITIONS, UNKNOWN_KEY, Company, Fault
from npu_conformance.strength.laws.company.selection import companies, drawn, members

__all__ = [
    "CONDITIONS",
    "Company",
    "Fault",
    "LAWS",
    "UNKNOWN_KEY",
    "ask",
    "companies",
    "drawn",
    "faults",
    "members",
    "request",
]
