"""Options of speed: fusion, layout, parallelism, threads."""

from __future__ import annotations

from functools import partial
from typing import Dict

from npu_reference.options.declaration import Advice, Facet, both, declare
from npu_reference.options.domains import Boolean, Choice, Integer, Path, Text
from npu_reference.options.files import fusion_switch
from npu_reference.options.grammars import lists

__all__ = ["AI_CORES", "ENGINES", "OPTIONS"]

_TOPIC = "Performance"

#: AI Cores of the simulated device (Ascend910A), the highest parallelism in the current edition.
AI_CORES = 32

#: Engine to its highest parallelism by edition; the AI CPU first (A25, A26, B25).
ENGINES: Dict[str, Dict[str, int]] = {
    "legacy": {"DNN_VM_TF": 13, "DNN_V100": 3},
    "current": {"DNN_VM_AICPU": AI_CORES, "AIcoreEngine": AI_CORES},
}


def _parallelism(edition: str) -> Text:
    other = ENGINES["legacy" if edition == "current" else "current"]
    parse = partial(lists.parse_parallelism, limits=ENGINES[edition], aliases=dict(zip(other, ENGINES[edition])))
    ranges = ",".join(f"{engine}:1..{limit}" for engine, limit in ENGINES[edition].items())
    example = ",".join(f"{engine}:{number}" for engine, number in zip(ENGINES[edition], (10, 1)))
    return Text(ranges, parse, example)


OPTIONS = (
    declare(
        "hcom_parallel",
        _TOPIC,
        "Whether gradient AllReduce runs in parallel with forward and backward computing.",
        **both(Boolean(), "b", False, applies=("T", "T")),
        current={"default": True},
        readings=("A19",),
        by="A19",
        advice=(
            Advice(
                "For small networks such as ResNet-18, False is advised.",
                "runconfig.hcom_parallel.small_nets",
                ("current",),
                (True,),
            ),
        ),
    ),
    declare(
        "is_tailing_optimization",
        _TOPIC,
        "Whether computing that does not need the last AllReduce runs beside it; NPUOptimizer must say the same.",
        **both(Boolean(), "b", False, applies=("T", "T")),
        readings=("A41", "T20"),
        advice=(
            Advice(
                "It is for BERT networks only.", "runconfig.is_tailing_optimization.bert_only", ("current",), (True,)
            ),
            Advice(
                "It is for distributed training only.",
                "session.is_tailing_optimization.distributed_only",
                ("legacy",),
                (True,),
            ),
        ),
        requirements=("api.NPUOptimizer.tailing",),
    ),
    declare(
        "stream_max_parallel_num",
        _TOPIC,
        "How many streams the AI CPU and AI Core engines use.",
        **both(_parallelism("legacy"), "s", "DNN_VM_TF:1,DNN_V100:1"),
        current={"domain": _parallelism("current"), "default": "DNN_VM_AICPU:1,AIcoreEngine:1"},
        readings=("A25", "A26", "A27", "B25"),
        advice=(Advice("It is for NMT networks only.", "runconfig.stream_max_parallel_num.nmt_only", ("current",)),),
    ),
    declare(
        "enable_scope_fusion_passes",
        _TOPIC,
        "Names of the non-general scope fusion passes to be switched on.",
        **both(
            Text("comma list of pass names", lists.parse_scope_passes, "ScopeLayerNormPass,ScopeClipBoxesPass"), "s"
        ),
        readings=("D22",),
    ),
    declare(
        "fusion_switch_file",
        _TOPIC,
        "File that switches fusion passes on and off.",
        **both(Path("file", "legacy", fusion_switch.parse), "s"),
        current={"domain": Path("file", "current", fusion_switch.parse)},
        overrides={("session", "current"): {"domain": Path("file", "legacy", fusion_switch.parse, narrow="current")}},
        readings=("A3", "A46", "A47", "B1", "D20", "D21"),
        requirements=("files.fusion_switch.",),
    ),
    declare(
        "buffer_optimize",
        _TOPIC,
        "Whether buffers are optimised.",
        **both(Choice("l2_optimize", "off_optimize"), "s", "l2_optimize", applies=("I", "TI")),
    ),
    declare(
        "enable_small_channel",
        _TOPIC,
        "Whether convolutions with at most four channels are optimised.",
        **both(Integer(0, 1), "i", 0, applies=("I", "I")),
        current={"default_inference": 1, "applies": "TI"},
        readings=("A28", "B28", "T22"),
        advice=(
            Advice(
                "Gains are to be expected of GoogLeNet and ResNet-50, 101 and 152 only.",
                "runconfig.enable_small_channel.networks",
                ("current",),
                (1,),
            ),
        ),
    ),
    declare(
        "variable_format_optimize",
        _TOPIC,
        "Whether variables are stored in the device's own format.",
        **both(Boolean(), "b", True, applies=("T", "TI")),
        current={"default": None, "status": "deprecated"},
        readings=("A18",),
    ),
    declare(
        "graph_max_parallel_model_num",
        _TOPIC,
        "Threads that run graphs in parallel.",
        runconfig=Facet(Integer(1, 2147483647), "i", 1, applies="I", bound=True),
        readings=("T25",),
    ),
    declare(
        "local_rank_id",
        _TOPIC,
        "Rank of the process in its server; the main one preprocesses data for the others.",
        **both(Integer(0), "i"),
        readings=("T15", "T16"),
    ),
    declare(
        "local_device_list",
        _TOPIC,
        "Devices that the main process sends data to.",
        **both(Text('comma list of device numbers, such as "0,1"', lists.parse_devices, "0,1"), "s"),
        readings=("T15",),
    ),
)
