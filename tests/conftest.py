"""What every test relies on: a fixed hypothesis profile, and no environment that silently tests less.

Which environment of `tox.ini` runs a file, the markers of the file say: `pytestmark = pytest.mark.NAME`, or a list.
`pytestmark` in the `conftest.py` of a folder holds for each file of the folder, too. `tests/markers.py` reads them
without importing the file, so they are literal, and a marker that `pyproject.toml` does not register is an error.

========= ================================= =====================================================================
scope     environments                      what they run
========= ================================= =====================================================================
(none)    core, browser                     all that they can: no `tensorflow` without TensorFlow, and no
                                            `browser` but where NPU_TESTS_BROWSER=required
oldest    py37-tf115                        all but `not_oldest`; `oldest_at_night` at night
between   py39-tf26, py311-tf215            of `tensorflow` and `tensorflow_version` all but `not_between`;
                                            `between_at_night` at night. For a change each runs every second file
                                            (NPU_TESTS_PART), and both run those of `both_between`
newest    py313-tf221                       of `tensorflow` and `tensorflow_version` all but `not_newest`;
                                            `newest_at_night` at night
========= ================================= =====================================================================

A file without a marker runs in core and in py37-tf115. Which marker a file needs:

- `tensorflow`: it executes graphs in TensorFlow. `tensorflow_version`: it runs without TensorFlow, but depends on the
  version of TensorFlow, or of a package that comes with it (protobuf, numpy). All else is the same whatever is
  installed.
- `not_oldest`: the oldest Python adds nothing. These are tests of the suite itself (whom it finds and whom not), of
  files of this repository, and of laws and counts that pure Python gives alike everywhere. The oldest runs the same
  code by every case (cases/test_reference.py, cases/test_run_cases.py) and by the laws of a run
  (conformance/test_laws.py).
- `oldest_at_night`: it takes long on the oldest Python, and core, or the newest TensorFlow, runs it for every change.
  These are judging by laws, hostile backends, runs that are stopped, whole suites within a test, values of models and
  of recurrent operators, and what takes many files.
- `not_between`: programs that import TensorFlow for themselves. The oldest and the newest TensorFlow run them; between,
  each case runs in one of its editions (cases/test_run_cases.py).
- `not_newest`: the adapter's own TensorFlow is the oldest. Whole suites judge our drop-in there as a vendor's, and
  scripts are ported from an Estimator, which later versions have not.
- `not_oldest`, `not_between` and `newest_at_night`: models of full size. Core tests their recorded partitions.
- `newest_at_night`, `between_at_night`: programs of several ranks or processes, which the oldest runs for a change.
  Values of models are `between_at_night` and run with the newest for a change. Shapes, and texts of graphs, are core's
  for a change with the newest protobuf.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import os
import pathlib
import re
import shutil
import sys
import tempfile
from typing import Dict, FrozenSet, List, Optional

import pytest

with contextlib.suppress(AttributeError, StopIteration):
    # pytest compiles whatever is installed with a plugin, ours too, once more than others do: it rewrites assertions.
    next(one for one in sys.meta_path if hasattr(one, "_must_rewrite"))._must_rewrite.clear()

from hypothesis import HealthCheck, settings

try:
    from hypothesis.internal.conjecture import providers
except ImportError:  # versions for Python 3.7
    providers = None

from tests.depth import FILES_LEFT_OUT, NIGHTLY, left_out
from tests.markers import SCOPES, Run, markers_of, paths_left_out

settings.register_profile(
    "project",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")
if hasattr(providers, "_get_local_constants"):
    # Newer versions also draw constants that they find in the modules loaded so far: which those are depends on the
    # tests that ran before, and reading them takes seconds.
    providers._get_local_constants = lambda: providers._local_constants

_HERE = pathlib.Path(__file__).parent
_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
_FILES_LEFT_OUT = frozenset(_HERE / name for name in FILES_LEFT_OUT)


def _run() -> Run:
    scope, part = os.environ.get("NPU_TESTS_SCOPE", ""), os.environ.get("NPU_TESTS_PART", "0")
    if scope not in SCOPES:
        raise pytest.UsageError(f"NPU_TESTS_SCOPE={scope}: not one of {', '.join(SCOPES[1:])}, and nothing")
    if part not in ("0", "1", "2"):
        raise pytest.UsageError(f"NPU_TESTS_PART={part}: not one of 0, 1, 2")
    return Run(scope, int(part), _TENSORFLOW, os.environ.get("NPU_TESTS_BROWSER") == "required", NIGHTLY)


@functools.lru_cache(maxsize=None)
def _marked(config: pytest.Config) -> Dict[pathlib.Path, FrozenSet[str]]:
    known = {re.split("[:(]", line)[0].strip() for line in config.getini("markers")}
    return markers_of(_HERE, known)


@functools.lru_cache(maxsize=None)
def _left_out(config: pytest.Config) -> FrozenSet[pathlib.Path]:
    return paths_left_out(_marked(config), _run()) | _FILES_LEFT_OUT


def pytest_sessionstart(session: pytest.Session) -> None:
    # A marker that cannot be read is told once, before any process of pytest-xdist starts.
    _left_out(session.config)


def pytest_ignore_collect(collection_path: pathlib.Path, config: pytest.Config) -> Optional[bool]:
    return True if collection_path in _left_out(config) else None


def pytest_collectstart(collector: pytest.Collector) -> None:
    # pytest does not read the `pytestmark` of a conftest.py: without this, `-m tensorflow` would not know of it.
    if isinstance(collector, pytest.Module):
        for name in sorted(_marked(collector.config).get(collector.path.parent, ())):
            collector.add_marker(name)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    left = {item for item in items if left_out(item)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))
    for drawn in {getattr(item, "obj", None) for item in items if not NIGHTLY}:
        asked = getattr(drawn, "_hypothesis_internal_use_settings", None)
        if asked is not None:
            drawn._hypothesis_internal_use_settings = settings(asked, max_examples=(asked.max_examples + 1) // 2)


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
