"""Runs a program, plain or on the simulated device, and tells all that can be seen of it."""

from __future__ import annotations

import re
import shutil
import tempfile
from concurrent import futures

import numpy as np
import tensorflow.compat.v1 as tf
from benchmarks.differential.building import Building
from benchmarks.differential.language import walk
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context

from npu_reference.runtime.sessions import activation

MODES = ("mixed", "full")

#: TensorFlow 1.15 names a loop of version 2 itself, and what a branch reads.
_TAKES = ("RefEnter", "RefSwitch", "VariableV2", "While", "If")
_ELEMENTS = 4  # of an iterator, to tell where it is
#: Of a variable without a value TensorFlow says either, by whether anything else in its container ran before.
_MISSING = re.compile(r"Container \S+ does not exist\. \(Could not find resource: \S+\)|Resource \S+ does not exist\.")
_ROOT = re.compile(r"^\s*\(0\) [A-Za-z ]+: (.*)$", re.MULTILINE)


def config(mode):
    """A ConfigProto without Grappler or other rewriting; "plain", or with the device."""
    made = tf.ConfigProto(inter_op_parallelism_threads=4, intra_op_parallelism_threads=1)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    made.graph_options.optimizer_options.opt_level = -1
    if mode != "plain":
        rewrite = made.graph_options.rewrite_options
        rewrite.remapping = type(rewrite).OFF
        entry = rewrite.custom_optimizers.add(name="NpuOptimizer")
        entry.parameter_map["mix_compile_mode"].b = mode == "mixed"
    return made


class Program:
    """The graph of a program, and what it does in one mode after the other; each has a session of its own."""

    def __init__(self, program):
        activation.activate()
        self.program = program
        switch = tf.enable_control_flow_v2 if program["control_flow"] == 2 else tf.disable_control_flow_v2
        switch()
        # A function's call has a config of its own, and by default Grappler takes out what fails for nobody. Where the
        # device takes calls apart there is no body that Grappler could see.
        calls, before = context.context(), context.context().function_call_options
        calls.function_call_options = context.FunctionCallOptions(config_proto=config("plain"))
        try:
            with tf.Graph().as_default() as graph:
                tf.set_random_seed(1)
                self.built = Building(program)
        finally:
            calls.function_call_options = before
        graph.finalize()
        self.graph = graph

    def outcome(self, mode):
        """What the program does: nested lists of text and numbers.

        Returns:
            a dict: ``runs`` (what each gave, or its error), ``calls`` (of Python functions) and ``state``.
        """
        built = self.built
        built.calls.clear()
        with tf.Session(graph=self.graph, config=config(mode)) as session:
            session.run(built.initializers)
            runs, ordered = [], self.program["serial"]
            for run in self.program["runs"]:
                runs.append(_attempt(lambda run=run: _run(session, built, run)))
                if self._fails_early(runs[-1]):
                    ordered = False
                    break
            whole = all(run[0] == "values" for run in runs)
            # Where nothing orders what has an effect, a run that fails leaves now this, now that.
            known = whole or ordered
            calls = _calls(self.program, built, whole) if known else {}
            state = _state(session, built) if known else []
        return {"runs": runs, "calls": calls, "state": state}

    def _fails_early(self, run):
        """Whether a loop or branch has taken a variable without a value: it does so as the run begins."""
        if run[0] == "values":
            return False
        return any(op.name == run[2] and op.type in _TAKES for op in self.graph.get_operations())


def _calls(program, built, whole):
    """How often what has an effect was called; what has none may have begun beside what failed."""
    if whole:
        return {str(number): count for number, count in sorted(built.calls.items())}
    kept = [one["ids"][0] for one in walk(program["block"]) if one["do"] == "python" and one.get("stateful")]
    return {str(number): built.calls[number] for number in sorted(kept) if built.calls[number]}


def _attempt(work):
    try:
        return ["values", work()]
    except tf.errors.OpError as error:
        op = None if error.op is None else error.op.name
        return ["error", _class(error), op, first_line(error.message)]
    except Exception as error:  # noqa: BLE001 what TensorFlow raises of other kinds has to be the same, too
        return ["error", type(error).__name__, None, str(error).split("\n")[0]]


def _class(error):
    """The class of TensorFlow; what the device refuses is named as it is."""
    return f"{type(error).__name__} {error.code}" if hasattr(error, "remedy") else type(error).__name__


def first_line(message):
    """What an error says, without where: the line of the first root where there are several."""
    text = message if isinstance(message, str) else message.decode("utf-8", "replace")
    root = _ROOT.search(text)
    if root:
        line = root.group(1)
    elif text.startswith("Graph execution error:"):
        # TensorFlow 2 tells first where the operator was made.
        rest = [line for line in text.split("\nNode: ")[-1].split("\n")[1:] if line.strip()]
        line = rest[0] if rest else ""
    else:
        line = text.split("\n")[0]
    line = re.sub(r"(__npu\d+)?_\d+@", "@", line)  # of a TensorArray: how many there were before it
    return re.sub(r"\{\{(function_)?node [^}]*\}\}\s*|\[_Derived_\]\s*", "", _MISSING.sub("", line)).strip()


def encoded(value):
    """A value with every bit."""
    array = np.asarray(value)
    if array.dtype == object:
        return ["string", list(array.shape), [one.hex() if isinstance(one, bytes) else str(one) for one in array.flat]]
    if array.dtype.kind == "S":
        return ["string", list(array.shape), [one.hex() for one in array.astype(object).flat]]
    return [array.dtype.name, list(array.shape), array.tobytes().hex()]


def _run(session, built, run):
    if run["how"] == "save":
        return _save(session, built)
    known = built.scope.known
    wanted = [known[number][1] for _, number in run["fetch"] if number in known and number not in built.placeholders]
    feeds = {built.placeholders[number]: value for number, value in run["feed"] if number in built.placeholders}
    feeds = {tensor: np.array(value, tensor.dtype.as_numpy_dtype) for tensor, value in feeds.items()}
    if not wanted:
        return []
    return [encoded(value) for value in _HOW[run["how"]](session, wanted, feeds)]


def _options(session, wanted, feeds):
    asked = config_pb2.CallableOptions(feed=[t.name for t in feeds], fetch=[t.name for t in wanted])
    return session._make_callable_from_options(asked)(*feeds.values())


def _partial(session, wanted, feeds):
    first, second = wanted[: len(wanted) // 2 + 1], wanted[len(wanted) // 2 + 1 :]
    handle = session.partial_run_setup(wanted, list(feeds))
    values = session.partial_run(handle, first, feeds)
    return values + (session.partial_run(handle, second) if second else [])


def _threads(session, wanted, feeds):
    with futures.ThreadPoolExecutor(len(wanted)) as threads:
        found = [threads.submit(session.run, tensor, feeds) for tensor in wanted]
    return [one.result() for one in found]


_HOW = {
    "run": lambda session, wanted, feeds: session.run(wanted, feeds),
    "callable": lambda session, wanted, feeds: session.make_callable(wanted, list(feeds))(*feeds.values()),
    "options": _options,
    "partial": _partial,
    "threads": _threads,
}


def _save(session, built):
    """Keep the variables, begin them anew, and take them back."""
    if built.saver is None:
        return []
    folder = tempfile.mkdtemp(prefix="differential")
    try:
        path = built.saver.save(session, f"{folder}/kept", write_meta_graph=False)
        session.run([variable.initializer for _, variable in built.variables.values()])
        built.saver.restore(session, path)
        reader = tf.train.load_checkpoint(path)
        return [[name, encoded(reader.get_tensor(name))] for name in sorted(reader.get_variable_to_shape_map())]
    finally:
        shutil.rmtree(folder)


def _state(session, built):
    """All that lives in the session, in the end."""
    state = []
    for number, read in sorted(built.reads.items()):
        state.append([f"variable {number}", _attempt(lambda read=read: encoded(session.run(read)))])
    for number, (size, take) in sorted(built.sizes.items()):
        held = session.run(size)
        state.append([f"queue {number}", [int(held), [encoded(session.run(take)) for _ in range(held)]]])
    for number, take in sorted(built.elements.items()):
        left = [_attempt(lambda take=take: encoded(session.run(take))) for _ in range(_ELEMENTS)]
        state.append([f"iterator {number}", [one if one[0] == "values" else one[:2] for one in left]])
    return state
