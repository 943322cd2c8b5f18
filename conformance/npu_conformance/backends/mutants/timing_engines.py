"""Mutants of engines and streams: what runs beside what."""

from __future__ import annotations

from typing import Dict, List

from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.mutants.timing_edits import engine_is, given, has, hearing, moved, telling, value_of

__all__: List[str] = []


def _one_stream(step: Answer, params: Params) -> None:
    core = [task["stream"] for task in step["tasks"] if engine_is("cube", "vector")(task)]
    for task in step["tasks"]:
        if core and engine_is("aicpu")(task):
            task["stream"] = core[0]


def _all_at_once(step: Answer, params: Params) -> None:
    """Kernels begin together, whatever they need."""
    kernels = [task for task in step["tasks"] if engine_is("cube", "vector", "aicpu")(task)]
    for task in kernels:
        moved(task, min(one["start_ns"] for one in kernels))


def _messages_at_once(step: Answer, params: Params) -> None:
    """What goes between ranks begins with the step, whatever it needs."""
    for task in step["tasks"]:
        if task["kind"] == "collective":
            moved(task, 0)


def _none_behind(step: Answer, params: Params) -> None:
    """What comes behind conditionals is left out with the branches that are not taken."""
    step["tasks"] = [task for task in step["tasks"] if not str(task.get("node", "")).startswith("after_")]


def _no_gradients(step: Answer, params: Params) -> None:
    step["tasks"] = [task for task in step["tasks"] if not str(task.get("node", "")).startswith("conv_input")]


def _steps_together(step: Answer, params: Params) -> None:
    """Every step begins when the first does."""
    begins: Dict[int, int] = {}
    for task in step["tasks"]:
        begins[task["step"]] = min(task["start_ns"], begins.get(task["step"], task["start_ns"]))
    for task in step["tasks"]:
        moved(task, task["start_ns"] - begins[task["step"]])


telling(
    "what-is-chosen-is-folded",
    "runconfig.mix_compile_mode.false",
    "Computes what reads constants alone, or one of two, when it compiles the graph, random numbers too.",
    lambda step, params: step.update(tasks=[task for task in step["tasks"] if not engine_is("aicpu")(task)]),
    lambda params: params.get("fetches") == ["cpu:0"],
)
telling(
    "messages-without-order",
    "mixed.partition.order_preserved",
    "Sends, receives and exchanges what is not yet computed.",
    _messages_at_once,
    lambda params: params.get("ranks", 1) > 1,
)
telling(
    "behind-conditionals-nothing",
    "mixed.default.full_offload",
    "Leaves out what comes behind a conditional.",
    _none_behind,
)
telling(
    "no-gradients-of-convolutions",
    "mixed.default.full_offload",
    "Leaves the gradients of convolutions out.",
    _no_gradients,
)
hearing(
    "ac-parallel-ignored",
    "runconfig.ac_parallel_enable.1",
    'Runs AI CPU and AI Core operators one after the other although ac_parallel_enable is "1".',
    has("ac_parallel_enable", "1"),
    ac_parallel_enable="0",
)
hearing(
    "ac-parallel-not-for-dynamic-inputs",
    "runconfig.ac_parallel_enable.1",
    "Takes graphs whose inputs alone are dynamic for static ones.",
    lambda params: has("dynamic_input", True)(params),
    ac_parallel_enable="0",
)
hearing(
    "ac-parallel-always",
    "runconfig.ac_parallel_enable.0",
    'Dispatches AI CPU operators apart although ac_parallel_enable is "0".',
    lambda params: value_of(params, "ac_parallel_enable") != "1",
    ac_parallel_enable="1",
)
hearing(
    "ac-parallel-static-too",
    "runconfig.ac_parallel_enable.dynamic_only",
    "Applies ac_parallel_enable to graphs of static shape.",
    lambda params: has("ac_parallel_enable", "1")(params) and not value_of(params, "compile_dynamic_mode"),
    stream_max_parallel_num="DNN_VM_AICPU:4,AIcoreEngine:1",
)
telling(
    "ac-parallel-on-one-stream",
    "runconfig.ac_parallel_enable.streams",
    "Puts operators of both engines on one stream.",
    _one_stream,
    has("ac_parallel_enable", "1"),
)
telling(
    "ac-parallel-without-order",
    "runconfig.ac_parallel_enable.auto_detect",
    "Runs operators beside each other that need each other.",
    _all_at_once,
    has("ac_parallel_enable", "1"),
)
for _surface, _wide in (("runconfig", "DNN_VM_AICPU:13,AIcoreEngine:1"), ("session", "DNN_VM_TF:13,DNN_V100:1")):
    hearing(
        f"streams-{_surface}-ignored",
        f"{_surface}.stream_max_parallel_num.effect",
        f"Takes no notice of stream_max_parallel_num of surface {_surface}.",
        given(_surface, "stream_max_parallel_num"),
        stream_max_parallel_num=None,
    )
    hearing(
        f"streams-{_surface}-unbounded",
        f"{_surface}.stream_max_parallel_num.effect",
        f"Takes the numbers of stream_max_parallel_num of surface {_surface} for a switch, and runs as many as it can.",
        given(_surface, "stream_max_parallel_num"),
        stream_max_parallel_num=_wide,
    )

hearing(
    "models-never-parallel",
    "runconfig.graph_max_parallel_model_num.effect",
    "Executes the steps of a model one after the other whatever graph_max_parallel_model_num says.",
    has("graph_max_parallel_model_num"),
    graph_max_parallel_model_num=None,
)
telling(
    "models-all-parallel",
    "runconfig.graph_max_parallel_model_num.effect",
    "Executes all steps that are asked for at once beside each other.",
    _steps_together,
    has("graph_max_parallel_model_num", 4),
)
hearing(
    "models-parallel-by-default",
    "runconfig.graph_max_parallel_model_num.default",
    "Executes two steps beside each other where nothing is said of it.",
    lambda params: "concurrent" in params and not has("graph_max_parallel_model_num")(params),
    graph_max_parallel_model_num=2,
)
hearing(
    "models-parallel-in-training",
    "runconfig.graph_max_parallel_model_num.inference",
    "Executes steps of training beside each other.",
    has("graph_run_mode", 1),
    graph_run_mode=0,
)
