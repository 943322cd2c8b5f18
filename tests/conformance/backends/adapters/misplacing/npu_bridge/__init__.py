"""The same, but ranges of in_out_pair are not looked at."""

import importlib
import sys

del sys.modules["npu_bridge"]
importlib.import_module("npu_reference").activate()
importlib.import_module("npu_bridge")
sessions = importlib.import_module("tensorflow").compat.v1.Session
base = next(kind for kind in sessions.__mro__ if "_do_run" in vars(kind))
good_init = base.__init__


def init(self, target="", graph=None, config=None):
    if config is not None:
        for entry in config.graph_options.rewrite_options.custom_optimizers:
            for name in ("in_out_pair", "in_out_pair_flag"):
                if name in entry.parameter_map:
                    del entry.parameter_map[name]
    good_init(self, target, graph, config)


base.__init__ = init
