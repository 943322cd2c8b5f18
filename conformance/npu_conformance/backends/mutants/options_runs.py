"""Mutants of options and of the Python API that show only where something runs, so their cases need TensorFlow."""

from __future__ import annotations

import re
from typing import Any, Callable, List, Mapping, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, altered, script_text, with_values
from npu_conformance.backends.mutants.option_faults import given
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS

__all__: List[str] = []

Run = Callable[[Params], Answer]
Fault = Callable[[Run, Params], Answer]


def _declare(requirement: str, sentence: str, fault: Fault, option: str = "", kind: str = "misread") -> None:
    """Register a mutant whose ``run`` has one fault, of an option where one is named."""
    of_option = {"options": (option,), "surface": "session", "kind": kind} if option else {}
    altered(f"options.runs.{requirement}", requirement, sentence, "run", fault, **of_option)


def _prints(pattern: str, instead: str) -> Fault:
    """Prints something else where a script of this text prints its outcome."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        return {**answer, "output": re.sub(pattern, instead, answer.get("output", ""))}

    return fault


def _lacks(*pieces: str) -> Fault:
    """Fails a script whose text or arguments have all of these."""

    def fault(run: Run, params: Params) -> Answer:
        words = script_text(params) + " ".join(params.get("args", []))
        if all(piece in words for piece in pieces):
            raise NpuError("RUN_FAILED", pieces[0], "there is no such name.")
        return run(params)

    return fault


def _unheld(code: str, changes: Mapping[str, Any], when: Callable[[Params], bool]) -> Fault:
    """Runs what breaks an option's bound as if other values were given."""

    def fault(run: Run, params: Params) -> Answer:
        try:
            return run(params)
        except NpuError as error:
            if error.code != code or not when(params):
                raise
            return run(with_values(params, **changes))

    return fault


def _backwards(names: Tuple[str, ...]) -> Fault:
    """Binds the two ranges of dynamic_inputs_shape_range to the fed inputs the other way round."""

    def fault(run: Run, params: Params) -> Answer:
        text = given(params, "dynamic_inputs_shape_range")
        if isinstance(text, str) and set(params.get("feeds", {})) == set(names):
            first, second = re.findall(r"\[.*?\]", text)[:2] if text.count("[") > 1 else ("", "")
            if first:
                return run(with_values(params, dynamic_inputs_shape_range=f"data:{second},{first}"))
        return run(params)

    return fault


def _untold(code: str) -> Fault:
    """Leaves one entry of the log out."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        return {**answer, "log": [entry for entry in answer.get("log", []) if entry["code"] != code]}

    return fault


def _has(option: str, piece: str) -> Callable[[Params], bool]:
    return lambda params: piece in str(given(params, option))


_NO_PROFILES = {"input_shape": None, "dynamic_dims": None, "dynamic_node_type": None}

_OPTIONS: List[Tuple[str, str, str, Fault]] = [
    (
        "dynamic_dims.only_profiles",
        "misread",
        "Runs shapes of no profile.",
        _unheld("INPUT_SHAPE", _NO_PROFILES, _has("input_shape", "data:")),
    ),
    (
        "input_shape.mixed_inputs",
        "misread",
        "Takes a fixed placeholder among the inputs of a dynamic dataset.",
        _unheld("INPUT_SHAPE", {"input_shape": "next:-1"}, _has("input_shape", "next:-1;x:3")),
    ),
    (
        "dynamic_node_type.not_both",
        "misread",
        "Takes a dynamic placeholder beside a dynamic dataset.",
        _unheld("INPUT_SHAPE", _NO_PROFILES, lambda params: given(params, "input_shape") == "next:-1"),
    ),
    (
        "dynamic_inputs_shape_range.order_unnamed",
        "misread",
        "Binds the ranges of placeholders without names last to first.",
        _backwards(("Placeholder:0", "Placeholder_1:0")),
    ),
    (
        "dynamic_inputs_shape_range.order_named",
        "misread",
        "Binds the ranges of placeholders with names last to first.",
        _backwards(("a:0", "b:0")),
    ),
    (
        "graph_memory_max_size.meaning",
        "misread",
        "Runs a graph in less memory than it takes.",
        _unheld("DEVICE_MEMORY", {"graph_memory_max_size": None}, _has("graph_memory_max_size", "15")),
    ),
    (
        "variable_memory_max_size.meaning",
        "misread",
        "Keeps variables in less memory than they take.",
        _unheld("DEVICE_MEMORY", {"variable_memory_max_size": None}, _has("variable_memory_max_size", "15")),
    ),
    (
        "iterations_per_loop.must_match",
        "dropped_rule",
        "Loops as the graph says, whatever the session says.",
        _prints("(3 and 2: )refused.*", r"\1weight 3"),
    ),
    (
        "is_tailing_optimization.must_match",
        "dropped_rule",
        "Trains with tailing optimization in the session alone.",
        _prints("(the session alone: )refused.*", r"\1weight 2"),
    ),
    (
        "is_tailing_optimization.needs_optimizer",
        "silent",
        "Does not tell that tailing optimization needs NPUOptimizer.",
        _untold("tailing_without_npu_optimizer"),
    ),
]
for _requirement, _kind, _sentence, _fault in _OPTIONS:
    _name = _requirement.split(".")[0]
    assert _name in OPTIONS
    _declare(f"session.{_requirement}", _sentence, _fault, _name, _kind)

_API: List[Tuple[str, str, Fault]] = [
    (
        "api.NPUOptimizer.tailing",
        "Trains with tailing optimization in NPUOptimizer alone.",
        _prints("(NPUOptimizer alone: )refused.*", r"\1weight 2"),
    ),
    ("api.get_local_rank_id", "Gives every process rank 0.", _prints("(rank 1: )1", r"\g<1>0")),
    ("api.npu_bridge.npu_init.classes", "Has no ExperimentalConfig.", _lacks("ExperimentalConfig", "classes")),
    (
        "api.NPUEstimator.config",
        "Takes any configuration for an Estimator.",
        _prints("(a dict: )refused.*", r"\1NPUEstimator"),
    ),
    (
        "precision.g.estimator_import",
        "Has no module npu_bridge.estimator.npu.npu_config.",
        _lacks("npu_bridge.estimator.npu.npu_config"),
    ),
    ("session.register.remapping_off", "Cannot switch remapping off.", _lacks("remapping = RewriterConfig.OFF")),
    (
        "session.register.memory_optimization_off",
        "Cannot switch memory optimization off.",
        _lacks("memory_optimization = RewriterConfig.OFF"),
    ),
]
for _requirement, _sentence, _fault in _API:
    _declare(_requirement, _sentence, _fault)


@mutant("options.session.profiling_options.names_from_pbtxt", "session.profiling_options.names_from_pbtxt")
class OtherNames(ReferenceBackend):
    """Names operators otherwise than the saved graph, so that fp_point and bp_point find none."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        geops = [{**geop, "nodes": [f"geop/{name}" for name in geop["nodes"]]} for geop in answer["geops"]]
        return {**answer, "geops": geops}
