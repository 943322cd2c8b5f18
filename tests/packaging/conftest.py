"""The distribution under test: the installed one, or else a wheel built from this checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List, NamedTuple, Optional

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv")


class Distribution(NamedTuple):
    """An installed distribution: where it lies, and every file that its RECORD lists."""

    folder: Path
    files: List[str]

    def run(self, code: str, *paths: Path) -> subprocess.CompletedProcess:
        """Run ``code`` in a fresh process that sees this distribution, its dependencies, and ``paths`` first.

        ``-I`` leaves out the current directory and PYTHONPATH, by which the checkout could be found instead.
        """
        before = [str(path) for path in (*paths, self.folder)]
        # An editable install puts the checkout on the path.
        path = f"import sys; sys.path[:] = {before!r} + [one for one in sys.path if not one.startswith({str(ROOT)!r})]"
        return subprocess.run([sys.executable, "-I", "-c", f"{path}\n{code}"], capture_output=True, text=True)


def _listed(folder: Path) -> Optional[Distribution]:
    for record in folder.glob("npu_conformance-*.dist-info/RECORD"):
        files = [line.split(",")[0] for line in record.read_text(encoding="utf-8").splitlines()]
        if "npu_reference/__init__.py" in files:  # an editable install lists only a pointer to the checkout
            return Distribution(folder, files)
    return None


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    for folder in sys.path:
        found = _listed(Path(folder or "."))
        if found is not None:
            return found
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    built = subprocess.run(
        [UV, "build", "--quiet", "--wheel", "--out-dir", str(wheels), str(ROOT)] if UV else pip,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert built.returncode == 0, built.stdout
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(str(next(wheels.glob("*.whl")))) as wheel:
        wheel.extractall(str(folder))
    return _listed(folder)
