"""Kills programs that leave files, at random moments, and says whether anything torn was left that a later one trusts.

Usage: python benchmarks/killed.py [dumps|sessions|profiles|kernels ...] [--tries N] [--seed N]

A try forks a program that writes files without end, kills it (SIGKILL) after a random time, and reads what is there:
steps of data dumps and exception dumps, written directly or by sessions of the simulated device, which need TensorFlow;
profiles and a bank of tiles; or kernel files, a cache, external weights and fusion results. A folder is used ten times,
so that what one try left is what the next one finds. Nothing is written outside a temporary folder. Exit status 1:
something is torn.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Counter, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference import NpuError, profiling, tuning  # noqa: E402
from npu_reference.artifacts.binaries import seal_of  # noqa: E402
from npu_reference.dumps import form, names, reading  # noqa: E402
from npu_reference.dumps.writing import ASIDE, Target, write_alone  # noqa: E402
from npu_reference.hardware import built_in  # noqa: E402
from npu_reference.options.grammars.profiling import ProfilingOptions  # noqa: E402
from tests.artifacts.making import Machine, apart, dense  # noqa: E402
from tests.timing.networks import mlp, step  # noqa: E402

__all__ = ["KINDS", "attempt", "main"]

#: Operators of a step that is dumped, and bytes of each.
OPERATORS, BYTES = 40, 20_000

VALUES = {
    "op_compiler_cache_mode": "enable", "op_compiler_cache_dir": "/k", "external_weight": True,
    "export_compile_stat": 2,
}  # fmt: skip


class Kind(NamedTuple):
    """A program that writes into a folder, by a seed, for ever, once it has said that it begins; and what is found.

    ``found`` counts what is there and tells what is torn by a sentence each.
    """

    program: Callable[[str, int, Callable[[], None]], None]
    found: Callable[[Path, Counter], Iterator[str]]
    longest: float  # seconds that a program lives at most; it leaves all files several times in that


def _dumps(folder: str, seed: int, begin: Callable[[], None]) -> None:
    target = Target(folder)
    target.open()
    data = bytes(BYTES)
    tensor = form.Tensor("uint8", (BYTES,), BYTES, "ND", "op", 0)
    begin()
    for number in range(1_000_000):
        files = target.step("GeOp_0", 1, number)
        for task in range(1, OPERATORS + 1):
            stamp = target.clock.stamp()
            parts = form.encode(form.Description(f"op{task}", stamp, (), (tensor,)), [], [data])
            files.write(names.file_name("Relu", f"op{task}", task, 0, stamp), parts)
        files.publish()
        write_alone(folder, ("extra-info", "data-dump", "0"), names.exception_name("Relu", "op", 1, stamp), parts)


def _sessions(folder: str, seed: int, begin: Callable[[], None]) -> None:
    import tensorflow.compat.v1 as tf

    from npu_reference.options.typed import DataDump
    from npu_reference.runtime.config import current_overrides, overriding
    from npu_reference.runtime.sessions import activation

    activation.activate()
    tf.disable_eager_execution()
    x = out = tf.placeholder(tf.float32, [5000])
    for _ in range(OPERATORS):
        out = tf.nn.relu(out)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer")
    with overriding(current_overrides()._replace(dump=DataDump(folder, None, "output"))):
        session = tf.Session(config=config)
    begin()
    while True:
        session.run(out, {x: [1.0] * 5000})


def _dumped(folder: Path, counts: Counter) -> Iterator[str]:
    """Every file is as long as it says, every step has all its operators, and the next dump takes away what is left."""
    steps = collections.Counter()
    for one in reading.files(str(folder)):
        counts["files"] += 1
        try:
            form.read(one.path)
        except NpuError as error:
            yield f"{one.relative}: {error}"
        if one.step is not None:
            steps[os.path.dirname(one.path)] += 1
    counts["steps"] += len(steps)
    yield from (f"{place} has {count} files" for place, count in steps.items() if count != OPERATORS)
    counts["aside"] += sum(name.startswith(ASIDE) for name in os.listdir(folder))
    target = Target(str(folder))
    target.open()
    target.close()
    yield from (f"{name} is still there" for name in os.listdir(folder) if name.startswith(ASIDE))


@lru_cache(maxsize=1)
def _steps() -> Tuple[Any, ...]:
    """Steps of a few nets: made once, so that programs spend their lives writing."""
    return tuple(step(*mlp(layers=layers, batch=330, width=210)) for layers in (1, 2, 4))


def _profiles(folder: str, seed: int, begin: Callable[[], None]) -> None:
    begin()
    order, plan = random.Random(seed), tuning.TuningPlan("2", folder, None, None, True)
    while True:
        made = order.choice(_steps())
        wanted = ProfilingOptions(folder, True, True, True, "", "", order.choice(["Memory", "PipeUtilization"]))
        profiling.write(folder, profiling.files([profiling.ProfiledRun(made)], wanted))
        tuned = tuning.tune([made.compiled], plan)
        for name, content in tuning.result_files(plan, tuned, built_in(), {}).items():
            tuning.write(os.path.join(folder, name), content)


def _profiled(folder: Path, counts: Counter) -> Iterator[str]:
    """Every tree that has its name holds just what its name says, and the bank is whole."""
    for tree in sorted(folder.glob("PROF_*")):
        counts["trees"] += 1
        content = {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        if profiling.tree.name_of(int(tree.name.split("_")[1]), content) != tree.name:
            yield f"{tree.name} does not hold what its name says"
    _, complaint = tuning.read(str(folder), built_in())
    if complaint is not None:
        yield complaint


def _kernels(folder: str, seed: int, begin: Callable[[], None]) -> None:
    begin()
    order, machine = random.Random(seed), Machine(Path(folder), **VALUES)
    while True:
        leaving = machine.program()
        for _ in range(4):
            rows, weight = order.randrange(1, 5), order.choice([0.25, 0.5, 0.75])
            machine.compile(apart(rows), program=leaving, session=1, **order.choice([{}, {"op_debug_level": 1}]))
            machine.compile(dense(weight, 64), program=leaving, session=2, op_compiler_cache_mode="enable")
        leaving.end()


def _compiled(folder: Path, counts: Counter) -> Iterator[str]:
    """Every file is whole by itself, and what another program takes from the cache is."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith("."):
            continue
        data = path.read_bytes()
        weight = re.match(r"weight_([0-9a-f]{64})\Z", path.name)
        if weight and hashlib.sha256(data).hexdigest() != weight.group(1):
            yield f"{path.name} is no such weight"
        if path.suffix == ".json":
            try:
                value = json.loads(data.decode("utf-8"))
            except ValueError:
                yield f"{path.name} is torn"
                continue
            if "seal" in value and value["seal"] != seal_of(value):
                yield f"{path.name} is not as it was written"
            code = path.with_suffix(".o")
            told = value.get("sha256") if code.exists() else None
            if told is not None and hashlib.sha256(code.read_bytes()).hexdigest() != told:
                yield f"{code.name} is not what its description says"
    counts["aside"] += len(list(folder.rglob("*.part")))
    counts["entries"] += len(list(folder.rglob("kernel_cache/**/*.json")))
    later = Machine(folder, **VALUES)
    later.programs = 1_000_000
    leaving = later.program()
    for rows in range(1, 5):
        left = later.compile(apart(rows), program=leaving, session=1)
        counts["taken"] += left.hits
        yield from (f"an entry of the cache is refused: {note}" for note in left.notes if note.code == "CACHE_ENTRY")
    leaving.end()


KINDS: Dict[str, Kind] = {
    "dumps": Kind(_dumps, _dumped, 0.15),
    "sessions": Kind(_sessions, _dumped, 1.0),
    "profiles": Kind(_profiles, _profiled, 0.3),
    "kernels": Kind(_kernels, _compiled, 0.25),
}


def attempt(name: str, folder: Path, seed: int, counts: Counter) -> Sequence[str]:
    """What is torn after one program of a kind was killed; counts what was found."""
    kind = KINDS[name]
    if name == "profiles":
        _steps()
    begun, begins = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kind.program(str(folder), seed, lambda: os.close(begins))
        finally:
            os._exit(1)
    os.close(begins)
    with open(begun, "rb") as stream:
        stream.read()  # ends where the program closes its end
    time.sleep(random.Random(seed).uniform(0.0, kind.longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return list(kind.found(folder, counts))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=["dumps", "profiles", "kernels"], metavar="KIND")
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    torn = 0
    for name in given.kinds:
        counts: Counter = collections.Counter()
        with tempfile.TemporaryDirectory(prefix="npu-killed-") as outer:
            for number in range(given.tries):
                folder = Path(outer) / str(number // 10)
                folder.mkdir(exist_ok=True)
                for fault in attempt(name, folder, given.seed + number, counts):
                    torn += 1
                    print(f"{name}, try {number}: {fault}", flush=True)
        print(f"{name}: {given.tries} programs killed, " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    print(f"{torn} torn")
    return 1 if torn else 0


if __name__ == "__main__":
    sys.exit(main())
