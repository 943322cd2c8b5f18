"""A small library of cases for the tests of the machinery, and the miniatures' addresses."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List

from npu_conformance.judging import records
from npu_conformance.library import library
from npu_conformance.running import lanes, runner

BACKENDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backends")
MINIATURES = os.path.join(BACKENDS, "miniatures.py")

REQUIREMENTS = """
[[requirement]]
id = "small.one"
document = "000"
edition = "current"
surface = "partitioner"
kind = "effect"
level = "must"
observable = "partition"
statement = "a and b run on the device."
check = "Ask."

[[requirement]]
id = "small.two"
document = "000"
edition = "current"
surface = "session"
kind = "effect"
level = "should"
observable = "config"
statement = "What is given is effective."
check = "Ask."
"""

CASES = """
[defaults]
editions = ["current"]

[[case]]
id = "small-options"
title = "What is given is effective"
requirements = ["small.two"]
method = "options"
params = { values = { depth = 3 } }
expect = { observe = ["effective"] }

[[case]]
id = "small-partition"
title = "a and b are one GEOP"
requirements = ["small.one"]
method = "partition"
params = { graph = "small.pbtxt" }
expect = { observe = ["geops", "host"] }

[[case]]
id = "small-partition-again"
title = "The same once more"
requirements = ["small.one"]
method = "partition"
params = { graph = "small.pbtxt" }
expect = { observe = ["placement"] }

[[case]]
id = "small-what-follows"
title = "The run goes on"
requirements = ["small.two"]
method = "options"
params = { values = { depth = 4 } }
expect = { contains = ["effective depth = 4"] }
"""

GOLDEN = """\
small-options | effective depth = 3
small-partition | geop a node a
small-partition | geop a node b
small-partition | host x
small-partition-again | device a
small-partition-again | device b
small-partition-again | host x
"""

GRAPH = 'node { name: "x" op: "NoOp" }\nnode { name: "a" op: "NoOp" }\nnode { name: "b" op: "NoOp" }\n'


class Shelf:
    """Folders of a small library that tests may change before they load it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.write("requirements/all.toml", REQUIREMENTS)
        self.write("cases/small/topic.toml", CASES)
        self.write("golden/small/topic.txt", GOLDEN)
        self.write("fixtures/small.pbtxt", GRAPH)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> str:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return self.path(name)

    def load(self) -> library.Library:
        return library.load(*(self.path(name) for name in ("cases", "golden", "fixtures", "requirements")))


def spoken(name: str) -> str:
    """SPEC of a miniature that speaks the protocol itself."""
    return f"exec:{sys.executable} {MINIATURES} {name}"


def hosted(name: str) -> str:
    """SPEC of a miniature that the suite's worker hosts."""
    return f"py:miniatures:{name}"


#: A tenth of the usual limits: 1 s an answer, 6 s to start.
QUICK = lanes.Settings(factor=0.1, env={"PYTHONPATH": os.pathsep.join([BACKENDS, *map(os.path.abspath, sys.path)])})


def judged(shelf: Shelf, spec: str, settings: lanes.Settings = QUICK, **more: Any) -> records.Report:
    """The report of a whole run over the small library."""
    loaded = shelf.load()
    return runner.run(loaded, loaded.instances(), spec, settings, **more)


def statuses(report: records.Report) -> Dict[str, str]:
    """Case id -> status."""
    return {record.instance.case.id: record.result.status for record in report.records}


def details(report: records.Report) -> List[str]:
    """The detail of everything that did not pass."""
    return [record.result.detail for record in report.records if record.result.status != "pass"]
