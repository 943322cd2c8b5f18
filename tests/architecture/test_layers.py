"""The house keeps its shape: data flows down, and the TensorFlow-free parts stay so."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

import npu_conformance
import npu_reference
from npu_reference.options import OPTIONS

pytestmark = pytest.mark.not_oldest

REFERENCE = pathlib.Path(npu_reference.__file__).parent
SUITE = pathlib.Path(npu_conformance.__file__).parent

#: A package may import the ones before it in this list, and itself.
LAYERS = [
    ["derived_page", "errors", "notebooks", "place", "reading", "spelling", "strict_json"],
    ["options", "surface", "graphs", "hardware", "dumps"],
    ["catalog"], ["partition"], ["precision"], ["compiler"], ["device"],
    ["artifacts", "profiling", "tuning"], ["runtime"],
]  # fmt: skip

TENSORFLOW_FREE = [
    "errors", "notebooks", "place", "reading", "spelling", "options", "surface", "graphs", "hardware", "dumps",
    "catalog", "partition", "strict_json", "precision", "compiler", "device/timing", "device/links",
    "device/faults", "device/watchdogs", "artifacts", "profiling", "tuning",
]  # fmt: skip

#: Where the suite may reach TensorFlow: only through the reference backend's execution.
SUITE_EXECUTION = {"npu_reference.runtime"}


def modules(root):
    return sorted(path for path in root.rglob("*.py") if "_dropin" not in path.parts and "_data" not in path.parts)


@functools.lru_cache(maxsize=None)
def imported_names(path, root, package):
    """Absolute dotted names of everything `path` imports, wherever in the file."""
    return list(_imported(path, root, package))


def _imported(path, root, package):
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


#: Rooms inside a package, from the ground up: a room may import the ones before it, and itself. Modules that stand in
#: no room are its doors and its ground, and may be imported by all.
ROOMS = {
    "npu_conformance": [
        "files", "observing", "library", "protocol", "backends", "judging", "running", "strength", "models",
        "inspecting", "lint", "report", "commands",
    ],
    "npu_reference.partition": [
        "structure", "candidates", "borders", "clustering", "explaining", "policies", "building",
    ],
    "npu_reference.runtime": ["observing", "exchange", "operators", "execution", "agreement", "sessions", "scripts"],
}  # fmt: skip


def import_graph():
    """Every module of ours with those it imports, wherever in the file and for whatever purpose."""
    found = {}
    for root, package in ((REFERENCE, "npu_reference"), (SUITE, "npu_conformance")):
        for path in modules(root):
            parts = [package, *path.relative_to(root).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = (path, root, package)
    edges = {}
    for name, (path, root, package) in found.items():
        edges[name] = set()
        for imported in imported_names(path, root, package):
            target = imported if imported in found else imported.rpartition(".")[0]
            if target in found and target != name:
                edges[name].add(target)
    return edges


def circles(edges):
    """Groups of modules that reach each other, smallest first name first."""
    reached = {}
    for start in edges:
        seen, waiting = set(), [start]
        while waiting:
            for target in edges[waiting.pop()]:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        reached[start] = seen
    groups = {frozenset({a, *(b for b in reached[a] if a in reached[b])}) for a in edges if a in reached[a]}
    return sorted(groups, key=sorted)


def test_imports_run_in_no_circle():
    assert circles(import_graph()) == []


def test_a_room_imports_only_from_the_rooms_below_it():
    wrong = []
    for name, targets in import_graph().items():
        for package, rooms in ROOMS.items():
            room = name[len(package) + 1 :].split(".")[0] if name.startswith(package + ".") else None
            if room not in rooms:
                continue
            above = [f"{package}.{other}" for other in rooms[rooms.index(room) + 1 :]]
            wrong += [
                f"{name} imports {target}"
                for target in targets
                for one in above
                if (target + ".").startswith(one + ".")
            ]
    assert not wrong, wrong


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
        "import npu_reference.options, npu_reference.surface, npu_reference.graphs\n"
        "import npu_reference.catalog, npu_reference.partition\n"
        "import npu_conformance.cli\n"
        "heavy = {'tensorflow', 'numpy', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_suite_reaches_tensorflow_only_through_the_runtime():
    for path in modules(SUITE):
        found = [name for name in imported_names(path, SUITE, "npu_conformance") if is_tensorflow(name)]
        assert not found, f"{path} imports {found}"


#: Modules that show or hand on every option, whatever its name.
OF_EVERY_OPTION = {"npu_config.py", "checking.py"}


def option_values_read(path):
    """Lines of a module that read values of a resolution by an option's name, not whole."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    whole = {node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr == "items"}
    whole |= {node.func for node in nodes if isinstance(node, ast.Call)}
    whole |= {one for node in nodes if isinstance(node, ast.Compare) for one in (node.left, *node.comparators)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("values", "effective", "parsed") and node not in whole:
            owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
            if owner.endswith(("resolution", "options")):
                yield f"{path.name}:{node.lineno}"


def test_option_values_are_read_by_name_in_one_module_only():
    outside = [path for path in modules(REFERENCE) if path.relative_to(REFERENCE).parts[0] != "options"]
    outside += modules(SUITE) + modules(REFERENCE.parent / "npu_bridge")
    assert [one for path in outside if path.name not in OF_EVERY_OPTION for one in option_values_read(path)] == []
    named = re.compile("|".join(rf'(?:get|meaning)\("{name}"|\["{name}"\]' for name in OPTIONS))
    inside = {path.name for path in (REFERENCE / "options").glob("*.py") if named.search(path.read_text("utf-8"))}
    # What the adapter's own pass makes of a parameter map is read before anything is resolved.
    assert inside == {"adapter_reading.py", "resolve.py", "typed.py"}
