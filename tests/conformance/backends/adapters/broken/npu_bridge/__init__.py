"""The same with three faults: values out of their domain are taken, one is exchanged, and sums are wrong."""

import importlib
import sys

del sys.modules["npu_bridge"]
importlib.import_module("npu_reference").activate()
api = importlib.import_module("npu_bridge.npu_init")
sessions = importlib.import_module("tensorflow").compat.v1.Session
GoodConfig, good_run = api.NPURunConfig, sessions.run


class NPURunConfig(GoodConfig):
    def __init__(self, **arguments):
        try:
            GoodConfig.__init__(self, **arguments)
        except ValueError:
            GoodConfig.__init__(self)
        if arguments.get("precision_mode") == "must_keep_origin_dtype":
            self.precision_mode = "force_fp16"


def run(self, *arguments, **keywords):
    found = good_run(self, *arguments, **keywords)
    return (
        [one + one if getattr(one, "dtype", None) == "float32" else one for one in found]
        if isinstance(found, list)
        else found
    )


api.NPURunConfig = NPURunConfig
sessions.run = run
