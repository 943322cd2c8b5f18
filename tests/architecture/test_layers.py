"""The house keeps its shape: data flows down, and the TensorFlow-free parts stay so."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

import npu_conformance
import npu_reference

REFERENCE = pathlib.Path(npu_reference.__file__).parent
SUITE = pathlib.Path(npu_conformance.__file__).parent

#: A package may import the ones before it in this list, and itself.
LAYERS = [["errors"], ["options", "graphs"], ["catalog"], ["partition"], ["precision"], ["device"], ["runtime"]]

TENSORFLOW_FREE = ["errors", "options", "graphs", "catalog", "partition", "precision"]

#: Where the suite may reach TensorFlow: only through the reference backend's execution.
SUITE_EXECUTION = {"npu_reference.runtime"}


def modules(root):
    return sorted(path for path in root.rglob("*.py") if "_dropin" not in path.parts and "_data" not in path.parts)


def imported_names(path, root, package):
    """Absolute dotted names of everything `path` imports, wherever in the file."""
    relative = path.relative_to(root).with_suffix("")
    parts = [package, *relative.parts]
    if parts[-1] == "__init__":
        parts = parts[:-1]
        here = parts
    else:
        here = parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{stem}.{alias.name}"


def layer_of(name):
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    return None


@pytest.mark.parametrize("path", modules(REFERENCE), ids=lambda path: str(path.relative_to(REFERENCE)))
def test_a_module_imports_only_from_its_own_layer_or_those_above(path):
    own = path.relative_to(REFERENCE).parts[0]
    own = own[:-3] if own.endswith(".py") else own
    mine = layer_of(own)
    if mine is None:
        return  # __init__ and __main__ stand outside the layers
    for name in imported_names(path, REFERENCE, "npu_reference"):
        if not name.startswith("npu_reference."):
            continue
        other = name.split(".")[1]
        theirs = layer_of(other)
        if theirs is not None and other != own:
            assert theirs <= mine, f"{path.name} imports {name}"


def is_tensorflow(name):
    return name.split(".")[0] in {"tensorflow", "tf_keras", "keras", "tensorflow_estimator"}


@pytest.mark.parametrize("package", TENSORFLOW_FREE)
def test_no_tensorflow_import_stands_in_a_tensorflow_free_package(package):
    root = REFERENCE / package
    # Committed programs that record facts from an installed TensorFlow are run by hand, never imported.
    paths = [p for p in (root.rglob("*.py") if root.is_dir() else []) if "_generate" not in p.parts]
    for path in [*paths, *([root.with_suffix(".py")] if root.with_suffix(".py").exists() else [])]:
        found = [name for name in imported_names(path, REFERENCE, "npu_reference") if is_tensorflow(name)]
        assert not found, f"{path} imports {found}"


def test_importing_the_tensorflow_free_packages_leaves_tensorflow_out():
    program = (
        "import sys, npu_reference\n"
        "import npu_reference.options, npu_reference.graphs, npu_reference.catalog, npu_reference.partition\n"
        "import npu_conformance.cli\n"
        "heavy = {'tensorflow', 'numpy', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_suite_reaches_tensorflow_only_through_the_runtime():
    for path in modules(SUITE):
        found = [name for name in imported_names(path, SUITE, "npu_conformance") if is_tensorflow(name)]
        assert not found, f"{path} imports {found}"
