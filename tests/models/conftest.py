"""Which of these tests need TensorFlow."""

from __future__ import annotations

import importlib.util

#: These execute or build graphs in TensorFlow; the environments that have it insist on it (tests/conftest.py).
TENSORFLOW_TESTS = ["test_case_graph_values.py", "test_inferred_shapes.py", "test_recordings.py", "test_values.py"]

collect_ignore = [] if importlib.util.find_spec("tensorflow") else TENSORFLOW_TESTS
