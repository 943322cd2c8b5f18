"""Mutants of what is copied, and of how often the host starts something."""

from __future__ import annotations

from typing import Any, Dict, List

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, with_values
from npu_conformance.backends.mutants.timing_edits import always, given, has, hearing, telling, value_of
from npu_reference.errors import NpuError

__all__: List[str] = []

# ---------------------------------------------------------------------------------------------------------------------
# Copies of inputs


def _split_fused(step: Answer, params: Params) -> None:
    """No copy carries more than two inputs."""
    found: List[Dict[str, Any]] = []
    for copy in step["transfers"]:
        names = copy["tensors"]
        if copy["direction"] == "h2d" and len(names) > 2:
            half = copy["bytes"] // 2
            found.append({**copy, "tensors": names[:2], "bytes": half})
            found.append({**copy, "tensors": names[2:], "bytes": copy["bytes"] - half})
        else:
            found.append(copy)
    step["transfers"] = found


def _fused_results(step: Answer, params: Params) -> None:
    back = [copy for copy in step["transfers"] if copy["direction"] == "d2h"]
    rest = [copy for copy in step["transfers"] if copy["direction"] != "d2h"]
    if len(back) > 1:
        names = [name for copy in back for name in copy["tensors"]]
        back = [{"direction": "d2h", "bytes": sum(copy["bytes"] for copy in back), "tensors": names}]
    step["transfers"] = rest + back


def _empty_together(step: Answer, params: Params) -> None:
    """Inputs without a byte are copied at once."""
    empty = [copy for copy in step["transfers"] if copy["direction"] == "h2d" and not copy["bytes"]]
    if len(empty) > 1:
        rest = [copy for copy in step["transfers"] if copy not in empty]
        names = [name for copy in empty for name in copy["tensors"]]
        step["transfers"] = [{**empty[0], "tensors": names}, *rest]


def _constants_copied(step: Answer, params: Params) -> None:
    size = step["memory"]["constants"]
    step["transfers"].append({"direction": "h2d", "bytes": size, "tensors": ["constants"], "times": 1})


telling(
    "constants-on-the-host",
    "runconfig.variable_placement.host",
    "Keeps constants on the host with the variables, and copies them in every step.",
    _constants_copied,
    has("variable_placement", "Host"),
)
hearing(
    "inputs-never-fused",
    "runconfig.input_fusion_size.le_fused",
    "Copies every input on its own, whatever the threshold.",
    always,
    input_fusion_size=0,
)
hearing(
    "inputs-fused-below-the-threshold-only",
    "runconfig.input_fusion_size.boundary_equal",
    "Copies an input that is as large as the threshold on its own.",
    has("input_fusion_size"),
    input_fusion_size=lambda size: max(size - 1, 0),
)
hearing(
    "inputs-fused-whatever-their-size",
    "runconfig.input_fusion_size.gt_not_fused",
    "Fuses inputs that are larger than the threshold.",
    lambda params: bool(value_of(params, "input_fusion_size")),
    input_fusion_size=33554432,
)
hearing(
    "inputs-zero-is-the-default",
    "runconfig.input_fusion_size.zero_off",
    "Takes a threshold of 0 for none given.",
    has("input_fusion_size", 0),
    input_fusion_size=None,
)
hearing(
    "inputs-small-ones-fused-at-zero",
    "runconfig.input_fusion_size.example_0kb",
    "Fuses inputs of at most 50 KB although the threshold is 0.",
    has("input_fusion_size", 0),
    input_fusion_size=51200,
)
telling(
    "inputs-without-elements-fused-at-zero",
    "runconfig.input_fusion_size.zero_off",
    "Copies inputs without elements at once although the threshold is 0.",
    _empty_together,
    has("input_fusion_size", 0),
)
telling(
    "inputs-fused-in-twos",
    "runconfig.input_fusion_size.example_100kb",
    "Fuses no more than two inputs to one copy.",
    _split_fused,
)
telling(
    "inputs-and-results-fused",
    "runconfig.input_fusion_size.h2d_only",
    "Fuses the copies back to the host too.",
    _fused_results,
    lambda params: value_of(params, "input_fusion_size") != 0,
)

# ---------------------------------------------------------------------------------------------------------------------
# Loops


def _launched_each(step: Answer, params: Params) -> None:
    step["launches"] *= step["iterations"]


def _loop_of_the_map(step: Answer, params: Params) -> None:
    step["iterations"] = value_of(params, "iterations_per_loop")


hearing(
    "loop-not-sunk",
    "runconfig.iterations_per_loop.effect",
    "Makes one iteration a call whatever iterations_per_loop says.",
    given("runconfig", "iterations_per_loop"),
    iterations_per_loop=1,
)
telling(
    "loop-launched-each-time",
    "runconfig.iterations_per_loop.effect",
    "Goes back to the host after each iteration of a loop.",
    _launched_each,
    given("runconfig", "iterations_per_loop"),
)
telling(
    "loop-of-the-map-entry",
    "session.iterations_per_loop.set_by_api",
    "Loops on the device because of the map entry alone.",
    _loop_of_the_map,
    given("session", "iterations_per_loop"),
)

hearing(
    "loop-over-data-of-the-host",
    "runconfig.enable_data_pre_proc.prerequisite",
    "Makes a loop on the device although GetNext stays on the host.",
    given("runconfig", "enable_data_pre_proc", False),
    enable_data_pre_proc=True,
)


@mutant("loop-over-the-first-dataset", "runconfig.enable_data_pre_proc.prerequisite")
class LoopOverTheFirstDataset(ReferenceBackend):
    """Makes a loop on the device where any GetNext is there, whatever others there are."""

    def step(self, params: Params) -> Answer:
        try:
            return super().step(params)
        except NpuError as error:
            turns = value_of(params, "iterations_per_loop")
            if error.subject != "enable_data_pre_proc" or not value_of(params, error.subject) or turns is None:
                raise
        return {**super().step(with_values(params, iterations_per_loop=1)), "iterations": turns}


# ---------------------------------------------------------------------------------------------------------------------
# Borders


def _nothing_to_the_host(step: Answer, params: Params) -> None:
    """Of what is copied back, only the last stays."""
    back = [copy for copy in step["transfers"] if copy["direction"] == "d2h"]
    step["transfers"] = [copy for copy in step["transfers"] if copy["direction"] != "d2h"] + back[-1:]


def _copied_between_operators(step: Answer, params: Params) -> None:
    """The result of every operator is copied back, and in again."""
    kernels = [task for task in step["tasks"] if task["node"]]
    for task in kernels[:-1]:
        for direction in ("d2h", "h2d"):
            step["transfers"].append({"direction": direction, "bytes": 64, "tensors": [task["node"] + ":0"]})


def _copied_in_every_turn(step: Answer, params: Params) -> None:
    """What a loop or a function reads is copied again in every turn, and for every call."""
    if any("/" in node for task in step["tasks"] for node in task.get("nodes", [])):
        for one in [copy for copy in step["transfers"] if copy["direction"] == "h2d"]:
            one["times"] = 3


telling(
    "copies-in-every-turn",
    "mixed.transfer.only_boundaries",
    "Copies what loops and functions read once for every turn and call.",
    _copied_in_every_turn,
)
telling(
    "host-reads-the-device",
    "mixed.transfer.memcpy",
    "Lets operators of the host read what lies on the device, without a copy.",
    _nothing_to_the_host,
)
telling(
    "copies-between-operators",
    "mixed.transfer.only_boundaries",
    "Copies the result of every operator to the host and back.",
    _copied_between_operators,
)
