"""Judges faulty backends written by hand, and says how many of them the suite would call conformant.

Usage: python benchmarks/faulty_backends.py [--area AREA ...] [--only NAME ...] [--recorded FILE] [--laws N] [--write]
           [--matrix FILE]

Each backend of `faulty/` is the reference with one mistake, which breaks the requirement that it names. Nobody wrote a
case for them, and they were written without looking at the cases. A mistake in `run` needs TensorFlow; what the
reference answers there is kept in FILE, so that a second run takes seconds. With N the laws are asked as a run does
that says so: more rounds where it is many. --write puts into results/faulty.toml the case that sees each, which is what
the tests ask; of one that nothing sees it keeps the reason, which is written by hand. --matrix writes all cases, else
all laws, that see each: a line of JSON for each backend.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import sys
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "..", "impl"), os.path.join(_HERE, "..", "conformance")]

import faulty  # noqa: E402
from faulty import making  # noqa: E402

from npu_conformance.backends.reference import tensorflow_version  # noqa: E402
from npu_conformance.files import scratch, toml_file  # noqa: E402
from npu_conformance.judging import judge  # noqa: E402
from npu_conformance.library import library  # noqa: E402
from npu_conformance.library.library import Library  # noqa: E402
from npu_conformance.strength import hosting  # noqa: E402
from npu_conformance.strength.laws import asking  # noqa: E402

__all__ = ["FAULTY", "REVIEWED", "Panels", "Seen", "breaks", "judged", "reviewed"]

FAULTY = faulty.load()

#: What sees each, or what the suite lacks.
REVIEWED = os.path.join(_HERE, "results", "faulty.toml")

#: Random graphs asked for the laws: fewer than in a run.
GRAPHS = 40


class Seen(NamedTuple):
    """What sees a faulty backend: an instance of a case, or a law; neither of one that is called conformant."""

    name: str
    by: str


class Panels:
    """The cases by method, asked of the reference once; close it."""

    def __init__(self, shelf: Library, graphs: int = GRAPHS) -> None:
        self.shelf, self.graphs = shelf, graphs
        self._scratch = scratch.Scratch("npu-conformance-")
        self._made: Dict[str, hosting.Panel] = {}
        #: Those that count against a verdict, by id.
        self.instances = {one.id: one for one in shelf.instances() if not one.twin and one.case.level == "must"}

    def __enter__(self) -> Panels:
        return self

    def __exit__(self, *error: object) -> None:
        self._scratch.close()

    @property
    def folder(self) -> str:
        return self._scratch.path

    def of(self, method: str, ids: Sequence[str] = ()) -> hosting.Panel:
        """The panel of a method's instances, all of them or those of some ids."""
        key = f"{method} {' '.join(sorted(ids))}"
        if key not in self._made:
            asked = [self.instances[name] for name in ids] if ids else list(self.instances.values())
            chosen = [one for one in asked if one.case.method == method]
            folder = os.path.join(self.folder, str(len(self._made)))
            os.mkdir(folder)
            self._made[key] = hosting.Panel(chosen, folder)
        return self._made[key]


def judged(one: making.Faulty, panels: Panels) -> Seen:
    """The first case, else the first law, that is not passed."""
    for method in one.methods:
        panel = panels.of(method)
        for instance in panel.failures(one.backend, panel.sound):
            return Seen(one.name, instance.id)
    for law in broken_laws(one, panels):
        return Seen(one.name, law)
    return Seen(one.name, "")


def broken_laws(one: making.Faulty, panels: Panels) -> Iterator[str]:
    """The laws of its methods that a backend breaks, of those that count against a verdict."""
    laws = [law for law in asking.instances() if law.case.level == "must"]
    chosen = tuple(law for law in laws if law.case.method in one.methods)
    if chosen:
        claims = judge.Claims.of(one.backend.hello({"protocol": 1}))
        plan = asking.Plan(panels.graphs, 0, chosen, panels.folder, panels.shelf)
        here: Any = hosting.Here(one.backend, panels.folder)
        for record in asking.run(plan, "here", here, claims):
            if record.result.status == "fail":
                yield record.instance.id


def reviewed() -> Dict[str, Dict[str, Any]]:
    """The committed table: name to its row."""
    return {row["name"]: row for row in toml_file.load(REVIEWED)["faulty"]} if os.path.exists(REVIEWED) else {}


def matrix_row(one: making.Faulty, panels: Panels) -> List[str]:
    """All cases that it does not pass, of the methods that can be asked here, else all laws that it breaks."""
    methods = [method for method in one.methods if method != "run" or tensorflow_version() is not None]
    made = [panel.failures(one.backend, panel.sound) for panel in map(panels.of, methods)]
    return [found.id for failures in made for found in failures] or list(broken_laws(one, panels))


def breaks(one: making.Faulty, law: str, panels: Panels) -> bool:
    """Whether a backend breaks one law, in one edition: asked no further than to the first answer that does."""
    (instance,) = (found for found in asking.instances() if found.id == law)
    claims = judge.Claims.of(one.backend.hello({"protocol": 1}))
    plan = asking.Plan(panels.graphs, 0, (instance,), panels.folder, panels.shelf)
    here: Any = hosting.Here(one.backend, panels.folder)
    questions = asking.Questions(plan, claims)
    if questions.first_broken(here) is not None:
        return True
    # Some are only seen once graphs are asked again.
    return any(record.result.status == "fail" for record in asking.run(plan, "here", here, claims))


@contextlib.contextmanager
def recorded(path: Optional[str]) -> Iterator[None]:
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            making.RECORDED.update(json.load(stream))
    yield
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(making.RECORDED, stream)


def _write(found: Dict[str, str]) -> None:
    before = reviewed()
    with open(REVIEWED, encoding="utf-8") as stream:
        lines = list(itertools.takewhile(lambda line: line.startswith("#"), stream.read().splitlines()))
    for one in FAULTY.values():
        row = before.get(one.name, {})
        by = found.get(one.name, row.get("seen_by", ""))
        lines += ["", "[[faulty]]", f'name = "{one.name}"', f'area = "{one.area}"']
        told = f'seen_by = "{by}"' if by else f"hole = {json.dumps(row.get('hole', ''), ensure_ascii=False)}"
        lines.append(told)
    with open(REVIEWED, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")


def _table(found: Dict[str, str]) -> List[str]:
    rows = ["area       asked  seen  conformant"]
    for area in [*dict.fromkeys(one.area for one in FAULTY.values()), "all"]:
        names = [name for name in found if area in (FAULTY[name].area, "all")]
        seen = sum(bool(found[name]) for name in names)
        if names:
            rows.append(f"{area:11}{len(names):5}{seen:6}{len(names) - seen:12}")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--area", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--recorded", help="keeps what the reference answers to run")
    parser.add_argument("--laws", type=int, default=GRAPHS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--matrix", help="gets all that sees each")
    asked = parser.parse_args()
    chosen = [one for one in FAULTY.values() if (not asked.area or one.area in asked.area)
              and (not asked.only or one.name in asked.only)]  # fmt: skip
    if tensorflow_version() is None:
        chosen = [one for one in chosen if "run" not in one.methods]
    found: Dict[str, str] = {}
    with recorded(asked.recorded), Panels(library.load(), asked.laws) as panels:
        if asked.matrix:
            with open(asked.matrix, "w", encoding="utf-8") as stream:
                stream.writelines(json.dumps([one.name, matrix_row(one, panels)]) + "\n" for one in chosen)
            return 0
        for one in chosen:
            began = time.process_time()
            found[one.name] = judged(one, panels).by
            print(f"{one.name}: {found[one.name] or 'CONFORMANT'} ({time.process_time() - began:.1f} s)", flush=True)
    if asked.write:
        _write(found)
    print("\n".join(_table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
