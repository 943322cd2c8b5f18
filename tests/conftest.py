"""What every test relies on: a fixed hypothesis profile, and no environment that silently tests less."""

from __future__ import annotations

import importlib.util
import os
import pathlib
from typing import List

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
    "cases/test_run_cases.py", "cases/test_run_mutation.py", "cases/test_shown_runs.py", "conformance/test_adapter.py",
    "runtime", "device", "npu_bridge", "models/test_values.py",
]  # fmt: skip

#: What depends on the version of TensorFlow, or of a package that comes with it (protobuf, numpy). All else is tested
#: without it and with the oldest one, on the newest Python and on the oldest: imports between rooms, the models'
#: recorded partitions and the guides are the same whatever is installed.
_OF_A_VERSION = [
    *_NEEDS_TENSORFLOW, "conformance/test_tensorflow_free.py", "dumps", "graphs", "links",
    "packaging/test_distribution.py",
]  # fmt: skip

collect_ignore = [] if _TENSORFLOW else _NEEDS_TENSORFLOW


def _others(chosen: List[str]) -> List[str]:
    """Test folders, and files of folders of which some are chosen, that are not chosen."""
    here = pathlib.Path(__file__).parent
    found = []
    for folder in sorted(path for path in here.iterdir() if any(path.glob("test_*.py"))):
        if folder.name in chosen:
            continue
        files = [f"{folder.name}/{path.name}" for path in sorted(folder.glob("test_*.py"))]
        some = [name for name in files if name in chosen]
        found.extend(name for name in files if name not in some) if some else found.append(folder.name)
    return found


if os.environ.get("NPU_TESTS_SCOPE") == "version":
    collect_ignore = [*collect_ignore, *_others(_OF_A_VERSION)]

# Pages are opened in an environment of their own, which brings playwright and has, or finds, a Chromium.
if os.environ.get("NPU_TESTS_BROWSER") != "required":
    collect_ignore = [*collect_ignore, "browser"]


def pytest_configure(config: pytest.Config) -> None:
    expected = os.environ.get("NPU_TESTS_TENSORFLOW")
    if expected == "required" and not _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=required, but TensorFlow is not installed", returncode=2)
    if expected == "none" and _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=none, but TensorFlow is installed", returncode=2)
