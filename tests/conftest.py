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
    "runtime", "device", "npu_bridge", "models/test_case_graph_values.py", "models/test_inferred_shapes.py",
    "models/test_full_size.py", "models/test_recordings.py", "models/test_values.py",
]  # fmt: skip

#: What depends on the version of TensorFlow, or of a package that comes with it (protobuf, numpy). All else is tested
#: without it and with the oldest one, on the newest Python and on the oldest: imports between rooms, the models'
#: recorded partitions and the guides are the same whatever is installed.
_OF_A_VERSION = [
    *_NEEDS_TENSORFLOW, "conformance/test_tensorflow_free.py", "dumps", "graphs", "links/test_values.py",
    "packaging/test_distribution.py",
]  # fmt: skip

#: What the newest Python alone tests: whom the suite finds and whom not, the files of the suite and of this repository,
#: and laws and counts that pure Python gives alike everywhere. The oldest runs the same code by every case
#: (cases/test_reference.py, cases/test_run_cases.py), by the laws of a run (conformance/test_laws.py) and by the other
#: tests of each room.
_OF_THE_NEWEST_PYTHON = [
    "architecture",
    "cases/test_company.py", "cases/test_corpus.py", "cases/test_documented_examples.py", "cases/test_echo.py",
    "cases/test_expected_values.py", "cases/test_grid_cases.py", "cases/test_mutants.py", "cases/test_mutation.py",
    "cases/test_option_cases.py", "cases/test_option_mutants.py", "cases/test_placement_cases.py",
    "cases/test_precision_cases.py", "cases/test_shown.py", "cases/test_suspects.py", "cases/test_timing_cases.py",
    "conformance/test_company.py", "conformance/test_condition_laws.py", "conformance/test_docs.py",
    "conformance/test_effects.py", "conformance/test_examples.py", "conformance/test_explore.py",
    "conformance/test_independent_backend.py", "conformance/test_independent_options.py",
    "conformance/test_joining.py", "conformance/test_killing.py", "conformance/test_law_readers.py",
    "conformance/test_plain_tensorflow.py", "conformance/test_sharding.py", "conformance/test_ssh.py",
    "conformance/test_step_laws.py", "conformance/test_timing_vendor.py",
    "graphs/test_printed.py",
    "models/test_partition_facts.py",
    "options/test_derived.py",
    "packaging/test_action.py", "packaging/test_chromium.py", "packaging/test_derived_pages.py",
    "packaging/test_for_newcomers.py", "packaging/test_site.py",
    "partition/test_contraction_and_merging.py", "partition/test_growth.py", "partition/test_partition_laws.py",
    "partition/test_random_graphs.py",
    "precision/test_laws.py", "precision/test_models.py",
    "timing/test_laws.py", "timing/test_pages.py",
]  # fmt: skip

#: What the newest TensorFlow alone runs: models of full size, which is a matter of the partition.
_OF_THE_NEWEST_TENSORFLOW = ["device/test_training.py", "models/test_full_size.py", "models/test_recordings.py"]

#: What the oldest TensorFlow alone runs, which is the adapter's own: whole suites that judge our drop-in as a vendor's,
#: and scripts that are ported from an Estimator, which later versions have not.
_OF_THE_OLDEST_TENSORFLOW = ["conformance/test_adapter.py", "npu_bridge/test_lint_ports.py"]

_OF_ONE_TENSORFLOW = [*_OF_THE_NEWEST_TENSORFLOW, *_OF_THE_OLDEST_TENSORFLOW]

#: What the oldest and the newest TensorFlow run, and those between do not: programs that import TensorFlow for
#: themselves. Between, each case runs in one of its editions (cases/test_run_cases.py), which no version changes.
_OF_THE_ENDS = [
    "npu_bridge/test_ported_scripts.py", "npu_bridge/test_samples.py", "runtime/test_launching.py",
    "runtime/test_simulate.py",
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


_SCOPES = {
    "": [],
    "oldest": [*_OF_THE_NEWEST_PYTHON, *_OF_THE_NEWEST_TENSORFLOW],
    "between": [*_others(_OF_A_VERSION), *_OF_THE_ENDS, *_OF_ONE_TENSORFLOW],
    "newest": [*_others(_OF_A_VERSION), *_OF_THE_OLDEST_TENSORFLOW],
}
collect_ignore = [*collect_ignore, *_SCOPES[os.environ.get("NPU_TESTS_SCOPE", "")]]

# Pages are opened in an environment of their own, which brings playwright and has, or finds, a Chromium.
if os.environ.get("NPU_TESTS_BROWSER") != "required":
    collect_ignore = [*collect_ignore, "browser"]


def pytest_configure(config: pytest.Config) -> None:
    expected = os.environ.get("NPU_TESTS_TENSORFLOW")
    if expected == "required" and not _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=required, but TensorFlow is not installed", returncode=2)
    if expected == "none" and _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=none, but TensorFlow is installed", returncode=2)
