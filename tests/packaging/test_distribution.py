"""What the installed distribution holds, and that it never stands in the way of a real adapter."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.depth import at_night

pytestmark = [pytest.mark.tensorflow_version, pytest.mark.between_at_night, pytest.mark.newest_at_night]

ROOT = Path(__file__).resolve().parents[2]
TENSORFLOW = importlib.util.find_spec("tensorflow") is not None


def tree(folder):
    """Every file that belongs below a folder of the checkout."""
    below = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(ROOT / folder).as_posix() for path in below}


DROPIN = ["npu_bridge", "hccl", "npu_device"]


def test_nothing_of_the_adapter_is_installed_at_top_level(distribution):
    tops = {name.split("/")[0] for name in distribution.files if ".dist-info" not in name and ".." not in name}
    assert tops == {"npu_reference", "npu_conformance"}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *[(f"impl/{package}", f"npu_reference/_dropin/{package}") for package in DROPIN],
        ("impl/npu_reference", "npu_reference"),
        ("conformance/npu_conformance", "npu_conformance"),
        ("fixtures", "npu_conformance/_data/fixtures"),
        ("golden", "npu_conformance/_data/golden"),
    ],
)
def test_every_file_of_the_checkout_is_installed(distribution, source, target):
    missing = {f"{target}/{name}" for name in tree(source)} - set(distribution.files)
    assert not missing


def test_every_page_of_the_documentation_is_installed(distribution):
    pages = {f"npu_conformance/_data/docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in distribution.files if "/_data/docs/" in name} == pages
    done = distribution.run("from npu_conformance.library import explaining\nprint(explaining.readings()['A19'].name)")
    assert done.stdout.strip() == "A19", done.stderr


@pytest.mark.parametrize("package", DROPIN)
def test_a_package_of_the_adapter_cannot_be_imported_before_it_is_switched_on(distribution, package):
    done = distribution.run(f"import npu_reference\nimport {package}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{package}'"


@pytest.mark.parametrize("module", ["npu_bridge.npu_init", at_night("hccl.manage.api"), at_night("npu_device.compat")])
def test_switching_it_on_makes_the_adapter_importable(distribution, module):
    done = distribution.run(
        "import npu_reference, sys\n"
        "try:\n"
        "    npu_reference.activate()\n"
        "except npu_reference.NpuError as error:\n"
        "    print(error.code)\n"
        "else:\n"
        f"    import {module}\n"
        f"    print(sys.modules[{module.split('.')[0]!r}].__file__)\n"
    )
    assert done.returncode == 0, done.stderr
    installed = distribution.folder / "npu_reference" / "_dropin" / module.split(".")[0] / "__init__.py"
    assert done.stdout.strip() == (str(installed) if TENSORFLOW else "TENSORFLOW_MISSING")


@pytest.mark.parametrize("package", DROPIN)
def test_a_real_adapter_is_found_as_long_as_nothing_is_switched_on(distribution, tmp_path, package):
    real = tmp_path / package
    real.mkdir()
    (real / "__init__.py").write_text("IS = 'the real one'\n")
    done = distribution.run(f"import npu_reference, npu_conformance, {package}\nprint({package}.IS)", tmp_path)
    assert done.stdout.strip() == "the real one", done.stderr


def test_the_samples_of_the_documents_come_along(distribution):
    folder = "npu_conformance/_data/fixtures/scripts/"
    names = {Path(name).name for name in distribution.files if name.startswith(folder)}
    assert {"doc000_session.py", "doc000_estimator.py", "doc000_keras.py", "doc001_enable.py"} <= names


def test_every_module_can_be_imported(distribution):
    sources = [name for name in distribution.files if name.endswith(".py") and "/_data/" not in name]
    dropin = [name for name in sources if "/_dropin/" in name]
    paths = [Path(name).parent if name.endswith("__init__.py") else Path(name).with_suffix("") for name in sources]
    modules = [".".join(path.parts) for name, path in zip(sources, paths) if name not in dropin]
    done = distribution.run(
        "import importlib, pathlib, npu_reference\n"
        f"for name in {sorted(modules)!r}:\n"
        "    try:\n"
        "        name.endswith('.__main__') or importlib.import_module(name)\n"
        "    except npu_reference.NpuError as error:\n"
        "        if error.code != 'TENSORFLOW_MISSING':\n"
        "            raise\n"
        "        print(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        if error.name not in ('pygls', 'lsprotocol'):\n"  # the extra lsp
        "            raise\n"
        f"for name in {dropin!r}:\n"
        f"    compile(pathlib.Path({str(distribution.folder)!r}, name).read_bytes(), name, 'exec')\n"
    )
    assert done.returncode == 0, done.stderr
    assert len(modules) > 300 and len(dropin) > 20
    assert not done.stdout if TENSORFLOW else all("npu_reference.runtime" in name for name in done.stdout.split())
