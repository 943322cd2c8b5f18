"""Changes the reference at random, one small change at a time, and asks whether the suite would call it conformant.

Usage: python benchmarks/mutation.py [--seed N] [--count N] [--area AREA]... [--coverage FILE] [--tensorflow]

A change is one of a comparison, a constant, a condition, an element of a literal, a statement. Each is judged as a
vendor's backend would be, in a process forked off a warm one: by cases, those first that have seen most, then by the
laws; the first that fails ends it. With `--coverage`, cases that do not come through the changed line are not asked.
With `--tensorflow`, by a Python that has it, runs on the device are asked as well: some areas are seen by them alone.
Those that nobody sees are looked up in `results/mutation/`, a file for each area, where each has been reviewed:
`equivalent` (no answer changes), `silent` (no document says which is right) or `hole` (a document forbids it, and the
suite is blind). What is not reviewed counts as a hole. A `scope` there is a function, a file or a folder of which
nothing is drawn, since no document speaks of it or no answer shows it. Printed is the score by area: killed of killed
and holes.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import hashlib
import importlib
import importlib.machinery
import inspect
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import types
from collections import Counter
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import changes
from changes import AREAS, DROP_IN, ROOT, Mutant, drawn, entries, mutants, place_of, seen_before

for _room in ("impl", "conformance"):
    sys.path.insert(0, os.path.join(ROOT, _room))

from npu_conformance.backends.reference import ReferenceBackend  # noqa: E402
from npu_conformance.judging import judge  # noqa: E402
from npu_conformance.library import library  # noqa: E402
from npu_conformance.strength import hosting  # noqa: E402
from npu_conformance.strength.laws import asking, examples  # noqa: E402

__all__ = [
    "AREAS",
    "Mutant",
    "Score",
    "drawn",
    "entries",
    "judged",
    "main",
    "mutants",
    "reviewed",
    "scores",
    "seen_before",
]


#: Modules that stay as they are in the process of a mutant: errors are told apart by their class.
_KEPT = ("npu_reference.errors", "npu_reference.printing", "npu_reference.place")
_SECONDS = 60  # of processor time, of one question; who takes longer is seen (assumed)
_SECONDS_OF_LAWS = 300  # of all questions of the laws of one method, the same
_HUNG = 5  # times as long by the clock nothing takes but what waits for ever, however loaded the machine is (assumed)
_BYTES = 4 << 30  # of memory, the same
_BYTES_TENSORFLOW = 32 << 30  # of addresses, most of them never used
_TOGETHER = ("timeline", "compile", "library")  # methods whose coverage is kept in one file
_LINES = "lines-of-"  # files of processes forked off the one that asks
_TABLES = {"npu_reference.options.resolve": "_VIEWS"}  # what a module prepares once, by its name
_STUMBLED = "the suite itself: "  # before an error of the suite's own: a fault of ours, and not of the one asked
_IMPORT = "import"  # stands for an instance: the lines of functions that an import of the reference calls
_GRAPHS = 40  # random graphs for the laws: fewer than in a run


# -- judging ---------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """An instance as the reference answers it: seconds, and the lines of the reference it runs through, by file."""

    seconds: float
    lines: Dict[str, List[int]]


class Asker:
    """Judges mutants, each in a process forked off this one.

    Args:
        folder: takes the graphs of requests, and what cases leave.
        areas: of the mutants.
        tensorflow: whether runs are asked, by the TensorFlow of this Python.
        coverage: a file that keeps which lines a case runs through, made anew when code or cases have changed; None
            asks without knowing.
        first: ids of instances that are tried before all others, by name of the mutant.
        only: parts of ids; instances without any of them are not asked, nor laws. Empty: all are.
    """

    def __init__(
        self,
        folder: str,
        areas: Sequence[str],
        tensorflow: bool = False,
        coverage: Optional[str] = None,
        first: Optional[Dict[str, str]] = None,
        only: Sequence[str] = (),
    ) -> None:
        self.folder, self.tensorflow, self.first, self.only = folder, tensorflow, dict(first or {}), only
        self.shelf = library.load()
        self.methods = [
            m for m in dict.fromkeys(m for a in areas for m in AREAS[a].methods) if m != "run" or tensorflow
        ]
        if tensorflow:
            importlib.import_module("tensorflow")  # before any child: each would take seconds for it
        # In a child: what it imports there, a change could not reach any more.
        claims = judge.Claims.of(json.loads(_forked(lambda: json.dumps(ReferenceBackend().hello({"protocol": 1})))))
        # Cases of a version of TensorFlow that is not this one see every change, as no run asks them.
        self.instances = [
            one
            for one in self.shelf.instances()
            if not one.twin and one.case.method in self.methods and judge.applicable(one, claims) is None
        ]
        if only:
            self.instances = [one for one in self.instances if any(part in one.id for part in only)]
        self.kills: Counter = Counter()
        self._whole: Optional[hosting.Panel] = None
        self.asked: Dict[str, Asked] = self._recorded(coverage) if coverage else {}
        names = set(self.first.values())
        named = [one for one in self.instances if one.id in names]
        # Of runs the reference is not asked: a process that has run a session must not be forked.
        self._known = [
            hosting.Panel([one for one in named if (one.case.method == "run") is runs], folder, unasked=runs)
            for runs in (False, True)
        ]

    # -- what cases run through

    def _recorded(self, path: str) -> Dict[str, Asked]:
        methods = sorted({*self.methods, *(_TOGETHER if set(_TOGETHER) & set(self.methods) else ())})
        key = f"{_digest()} {self.tensorflow} {' '.join(methods)}"
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                kept = json.load(stream)
            if kept["of"] == key:
                return {name: Asked(*one) for name, one in kept["asked"].items()}
        found = json.loads(_forked(lambda: json.dumps(self._record(methods))))
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"of": key, "asked": found}, stream)
        return {name: Asked(*one) for name, one in found.items()}

    def _record(self, methods: Sequence[str]) -> Dict[str, Any]:
        os.chdir(self.folder)
        instances = [one for one in self.shelf.instances() if not one.twin and one.case.method in methods]
        panel = hosting.Panel(instances, self.folder, unasked=True)
        found: Dict[str, Any] = {}
        with _Lines(self.folder) as lines:
            backend = _backend(None)
        imported: Dict[str, Set[int]] = {}
        for told in (lines.found, lines.imported):
            _joined(imported, told)
        # Ranks are forked off this process, which must have run no session until then.
        for one in sorted(instances, key=lambda one: not _of_ranks(one)):
            _forget()
            with _Lines(self.folder) as lines:
                start = time.process_time()
                message = panel.message(backend, one)
                seconds = time.process_time() - start
            _joined(imported, lines.imported)
            if panel.judged(one, message).status == "pass":
                found[one.id] = (round(seconds, 3), _listed(lines.found))
        found[_IMPORT] = (0.0, _listed(imported))
        return found

    def ordered(self, mutant: Mutant) -> List[Any]:
        """Instances for a mutant: those that come through the line; through its file, if it is in no function."""
        inside = place_of(mutant.path)
        first, last = mutant.lines
        if last and self.asked and any(first <= line <= last for line in self.asked[_IMPORT].lines.get(inside, [])):
            last = 0  # an import runs through it, and all that comes later may show it
        found = []
        for one in self.instances:
            if one.case.method not in AREAS[mutant.area].methods or (self.asked and one.id not in self.asked):
                continue
            through = self.asked[one.id].lines.get(inside, []) if self.asked else []
            if not self.asked or any(first <= line <= last for line in through) or (not last and through):
                found.append(one)
        if not last and not found:  # a file of tables, which no case runs through
            methods = AREAS[mutant.area].methods
            found = [one for one in self.instances if one.case.method in methods and one.id in self.asked]
        random.Random(0).shuffle(found)  # cases that see the same stand together in the library
        methods = AREAS[mutant.area].methods

        def worth(one: Any) -> float:
            """What it has seen for what it costs."""
            seconds = self.asked[one.id].seconds if self.asked else 1.0
            return (self.kills[one.id] + 0.2) / (seconds + 0.02)

        found.sort(key=lambda one: (one.case.method == "run", -worth(one), methods.index(one.case.method)))
        return found

    def reached(self, mutant: Mutant) -> int:
        """How many instances come through the changed line; -1 where it is in no function, or nothing is known."""
        if not self.asked or not mutant.lines[1]:
            return -1
        inside = place_of(mutant.path)
        first, last = mutant.lines
        cases = [one for name, one in self.asked.items() if name != _IMPORT]
        return sum(any(first <= n <= last for n in one.lines.get(inside, [])) for one in cases)

    # -- asking

    def panel(self) -> hosting.Panel:
        """All instances that need no TensorFlow, with the reference's own answers."""
        if self._whole is None:
            self._whole = hosting.Panel([one for one in self.instances if one.case.method != "run"], self.folder)
        return self._whole

    def seen(self, mutant: Mutant) -> str:
        """What sees the mutant: the id of an instance, a law, or how it ended; empty when nothing does."""
        if mutant.name not in self.first:
            self.panel()  # here, where every child finds it
        said = _forked(lambda: self._seen(mutant))
        if said.startswith(_STUMBLED):
            print(f"{mutant.name}  {said}", file=sys.stderr, flush=True)
            return ""
        self.kills[said] += 1
        return said

    def _seen(self, mutant: Mutant) -> str:
        most = _BYTES_TENSORFLOW if self.tensorflow else _BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        _limit(_SECONDS)
        os.chdir(self.folder)
        try:
            backend = _backend(mutant)
        except Exception as error:  # noqa: BLE001
            return f"does not start: {type(error).__name__}"
        _limit(0)
        for panel in self._known:
            for one in [one for one in panel.sound if one.id == self.first.get(mutant.name)]:
                asked = functools.partial(self._of_all, panel, backend, [one])
                said = _forked(asked) if one.case.method == "run" and not _of_ranks(one) else asked()
                if said:
                    return said
        chosen = self.ordered(mutant)
        alone = [one for one in chosen if not _of_ranks(one)]
        if len(alone) == len(chosen):
            return self._all_seen(mutant, backend, alone)
        # Ranks are forked off this process, which runs no session itself: a copy of one that has may never wake up.
        said = _forked(lambda: self._all_seen(mutant, backend, alone))
        runs = hosting.Panel(chosen, self.folder, unasked=True)
        return said or self._of_all(runs, backend, [one for one in chosen if _of_ranks(one)])

    def _all_seen(self, mutant: Mutant, backend: Any, chosen: Sequence[Any]) -> str:
        """What of these instances, or else of the laws, sees the mutant."""
        panel = self.panel()
        sound = {one.id for one in panel.sound}
        runs = hosting.Panel([one for one in chosen if one.case.method == "run"], self.folder, unasked=True)
        for one in chosen:
            said = self._of_all(panel if one.id in sound else runs, backend, [one])
            if said:
                return said
        for method in () if self.only else AREAS[mutant.area].methods:
            law = self._law(backend, method)
            if law:
                return law
        return ""

    def _of_all(self, panel: hosting.Panel, backend: Any, chosen: Sequence[Any]) -> str:
        for one in chosen:
            _limit(_SECONDS)
            for found in panel.failures(backend, [one]):
                return found.id
        _limit(0)
        return ""

    def _law(self, backend: Any, method: str) -> str:
        chosen = tuple(one for one in asking.instances() if one.case.method == method)
        if not chosen:
            return ""
        claims = judge.Claims.of(backend.hello({"protocol": 1}))
        here: Any = hosting.Here(backend, self.folder)
        examples.SHRINKS = examples.FRESH_SHRINKS = 0
        plan = asking.Plan(_GRAPHS, 0, chosen, self.folder, self.shelf)
        _limit(_SECONDS_OF_LAWS)
        records = asking.run(plan, "here", here, claims)
        _limit(0)
        return next((record.instance.id for record in records if record.result.status == "fail"), "")


def _forked(call: Any) -> str:
    """What a call says in a process of its own, or how that ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            if os.environ.get("NPU_MUTATION_TRACE") is None:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 1)  # scripts print, and TensorFlow logs
                os.dup2(nothing, 2)
            said = call().encode("utf-8")
        except BaseException as error:  # noqa: BLE001  whatever a mutant does shows that it is one
            said = _ended(error).encode()
        while said:
            said = said[os.write(write, said) :]
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        found = stream.read()
    _, status = os.waitpid(child, 0)
    return found.decode("utf-8") if status == 0 else "ended without a word"


def _limit(seconds: int) -> None:
    """Let this process die once it has used so much processor time from here on, or hangs; 0: let it live.

    The clock would count what others do on the machine.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(_HUNG * seconds)


def _ended(error: BaseException) -> str:
    """How a change ended its process; an error of the suite's own is none that a verdict would show."""
    rooms = {"npu_reference", *DROP_IN}
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, MemoryError) or any(rooms & set(frame.filename.split(os.sep)) for frame in frames):
        return f"ended: {type(error).__name__}"
    last = frames[-1]
    return f"{_STUMBLED}{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"


def _of_ranks(one: Any) -> bool:
    return "ranks" in one.case.params


def _listed(lines: Dict[str, Set[int]]) -> Dict[str, List[int]]:
    return {name: sorted(of) for name, of in lines.items()}


def _joined(kept: Dict[str, Set[int]], more: Mapping[str, Iterable[int]]) -> None:
    for name, lines in more.items():
        kept.setdefault(name, set()).update(lines)


class _Lines:
    """Which lines of the reference run, by file, while this is entered: in this process and in those forked off it.

    What an import calls is kept apart, in `imported`: it runs for the first who needs the module, and serves all.

    Args:
        folder: takes what forked processes leave, until this is left.
    """

    def __init__(self, folder: str) -> None:
        self.found: Dict[str, Set[int]] = {}
        self.imported: Dict[str, Set[int]] = {}
        self._importing = 0
        self._folder = folder
        self._leave = os._exit
        self._names: Dict[str, str] = {}
        self._registry: Any = None
        self._plain: Any = None

    def __enter__(self) -> _Lines:
        here = os.getpid()

        def leave(status: int) -> None:
            if os.getpid() != here:
                sys.settrace(None)
                with open(os.path.join(self._folder, f"{_LINES}{os.getpid()}"), "w", encoding="utf-8") as file:
                    json.dump([_listed(self.found), _listed(self.imported)], file)
            self._leave(status)

        os._exit = leave  # type: ignore[assignment]
        threading.settrace(self._call)
        sys.settrace(self._call)
        if "tensorflow" in sys.modules:
            self._registry = importlib.import_module("tensorflow.python.ops.script_ops").FuncRegistry
            self._plain, lines = self._registry.__call__, self

            def call(registry: Any, *arguments: Any) -> Any:
                sys.settrace(lines._call)  # TensorFlow's own threads come to Python here
                return lines._plain(registry, *arguments)

            self._registry.__call__ = call
        return self

    def __exit__(self, *unused: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        os._exit = self._leave  # type: ignore[assignment]
        for name in [name for name in os.listdir(self._folder) if name.startswith(_LINES)]:
            path = os.path.join(self._folder, name)
            with open(path, encoding="utf-8") as file:
                for kept, told in zip((self.found, self.imported), json.load(file)):
                    _joined(kept, told)
            os.remove(path)
        if self._registry is not None:
            self._registry.__call__ = self._plain

    def _call(self, frame: Any, event: str, argument: object) -> Any:
        path = frame.f_code.co_filename
        name = self._names.get(path)
        if name is None:
            parts = path.split(os.sep)
            first = next((parts.index(one) for one in DROP_IN if one in parts), 0)
            first = first or (parts.index("npu_reference") + 1 if "npu_reference" in parts else len(parts))
            name = self._names[path] = os.sep.join(parts[first:])
        if name and frame.f_code.co_name == "<module>":
            self._importing += 1
            return self._module
        if not name or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return None  # the body of a class is no function
        lines = (self.imported if self._importing else self.found).setdefault(name, set())

        def line(inner: Any, event: str, argument: object) -> Any:
            lines.add(inner.f_lineno)
            return line

        lines.add(frame.f_lineno)
        return line

    def _module(self, frame: Any, event: str, argument: object) -> Any:
        self._importing -= event == "return"
        return self._module


def _forget() -> None:
    """Empties what functions of the reference remember: a case that is answered from there runs through nothing."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith("npu_reference"):
            one.cache_clear()
        elif isinstance(one, types.ModuleType) and one.__name__ in _TABLES:
            getattr(one, _TABLES[one.__name__]).clear()


def _digest() -> str:
    """Of the reference, the cases and the graphs they ask about."""
    made = hashlib.sha256()
    with open(__file__, "rb") as stream:
        made.update(stream.read())
    for room in ("impl", "conformance", "fixtures"):
        for place, folders, names in os.walk(os.path.join(ROOT, room)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    made.update(name.encode())
                    with open(os.path.join(place, name), "rb") as stream:
                        made.update(stream.read())
    return made.hexdigest()[:16]


def _ours(name: str) -> bool:
    # The package itself as well: `from npu_reference import tuning` looks at what hangs on it.
    reference = name.split(".")[0] == "npu_reference" and not name.startswith(_KEPT)
    return reference or name in ("npu_conformance.backends.reference", "npu_conformance.backends.compiling")


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


def _backend(mutant: Optional[Mutant]) -> Any:
    """The reference with the change, or as it is, imported anew."""
    if mutant is not None:
        _patch(mutant)
    # pytest loads the packages of its plugins by a loader of its own, ours among them once they are installed.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_pytest")]

    def make() -> Any:
        # A process started anew would import the reference as it is: ranks are forked off this one.
        forking = importlib.import_module("npu_reference.runtime.scripts.forking")
        forking.Forker.ask = lambda self, params: forking.answer(params)  # type: ignore[attr-defined]
        return importlib.import_module("npu_conformance.backends.reference").ReferenceBackend()

    return _Apart(make)


def _patch(mutant: Mutant) -> None:
    """From now on the changed code is what an import of its file finds."""
    with open(mutant.path, encoding="utf-8") as stream:
        tree = changes.with_change(ast.parse(stream.read()), mutant.index)
    code = compile(tree, mutant.path, "exec")
    plain = importlib.machinery.SourceFileLoader.get_code
    # By its place in the package: what is imported may be a copy of it that was installed.
    inside = os.path.relpath(mutant.path, os.path.join(ROOT, "impl"))

    def get_code(self: Any, fullname: str) -> Any:
        same = os.path.realpath(self.get_filename(fullname)).endswith(os.sep + inside)
        return code if same else plain(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


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


def reviewed() -> Dict[str, str]:
    """Name of a survivor to its class."""
    return {one["name"]: one["class"] for one in entries("survivor")}


def judged(
    chosen: Sequence[Mutant],
    seconds: float,
    report: Any = None,
    tensorflow: bool = False,
    coverage: Optional[str] = None,
    first: Optional[Dict[str, str]] = None,
    only: Sequence[str] = (),
) -> List[Tuple[Mutant, str]]:
    """(mutant, what sees it) of as many as the time allows; arguments as of :class:`Asker`."""
    found: List[Tuple[Mutant, str]] = []
    areas = list(dict.fromkeys(one.area for one in chosen))
    with tempfile.TemporaryDirectory(prefix="npu-mutation-") as folder:
        asker = Asker(folder, areas, tensorflow, coverage, first, only)
        end = time.monotonic() + seconds
        for one in chosen:
            if time.monotonic() > end:
                break
            found.append((one, asker.seen(one)))
            if report is not None:
                report(*found[-1], asker.reached(one))
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
    parser.add_argument("--count", type=int, help="changes of each area (40; with --seen all)")
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area; may be repeated")
    parser.add_argument("--tensorflow", action="store_true", help="ask runs, too, by the TensorFlow of this Python")
    parser.add_argument("--coverage", metavar="FILE", help="keeps which lines a case runs through (asked once)")
    parser.add_argument("--name", action="append", help="only this change; may be repeated")
    parser.add_argument("--case", action="append", help="ask only cases with this in their id; may be repeated")
    parser.add_argument("--seen", action="store_true", help="ask those again that are listed as seen, and no others")
    parser.add_argument("--told", action="store_true", help="say of those that are seen by what")
    parser.add_argument("--seconds", type=float, default=600.0, help="time after which no more are judged (600)")
    given = parser.parse_args(arguments)
    areas = given.area or [name for name, area in AREAS.items() if given.tensorflow or area.methods != ("run",)]
    chosen = [] if given.seen else drawn(given.seed, areas, 40 if given.count is None else given.count)
    if given.name:
        chosen = [one for area in areas for one in mutants(area) if one.name in given.name]
    listed = {one["name"]: one.get("by", "") for area in areas for one in entries("seen", area)} if given.seen else {}
    if given.seen:
        chosen = [one for area in areas for one in seen_before(area, given.count, given.seed)]
    known = reviewed()

    def report(one: Mutant, seen: str, reached: int) -> None:
        print("." if seen else "?", end="", file=sys.stderr, flush=True)
        if not seen and one.name not in known:
            through = f"  through {reached} cases" if reached >= 0 else ""
            print(f"unseen  {one.name}  line {one.line}  {one.change}{through}", flush=True)
        elif seen and given.told:
            print(f"seen    {one.name}  by {seen}", flush=True)

    found = judged(chosen, given.seconds, report, given.tensorflow, given.coverage, listed, given.case or ())
    made = scores(found, known)
    print(
        f"\n{'area':10} {'asked':>5} {'killed':>6} {'holes':>5} {'not reviewed':>12} {'equivalent':>10} {'silent':>6}"
        f" {'score':>6}"
    )
    for area, one in made.items():
        asked = sum(one)
        print(f"{area:10} {asked:5} {one.killed:6} {one.holes:5} {one.unreviewed:12} {one.equivalent:10} {one.silent:6}"
              f" {one.share:5.1f}%")  # fmt: skip
    unseen = sum(not seen for _, seen in found)
    print(json.dumps({"seed": given.seed, "asked": len(found), "of": len(chosen), "unseen": unseen}))
    return 1 if any(one.unreviewed for one in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
