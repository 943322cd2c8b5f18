"""Our drop-in with one fault, which NPU_CHANGED names: one of options, placement, values or files."""

import importlib
import os
import sys

del sys.modules["npu_bridge"]
importlib.import_module("npu_reference").activate()
api = importlib.import_module("npu_bridge.npu_init")
sessions = importlib.import_module("tensorflow").compat.v1.Session
base = next(kind for kind in sessions.__mro__ if "_do_run" in vars(kind))
good_init, good_run = base.__init__, base.run
GoodConfig = api.NPURunConfig


def entries(config):
    return [] if config is None else config.graph_options.rewrite_options.custom_optimizers


def takes_anything(self, target="", graph=None, config=None):
    try:
        good_init(self, target, graph, config)
    except Exception:  # noqa: BLE001
        for entry in entries(config):
            entry.parameter_map.clear()
        good_init(self, target, graph, config)


def offloads_nothing(self, target="", graph=None, config=None):
    for entry in entries(config):
        entry.parameter_map["use_off_line"].b = False
    good_init(self, target, graph, config)


def dumps_nothing(self, target="", graph=None, config=None):
    for entry in entries(config):
        entry.parameter_map.pop("enable_dump", None)
    good_init(self, target, graph, config)


def narrows(self, *arguments, **keywords):
    found = good_run(self, *arguments, **keywords)
    if not isinstance(found, list):
        return found
    return [one.astype("int32").astype("int64") if str(one.dtype) == "int64" else one for one in found]


class OtherDefault(GoodConfig):
    def __init__(self, **arguments):
        GoodConfig.__init__(self, **arguments)
        if "op_select_implmode" not in arguments:
            self.op_select_implmode = "high_precision"
        if arguments.get("precision_mode") == "force_fp16":
            self.precision_mode = "force_fp32"


fault = os.environ["NPU_CHANGED"]
if fault in ("takes_anything", "offloads_nothing", "dumps_nothing"):
    base.__init__ = globals()[fault]
elif fault == "narrows":
    base.run = narrows
else:
    api.NPURunConfig = OtherDefault
