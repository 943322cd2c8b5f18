"""Gives hostile inputs to everything that reads what others wrote, and says what answers otherwise than it should.

Usage: python benchmarks/fuzz.py [--count 200000] [--seed 0] [--first 0] [--processes 1] [--kind K] [--summary FILE]

Kinds: option values and grammars; graphs (.pb, .pbtxt, .gz); operator lists, operator information, option files, lists
of known failures; lines that the worker reads; answers that the suite reads and judges; command lines. Of each only an
NpuError, an answer of the protocol, or an exit status of the design may come, within ten seconds and 3 GiB. Input N
depends on the seed and N alone. A finding is made small and printed with what it does; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import base64
import collections
import contextlib
import gzip
import io
import json
import multiprocessing
import os
import platform
import random
import resource
import signal
import sys
import tempfile
import time
import traceback

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from google.protobuf import text_format  # noqa: E402

from npu_conformance import cli  # noqa: E402
from npu_conformance.backends import worker  # noqa: E402
from npu_conformance.backends.reference import ReferenceBackend  # noqa: E402
from npu_conformance.judging import judge, known_failures  # noqa: E402
from npu_conformance.library import library  # noqa: E402
from npu_conformance.protocol import client  # noqa: E402
from npu_conformance.protocol import messages as protocol  # noqa: E402
from npu_reference.catalog import Catalog, OpList  # noqa: E402
from npu_reference.errors import NpuError  # noqa: E402
from npu_reference.graphs import close_over, frames, infer_shapes, load_graph  # noqa: E402
from npu_reference.options import OPTIONS, parse_assignments, resolve  # noqa: E402
from npu_reference.options.directives import directives  # noqa: E402
from npu_reference.options.meaning import meanings  # noqa: E402
from npu_reference.partition import partition  # noqa: E402

CHUNK = 2000  # inputs of one process
SECONDS = 10  # of one input
MEMORY = 3 << 30
SHRINKS = 300  # attempts at making a finding small
EXITS = (0, 1, 2, 3)


class Wrong(Exception):
    """An answer that is none."""


class Hang(BaseException):
    """No answer in time; no handler of what is tried may take it for an error of the input."""


# -- what inputs are made of -----------------------------------------------------------------------------------------

NAMES = sorted(OPTIONS)
WORDS = [
    "",
    " ",
    "0",
    "1",
    "-1",
    "true",
    "None",
    "null",
    "nan",
    "1e999",
    "9" * 30,
    "9" * 5000,
    "a" * 3000,
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "=",
    "'",
    '"',
    "\\",
    "\n",
    "\r",
    "\0",
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "\udcff",
    "\u2028",
    "名",
    "..",
    "/",
    "../..",
    "/dev/null",
    "~",
    "*",
    "?",
    "%s",
    "%n",
    "{{7*7}}",
    "<script>",
    "add",
    "mul",
    "x",
    "in_out_pair",
    "[[]]",
    "[['a'],['b']]",
    "force_fp16",
    "allow_mix_precision",
    "16 * 1024",
    "0x10",
    "1_000",
    "\u0661",
    "--",
    "-o",
    "@",
    "#",
    "\t",
    "Relu",
    "MatMul",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    1 << 31,
    -(1 << 31),
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    1 << 64,
    10**30,
    10**400,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
]


def text(r):
    """A text of some words, now and then with a character of anywhere."""
    parts = [r.choice(WORDS) for _ in range(r.randrange(4))]
    if r.random() < 0.2:
        parts.append(chr(r.choice([r.randrange(0x20), r.randrange(0x110000)])))
    return "".join(parts)


def value(r, depth=0):
    """A JSON value."""
    kind = r.randrange(8 if depth < 4 else 5)
    if kind < 2:
        return text(r)
    if kind == 2:
        return r.choice(NUMBERS)
    if kind == 3:
        return r.choice([True, False, None])
    if kind == 4:
        return r.choice(NAMES)
    if kind == 5:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    if kind == 6:
        return {"field": r.choice("bifsx"), "value": value(r, depth + 1)}
    return {
        r.choice([text(r), r.choice(NAMES), "class", "arguments"]): value(r, depth + 1) for _ in range(r.randrange(4))
    }


def mutated(r, data):
    """The bytes with some changed, cut out, doubled or put in."""
    data = bytearray(data)
    for _ in range(r.randrange(1, 6)):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = r.randrange(256)
        elif kind == 1:
            del data[at : at + r.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = data[at : at + r.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = r.choice(WORDS).encode("utf-8", "surrogatepass")
        elif kind == 4:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 6)))
        else:
            del data[at:]
    return bytes(data)


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
    folder = os.path.join(_ROOT, "fixtures", "graphs", "cases")
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


# -- the kinds: what is made of a generator, and what is done with it ------------------------------------------------


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
            directives(found)
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
            directives(found)
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


def changed(r, found):
    """A JSON value with one part replaced."""
    if isinstance(found, dict) and found and r.random() < 0.8:
        key = r.choice(sorted(found))
        return {**found, key: changed(r, found[key])}
    if isinstance(found, list) and found and r.random() < 0.8:
        at = r.randrange(len(found))
        return [*found[:at], changed(r, found[at]), *found[at + 1 :]]
    return value(r)


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


# -- trying ----------------------------------------------------------------------------------------------------------


def prepared():
    """Everything that inputs are given to, but for a folder."""
    state = seeds()
    state["library"] = library.load()
    state["backend"] = ReferenceBackend()
    state["small"] = os.path.join(_ROOT, "fixtures", "graphs", "cases", "pyfunc_chain.pb")
    by_method = {}
    for instance in state["library"].instances():
        if not instance.twin and instance.case.expect.rejected is None:
            by_method.setdefault(instance.case.method, instance)
    state["instances"] = by_method
    return state


def limit(seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)


def hang(number, frame):
    raise Hang(f"no answer within {SECONDS} s, at {frame.f_code.co_filename}:{frame.f_lineno}")


def tried(kind, given):
    """What is wrong, in one line with the place; nothing where nothing is."""
    try:
        limit(SECONDS)
        kind.use(given)
    except (Exception, Hang) as error:  # noqa: BLE001  each is a finding
        limit(0)
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {os.path.basename(last.filename)}:{last.lineno}: {str(error)[:300]}"
    finally:
        limit(0)
    return ""


def smaller(given):
    """Inputs with a part left out, the largest parts first."""
    if isinstance(given, (bytes, str)):
        size = len(given) // 2
        while size:
            for at in range(0, len(given), size):
                yield given[:at] + given[at + size :]
            size //= 2
    elif isinstance(given, list):
        for at, one in enumerate(given):
            for less in smaller(one):
                yield [*given[:at], less, *given[at + 1 :]]
    elif isinstance(given, dict):
        for key in given:
            yield {name: one for name, one in given.items() if name != key}
        for key, one in given.items():
            for less in smaller(one):
                yield {**given, key: less}


def small(kind, given, fault):
    """The input made small, with the same sort of fault."""
    sort, left = fault.split(":")[0], SHRINKS
    again = True
    while again and left:
        again = False
        for less in smaller(given):
            left -= 1
            if tried(kind, less).split(":")[0] == sort:
                given, again = less, True
                break
            if not left:
                break
    return given


def shown(given):
    if isinstance(given, bytes):
        return "b64:" + base64.b64encode(given[:3000]).decode("ascii")
    return ascii(given)[:3000]


def input_of(kinds, seed, number, only):
    r = random.Random(f"{seed}/{number}")
    names = [only] if only else list(KINDS)
    name = r.choices(names, [KINDS[one][1] for one in names])[0]
    return name, kinds[name].make(r)


def chunk(state, seed, first, count, only, at, results):
    """Tries some inputs; says which, so that a death has its number."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, hang)
    counts, findings = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="npu-fuzz-") as folder:
        os.chdir(folder)
        kinds = {name: kind({**state, "folder": folder}) for name, (kind, _) in KINDS.items()}
        for number in range(first, first + count):
            at.value = number
            name, given = input_of(kinds, seed, number, only)
            counts[name] += 1
            fault = tried(kinds[name], given)
            if fault:
                findings.append((number, name, fault, shown(small(kinds[name], given, fault))))
        os.chdir(_ROOT)
    results.send((counts, findings))


def run(arguments):
    """All chunks; yields (counts, findings) of each as it ends."""
    context = multiprocessing.get_context("fork")
    state = prepared()
    todo = list(range(arguments.first, arguments.first + arguments.count, CHUNK))
    running = []
    while todo or running:
        while todo and len(running) < arguments.processes:
            first = todo.pop(0)
            count = min(CHUNK, arguments.first + arguments.count - first)
            ours, theirs = context.Pipe(False)
            at = context.Value("q", first)
            process = context.Process(
                target=chunk, args=(state, arguments.seed, first, count, arguments.kind, at, theirs)
            )
            process.start()
            theirs.close()
            running.append((process, ours, at))
        process, ours, at = running.pop(0)
        try:
            if not ours.poll(CHUNK * SECONDS / 5):
                process.kill()
                raise EOFError
            yield ours.recv()
        except EOFError:
            process.join()
            yield collections.Counter(), [(at.value, "?", f"its process ended with {process.exitcode}", "")]
        process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--summary", help="where to write the summary as well")
    arguments = parser.parse_args()
    counts, findings, began = collections.Counter(), [], time.monotonic()
    for some, found in run(arguments):
        counts.update(some)
        findings += found
        for number, name, fault, given in found:
            print(f"{arguments.seed}/{number} {name}: {fault}\n  {given}", flush=True)
    lines = [
        f"{sum(counts.values())} inputs from {arguments.first} of seed {arguments.seed}",
        f"Python {platform.python_version()}, {time.monotonic() - began:.0f} s",
        *[f"{name}: {number}" for name, number in sorted(counts.items())],
        f"findings: {len(findings)}",
    ]
    print("\n".join(lines))
    if arguments.summary:
        with open(arguments.summary, "w", encoding="ascii") as stream:
            stream.write("\n".join(lines) + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
