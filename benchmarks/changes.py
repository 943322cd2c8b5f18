"""The small changes of the reference that `mutation.py` draws: where they are, their names, and how one is made."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import sys
from collections import Counter
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "conformance"))

from npu_conformance.files import toml_file  # noqa: E402

__all__ = [
    "AREAS", "DROP_IN", "REVIEWED", "ROOT", "Area", "Finder", "Mutant", "drawn", "entries", "mutants", "place_of",
    "replaced", "seen_before", "with_change",
]  # fmt: skip

#: A file for each area: `[[survivor]]` entries, and `[[seen]]` ones that a test asks again.
REVIEWED = os.path.join(ROOT, "benchmarks", "results", "mutation")

#: What scripts import, beside the package of the reference.
DROP_IN = ("npu_bridge", "npu_device", "hccl")


class Area(NamedTuple):
    """What is changed together, and who is asked.

    methods: whose cases see it, the likeliest first; `run` is asked with TensorFlow only. hidden: files and folders
    that no answer of the protocol shows. rooms: folders of the reference, or packages of the drop-in.
    """

    methods: Tuple[str, ...]
    hidden: Tuple[str, ...] = ()
    rooms: Tuple[str, ...] = ()


AREAS: Dict[str, Area] = {
    "options": Area(
        ("options", "partition", "precision", "timeline", "compile"),
        ("options/page.py", "options/schema.py", "options/assignments.py", "options/runconfig.py"),
    ),
    "partition": Area(
        ("partition", "precision"),
        ("partition/explain.py", "partition/explaining/annotate.py", "partition/explaining/half.py",
         "partition/building/build.py", "partition/building/state.py"),
    ),
    "precision": Area(("precision",), ("precision/explain.py", "precision/flops.py", "precision/half_range.py")),
    "graphs": Area(
        ("partition", "precision"),
        ("graphs/builder.py", "graphs/textout.py", "graphs/writers.py", "graphs/shaping/", "graphs/signature.py",
         "graphs/importing.py", "graphs/wire.py"),
    ),
    "catalog": Area(("precision", "partition")),
    "compiler": Area(("timeline", "compile", "run")),
    "device": Area(("timeline", "compile", "run"), ("device/numerics/", "hardware/page.py"), ("device", "hardware")),
    "artifacts": Area(("compile", "library", "run")),
    "profiling": Area(("timeline", "run")),
    "tuning": Area(("timeline", "compile", "run")),
    "dumps": Area(("run",)),
    "numerics": Area(("run",), (), ("device/numerics",)),
    "runtime": Area(("run",)),
    "surface": Area(("run",), ("surface/page.py",), ("surface", *DROP_IN)),
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: `name` stays the same while the changed code does.

    lines: the first and the last of the statement, those of its head where it has a body; (0, 0) outside functions.
    within: the function it is in, with its classes, as `Class.function`.
    """

    name: str
    area: str
    path: str
    line: int
    kind: str
    change: str
    index: int
    lines: Tuple[int, int] = (0, 0)
    within: str = ""


_SWAPPED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip

#: Calls whose texts are words for people.
_WORDS = {"NpuError", "Problem", "warn", "warn_idle", "note", "Note", "Advice", "Reason", "Cause", "error", "declare",
          "Remark", "GrammarError", "did_you_mean", "echo", "_reason"}  # fmt: skip

#: What types are made of.
_TYPES = {"Callable", "Dict", "FrozenSet", "Iterable", "Iterator", "List", "Mapping", "NamedTuple", "Optional",
          "Sequence", "Set", "Tuple", "Type", "Union"}  # fmt: skip


class Finder(ast.NodeVisitor):
    """All places of a module that can be changed, as (node, kind, part, words)."""

    def __init__(self) -> None:
        self.found: List[Tuple[ast.AST, str, int]] = []
        self._inside: List[str] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.AnnAssign, ast.arg)) or type(node).__name__ == "arguments":
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                self.visit(node.value)
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            for statement in body:
                self.visit(statement)
            return
        if isinstance(node, ast.Module):
            for statement in node.body[ast.get_docstring(node, clean=False) is not None :]:
                if not isinstance(statement, (ast.Import, ast.ImportFrom)) and not _is_all(statement):
                    self.visit(statement)
            return
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in _TYPES:
            return  # the name of a type, wherever it stands, decides nothing
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
            if isinstance(node, ast.Raise):
                self.found.append((node, "statement", 0))
            return
        self._here(node)
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", ""))
        self._inside.append(name if name in _WORDS else "")
        self.generic_visit(node)
        self._inside.pop()

    def _here(self, node: ast.AST) -> None:
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
            self.found.append((node, "comparison", 0))
        elif isinstance(node, ast.Constant) and not any(self._inside):
            if isinstance(node.value, (bool, int)) or (isinstance(node.value, str) and 0 < len(node.value) < 40):
                self.found.append((node, "constant", 0))
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            self.found.append((node, "condition", 0))
        elif isinstance(node, ast.BoolOp):
            self.found += [(node, "condition", 1), (node, "condition", 2)]
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            if len(node.elts) > 1 and not any(self._inside):
                self.found += [(node, "element", part) for part in range(min(len(node.elts), 3))]
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:
            self.found += [(node, "element", part) for part in range(min(len(node.keys), 3))]
        elif isinstance(node, (ast.AugAssign, ast.Continue, ast.Break)) or (
            isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
        ):
            self.found.append((node, "statement", 0))


def _is_all(statement: ast.stmt) -> bool:
    targets = getattr(statement, "targets", [])
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def with_change(tree: ast.Module, index: int) -> ast.Module:
    """The tree with the change of that number made."""
    finder = Finder()
    finder.visit(tree)
    target, kind, part = finder.found[index]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return replaced(node, kind, part) if node is target else self.generic_visit(node)

    changed: ast.Module = ast.fix_missing_locations(Change().visit(tree))
    return changed


def replaced(node: Any, kind: str, part: int) -> ast.AST:
    new: ast.AST = node
    if kind == "comparison":
        new = ast.Compare(node.left, [_SWAPPED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif kind == "constant":
        value = node.value
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value + "_"
        new = ast.Constant(other)
    elif kind == "condition" and isinstance(node, ast.BoolOp):
        left = [node.values[part - 1]] if len(node.values) == 2 else node.values[part:]
        new = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
    elif kind == "condition":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif kind == "element" and isinstance(node, ast.Dict):
        new = ast.Dict(node.keys[:part] + node.keys[part + 1 :], node.values[:part] + node.values[part + 1 :])
    elif kind == "element":
        elts = node.elts[:part] + node.elts[part + 1 :]
        new = ast.Set(elts) if isinstance(node, ast.Set) else type(node)(elts, node.ctx)
    else:
        new = ast.Pass()
    return ast.copy_location(new, node)


@functools.lru_cache(maxsize=None)
def mutants(area: str) -> List[Mutant]:
    """Every change of an area that is not in a reviewed scope, in the order of its files."""
    found: List[Mutant] = []
    scopes = _scopes()
    for room in AREAS[area].rooms or (area,):
        package = () if room in DROP_IN else ("npu_reference",)
        for place, folders, names in os.walk(os.path.join(ROOT, "impl", *package, *room.split("/"))):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(place, name)
                inside = place_of(path)
                if name.endswith(".py") and not inside.startswith(AREAS[area].hidden) and "_generate" not in inside:
                    found += (one for one in _of_file(area, path) if scopes.isdisjoint(_places(one)))
    return found


def place_of(path: str) -> str:
    """Where a file of the checkout is: in the package of the reference, or in the drop-in with its package's name."""
    found = os.path.relpath(path, os.path.join(ROOT, "impl"))
    return found[len("npu_reference/") :] if found.startswith("npu_reference") else found


def _places(mutant: Mutant) -> List[str]:
    """The folders, the file, the classes and the function a change is in, as scopes name them."""
    path = mutant.name.partition(":")[0]
    folders = path.split("/")[:-1]
    within = mutant.within.split(".") if mutant.within else []
    return [
        *("/".join(folders[:most]) for most in range(1, len(folders) + 1)),
        path,
        *(f"{path}:{'.'.join(within[:most])}" for most in range(1, len(within) + 1)),
    ]


def _of_file(area: str, path: str) -> Iterator[Mutant]:
    with open(path, encoding="utf-8") as stream:
        source = stream.read()
    tree = ast.parse(source)
    finder = Finder()
    finder.visit(tree)
    inside = place_of(path)
    lines, rows = _statements(tree), source.encode("utf-8").split(b"\n")
    seen: Counter = Counter()
    for index, (node, kind, part) in enumerate(finder.found):
        text = " ".join(_segment(rows, node).split())
        key = f"{inside}/{kind}/{part}/{text}"
        seen[key] += 1
        digest = hashlib.sha256(f"{key}/{seen[key]}".encode()).hexdigest()[:8]
        # An expression belongs to the smallest statement around it.
        around = [one for one in lines if one[0] <= node.lineno <= one[1]]
        place = lines[min(around, key=lambda one: one[1] - one[0])] if around else ((0, 0), "")
        change = f"{text[:90]} [{kind} {part}]"
        yield Mutant(f"{inside}:{digest}", area, path, node.lineno, kind, change, index, *place)


def _segment(rows: Sequence[bytes], node: Any) -> str:
    """The source of a node, as :func:`ast.get_source_segment` gives it, which takes the whole file apart each time."""
    found = list(rows[node.lineno - 1 : node.end_lineno])
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0][node.col_offset :]
    return b"\n".join(found).decode("utf-8")


def _statements(tree: ast.Module) -> Dict[Tuple[int, int], Tuple[Tuple[int, int], str]]:
    """First and last line of each statement, of its head where it has a body -> the same and its function.

    Of what is in no function the lines are (0, 0).
    """
    found = {}

    def look(node: ast.AST, names: Tuple[str, ...], called: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names, called = (*names, node.name), called or isinstance(node, ast.FunctionDef)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                body = getattr(child, "body", None)
                last = max(child.lineno, body[0].lineno - 1) if body else child.end_lineno or child.lineno
                found[child.lineno, last] = ((child.lineno, last) if called else (0, 0), ".".join(names))
            look(child, names, called)

    look(tree, (), False)
    return found


def drawn(seed: int, areas: Sequence[str], count: int) -> List[Mutant]:
    """As many changes of each area, by the seed."""
    return [one for area in areas for one in _shuffled(seed, mutants(area))[:count]]


def seen_before(area: str, count: Optional[int] = None, seed: int = 0) -> List[Mutant]:
    """As many of the changes that are listed as seen, by the seed; all of them where nothing is said.

    Raises:
        LookupError: one of these is no change of today.
    """
    names = {one["name"] for one in entries("seen", area)}
    found = [one for one in mutants(area) if one.name in names]
    gone = names - {one.name for one in found}
    if gone:
        raise LookupError(f"{area}: the code has moved on, name other changes than {', '.join(sorted(gone))}")
    return _shuffled(seed, found)[:count]


def _shuffled(seed: int, chosen: Iterable[Mutant]) -> List[Mutant]:
    """By a digest of each name: what else changes in the area moves none of the others."""
    return sorted(chosen, key=lambda one: hashlib.sha256(f"{seed}/{one.name}".encode()).digest())


def entries(kind: str, area: str = "") -> List[Dict[str, str]]:
    """The `survivor`, `scope` or `seen` entries of all areas, or of one."""
    found: List[Dict[str, str]] = []
    for name in sorted(os.listdir(REVIEWED)):
        if name.endswith(".toml") and area in ("", name[: -len(".toml")]):
            found += toml_file.load(os.path.join(REVIEWED, name)).get(kind, [])
    return found


def _scopes() -> FrozenSet[str]:
    return frozenset(one["place"] for one in entries("scope"))
