"""Options of profiling and of automatic tuning."""

from __future__ import annotations

from npu_reference.options.declaration import UNLISTED, Facet, declare
from npu_reference.options.domains import Anything, Boolean, Choice, ConfigObject, Path, Text
from npu_reference.options.files import aoe_config
from npu_reference.options.grammars import lists, profiling

__all__ = ["OPTIONS"]

_TOPIC = "Profiling and tuning"
_ALGORITHMS = Text("comma list of RL and GA", lists.parse_algorithms, "RL,GA")
_UNSUPPORTED = {"domain": Anything(), "default": None, "status": "unsupported"}

OPTIONS = (
    declare(
        "profiling_mode",
        _TOPIC,
        "Whether a run is profiled, as profiling_options says.",
        session=Facet(Boolean(), "b", False),
        readings=("D10",),
    ),
    declare(
        "profiling_options",
        _TOPIC,
        "What is profiled, and where the results go.",
        session=Facet(Text("JSON object of texts", profiling.parse, profiling.EXAMPLE), "s", switch="profiling_mode"),
        readings=("B24", "D9", "D11", "D12"),
        requirements=("files.profiling_output",),
    ),
    declare(
        "profiling_config",
        _TOPIC,
        "Profiling settings of a RunConfig; they stand for the two profiling keys of a session.",
        runconfig=Facet(ConfigObject("ProfilingConfig"), "o"),
        readings=("A48",),
    ),
    declare(
        "auto_tune_mode",
        _TOPIC,
        "Algorithms of the older tuning tool; without it, nothing is tuned.",
        session=Facet(_ALGORITHMS, "s", applies="T"),
        runconfig=Facet(_ALGORITHMS, "s", applies="T", status="undocumented", source=f"{UNLISTED} (G19)"),
        current={"domain": Anything(), "status": "removed"},
        readings=("A35", "G19", "T28"),
        by="A35",
    ),
    declare(
        "horovod_mode",
        _TOPIC,
        "No document has it; real scripts give it to NPURunConfig, where it means nothing.",
        runconfig=Facet(Anything(), "b", status="idle", source=f"{UNLISTED} (G19)"),
        overrides={("runconfig", "legacy"): {}},
        readings=("G19",),
    ),
    *(
        declare(
            name,
            _TOPIC,
            meaning,
            runconfig=Facet(Anything(), field, status="idle", source=f"{UNLISTED} (G19)"),
            overrides={("runconfig", "legacy"): {}},
            readings=("G19",),
        )
        for name, field, meaning in (
            ("enable_compress_weight", "b", "Weights compressed for inference on other devices."),
            ("compress_weight_conf", "s", "Which weights are compressed for inference on other devices."),
            ("hcom_multi_mode", "b", "Communication that several processes of a device share."),
            ("soc_config", "s", "The device to compile for where none is attached."),
            ("topo_sorting_mode", "i", "In which order the compiler sorts operators."),
            ("insert_op_file", "s", "Operators that prepare images, put before a graph."),
        )
    ),
    declare(
        "HCCL_algorithm",
        _TOPIC,
        "No document has it; real scripts name algorithms of communication with it, which here follow the links.",
        session=Facet(Anything(), "s", status="idle", source=f"{UNLISTED} (G19)"),
        runconfig=Facet(Anything(), "s", status="idle", source=f"{UNLISTED} (G19)"),
        readings=("G19",),
    ),
    declare(
        "aoe_mode",
        _TOPIC,
        "What is tuned: subgraphs (1), operators (2) or gradient splitting (4).",
        session=Facet(Choice("1", "2", "4"), "s", applies="T"),
        runconfig=Facet(Choice("1", "2", "4"), "s", applies="T"),
        legacy=_UNSUPPORTED,
        readings=("A33", "T26", "T27", "T38"),
        requirements=("env.AOE_MODE",),
    ),
    declare(
        "work_path",
        _TOPIC,
        "Directory of tuning results; it must exist.",
        session=Facet(Path("directory"), "s", ".", applies="T", source="003 § work_path"),
        runconfig=Facet(Path("directory"), "s", ".", applies="T"),
        legacy=_UNSUPPORTED,
        readings=("A33", "T29"),
        requirements=("files.aoe.",),
    ),
    declare(
        "aoe_config_file",
        _TOPIC,
        "File that restricts tuning to operators of low performance.",
        runconfig=Facet(Path("file", read=aoe_config.parse), "s", applies="T"),
        readings=("B10",),
        requirements=("files.aoe_cfg.",),
    ),
)
