"""Doors of the project, by kind: how an input is made for one, and what it may do there."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os

from google.protobuf import text_format

from fuzzing import ROOT
from fuzzing.drawing import NAMES, changed, mutated, text, value
from npu_conformance import cli
from npu_conformance.backends import worker
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge, known_failures
from npu_conformance.library import library
from npu_conformance.protocol import client
from npu_conformance.protocol import messages as protocol
from npu_reference.catalog import Catalog, OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import close_over, frames, infer_shapes, load_graph
from npu_reference.options import OPTIONS, parse_assignments, resolve
from npu_reference.options.directives import directives
from npu_reference.options.meaning import meanings
from npu_reference.partition import partition

__all__ = ["KINDS", "prepared"]

EXITS = (0, 1, 2, 3)


class Wrong(Exception):
    """An answer that is none."""


_ANSWERS = [
    {
        "geops": [{"nodes": ["a"], "args": ["a:0"], "copies": [{"node": "b"}]}],
        "host": [{"node": "x", "reason": "R"}],
        "borders": [{"source": "a", "direction": "d2h", "bytes": 4}],
        "min_geops": 1,
        "notes": [{"code": "C"}],
    },
    {
        "effective": {"a": {"value": [1, {"b": None}], "origin": "given"}},
        "warnings": [{"option": "a", "code": "B"}],
        "meaning": {"a": {"b": [1]}},
        "directives": {"t": {"u": 1}},
    },
    {
        "nodes": [{"node": "a", "inputs": ["float16"], "outputs": ["float32"], "engine": "cube"}],
        "casts": [{"source": "a:0", "target": "b:0", "from": "float16", "to": "float32"}],
        "warnings": [{"code": "N", "subject": "a"}],
    },
    {
        "fetches": {
            "y:0": {"dtype": "float32", "shape": [2], "b64": "AAAAAAAAAAA="},
            "s:0": {"dtype": "string", "shape": [1], "b64": "AQAAAGE="},
            "f:0": {"dtype": "int8", "shape": [3], "file": "/dev/zero"},
        },
        "trace": [
            {
                "engine": "s",
                "geops": 1,
                "copies": [{"tensor": "a:0", "direction": "d2h", "bytes": 4, "times": 2}],
                "partition": {"geops": [], "host": []},
            }
        ],
        "log": [{"level": "info", "code": "A"}],
        "output": "a\nb",
        "files": {"f": {"b64": "AAAA"}},
    },
]


def seeds():
    """Contents of small files of each form, by form."""
    folder = os.path.join(ROOT, "fixtures", "graphs", "cases")
    graphs, texts = [], []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith((".pb", ".pbtxt")) and os.path.getsize(path) < 4000:
            texts.append(path)
    for path in texts[:: max(1, len(texts) // 20)]:
        graph = load_graph(path).to_def()
        graphs.append(graph.SerializeToString(deterministic=True))
        graphs.append(text_format.MessageToString(graph).encode("utf-8"))
    graphs += [gzip.compress(graph, mtime=0) for graph in graphs[:4]]
    return {
        "graph": graphs,
        "op_list": [b'{"Relu": {"isGray": false, "isHeavy": true}, "Add": {}}'],
        "ops_info": [b'{"Relu": {"input0": {"dtype": "float16,float"}, "output0": {"dtype": "float16,float"}, '
                     b'"precision_reduce": {"flag": "true"}}}'],
        "known": [b'[[known]]\nid = "mixed-*@current"\noutcome = "fail"\nsignature = "a/*"\nreason = "x"\n'
                  b"expires = 2030-01-31\n"],
        "answer": [json.dumps(answer).encode("ascii") for answer in _ANSWERS],
    }  # fmt: skip


class Kind:
    """One door: `make` gives an input (of bytes, texts, lists and JSON values), `use` raises on a finding."""

    def __init__(self, state):
        self.state = state


class Options(Kind):
    def make(self, r):
        values = {r.choice(NAMES) if r.random() < 0.9 else text(r): value(r) for _ in range(r.randrange(1, 6))}
        files = {text(r): text(r) for _ in range(r.randrange(2))}
        return [
            values,
            r.choice(["session", "runconfig"]),
            r.choice(["current", "legacy"]),
            {"HCCL_EXEC_TIMEOUT": text(r)},
            files,
        ]

    def use(self, given):
        values, surface, edition, env, files = given
        try:
            found = resolve(values, surface=surface, edition=edition, env=env, files=files)
            for error in found.errors:
                bounded(str(error))
            meanings(found)
            directives(found.typed)
            json.dumps(found.to_json(), default=wrong)
        except NpuError as error:
            bounded(str(error))


class Grammars(Kind):
    texts = [name for name in NAMES if OPTIONS[name]]

    def make(self, r):
        letters = "".join(r.choice("[]'ab, ;:1-.=\\{}\n") for _ in range(r.randrange(30)))
        given = letters if r.random() < 0.7 else text(r)
        return [r.choice(NAMES) + r.choice(["=", ".s=", ".i=", ".b=", "", ".x="]) + given]

    def use(self, given):
        try:
            found = resolve(parse_assignments(given))
            for error in found.errors:
                bounded(str(error))
            meanings(found)
            directives(found.typed)
        except NpuError as error:
            bounded(str(error))


class Graphs(Kind):
    def make(self, r):
        data = mutated(r, r.choice(self.state["graph"]))
        return gzip.compress(data, mtime=0) if r.random() < 0.05 else data

    def use(self, given):
        path = os.path.join(self.state["folder"], "graph")
        with open(path, "wb") as stream:
            stream.write(given)
        try:
            graph = load_graph(path)
            frames(graph)
            shapes = infer_shapes(graph)
            for node in graph.nodes:
                dict(node.attrs)
                for slot in range(len(graph.output_dtypes(node.id))):
                    shapes.bytes(node.id, slot)
            close_over(graph, [], [], [node.name for node in graph.nodes][:3])
            options = resolve({"mix_compile_mode": True})
            protocol.encode({"id": 1, "ok": partition(graph, options).to_json()})
        except NpuError as error:
            bounded(str(error))


class Files(Kind):
    def make(self, r):
        form = r.choice(["op_list", "ops_info", "known"])
        return [form, mutated(r, r.choice(self.state[form]))]

    def use(self, given):
        form, data = given
        path = os.path.join(self.state["folder"], form)
        with open(path, "wb") as stream:
            stream.write(data)
        try:
            if form == "op_list":
                OpList.load(path).to_json()
            elif form == "ops_info":
                Catalog.built_in().with_ops_info(data.decode("utf-8", "replace"), "ops_info")
            else:
                known_failures.load(path, self.state["library"].instances())
        except NpuError as error:
            bounded(str(error))


class Requests(Kind):
    """Lines that a worker reads."""

    def make(self, r):
        method = r.choice(["hello", "options", "partition", "precision", "reset", text(r)])
        params = {name: value(r) for name in r.sample(_PARAMS, r.randrange(1, 6))}
        if r.random() < 0.8:
            params.update(surface="session", edition="current", graph=self.state["small"])
        if r.random() < 0.7:
            params["values"] = {r.choice(NAMES): value(r) for _ in range(r.randrange(3))}
        line = json.dumps({"id": r.choice([1, 1, 1, value(r)]), "method": method, "params": params}).encode("ascii")
        return mutated(r, line) if r.random() < 0.3 else line

    def use(self, given):
        message, _ = worker._answer(self.state["backend"], given)
        out = io.BytesIO()
        worker._write(Whole(out), message)
        for line in out.getvalue().splitlines():
            answer = protocol.decode(line + b"\n")
            method = "partition" if "geops" in answer.get("ok", {}) else ""
            fault = protocol.answer_fault(answer, method, answer.get("id"))
            if fault:
                raise Wrong(fault)


class Whole:
    def __init__(self, stream):
        self.stream = stream

    def write(self, view):
        return self.stream.write(view)


_PARAMS = ["graph", "surface", "edition", "values", "env", "files", "op_list", "policy", "flavour", "feeds", "fetches",
           "ops_info", "protocol", "new"]  # fmt: skip


class Answers(Kind):
    """Lines that the suite reads, and what it makes of them."""

    def make(self, r):
        number = r.randrange(4)
        body = self.state["answer"][number]
        if r.random() < 0.6:
            body = json.dumps(changed(r, json.loads(body.decode("ascii")))).encode("ascii")
        line = b'{"id": 1, "' + r.choice([b"ok", b"ok", b"ok", b"rejected", b"error"]) + b'": ' + body + b"}\n"
        return [number, mutated(r, line) if r.random() < 0.5 else line]

    def use(self, given):
        number, line = given
        method = ("partition", "options", "precision", "run")[number]
        outcome = client.read(line, method, 1)
        client.describe(outcome)
        instance = self.state["instances"][method]
        result = judge.judge(instance, outcome, self.state["folder"])
        json.dumps(result._asdict(), allow_nan=False)
        if len(result.detail) > 2000:
            raise Wrong("a detail of more than 2000 characters")


class Commands(Kind):
    """Command lines of the commands that answer questions."""

    def make(self, r):
        command = r.choice(
            ["options", "partition", "precision", "golden", "coverage", "verify", "compare", "mutants", text(r)]
        )
        words = {
            "options": [f"{r.choice(NAMES)}={text(r)}", "--env", text(r), "--surface", "runconfig"],
            "partition": [
                self.state["small"], "-o", f"{r.choice(NAMES)}={text(r)}", "--fetch", text(r), "--feed", text(r),
                "--max-geops", text(r), "--op-list", text(r), "--shape", text(r), "--batch", text(r),
            ],
            "precision": [self.state["small"], "-o", f"{r.choice(NAMES)}={text(r)}", "--compare", text(r)],
            "golden": ["check", text(r)],
            "coverage": ["--prefix", text(r)],
            "mutants": [text(r)],
        }.get(command, [text(r), text(r)])  # fmt: skip
        chosen = [word for word in words if r.random() < 0.7]
        chosen[:0] = ["--list"] if command == "mutants" else []
        chosen += ["--format", "json"] if r.random() < 0.4 else []
        return [command, *[_as_argument(word) for word in chosen]]

    def use(self, given):
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.main(given)
            except SystemExit as ended:
                code = ended.code or 0
        out.flush()
        err.flush()
        told = err.buffer.getvalue().decode("utf-8")
        if code not in EXITS:
            raise Wrong(f"exit status {code}: {told[:300]}")
        errors = [line for line in told.splitlines() if line.startswith("error")]
        if len(errors) > 1 or any(len(line) > 2100 for line in errors) or "\x1b" in told or "\u202e" in told:
            raise Wrong(f"its error is not one plain line: {told[:300]!r}")
        answered = out.buffer.getvalue().decode("utf-8")
        if set(answered) & set("\x1b\r\u202e\u2028"):
            raise Wrong(f"its answer holds what a terminal obeys: {ascii(answered)[:300]}")
        if "--format" in given and code in (0, 1) and out.buffer.getvalue():
            json.loads(out.buffer.getvalue().decode("ascii"), parse_constant=wrong)


def _as_argument(word):
    """The word as a command line can bring it: bytes without a zero, of which those that are no text are escaped."""
    return word.replace("\0", "").encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


KINDS = {
    "options": (Options, 40), "grammars": (Grammars, 20), "graphs": (Graphs, 50), "files": (Files, 15),
    "requests": (Requests, 30), "answers": (Answers, 35), "commands": (Commands, 3),
}  # fmt: skip


def wrong(found):
    raise Wrong(f"{found!r} is not JSON")


def bounded(found):
    if len(found) > 2100:
        raise Wrong(f"a message of {len(found)} characters: {found[:200]}")


def prepared():
    """Everything that inputs are given to, but for a folder."""
    state = seeds()
    state["library"] = library.load()
    state["backend"] = ReferenceBackend()
    state["small"] = os.path.join(ROOT, "fixtures", "graphs", "cases", "pyfunc_chain.pb")
    by_method = {}
    for instance in state["library"].instances():
        if not instance.twin and instance.case.expect.rejected is None:
            by_method.setdefault(instance.case.method, instance)
    state["instances"] = by_method
    return state
