"""Our drop-in as a vendor's package: whoever imports it has the simulated device, as another has his own."""

import importlib
import sys

del sys.modules["npu_bridge"]
importlib.import_module("npu_reference").activate()
importlib.import_module("npu_bridge")
