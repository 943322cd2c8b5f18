"""Decides what somebody who is new here is given to try: a script, a model, option files, a faulty backend, and the
commands that show them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from npu_conformance.files import output, reading, resources

__all__ = ["Trial", "files", "trials", "write"]

_MODEL = "model.pb"
_LARGEST = 1 << 20  # bytes of a file of ours
#: Of fixtures/demo, in the order in which they are told.
_FILES = (
    "train.py", "models/network.py", "models/evaluate.py", "mixlist.json", "op_precision.ini", "faulty_backend.py",
)  # fmt: skip


class Trial(NamedTuple):
    """A command to try.

    words: of the command line; about: what it shows; status: with which it ends; tensorflow: whether it needs one.
    """

    words: Tuple[str, ...]
    about: str
    status: int = 0
    tensorflow: bool = False

    @property
    def line(self) -> str:
        """As it is pasted into a shell."""
        return " ".join(map(shlex.quote, self.words))


def files() -> Dict[str, bytes]:
    """Every file by its path below the folder."""
    folder = os.path.join(resources.fixtures(), "demo")
    found = {name: reading.content(os.path.join(folder, *name.split("/")), _LARGEST) for name in _FILES}
    return {**found, _MODEL: _model().to_bytes()}


def write(folder: str) -> Sequence[str]:
    """Writes all files below a folder that is empty or absent, and says their paths below it.

    Raises:
        NpuError: OUTPUT, with nothing written.
    """
    made = files()
    with output.filled_folder(folder) as aside:
        for name, content in made.items():
            path = os.path.join(aside, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            output.write_bytes(path, content)
    return list(made)


def trials(folder: str) -> List[Trial]:
    """Commands to try on what lies in a folder, in an order in which each works; from whatever directory."""

    def at(name: str) -> str:
        return os.path.join(os.path.abspath(folder), name)

    def page(name: str) -> List[str]:
        """Without jinja2 there are no pages."""
        return ["--html", at(name)] if importlib.util.find_spec("jinja2") is not None else []

    def suite(*words: str, about: str, **more: Any) -> Trial:
        return Trial(("npu-conformance", *words), about, **more)

    model, script, report = at(_MODEL), at("train.py"), at("report")
    backend = f"exec:{shlex.quote(sys.executable)} {shlex.quote(at('faulty_backend.py'))}"
    lists = ["-o", f"modify_mixlist={at('mixlist.json')}", "-o", f"op_precision_mode={at('op_precision.ini')}"]
    judged = ["--area", "mixed", "--out", report]
    return [
        suite(
            "partition", model, "-o", "mix_compile_mode=true", *page("partition.html"),
            about="Which operators go to the device, and why the others stay on the host",
        ),
        suite(
            "precision", model, "-o", "precision_mode=allow_mix_precision", *lists, *page("precision.html"),
            about="Which operators are lowered to float16, with lists and modes of your own",
        ),
        suite(
            "profile", model, "--fetch", "train", "--batch", "64", *page("profile.html"),
            about="What one step takes on the simulated device",
        ),
        suite("golden", "update", model, about="Record how the model is treated"),
        suite("golden", "check", model, about="See later that nothing moved"),
        suite(
            "options", "mix_compile_mode=true", "iterations_per_loop=10", status=2,
            about="Options that exclude each other are refused; npu-conformance explain has the sentence that says so",
        ),
        suite(
            "lint", script, at("models"), status=1,
            about="Mistakes, found without running; --fix --unsafe-fixes mends this one",
        ),
        suite(
            "simulate", *page("train.html"), script, tensorflow=True,
            about="The script runs unchanged, its GEOPs on the simulated device",
        ),
        suite(
            "run", "--backend", backend, *judged, status=1,
            about="Judge a backend that has one fault",
        ),
        suite(
            "case", "mixed-with-two-iterations", "--trace", "--backend", backend, status=1,
            about="All of a case that failed: what was asked, what came, and what the documents say",
        ),
        suite(
            "run", "--backend", backend, *judged, "--failed", report, status=1,
            about="Ask what failed again: as long as the fault is not mended, it fails",
        ),
    ]  # fmt: skip


def _model() -> Any:
    """One training step: in mixed computing words are hashed, and classes are named, on the host."""
    from npu_reference.graphs import GraphBuilder

    g = GraphBuilder()
    words = g.placeholder("words", "string", [None])
    labels = g.placeholder("labels", "int32", [None])
    hashed = g.op("StringToHashBucketFast", "hashed", [words], num_buckets=256)
    table = g.op("VariableV2", "table", shape=[256, 32], dtype="float32")
    axis = g.const("axis", 0, "int32")
    looked_up = g.op("GatherV2", "looked_up", [g.identity("table/read", table), hashed, axis])
    weights = {name: g.op("VariableV2", name, shape=shape, dtype="float32")
               for name, shape in (("first", [32, 64]), ("bias", [64]), ("second", [64, 4]))}  # fmt: skip
    read = {name: g.identity(f"{name}/read", weight) for name, weight in weights.items()}
    summed = g.op("BiasAdd", "summed", [g.op("MatMul", "product", [looked_up, read["first"]]), read["bias"]])
    hidden = g.op("Relu", "hidden", [summed])
    logits = g.op("MatMul", "logits", [hidden, read["second"]])
    g.op("AsString", "named", [g.op("ArgMax", "predicted", [logits, g.const("last", 1, "int32")])])
    losses = g.op("SparseSoftmaxCrossEntropyWithLogits", "losses", [logits, labels])
    g.op("Mean", "loss", [losses[0], axis])
    g.op("Sum", "penalty", [g.op("Square", "squares", [read["bias"]]), axis])
    back = g.op("ReluGrad", "back", [
        g.op("MatMul", "back/product", [losses[1], read["second"]], transpose_b=True), hidden,
    ])  # fmt: skip
    slopes = {
        "second": g.op("MatMul", "second/slope", [hidden, losses[1]], transpose_a=True),
        "bias": g.op("BiasAddGrad", "bias/slope", [back]),
        "first": g.op("MatMul", "first/slope", [looked_up, back], transpose_a=True),
    }
    rate = g.const("rate", 0.01, "float32")
    steps = [g.op("ApplyGradientDescent", f"{name}/step", [weights[name], rate, slope])
             for name, slope in slopes.items()]  # fmt: skip
    g.op("NoOp", "train", control=steps)
    return g.build()
