"""A company of options, what it may stand under, and how it breaks a law."""

from __future__ import annotations

import hashlib
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.protocol import client

__all__ = [
    "CONDITIONS",
    "Company",
    "FIELDS",
    "FIRST",
    "Fault",
    "IN_TRAINING",
    "ORDER",
    "SETTLED",
    "UNKNOWN",
    "UNKNOWN_KEY",
    "UNKNOWN_KEYS",
    "WANTED",
    "place_of",
    "refuses_unknown",
]

#: Files in the current directory that are called as samples are, of the forms that options name; here none names them.
_UNNAMED = {
    "op_precision.ini": "Softmax=high_precision\n",
    "modify_mixlist.json": '{"black-list": {"to-add": ["Relu"]}}',
    "ops_info.json": '{"white-list": {"to-add": ["Softmax"]}}',
    "customize_dtypes.cfg": "OpType::Relu:InputDtype:float16,OutputDtype:float16\n",
    "fusion_switch.cfg": '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}',
    "op_debug_config.cfg": "op_debug_config = ccec_g,oom\n",
    "aoe_config.json": '{"tune_ops_type": ["MatMul"]}',
}

#: What companies stand under, too, where no document relates it to a member: the other run mode, the one that there is
#: anyway, mixed computing, what a launch script sets of one rank of eight, or of one alone, files that nobody names.
CONDITIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "online inference": {"values": {"graph_run_mode": 0}},
    "training that is given": {"values": {"graph_run_mode": 1}},
    "mixed computing": {"values": {"mix_compile_mode": True}},
    "a launched rank": {"env": {"RANK_SIZE": "8", "RANK_ID": "3", "DEVICE_ID": "3", "JOB_ID": "10087"}},
    "a rank alone": {"env": {"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "0", "JOB_ID": "10087"}},
    "a folder of files that nobody names": {"files": _UNNAMED},
}

#: The conditions of one company and of the next, as far as they fit who is there.
WANTED = (
    ("online inference", "mixed computing", "a launched rank", "a folder of files that nobody names"),
    ("mixed computing", "online inference", "a rank alone", "a folder of files that nobody names"),
)

#: The conditions of every second of a kind that is refused.
IN_TRAINING = tuple(
    tuple("training that is given" if one == "online inference" else one for one in wanted) for wanted in WANTED
)

#: Parts of a request that are no member; with a condition goes its place.
_CONDITION, UNKNOWN, FIELDS, ORDER = "condition", "unknown", "fields", "order"

#: A key that no document has.
UNKNOWN_KEY = "no_such_option_of_any_document"

#: What stands beside as such a key: others are nearly an option's, with what would show if they were taken for it.
UNKNOWN_KEYS: Mapping[str, Any] = {
    UNKNOWN_KEY: 7,
    "HCOM_PARALLEL": True,
    "Iterations_Per_Loop": 5,
    "op-debug-level": 2,
    "enable_exception_dump ": 1,
    "dynamic_inputs": True,
}

#: The ways of asking in which all parts are there; others name the parts that are.
FIRST, SETTLED = "first", "with the effective values"


class Company(NamedTuple):
    """Questions asked as one.

    members: their places among all members; the first one alone is judged where it is `refused`.
    conditions: of :data:`CONDITIONS`; unknown: whether a key of no document stands among the options; fields: whether
    every value names its field of the parameter map.
    """

    members: Tuple[int, ...]
    conditions: Tuple[str, ...] = ()
    unknown: bool = False
    fields: bool = False
    refused: bool = False

    @property
    def parts(self) -> Tuple[str, ...]:
        """Everything that can be left out: members by number, then what else there is."""
        others = (UNKNOWN,) * self.unknown + (FIELDS,) * self.fields + (ORDER,)
        under = tuple(f"{_CONDITION}{place}" for place in range(len(self.conditions)))
        return tuple(map(str, self.members)) + under + others

    def under(self, parts: Sequence[str]) -> Tuple[str, ...]:
        """The conditions among some parts."""
        return tuple(one for place, one in enumerate(self.conditions) if f"{_CONDITION}{place}" in parts)

    def of(self, members: Sequence[int]) -> Optional[Company]:
        """The company of some members; None without anybody who is judged."""
        left = tuple(one for one in self.members if one in members)
        return self._replace(members=left) if left and (not self.refused or left[0] == self.members[0]) else None


class Fault(NamedTuple):
    """How a company's answer is not what a case says, the law that this breaks, and the answer."""

    law: str
    text: str
    outcome: Optional[client.Outcome]


def place_of(draw: str, name: str) -> bytes:
    return hashlib.sha256(f"company/{draw}/{name}".encode()).digest()


def refuses_unknown(outcome: Optional[client.Outcome]) -> bool:
    """Whether a key that no document has is refused, which document 002 leaves open: it reserves such keys."""
    return isinstance(outcome, client.Rejected) and outcome.body.get("subject") in UNKNOWN_KEYS
