"""What every test relies on: a fixed hypothesis profile, and no environment that silently tests less."""

from __future__ import annotations

import gc
import importlib.util
import os
import pathlib
import shutil
import tempfile
from typing import List

import pytest
from hypothesis import HealthCheck, settings

from tests.depth import FILES_LEFT_OUT, left_out, share

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
    "packaging/test_for_newcomers.py", "packaging/test_release.py", "packaging/test_site.py",
    "partition/test_contraction_and_merging.py", "partition/test_growth.py", "partition/test_partition_laws.py",
    "partition/test_random_graphs.py",
    "precision/test_laws.py", "precision/test_models.py",
    "timing/test_laws.py", "timing/test_pages.py",
]  # fmt: skip

#: What the oldest Python leaves to the nightly run: judging by laws, hostile backends, runs that are stopped, whole
#: suites within a test, values of models, and what reads many files. The newest Python and TensorFlow run all of it for
#: every change.
_AT_NIGHT_OF_THE_OLDEST_PYTHON = [
    "artifacts/test_cache.py", "conformance/test_explain.py", "lint/test_alone.py", "lint/test_command.py",
    "lint/test_quiet.py", "options/test_directives.py", "partition/test_recorded_partitions.py",
    "conformance/test_causes.py", "conformance/test_cli.py", "conformance/test_forged_reports.py",
    "conformance/test_hostile_backends.py", "conformance/test_in_part.py",
    "conformance/test_inspect_folders.py", "conformance/test_inspect_hostile.py",
    "conformance/test_known_failures.py", "conformance/test_lanes.py", "conformance/test_laws.py",
    "conformance/test_miniatures.py", "conformance/test_overwhelming_answers.py",
    "conformance/test_plugin.py", "conformance/test_report.py", "conformance/test_seats.py",
    "conformance/test_speed.py", "conformance/test_streams.py", "conformance/test_worker_check.py",
    "lint/test_mutations.py", "links", "models/test_case_graph_values.py", "models/test_values.py",
    "options/test_hostile.py", "options/test_hostile_files.py", "partition/test_half.py", "places",
    "timing",
]  # fmt: skip

#: What the newest TensorFlow alone runs: models of full size, which is a matter of the partition.
_OF_THE_NEWEST_TENSORFLOW = ["device/test_training.py", "models/test_full_size.py", "models/test_recordings.py"]

#: What the newest TensorFlow leaves to the nightly run: models of full size, whose recorded partitions are tested
#: without TensorFlow, and programs that import TensorFlow for themselves or are of several ranks: the oldest runs them.
_AT_NIGHT_OF_THE_NEWEST_TENSORFLOW = [
    *_OF_THE_NEWEST_TENSORFLOW, "npu_bridge/test_ported_scripts.py", "npu_bridge/test_samples.py",
    "npu_bridge/test_v1_behaviour.py", "packaging/test_distribution.py", "runtime/test_graphs_beside_tensorflow.py",
    "runtime/test_launching.py", "runtime/test_ranks.py", "runtime/test_simulate.py",
]  # fmt: skip

#: What the versions between leave to the nightly run: values of models, which the newest runs, and programs that import
#: TensorFlow for themselves or are of several ranks, which the oldest runs.
_AT_NIGHT_BETWEEN = [
    "models/test_case_graph_values.py", "models/test_values.py", "npu_bridge/test_v1_behaviour.py",
    "packaging/test_distribution.py", "runtime/test_graphs_beside_tensorflow.py", "runtime/test_ranks.py",
]  # fmt: skip

#: What the oldest TensorFlow alone runs, which is the adapter's own: whole suites that judge our drop-in as a vendor's,
#: and scripts that are ported from an Estimator, which later versions have not.
_OF_THE_OLDEST_TENSORFLOW = ["conformance/test_adapter.py", "npu_bridge/test_lint_ports.py"]

_OF_ONE_TENSORFLOW = [*_OF_THE_NEWEST_TENSORFLOW, *_OF_THE_OLDEST_TENSORFLOW]

#: What every version runs for every change: the cases that run graphs, of which versions between take a part.
_OF_EVERY_TENSORFLOW = ["cases/test_run_cases.py", "cases/test_run_mutation.py"]

#: What the oldest and the newest TensorFlow run, and those between do not: programs that import TensorFlow for
#: themselves. Between, each case runs in one of its editions (cases/test_run_cases.py), which no version changes.
_OF_THE_ENDS = [
    "npu_bridge/test_ported_scripts.py", "npu_bridge/test_samples.py", "runtime/test_differential.py",
    "runtime/test_launching.py", "runtime/test_simulate.py",
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


def _of_the_other() -> List[str]:
    """Every second file of a version between, which the other one runs; nothing at night."""
    here = pathlib.Path(__file__).parent
    files = [path.relative_to(here).as_posix() for path in sorted(here.glob("*/test_*.py"))]
    mine = int(os.environ.get("NPU_TESTS_PART", "0"))
    shared = [name for name in files if name not in _OF_EVERY_TENSORFLOW]
    return share([name for number, name in enumerate(shared) if mine and number % 2 != mine - 1], [])


_SCOPES = {
    "": [],
    "oldest": [
        *_OF_THE_NEWEST_PYTHON, *_OF_THE_NEWEST_TENSORFLOW, *share(_AT_NIGHT_OF_THE_OLDEST_PYTHON, []),
    ],
    "between": [
        *_others(_OF_A_VERSION), *_OF_THE_ENDS, *_OF_ONE_TENSORFLOW, *share(_AT_NIGHT_BETWEEN, []), *_of_the_other(),
    ],
    "newest": [
        *_others(_OF_A_VERSION), *_OF_THE_OLDEST_TENSORFLOW, *share(_AT_NIGHT_OF_THE_NEWEST_TENSORFLOW, []),
    ],
}  # fmt: skip
collect_ignore = [*collect_ignore, *_SCOPES[os.environ.get("NPU_TESTS_SCOPE", "")], *FILES_LEFT_OUT]

# Pages are opened in an environment of their own, which brings playwright and has, or finds, a Chromium.
if os.environ.get("NPU_TESTS_BROWSER") != "required":
    collect_ignore = [*collect_ignore, "browser"]


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    left = {item for item in items if left_out(item)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))


def pytest_collection_finish(session: pytest.Session) -> None:
    # The library and the tests stay: a tenth of the time would go into walking over them again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20000, 20, 20)


#: Where temporary folders cost least, and how much room they may need (assumed; a run needs a tenth).
_MEMORY, _ROOM = "/dev/shm", 4 << 30


def _in_memory() -> bool:
    """Whether temporary folders can be in memory: on a disk, files made after deletions take ten times as long."""
    return os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free > _ROOM


def pytest_configure(config: pytest.Config) -> None:
    if "TMPDIR" not in os.environ and _in_memory():
        os.environ["TMPDIR"], tempfile.tempdir = _MEMORY, None
    expected = os.environ.get("NPU_TESTS_TENSORFLOW")
    if expected == "required" and not _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=required, but TensorFlow is not installed", returncode=2)
    if expected == "none" and _TENSORFLOW:
        pytest.exit("NPU_TESTS_TENSORFLOW=none, but TensorFlow is installed", returncode=2)
