"""What the texts and files of options mean, as JSON in the words of the documents: how answers tell it."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Tuple, Type

from npu_reference.options.files.aoe_config import AoeConfig
from npu_reference.options.files.customize_dtypes import CustomDtypes, Dtypes
from npu_reference.options.files.fusion_passes import FIXED
from npu_reference.options.files.fusion_switch import FusionSwitch
from npu_reference.options.files.mixlist import Mixlist
from npu_reference.options.files.op_debug import OpDebug
from npu_reference.options.files.op_precision import OpPrecision
from npu_reference.options.grammars.dump_step import Steps
from npu_reference.options.grammars.lists import Bytes, Devices, NameList, Parallelism
from npu_reference.options.grammars.profiling import ProfilingOptions
from npu_reference.options.grammars.shapes import InputShape, Profiles, Ranges, write_dim
from npu_reference.options.resolution import Resolution

__all__ = ["meanings", "told"]


def meanings(resolution: Resolution) -> Dict[str, object]:
    """Option name to what its effective text, file or object says, for the options that have more to say than a value.

    Names that stand in no order are sorted, so that one meaning has one form.
    """
    parsed = resolution.parsed
    return {name: told(parsed[name]) for name in resolution.effective if parsed.get(name) is not None}


def told(parsed: Any) -> object:
    """One meaning as JSON."""
    for kind, tell in _TELLERS:
        if isinstance(parsed, kind):
            return tell(parsed)
    if isinstance(parsed, Mapping):
        return {str(key): told(value) for key, value in parsed.items()}
    if isinstance(parsed, (list, tuple)):
        return [told(part) for part in parsed]
    return parsed if parsed is None or isinstance(parsed, (bool, int, float, str)) else {"class": type(parsed).__name__}


def _switch(switch: FusionSwitch) -> object:
    words = {True: "on", False: "off"}
    sections = {"GraphFusion": switch.graph_fusion, "UBFusion": switch.ub_fusion}
    return {
        section: {name: words[on or name in FIXED] for name, on in passes.items()}
        for section, passes in sections.items()
    }


def _mixlist(lists: Mixlist) -> object:
    return {
        "black-list": {"to-remove": sorted(lists.black_remove), "to-add": sorted(lists.black_add)},
        "white-list": {"to-remove": sorted(lists.white_remove), "to-add": sorted(lists.white_add)},
    }


def _dtypes(table: Dict[str, Dtypes]) -> Dict[str, object]:
    return {name: {"InputDtype": list(one.inputs), "OutputDtype": list(one.outputs)} for name, one in table.items()}


def _debug(debug: OpDebug) -> object:
    listed = {"name": sorted(debug.names), "OpType": sorted(debug.types)}
    return {"op_debug_config": sorted(debug.options), "op_debug_list": listed}


def _aoe(config: AoeConfig) -> object:
    return {
        "tune_ops_name": sorted(config.names),
        "tune_ops_type": sorted(config.types),
        "tune_optimization_level": config.level,
        "feature": sorted(config.features),
    }


def _ranges(ranges: Ranges) -> object:
    groups = {"getnext": ranges.getnext, "data": ranges.data}
    return {
        keyword: [[write_dim(dim) for dim in shape] for shape in shapes]
        for keyword, shapes in groups.items()
        if shapes is not None
    }


def _profiling(options: ProfilingOptions) -> object:
    told: Dict[str, object] = dict(options._asdict())
    for key in ("given", "notes"):
        del told[key]
    told["output"] = told["output"] or None
    for key in ("training_trace", "task_trace", "aicpu"):
        told[key] = "on" if told[key] else "off"
    return told


#: Type of a parsed meaning to how it is told. A NamedTuple is a tuple, so the plain kinds come last, in :func:`told`.
_TELLERS: List[Tuple[Type[Any], Callable[[Any], object]]] = [
    (FusionSwitch, _switch),
    (Mixlist, _mixlist),
    (OpPrecision, lambda modes: {"ByOpType": dict(modes.by_type), "ByNodeName": dict(modes.by_name)}),
    (CustomDtypes, lambda custom: {"name": _dtypes(custom.by_name), "OpType": _dtypes(custom.by_type)}),
    (OpDebug, _debug),
    (AoeConfig, _aoe),
    (NameList, lambda names: sorted(names.names)),
    (Bytes, lambda size: size.size),
    (Devices, lambda devices: list(devices.devices)),
    (Parallelism, lambda parallelism: dict(parallelism.engines)),
    (Ranges, _ranges),
    (InputShape, lambda shape: {name: list(dims) for name, dims in shape.inputs}),
    (Profiles, lambda profiles: [list(profile) for profile in profiles.profiles]),
    (Steps, lambda steps: [list(span) for span in steps.spans]),
    (ProfilingOptions, _profiling),
]
