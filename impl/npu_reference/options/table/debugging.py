"""Options for finding faults: dumps, debug files of operator compilation, fusion results."""

from __future__ import annotations

from npu_reference.options.declaration import Advice, Facet, both, declare
from npu_reference.options.domains import Anything, Boolean, Choice, ConfigObject, Integer, Path, Text
from npu_reference.options.files import op_debug
from npu_reference.options.grammars import dump_step

__all__ = ["OPTIONS"]

_TOPIC = "Debugging and dump"
_MC2 = "Operators that compute and communicate at once (MC2, such as MatMulAllReduce) leave no debug files."

OPTIONS = (
    declare(
        "enable_dump",
        _TOPIC,
        "Whether inputs and outputs of operators are written to files.",
        session=Facet(Boolean(), "b", False),
    ),
    declare(
        "dump_path",
        _TOPIC,
        "Directory of the dump files; it must exist.",
        session=Facet(Path("directory"), "s"),
        readings=("D1", "D8", "G9"),
        requirements=("files.dump_output",),
    ),
    declare(
        "dump_step",
        _TOPIC,
        "Iterations that are dumped; without it, every one.",
        session=Facet(
            Text(f"iterations and ranges joined by '|', such as {dump_step.EXAMPLE}", dump_step.parse, "0|3-5|10"),
            "s",
            applies="T",
        ),
        readings=("D2", "D3", "D4", "D5", "D6", "D7"),
    ),
    declare(
        "dump_mode",
        _TOPIC,
        "Whether inputs, outputs or both are dumped.",
        session=Facet(Choice("input", "output", "all"), "s", "output"),
    ),
    declare(
        "enable_dump_debug",
        _TOPIC,
        "Listed as not supported; DumpConfig has it in the current edition.",
        session=Facet(Anything(), "b", applies="T", status="unsupported"),
        readings=("A36",),
    ),
    declare(
        "dump_debug_mode",
        _TOPIC,
        "Listed as not supported; DumpConfig has it in the current edition.",
        session=Facet(Anything(), "s", applies="T", status="unsupported"),
        readings=("A36",),
    ),
    declare(
        "dump_config",
        _TOPIC,
        "Dump settings of a RunConfig; they stand for the dump keys of a session.",
        runconfig=Facet(ConfigObject("DumpConfig"), "o"),
        readings=("A49",),
    ),
    declare(
        "quant_dumpable",
        _TOPIC,
        "Whether data before quantization stay dumpable.",
        runconfig=Facet(Choice("0", "1"), "s", "0", applies="I", bound=True),
    ),
    declare(
        "enable_exception_dump",
        _TOPIC,
        "Whether data of a failing operator are dumped, and how much.",
        session=Facet(Integer(0, 1), "i", 0, applies="T"),
        runconfig=Facet(Integer(0, 1), "i", 0),
        current={"domain": Integer(0, 2), "default": 2},
        readings=("A20", "A21", "B12", "D23", "D24", "T30"),
        requirements=("env.NPU_COLLECT_PATH", "files.exception_dump."),
    ),
    declare(
        "op_debug_level",
        _TOPIC,
        "What operator compilation leaves in kernel_meta, and whether it optimises.",
        **both(Integer(0, 4), "i", 0),
        current={"default": None, "status": "deprecated"},
        readings=("A29", "D15"),
        advice=(Advice(_MC2, "runconfig.op_debug_level.mc2", ("current",), (1, 2, 3, 4)),),
        requirements=("files.kernel_meta.",),
    ),
    declare(
        "op_debug_config",
        _TOPIC,
        "File of debug options for operator compilation.",
        runconfig=Facet(Path("file", read=op_debug.parse), "s"),
        readings=("B2", "B3", "B4", "B13", "B34", "D16", "D17"),
        advice=(Advice(_MC2, "files.op_debug_config.mc2_excluded", ("current",)),),
        requirements=("files.op_debug_cfg.", "files.op_debug_config."),
    ),
    declare(
        "debug_dir",
        _TOPIC,
        "Directory of the files that operator compilation leaves; without it, ASCEND_WORK_PATH, then the current one.",
        **both(Path("directory"), "s", "."),
        readings=("A5", "D14"),
        requirements=("env.ASCEND_WORK_PATH",),
    ),
    declare(
        "export_compile_stat",
        _TOPIC,
        "When fusion_result.json is written: never (0), at exit (1) or after graph compilation (2).",
        runconfig=Facet(Integer(0, 2), "i", 1),
        readings=("B11", "D18", "D19"),
        advice=(
            Advice(
                "fusion_result.json goes to FE/<pid> in ASCEND_WORK_PATH, else to the current directory.",
                "files.fusion_result.path_default",
                values=(1, 2),
            ),
        ),
        requirements=("files.fusion_result.",),
    ),
)
