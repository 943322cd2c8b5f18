"""Builds what a release publishes and tries it as a user would: ``python release/release.py OUT``.

``tox run -e release`` brings what that needs beside git and the interpreters. From a clean clone of the commit that is
checked out come the sdist, the wheel made of it, an SBOM and checksums. Then pip installs the wheel into an empty
environment of every Python, where it is used. Ends with a table; status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
#: What belongs at the top of the wheel; never the adapter's own packages.
TOPS = {"npu_reference", "npu_conformance"}


class Failed(Exception):
    """A step that did not give what it should, with what it said."""


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    out = Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        print(f"{out} is not empty", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="npu-conformance-release-") as folder:
        try:
            sdist, wheel = build(Path(folder), out, str(options.commit))
            version = contents(sdist, wheel)
            sbom(Path(folder) / "sbom", wheel, version, out)
        except Failed as failed:
            print(f"FAILED {failed}", file=sys.stderr)
            return 1
        rows = []
        pythons = options.python or PYTHONS
        for number, name in enumerate(pythons):
            place = Path(folder) / f"python{number}"
            rows.append(_row(name, wheel.name, lambda: tried(name, place, wheel, version)))  # noqa: B023
            shutil.rmtree(str(place), ignore_errors=True)
        # An sdist is built by the newest hatchling that a Python has: the ends differ most.
        for name in sorted({pythons[0], pythons[-1]}, key=pythons.index):
            place = Path(folder) / f"sdist-{name}"
            rows.append(_row(name, sdist.name, lambda: _of_sdist(name, place, sdist, version)))  # noqa: B023
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    print(f"\n| Python | from | result | seconds |\n|---|---|---|---|\n{''.join(row.text for row in rows)}")
    print(f"{version}: {', '.join(path.name for path in sorted(out.iterdir()))} in {out}")
    return 0 if all(row.good for row in rows) else 1


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="release/release.py", description=__doc__)
    parser.add_argument("out", metavar="OUT", help="an empty folder for what is published")
    parser.add_argument("--commit", default="HEAD", help="what to release; default HEAD")
    parser.add_argument(
        "--python", action="append", metavar="VERSION", help="only these, a version or a path; default 3.7 to 3.13"
    )
    return parser.parse_args(arguments)


def build(folder: Path, out: Path, commit: str) -> Tuple[Path, Path]:
    """The sdist of a clean clone, and the wheel of that sdist, both checked by twine."""
    clone = folder / "clone"
    _said(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(clone)])
    _said(["git", "-C", str(clone), "checkout", "--quiet", "--detach", _said(["git", "rev-parse", commit], ROOT)])
    when = _said(["git", "-C", str(clone), "log", "-1", "--format=%ct"])
    print(f"building {_said(['git', '-C', str(clone), 'log', '-1', '--format=%H %s'])}", flush=True)
    _said([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(clone)], SOURCE_DATE_EPOCH=when)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    _said([sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)])
    tracked = set(_said(["git", "-C", str(clone), "ls-files"]).splitlines())
    with tarfile.open(str(sdist)) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    strange = packed - tracked - {"PKG-INFO", "impl/npu_reference/_built.py"}
    if strange:
        raise Failed(f"{sdist.name} has files that git does not: {', '.join(sorted(strange)[:5])}")
    return sdist, wheel


def contents(sdist: Path, wheel: Path) -> str:
    """The version that both have, once their files are seen to be those that belong there."""
    with zipfile.ZipFile(str(wheel)) as archive:
        names = archive.namelist()
    version = next(line[len("Version: ") :] for line in _metadata(wheel) if line.startswith("Version: "))
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if tops != TOPS:
        raise Failed(f"{wheel.name} has {', '.join(sorted(tops))} at its top, not {', '.join(sorted(TOPS))}")
    if any("__pycache__" in name or name.endswith((".pyc", ".orig", ".swp")) for name in names):
        raise Failed(f"{wheel.name} has files that belong to nobody")
    needed = [
        "npu_reference/_built.py", "npu_reference/_dropin/npu_bridge/__init__.py", "npu_conformance/py.typed",
        "npu_conformance/_data/docs/readings.md", f"npu_conformance-{version}.dist-info/licenses/LICENSE",
    ]  # fmt: skip
    missing = sorted(set(needed) - set(names))
    if missing:
        raise Failed(f"{wheel.name} lacks {', '.join(missing)}")
    if sdist.name != f"npu_conformance-{version}.tar.gz":
        raise Failed(f"{sdist.name} is not of version {version}")
    return version


def sbom(place: Path, wheel: Path, version: str, out: Path) -> None:
    """A CycloneDX list of what the wheel brings along where it is installed today, pages included."""
    python = _environment(sys.executable, place)
    _said([python, "-m", "pip", "install", "--quiet", f"{wheel}[report]"])
    _said([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"])
    # By this the tool tells what is listed from what it brings along.
    needs = [need for need in _needs(wheel) if "extra ==" not in need or "extra == 'report'" in need]
    project = {"name": "npu-conformance", "version": version, "dependencies": [one.split(";")[0] for one in needs]}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in project.items()]
    about = place / "pyproject.toml"
    about.write_text("[project]\n" + "".join(lines) + 'license.text = "Apache-2.0"\n', encoding="utf-8")
    bill = out / f"npu-conformance-{version}.cdx.json"
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject", str(about)]
    _said([*tool, "--output-file", str(bill), python])
    found = json.loads(bill.read_text(encoding="utf-8"))
    found["metadata"]["component"]["purl"] = f"pkg:pypi/npu-conformance@{version}"
    names = {one["name"].lower().replace("_", "-") for one in found["components"]}
    if not {"click", "jinja2", "numpy", "protobuf", "rich", "tokenize-rt", "tomli"} <= names:
        raise Failed(f"the SBOM lacks a dependency: it has {', '.join(sorted(names))}")
    bill.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _metadata(wheel: Path) -> List[str]:
    with zipfile.ZipFile(str(wheel)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name).decode("utf-8").splitlines()


def _needs(wheel: Path) -> List[str]:
    mark = "Requires-Dist: "
    return [line[len(mark) :] for line in _metadata(wheel) if line.startswith(mark)]


class Use(NamedTuple):
    """A command of ours, and what it must say with which status."""

    words: Sequence[str]
    status: int
    says: str


def _uses(python: str, version: str) -> Iterator[Use]:
    graph = "try/model.pb"
    yield Use(["--version"], 0, version)
    yield Use(["demo", "try"], 0, "model.pb")
    yield Use(["lint", "try"], 1, "W101")
    yield Use(["partition", graph, "-o", "mix_compile_mode=true"], 0, "in 1 GEOP ")
    yield Use(["options", "mix_compile_mode=true", "iterations_per_loop=10"], 2, "OPTION_CONFLICT")
    small = ["--area", "mixed", "--laws", "0"]
    yield Use(["run", *small, "--out", "report"], 0, f"conformant: reference {version}")
    yield Use(["verify", "report"], 0, "The results hold")
    faulty = ["--backend", f"exec:{python} try/faulty_backend.py"]
    yield Use(["run", *small, "-k", "mixed-with", *faulty, "--out", "faulty"], 1, "not conformant")


def tried(name: str, place: Path, wheel: Path, version: str) -> None:
    """Install the wheel alone, use it; then with pages, and see one."""
    python = _environment(_interpreter(name), place)
    _said([python, "-m", "pip", "install", "--quiet", str(wheel)])
    _said([python, "-m", "pip", "check"])
    for use in _uses(python, version):
        _used(python, place, use)
    stated = json.loads((place / "report" / "statement.json").read_text(encoding="utf-8"))
    if stated["suite"]["version"] != version:
        raise Failed(f"the statement names {stated['suite']['version']}")
    _said([python, "-m", "pip", "install", "--quiet", f"{wheel}[report]"])
    _used(python, place, Use(["partition", "try/model.pb", "--html", "page.html"], 0, "GEOPs"))
    if f"npu-conformance {version}" not in (place / "page.html").read_text(encoding="utf-8"):
        raise Failed("the page does not name the version")


def _of_sdist(name: str, place: Path, sdist: Path, version: str) -> None:
    python = _environment(_interpreter(name), place)
    _said([python, "-m", "pip", "install", "--quiet", str(sdist)])
    for use in list(_uses(python, version))[:4]:
        _used(python, place, use)


def _used(python: str, place: Path, use: Use) -> None:
    command = [str(Path(python).with_name("npu-conformance")), *use.words]
    done = _run(command, place)
    if done.returncode != use.status or use.says not in done.stdout:
        last = "\n".join(done.stdout.splitlines()[-15:])
        raise Failed(f"npu-conformance {' '.join(use.words)}: status {done.returncode}, not {use.status} with "
                     f"{use.says!r}:\n{last}")  # fmt: skip


class Row(NamedTuple):
    text: str
    good: bool


def _row(python: str, of: str, step: Callable[[], None]) -> Row:
    began = time.monotonic()
    failed: Optional[Failed] = None
    try:
        step()
    except Failed as error:
        failed = error
        print(f"FAILED Python {python}, {of}: {failed}", file=sys.stderr, flush=True)
    said = str(failed).splitlines()[0] if failed else "works"
    kind = "wheel" if of.endswith(".whl") else "sdist"
    print(f"Python {python}, {kind}: {said}", flush=True)
    return Row(f"| {python} | {kind} | {said} | {time.monotonic() - began:.0f} |\n", failed is None)


def _interpreter(name: str) -> str:
    """The path of a Python by its version; a path is taken as it is."""
    if os.sep in name:
        return name
    for command in ([f"python{name}", "-c", "import sys; print(sys.executable)"], ["uv", "python", "find", name]):
        if shutil.which(command[0]):
            done = _run(command, ROOT, merged=False)
            if done.returncode == 0:
                return done.stdout.strip()
    raise Failed(f"no interpreter of Python {name} was found")


def _environment(interpreter: str, place: Path) -> str:
    """An empty environment, with the pip that its Python brings along; returns its interpreter."""
    _said([interpreter, "-m", "venv", str(place)])
    return str(place / "bin" / "python")


def _said(command: List[str], folder: Optional[Path] = None, **variables: str) -> str:
    done = _run(command, folder, merged=False, **variables)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise Failed(f"{' '.join(command)}: status {done.returncode}:\n{last}")
    return done.stdout.strip()


def _run(
    command: List[str], folder: Optional[Path] = None, merged: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=str(folder) if folder else None, env={**_environ(), **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


def _environ() -> Dict[str, str]:
    """Ours, without what would let an environment see other packages than its own."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT", "PIP_REQUIRE_VIRTUALENV")
    return {
        **{name: value for name, value in os.environ.items() if name not in hidden},
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONNOUSERSITE": "1",
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
