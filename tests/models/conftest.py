"""Makes the programs behind the recorded graphs importable as `fixtures.programs.models`."""

from __future__ import annotations

import importlib.util
import os
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))

if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

#: These execute or build graphs in TensorFlow; the environments that have it insist on it (tests/conftest.py).
TENSORFLOW_TESTS = ["test_case_graph_values.py", "test_recordings.py", "test_values.py"]

collect_ignore = [] if importlib.util.find_spec("tensorflow") else TENSORFLOW_TESTS
