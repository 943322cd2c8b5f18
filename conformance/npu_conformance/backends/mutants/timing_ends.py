"""Mutants of timeouts and memory: where a step ends, and what it needs."""

from __future__ import annotations

import re
from typing import Any, Callable, List

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend
from npu_conformance.backends.mutants.timing_edits import given, has, hearing, telling, value_of
from npu_reference.errors import DeviceError, NpuError

__all__: List[str] = []

# ---------------------------------------------------------------------------------------------------------------------
# Timeouts


hearing(
    "wait-for-minutes",
    "runconfig.op_wait_timeout.effect",
    "Takes NPURunConfig's op_wait_timeout for minutes.",
    given("runconfig", "op_wait_timeout"),
    op_wait_timeout=lambda seconds: seconds * 60,
)
hearing(
    "wait-never-long-enough",
    "runconfig.op_wait_timeout.effect",
    "Ends a wait after a second, whatever the limit.",
    given("runconfig", "op_wait_timeout"),
    op_wait_timeout=1,
)
hearing(
    "wait-for-a-minute-by-default",
    "runconfig.op_wait_timeout.default",
    "Waits for 60 seconds where no op_wait_timeout is given.",
    lambda params: params["surface"] == "runconfig" and not has("op_wait_timeout")(params),
    op_wait_timeout=60,
)
hearing(
    "legacy-wait-for-minutes",
    "session.op_wait_timeout.unit",
    "Takes a session's op_wait_timeout for minutes.",
    given("session", "op_wait_timeout"),
    op_wait_timeout=lambda seconds: seconds * 60,
)
hearing(
    "kernel-hangs-for-ever",
    "runconfig.op_execute_timeout.effect",
    "Lets a kernel run as long as it will.",
    given("runconfig", "op_execute_timeout"),
    op_execute_timeout=None,
)
hearing(
    "kernel-ended-at-once",
    "runconfig.op_execute_timeout.effect",
    "Ends a kernel after a second, whatever the limit.",
    given("runconfig", "op_execute_timeout"),
    op_execute_timeout=1,
)


@mutant("legacy-kernel-limited", "session.op_execute_timeout.unsupported")
class LegacyKernelLimited(ReferenceBackend):
    """Ends kernels by op_execute_timeout on a session too."""

    def step(self, params: Params) -> Answer:
        option = "op_execute_timeout"
        if given("session", option)(params) and params.get("faults"):
            raise DeviceError(
                "DEVICE_TIMEOUT", option, "a kernel ran too long.", after_ns=value_of(params, option) * 10**9
            )
        return super().step(params)


for _kind in ("stream", "event"):
    _option = f"{_kind}_sync_timeout"
    hearing(
        f"{_kind}-sync-in-seconds",
        f"runconfig.{_option}.effect",
        f"Takes {_option} for seconds.",
        lambda params, option=_option: (value_of(params, option) or 0) > 0,  # type: ignore[misc]
        **{_option: lambda milliseconds: milliseconds * 1000},
    )
    hearing(
        f"{_kind}-sync-minus-one-is-a-limit",
        f"runconfig.{_option}.minus_one",
        f"Limits a synchronisation to half an hour although {_option} is -1.",
        has(_option, -1),
        **{_option: 1900000},
    )
    hearing(
        f"{_kind}-sync-limited-by-default",
        f"runconfig.{_option}.default",
        f"Limits a synchronisation to half an hour where no {_option} is given.",
        lambda params, option=_option: value_of(params, option) is None,  # type: ignore[misc]
        **{_option: 1900000},
    )

# ---------------------------------------------------------------------------------------------------------------------
# Memory


def _more(measure: str, factor: int) -> Any:
    def edit(step: Answer, params: Params) -> None:
        step["memory"][measure] *= factor

    return edit


hearing(
    "host-variables-fill-the-device",
    "runconfig.variable_placement.host",
    "Keeps variables on the device although they are to lie on the host.",
    has("variable_placement", "Host"),
    variable_placement="Device",
)
hearing(
    "device-variables-on-the-host",
    "runconfig.variable_placement.device",
    "Puts variables on the host although they are to lie on the device.",
    has("variable_placement", "Device"),
    variable_placement="Host",
)
for _kind in ("graph", "variable"):
    _option = f"{_kind}_memory_max_size"
    hearing(
        f"legacy-{_kind}-memory-unbounded",
        f"session.{_option}.meaning",
        f"Takes no notice of {_option}.",
        given("session", _option),
        **{_option: None},
    )
    telling(
        f"{_kind}-memory-reserved",
        f"runconfig.{_option}.no_effect",
        f"Reserves device memory for {_option} of NPURunConfig.",
        _more("total", 2),
        given("runconfig", _option),
    )
telling(
    "external-weights-twice",
    "runconfig.external_weight.advice",
    "Keeps externalised weights in the graph too.",
    _more("total", 2),
    has("external_weight", True),
)
telling(
    "external-weights-stay-in-the-graph",
    "runconfig.external_weight.true_all_const",
    "Leaves the constants of a graph in it when they are externalised.",
    lambda step, params: step["memory"].update(constants=step["memory"]["constants"] + step["memory"]["external"]),
    has("external_weight", True),
)
telling(
    "external-weights-of-each-graph",
    "runconfig.external_weight.sharing",
    "Keeps externalised weights once for each graph that has them.",
    lambda step, params: step["memory"].update(total=step["memory"]["total"] + step["memory"]["external"]),
    has("external_weight", True),
)


#: The letters that placeholders of two graphs are called by.
_ALPHABETS = ("ab", "abcdefghijk")


def _open_by_name(surface: str) -> Callable[[Params], bool]:
    return lambda params: params["surface"] == surface and "".join(sorted(params.get("shapes") or ())) in _ALPHABETS


for _name, _surface in (("ranges", "runconfig"), ("session-ranges", "session")):
    hearing(
        f"{_name}-in-the-order-of-the-script",
        f"{_surface}.dynamic_inputs_shape_range.order_named",
        "Takes the ranges of placeholders in the order in which the script makes them.",
        _open_by_name(_surface),
        dynamic_inputs_shape_range=lambda told: "data:" + ",".join(reversed(told[len("data:") :].split(","))),
    )


def _tenth_behind(told: str) -> str:
    """The third and the fourth range, those of Placeholder_10 and Placeholder_11, behind all others."""
    ranges = told[len("data:") :].split(",")
    return "data:" + ",".join(ranges[:2] + ranges[4:] + ranges[2:4])


hearing(
    "ranges-in-the-order-of-the-numbers",
    "runconfig.dynamic_inputs_shape_range.more_than_10",
    "Takes the ranges of placeholders without names in the order of their numbers.",
    lambda params: "Placeholder_11" in (params.get("shapes") or ()),
    dynamic_inputs_shape_range=_tenth_behind,
)
hearing(
    "ranges-of-datasets-ignored",
    "runconfig.dynamic_inputs_shape_range.keywords",
    "Looks at the ranges of placeholders alone.",
    lambda params: "getnext" in str(value_of(params, "dynamic_inputs_shape_range")),
    dynamic_inputs_shape_range=lambda told: told.rpartition(";")[2],
)
telling(
    "older-iterators-are-no-datasets",
    "runconfig.local_rank_id.shared_preproc",
    "Counts no element of an iterator of the older kind.",
    lambda step, params: step.pop("dataset", None),
    lambda params: params.get("fetches") == ["core:0"],
)
hearing(
    "shapes-generalised-anyway",
    "runconfig.compile_dynamic_mode.false",
    "Generalises shapes although compile_dynamic_mode is False.",
    has("compile_dynamic_mode", False),
    compile_dynamic_mode=True,
)
hearing(
    "shapes-stay-static",
    "runconfig.compile_dynamic_mode.true",
    "Leaves graphs static although compile_dynamic_mode is True.",
    has("compile_dynamic_mode", True),
    compile_dynamic_mode=None,
)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of kernels

hearing(
    "oom-not-compiled",
    "runconfig.op_debug_config.oom.effect",
    "Compiles no check for writes past a buffer.",
    has("op_debug_config"),
    op_debug_config=None,
)

hearing(
    "flag-check-not-compiled",
    "runconfig.op_debug_config.check_flag.error",
    "Compiles no check of signals.",
    has("op_debug_config"),
    op_debug_config=None,
)


@mutant("limit-of-a-second-is-none-at-all", "runconfig.op_execute_timeout.effect")
class LimitOfASecond(ReferenceBackend):
    """Takes the seconds of op_execute_timeout for microseconds, which no kernel keeps."""

    def step(self, params: Params) -> Answer:
        if value_of(params, "op_execute_timeout") == 1:
            option = "op_execute_timeout"
            raise DeviceError("DEVICE_TIMEOUT", option, "a kernel ran too long.", after_ns=1000)
        return super().step(params)


@mutant("sizes-by-value-refused", "runconfig.mix_compile_mode.false")
class SizesByValueRefused(ReferenceBackend):
    """Refuses a step whose sizes depend on values."""

    def step(self, params: Params) -> Answer:
        if params.get("fetches") == ["rows:0"]:
            raise NpuError("DEVICE_SIZES", "chosen", "its sizes depend on values.")
        return super().step(params)


@mutant("oom-of-other-ranks", "runconfig.op_debug_config.oom.effect")
class OomOfOtherRanks(ReferenceBackend):
    """Ends the step of a rank for what another one writes past its buffer."""

    def step(self, params: Params) -> Answer:
        faults = [{**one, "rank": 0} if one["kind"] == "out_of_bounds" else one for one in params.get("faults", [])]
        return super().step({**params, "faults": faults} if faults else params)


@mutant("oom-of-the-first-operator", "files.op_debug_cfg.list.effect")
class OomOfTheFirstOperator(ReferenceBackend):
    """Looks for the first operator of a kernel alone in op_debug_list, not for those that are joined to it."""

    def step(self, params: Params) -> Answer:
        config = params.get("files", {}).get(params["values"].get("op_debug_config"), "")
        listed = set(config.partition("op_debug_list = ")[2].strip().split(","))
        quiet = {**params, "faults": []}
        joined = {name for task in super().step(quiet)["tasks"] for name in task["nodes"][1:]}
        return super().step(quiet if listed & joined else params)


@mutant("oom-off-by-one", "runconfig.op_debug_config.oom.boundary")
class OomOffByOne(ReferenceBackend):
    """Reports a write that ends exactly at the end of its buffer."""

    def step(self, params: Params) -> Answer:
        faults = [{**one, "past": 1} if one["kind"] == "out_of_bounds" else one for one in params.get("faults", [])]
        return super().step({**params, "faults": faults} if faults else params)


@mutant("stream-sync-for-the-host-alone", "runconfig.stream_sync_timeout.effect")
class StreamSyncForTheHostAlone(ReferenceBackend):
    """Lets the host wait for a kernel that hangs, whatever stream_sync_timeout is."""

    def step(self, params: Params) -> Answer:
        if any(one["kind"] in ("hang", "unmatched_flag") for one in params.get("faults", [])):
            values = {name: value for name, value in params["values"].items() if name != "stream_sync_timeout"}
            return super().step({**params, "values": values})
        return super().step(params)


# ---------------------------------------------------------------------------------------------------------------------
# Sizes of inputs


def _unbounded(value: Any) -> str:
    """Every range without its ends."""
    return re.sub(r"[0-9]+~[0-9]+", "-1", str(value))


for _surface, _requirement in (
    ("runconfig", "runconfig.dynamic_inputs_shape_range.dims"),
    ("session", "session.dynamic_inputs_shape_range.range_tilde"),
):
    hearing(
        f"{_surface}-ranges-without-ends",
        _requirement,
        "Takes every size where a range of sizes is given.",
        given(_surface, "dynamic_inputs_shape_range"),
        dynamic_inputs_shape_range=_unbounded,
    )
hearing(
    "ranges-of-a-thousand",
    "session.dynamic_inputs_shape_range.unbounded",
    "Takes no size above a thousand where none is bounded.",
    given("session", "dynamic_inputs_shape_range"),
    dynamic_inputs_shape_range=lambda value: re.sub(r"(?<![0-9~])-1", "1~1000", str(value)),
)
hearing(
    "ranges-of-fixed-inputs",
    "session.dynamic_input.false",
    "Holds fixed inputs to the ranges of dynamic ones.",
    lambda params: given("session", "dynamic_inputs_shape_range")(params) and not value_of(params, "dynamic_input"),
    dynamic_input=True,
)
hearing(
    "sizes-of-no-profile",
    "session.dynamic_dims.only_profiles",
    "Runs with sizes that no profile has.",
    given("session", "dynamic_dims"),
    dynamic_dims=lambda value: f"{value};16,8",
)


def _with_room(step: Answer, params: Params) -> None:
    for one in step.get("transfers", ()):
        one["bytes"] *= 2


telling(
    "profiles-with-room",
    "session.dynamic_dims.only_profiles",
    "Copies inputs of a profile with room for larger ones.",
    _with_room,
    given("session", "dynamic_dims"),
)


@mutant("lost-peer-missed-early", "runconfig.hccl_timeout.purpose")
class LostPeerMissedEarly(ReferenceBackend):
    """Misses a rank that is lost behind the last collective of a step in that collective."""

    def step(self, params: Params) -> Answer:
        faults = [{**one, "after": max(one.get("after", 0) - 1, 0)} for one in params.get("faults", [])]
        return super().step({**params, "faults": faults} if faults else params)
