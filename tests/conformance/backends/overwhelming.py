"""A backend that answers each case with more than anybody can bear, as the value ``as`` of the case says.

``python overwhelming.py`` speaks the protocol; the loop and the good answers are those of ``miniatures.py``.
"""

from __future__ import annotations

import base64
import json

LINE = 15 << 20  # bytes: the protocol's own limit is one more
LONG = 17 << 18  # bytes of an answer that a report cannot keep
KEPT = 1 << 20  # bytes of one that it can


def names(size, form='"{:x}"'):
    """Members of an array, of so many bytes together."""
    one = len(form.format(1 << 20)) + 1
    return ",".join(form.format(number) for number in range(1 << 20, (1 << 20) + size // one))


def partition(nodes, more=""):
    return '{"geops": [{"nodes": [' + nodes + ']}], "host": [{"node": "x"}]' + more + "}"


def table(rows, head="Op Name,Task Start Time(us),Task Duration(us)"):
    return {"b64": base64.b64encode("\n".join([head, *rows]).encode()).decode()}


def step(**more):
    return {"step_ns": 1, **more}


def task(node, **more):
    return {"engine": "aicore", "kind": "kernel", "start_ns": 0, "end_ns": 1, "nodes": node, "stream": 1, **more}


ANSWERS = {
    # of the limit's own size
    "one-name": lambda: partition(f'"{"n" * LINE}"'),
    "many-nodes": lambda: partition(",".join([names(LONG >> 4)] * 16)),
    "many-keys": lambda: partition('"a"', ', "new": {' + names(LONG, '"{:x}":1') + "}"),
    "a-key-twice": lambda: partition('"a"', ', "new": {' + names(KEPT, '"{:x}":1') + ',"100000":2,"100000":2}'),
    "no-end": lambda: partition('"a"', ', "new": ["' + '\\"' * KEPT),
    # small enough to be looked at
    "kept-nodes": lambda: partition(names(KEPT)),
    "one-name-for-all": lambda: partition(f'"{"0" * KEPT}",' + names(KEPT)),
    "long-names": lambda: partition(names(2 * KEPT, '"' + "n" * 1000 + '{:x}"')),
    "one-variant-for-all": lambda: json.dumps(
        {"base": step(), "variants": {"v" * (1 << 19): step(tasks=[task([f"n{one}", "m"]) for one in range(10000)])}}
    ),
    "runs-alike": lambda: json.dumps(
        {
            "fetches": {},
            "timeline": [
                {"run_ns": 1, "tasks": [{**task(["n"]), "kind": "launch"}] * 5000},
                *[{"run_ns": 1, "same_as": 0}] * 20000,
            ],
        }
    ),
    "many-kernels": lambda: json.dumps(
        {
            "turns": [
                {
                    "kernels": [{"kernel": f"k{one}", "nodes": ["a"], "origin": "compiled"} for one in range(8000)],
                    "files": {f"kernel_meta/j{one}": {"bytes": 1} for one in range(8000)},
                }
            ]
        }
    ),
    "many-iterations": lambda: json.dumps(
        {
            "base": step(
                files={
                    "PROF_1/op_summary.csv": table([f"n,{one / 1e9:.9f},1" for one in range(20000)]),
                    "PROF_1/step_trace.csv": table(
                        [f"{one / 1e9:.9f},1" for one in range(20000)], "FP Start(us),BP End(us)"
                    ),
                    "PROF_1/task_time.csv": table(["1"] * 100000, ",".join(map(str, range(10000)))),
                    "PROF_1/aicpu.csv": table(["1"] * 100000, ",".join(map(str, range(10000)))),
                }
            )
        }
    ),
    "blanks": lambda: json.dumps(
        {"turns": [{"files": {"op_cache.ini": table(["a" + " " * 1000000 + "b"]), "kernel_meta/a.cce": table(
            ["CheckInvalidAccessOfDDR("] * 30000)}}]}
    ),
}  # fmt: skip


if __name__ == "__main__":
    import miniatures

    class Overwhelming(miniatures.Honest):
        """Answers rightly where a case has no value ``as``."""

        features = ["partition", "options", "timeline", "compile", "run", "compile.passes", "run.timeline"]

        def answer(self, request):
            kind = request["params"].get("values", {}).get("as")
            if kind is None:
                return super().answer(request)
            return f'{{"id": {request["id"]}, "ok": {ANSWERS[kind]()}}}\n'.encode()

    miniatures.Overwhelming = Overwhelming
    miniatures.main("Overwhelming")
