"""What every test relies on: a fixed hypothesis profile, and no environment that silently tests less."""

from __future__ import annotations

import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "project",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None

#: Folders and files whose tests execute graphs in TensorFlow.
_NEEDS_TENSORFLOW = [
    "cases/test_run_cases.py", "conformance/test_adapter.py",
    "runtime", "device", "npu_bridge", "models/test_values.py",
]  # fmt: skip

collect_ignore = [] if _TENSORFLOW else _NEEDS_TENSORFLOW

# Pages are opened in an environment of their own, which brings playwright and has, or finds, a Chromium.
if os.environ.get("NPU_TESTS_BROWSER") != "required":
    collect_ignore = [*collect_ignore, "browser"]


def pytest_configure(config: pytest.Config) -> None:
    expected = os.environ.get("NPU_TESTS_TENSORFLOW")
    if expected == "required" and not _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=required, but TensorFlow is not installed", returncode=2)
    if expected == "none" and _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=none, but TensorFlow is installed", returncode=2)
