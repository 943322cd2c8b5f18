"""Options of device memory: sizes, weights outside the graph, fused copies of inputs."""

from __future__ import annotations

from npu_reference.options.declaration import Advice, Facet, both, declare
from npu_reference.options.domains import Anything, Boolean, ConfigObject, Integer, Text
from npu_reference.options.grammars import lists

__all__ = ["OPTIONS"]

_TOPIC = "Memory"
_GIB = 1024**3


def _bytes(example: int) -> Text:
    summary = "decimal number of bytes from 0 to 274877906944, as text"
    return Text(summary, lists.parse_bytes, str(example * _GIB))


_IGNORED = {"domain": Anything(), "default": None, "status": "ignored"}

OPTIONS = (
    declare("memory_config", _TOPIC, "How the system uses memory.", runconfig=Facet(ConfigObject("MemoryConfig"), "o")),
    declare(
        "external_weight",
        _TOPIC,
        "Whether constants leave the graph for files that several models of a session share.",
        runconfig=Facet(Boolean(), "b", False),
        readings=("D25", "D26"),
        advice=(
            Advice(
                "Normally it is not needed: it is for loading where memory is short.",
                "runconfig.external_weight.advice",
                values=(True,),
            ),
            Advice(
                "Weights go to tmp_weight_<pid>_<session> in ASCEND_WORK_PATH, else in the current directory.",
                "files.external_weight.dir_default",
                values=(True,),
            ),
        ),
        requirements=("files.external_weight.",),
    ),
    declare(
        "input_fusion_size",
        _TOPIC,
        "Inputs up to this size travel to the device in one copy; 0 switches that off.",
        # T7: a value outside 0 to 33554432 is brought back to the nearer limit.
        runconfig=Facet(Integer(), "i", 131072),
        unit="byte",
        readings=("T7", "T8", "T9", "T10"),
    ),
    declare(
        "graph_memory_max_size",
        _TOPIC,
        "Static memory and the most dynamic memory of the network.",
        **both(_bytes(26), "s", str(26 * _GIB)),
        current=_IGNORED,
        overrides={("runconfig", "legacy"): {"earlier": "i"}},
        unit="byte",
        readings=("A22", "T11", "T12", "T31", "G27"),
        requirements=("session.memory.",),
    ),
    declare(
        "variable_memory_max_size",
        _TOPIC,
        "Memory of the variables.",
        **both(_bytes(5), "s", str(5 * _GIB)),
        current=_IGNORED,
        overrides={("runconfig", "legacy"): {"earlier": "i"}},
        unit="byte",
        readings=("A22", "T11", "T12", "T31", "G27"),
    ),
)
