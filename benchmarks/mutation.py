"""Changes the reference at random, one small change at a time, and asks whether the suite would call it conformant.

Usage: python benchmarks/mutation.py [--seed N] [--count N] [--area AREA]... [--seconds N] [--all]

A change is one of a comparison, a constant, a condition, an element of a literal, a statement. Each is judged as a
vendor's backend would be, in a process of its own: by every case that needs no TensorFlow, then by the laws. Those that
nobody sees are looked up in `results/mutation/`, a file for each area, where each has been reviewed: `equivalent` (no
answer changes), `silent` (no document says which is right) or `hole` (a document forbids it, and the suite is blind).
What is not reviewed counts as a hole. Printed is the score by area: killed of killed and holes.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import importlib.machinery
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

_ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
for _room in ("impl", "conformance"):
    sys.path.insert(0, os.path.join(_ROOT, _room))

from npu_conformance.files import toml_file  # noqa: E402
from npu_conformance.judging import judge  # noqa: E402
from npu_conformance.library import library  # noqa: E402
from npu_conformance.strength import hosting  # noqa: E402
from npu_conformance.strength.laws import asking  # noqa: E402

__all__ = ["AREAS", "Mutant", "Score", "drawn", "entries", "judged", "main", "mutants", "reviewed", "scores"]

#: A file for each area: `[[survivor]]` entries, and `[[seen]]` ones that a test asks again.
REVIEWED = os.path.join(_ROOT, "benchmarks", "results", "mutation")

#: Rooms of the reference that are changed, and what of them no answer of the protocol shows.
AREAS: Dict[str, Tuple[str, ...]] = {
    "options": ("page.py", "schema.py", "assignments.py", "runconfig.py"),
    "partition": ("explain.py", "explaining/annotate.py", "explaining/half.py", "building/build.py",
                  "building/state.py"),
    "precision": ("explain.py", "flops.py", "half_range.py"),
    "graphs": ("builder.py", "textout.py", "writers.py", "shapes.py", "shape_rules.py", "shape_values.py",
               "private_shapes.py", "signature.py", "importing.py", "wire.py"),
    "catalog": (),
}  # fmt: skip

#: Methods whose cases see an area, the likeliest first.
_METHODS = {
    "options": ("options", "partition", "precision"),
    "partition": ("partition", "precision"),
    "precision": ("precision",),
    "graphs": ("partition", "precision"),
    "catalog": ("precision", "partition"),
}

#: Modules that stay as they are in the process of a mutant: errors are told apart by their class.
_KEPT = ("npu_reference.errors", "npu_reference.printing", "npu_reference.place")
_SECONDS = 60  # of one mutant; who takes longer is seen (assumed)
_BYTES = 4 << 30  # of memory, the same
_GRAPHS = 40  # random graphs for the laws: fewer than in a run


class Mutant(NamedTuple):
    """One change: `name` stays the same while the changed code does."""

    name: str
    area: str
    path: str
    line: int
    kind: str
    change: str
    index: int


# -- changes ---------------------------------------------------------------------------------------------------------

_SWAPPED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip

#: Calls whose texts are words for people.
_WORDS = {"NpuError", "Problem", "warn", "note", "Note", "Advice", "Reason", "Cause", "error", "declare", "Remark",
          "GrammarError", "echo", "_reason"}  # fmt: skip


class _Finder(ast.NodeVisitor):
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
            for statement in node.body:
                if not isinstance(statement, (ast.Import, ast.ImportFrom)) and not _is_all(statement):
                    self.visit(statement)
            return
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


def _changed(tree: ast.Module, index: int) -> ast.Module:
    """The tree with the change of that number made."""
    finder = _Finder()
    finder.visit(tree)
    target, kind, part = finder.found[index]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return _replaced(node, kind, part) if node is target else self.generic_visit(node)

    changed: ast.Module = ast.fix_missing_locations(Change().visit(tree))
    return changed


def _replaced(node: Any, kind: str, part: int) -> ast.AST:
    new: ast.AST = node
    if kind == "comparison":
        new = ast.Compare(node.left, [_SWAPPED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif kind == "constant":
        value = node.value
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value + "_"
        new = ast.Constant(other)
    elif kind == "condition" and isinstance(node, ast.BoolOp):
        new = node.values[part - 1] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[part:])
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


def mutants(area: str) -> List[Mutant]:
    """Every change of an area, in the order of its files."""
    found: List[Mutant] = []
    folder = os.path.join(_ROOT, "impl", "npu_reference", area)
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            inside = os.path.relpath(path, folder)
            generated = "_generate" in inside
            if name.endswith(".py") and inside not in AREAS[area] and not generated:
                found += _of_file(area, path)
    return found


def _of_file(area: str, path: str) -> Iterator[Mutant]:
    with open(path, encoding="utf-8") as stream:
        source = stream.read()
    tree = ast.parse(source)
    finder = _Finder()
    finder.visit(tree)
    inside = os.path.relpath(path, os.path.join(_ROOT, "impl", "npu_reference"))
    seen: Counter = Counter()
    for index, (node, kind, part) in enumerate(finder.found):
        text = " ".join((ast.get_source_segment(source, node) or "").split())
        key = f"{inside}/{kind}/{part}/{text}"
        seen[key] += 1
        digest = hashlib.sha256(f"{key}/{seen[key]}".encode()).hexdigest()[:8]
        yield Mutant(f"{inside}:{digest}", area, path, node.lineno, kind, f"{text[:90]} [{kind} {part}]", index)


def drawn(seed: int, areas: Sequence[str], count: int) -> List[Mutant]:
    """As many changes of each area, by the seed."""
    found = []
    for area in areas:
        # By a digest of each name: what else changes in the area moves none of the others.
        found += sorted(mutants(area), key=lambda one: hashlib.sha256(f"{seed}/{one.name}".encode()).digest())[:count]
    return found


# -- judging ---------------------------------------------------------------------------------------------------------


class Asker:
    """Judges mutants, each in a process forked off this one."""

    def __init__(self, folder: str, areas: Sequence[str]) -> None:
        self.shelf = library.load()
        methods = {method for area in areas for method in _METHODS[area]}
        instances = [one for one in self.shelf.instances() if not one.twin and one.case.method in methods]
        self.folder, self.panel = folder, hosting.Panel(instances, folder)
        rng = random.Random(0)
        self.order = list(self.panel.sound)
        rng.shuffle(self.order)  # cases that see the same stand together in the library

    def seen(self, mutant: Mutant) -> str:
        """What sees the mutant: the id of an instance, a law, or how it ended; empty when nothing does."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                os.write(write, json.dumps(self._seen(mutant)).encode("utf-8"))
            except BaseException as error:  # noqa: BLE001  whatever a mutant does shows that it is one
                os.write(write, json.dumps(f"ended: {type(error).__name__}").encode("utf-8"))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as stream:
            said = stream.read()
        os.waitpid(child, 0)
        return str(json.loads(said.decode("utf-8"))) if said else "ended without a word"

    def _seen(self, mutant: Mutant) -> str:
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        signal.alarm(_SECONDS)
        try:
            backend = _backend(mutant)
        except Exception as error:  # noqa: BLE001
            return f"does not start: {type(error).__name__}"
        for method in _METHODS[mutant.area]:
            asked = [one for one in self.order if one.case.method == method]
            for one in self.panel.failures(backend, asked):
                return one.id
        for method in _METHODS[mutant.area]:
            law = self._law(backend, method)
            if law:
                return law
        return ""

    def _law(self, backend: Any, method: str) -> str:
        chosen = tuple(one for one in asking.instances() if one.case.method == method)
        claims = judge.Claims.of(backend.hello({"protocol": 1}))
        here: Any = hosting.Here(backend, self.folder)
        asking._SHRINKS = asking._FRESH_SHRINKS = 0
        plan = asking.Plan(_GRAPHS, 0, chosen, self.folder, self.shelf)
        for record in asking.run(plan, "here", here, claims):
            if record.result.status == "fail":
                return record.instance.id
        return ""


def _ours(name: str) -> bool:
    reference = name.startswith("npu_reference.") and not name.startswith(_KEPT)
    return reference or name == "npu_conformance.backends.reference"


class _Apart:
    """A backend of modules of its own: they are in place while it answers, those of the suite at all other times."""

    def __init__(self, make: Any) -> None:
        self._modules: Dict[str, Any] = {}
        self._backend = self._within(make)

    def _within(self, call: Any, *arguments: Any) -> Any:
        kept = {name: module for name, module in sys.modules.items() if _ours(name)}
        for name in kept:
            del sys.modules[name]
        sys.modules.update(self._modules)
        try:
            return call(*arguments)
        finally:
            self._modules = {name: module for name, module in sys.modules.items() if _ours(name)}
            for name in self._modules:
                del sys.modules[name]
            sys.modules.update(kept)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        return lambda params: self._within(method, params)


def _backend(mutant: Mutant) -> Any:
    """The reference with the change, imported anew."""
    with open(mutant.path, encoding="utf-8") as stream:
        tree = _changed(ast.parse(stream.read()), mutant.index)
    code = compile(tree, mutant.path, "exec")
    plain = importlib.machinery.SourceFileLoader.get_code
    # By its place in the package: what is imported may be a copy of it that was installed.
    inside = os.path.relpath(mutant.path, os.path.join(_ROOT, "impl"))

    def get_code(self: Any, fullname: str) -> Any:
        same = os.path.realpath(self.get_filename(fullname)).endswith(os.sep + inside)
        return code if same else plain(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    # pytest loads the packages of its plugins by a loader of its own, ours among them once they are installed.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_pytest")]
    return _Apart(lambda: importlib.import_module("npu_conformance.backends.reference").ReferenceBackend())


class Score(NamedTuple):
    """Of an area: changes seen, holes, not reviewed, equivalent, and where all documents are silent."""

    killed: int
    holes: int
    unreviewed: int
    equivalent: int
    silent: int

    @property
    def share(self) -> float:
        """Percent of what the documents forbid that is seen; what is not reviewed counts as a hole."""
        forbidden = self.killed + self.holes + self.unreviewed
        return 100.0 * self.killed / forbidden if forbidden else 100.0


def entries(kind: str, area: str = "") -> List[Dict[str, str]]:
    """The `survivor` or `seen` entries of all areas, or of one."""
    found: List[Dict[str, str]] = []
    for name in sorted(os.listdir(REVIEWED)):
        if name.endswith(".toml") and area in ("", name[: -len(".toml")]):
            found += toml_file.load(os.path.join(REVIEWED, name)).get(kind, [])
    return found


def reviewed() -> Dict[str, str]:
    """Name of a survivor to its class."""
    return {one["name"]: one["class"] for one in entries("survivor")}


def judged(chosen: Sequence[Mutant], seconds: float, report: Any = None) -> List[Tuple[Mutant, str]]:
    """(mutant, what sees it) of as many as the time allows."""
    found: List[Tuple[Mutant, str]] = []
    areas = list(dict.fromkeys(one.area for one in chosen))
    with tempfile.TemporaryDirectory(prefix="npu-mutation-") as folder:
        asker = Asker(folder, areas)
        end = time.monotonic() + seconds
        for one in chosen:
            if time.monotonic() > end:
                break
            found.append((one, asker.seen(one)))
            if report is not None:
                report(*found[-1])
    return found


def scores(found: Sequence[Tuple[Mutant, str]], known: Dict[str, str]) -> Dict[str, Score]:
    """Area to its score."""
    made = {}
    for area in dict.fromkeys(one.area for one, _ in found):
        of = Counter("killed" if seen else known.get(one.name, "") for one, seen in found if one.area == area)
        made[area] = Score(of["killed"], of["hole"], of[""], of["equivalent"], of["silent"])
    return made


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Prints the score by area, and survivors that nobody has reviewed; 1 when there are some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="changes of each area (40)")
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area; may be repeated")
    parser.add_argument("--seconds", type=float, default=600.0, help="time after which no more are judged (600)")
    given = parser.parse_args(arguments)
    chosen = drawn(given.seed, given.area or list(AREAS), given.count)
    known = reviewed()

    def report(one: Mutant, seen: str) -> None:
        print("." if seen else "?", end="", file=sys.stderr, flush=True)
        if not seen and one.name not in known:
            print(f"unseen  {one.name}  line {one.line}  {one.change}", flush=True)

    found = judged(chosen, given.seconds, report)
    made = scores(found, known)
    print(
        f"\n{'area':10} {'asked':>5} {'killed':>6} {'holes':>5} {'not reviewed':>12} {'equivalent':>10} {'silent':>6}"
        f" {'score':>6}"
    )
    for area, one in made.items():
        asked = sum(one)
        print(f"{area:10} {asked:5} {one.killed:6} {one.holes:5} {one.unreviewed:12} {one.equivalent:10} {one.silent:6}"
              f" {one.share:5.1f}%")  # fmt: skip
    print(json.dumps({"seed": given.seed, "asked": len(found), "of": len(chosen)}))
    return 1 if any(one.unreviewed for one in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
