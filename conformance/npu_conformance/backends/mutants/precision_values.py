"""Mutants of what runs compute: at other dtypes, changed by an option that must not, not repeated."""

from __future__ import annotations

import base64
from typing import Any, Callable, Dict, List

from npu_conformance.backends.mutants.edits import Answer, Params, altered
from npu_conformance.backends.mutants.precision_edits import asked, only_mode
from npu_reference.errors import NpuError

__all__: List[str] = []


def _given(params: Params, option: str, value: Any = True) -> bool:
    return bool(params["values"].get(option) == value)


def _reversed(answer: Answer) -> Answer:
    """Every fetched tensor with its elements (of four bytes) in reverse order."""
    fetches: Dict[str, Any] = {}
    for name, tensor in answer["fetches"].items():
        raw = base64.b64decode(tensor["b64"])
        turned = b"".join(raw[start : start + 4] for start in range(len(raw) - 4, -1, -4))
        fetches[name] = {**tensor, "b64": base64.b64encode(turned).decode("ascii")}
    return {**answer, "fetches": fetches}


def _printing(answer: Answer, before: str, after: str) -> Answer:
    return {**answer, "output": answer["output"].replace(before, after)}


def _named(params: Params, script: str) -> bool:
    return params.get("script", "").endswith(f"/{script}.py")


def _declared(name: str, requirement: str, fault: str, run: Callable[..., Answer]) -> None:
    altered(name, requirement, fault, "run", run)


def _turning(name: str, requirement: str, fault: str, when: Callable[[Params], bool]) -> None:
    _declared(name, requirement, fault, lambda ask, params: _reversed(ask(params)) if when(params) else ask(params))


def _saying(name: str, requirement: str, fault: str, before: str, after: str, option: str, value: Any) -> None:
    _declared(
        name,
        requirement,
        fault,
        lambda ask, params: _printing(ask(params), before, after) if _given(params, option, value) else ask(params),
    )


def _failing(name: str, requirement: str, fault: str, when: Callable[[Params], bool]) -> None:
    def run(ask: Callable[[Params], Answer], params: Params) -> Answer:
        if when(params):
            raise NpuError("RUN_FAILED", "session", fault)
        return ask(params)

    _declared(name, requirement, fault, run)


# Values at the dtypes of the mode

for _name, _requirement, _modes in (
    ("values-of-fp16-in-float32", "precision.v2.fp16", ("fp16",)),
    ("values-of-cube-in-float32", "precision.cube.order1_fp16_fp32", ("cube_fp16in_fp32out",)),
    ("values-of-allow-in-float32", "precision.allow_fp32_to_fp16.cube_fp16", ("allow_fp32_to_fp16",)),
):
    _declared(
        _name,
        _requirement,
        f"Computes in float32 under {_modes[0]}, whatever it says of its dtypes.",
        lambda ask, params, modes=_modes: (
            ask({**params, "device_precision": "off"})
            if set(modes) & {str(value) for value in params["values"].values()}
            else ask(params)
        ),
    )


for _name, _requirement, _mode, _other, _edition in (
    ("values-of-legacy-allow", "precision.s.allow_fp32_to_fp16", "allow_fp32_to_fp16", "force_fp16", "legacy"),
    ("values-of-legacy-force-fp16", "precision.s.force_fp16", "force_fp16", "must_keep_origin_dtype", "legacy"),
    ("values-of-legacy-force-fp32", "precision.s.force_fp32", "force_fp32", "force_fp16", "legacy"),
    ("values-of-legacy-must-keep", "precision.s.must_keep", "must_keep_origin_dtype", "allow_mix_precision", "legacy"),
    ("values-of-legacy-mix", "precision.s.allow_mix", "allow_mix_precision", "force_fp16", "legacy"),
    ("values-of-origin", "precision.v2.origin", "origin", "mixed_float16", "current"),
):
    _declared(
        _name,
        _requirement,
        f"Computes as {_other} what is to be computed as {_mode}.",
        lambda ask, params, mode=_mode, other=_other, edition=_edition: (
            ask(only_mode(params, other)) if asked(params, [mode], edition) else ask(params)
        ),
    )


# Values that an option must not change

_turning(
    "external-weight-changes-values",
    "runconfig.external_weight.numerics",
    "Reads weights that are stored outside the model in another order.",
    lambda params: _given(params, "external_weight"),
)
_turning(
    "input-fusion-changes-values",
    "runconfig.input_fusion_size.numerics",
    "Takes fused inputs apart in another order.",
    lambda params: bool(params["values"].get("input_fusion_size")),
)
_turning(
    "variable-format-changes-values",
    "session.variable_format_optimize.numerics",
    "Reads a variable back in the format of the device.",
    lambda params: _given(params, "variable_format_optimize"),
)


def _negated(answer: Answer) -> Answer:
    """Every fetched tensor (of four-byte floats) with the sign of its first element turned."""
    fetches: Dict[str, Any] = {}
    for name, tensor in answer["fetches"].items():
        raw = bytearray(base64.b64decode(tensor["b64"]))
        raw[3] ^= 0x80
        fetches[name] = {**tensor, "b64": base64.b64encode(bytes(raw)).decode("ascii")}
    return {**answer, "fetches": fetches}


_declared(
    "host-variables-change-values",
    "runconfig.variable_placement.numerics",
    "Updates a variable on the host by another value.",
    lambda ask, params: _negated(ask(params)) if _given(params, "variable_placement", "Host") else ask(params),
)
_declared(
    "call-example-on-the-host",
    "session.register.call_example",
    "Runs the example call of the session table on the host.",
    lambda ask, params: {**ask(params), "trace": []} if _named(params, "call_example") else ask(params),
)


# Repeating

_saying(
    "deterministic-varies",
    "runconfig.deterministic.1",
    "Adds in another order each time, deterministic or not.",
    "different results: 1",
    "different results: 2",
    "deterministic",
    1,
)
_saying(
    "not-deterministic-loses-terms",
    "runconfig.deterministic.0",
    "Loses terms of a sum where the order of addition is free.",
    "within rounding: True",
    "within rounding: False",
    "deterministic",
    0,
)
_saying(
    "deterministic-fixes-seeds",
    "runconfig.deterministic.needs_seed",
    "Fixes the seeds of random operators under deterministic.",
    "without a seed, equal: False",
    "without a seed, equal: True",
    "deterministic",
    1,
)


# Inputs and loops

_failing(
    "dynamic-input-of-run-config-unread",
    "runconfig.dynamic_input.true",
    "Refuses another size of an input under dynamic_input of NPURunConfig.",
    lambda params: _given(params, "dynamic_input") and _named(params, "dynamic_rows"),
)
_failing(
    "dynamic-input-of-the-session-unread",
    "session.dynamic_input.true",
    "Refuses another size of an input under dynamic_input of a session.",
    lambda params: _named(params, "dynamic_rows") and "whole" in params.get("args", []),
)
_failing(
    "no-bound-is-a-bound",
    "session.dynamic_inputs_shape_range.unbounded",
    "Refuses every size where the range is -1.",
    lambda params: _named(params, "dynamic_rows") and any("-1" in one for one in params.get("args", [])),
)
_failing(
    "host-variables-fail-in-every-loop",
    "runconfig.variable_placement.host_workaround",
    "Fails for a variable on the host in any loop.",
    lambda params: _given(params, "variable_placement", "Host") and _named(params, "variable_in_a_loop"),
)
_declared(
    "graph-exec-config-unread",
    "api.set_graph_exec_config",
    "Holds every graph of a session to one range.",
    lambda ask, params: (
        _printing(ask(params), "large one: sum 150", "large one: refused, naming its input: True")
        if _named(params, "graph_exec_config")
        else ask(params)
    ),
)
for _edition, _surface in (("legacy", "session"), ("current", "runconfig")):
    _declared(
        f"high-precision-{_edition}-is-worse",
        f"{_surface}.op_select_implmode.high_precision",
        "Computes float16 worse under high_precision than under high_performance.",
        lambda ask, params, edition=_edition: (
            _printing(ask(params), "with high_precision: True", "with high_precision: False")
            if _named(params, "implementation_modes") and params["edition"] == edition
            else ask(params)
        ),
    )
_declared(
    "keep-dtype-scope-marks-nothing",
    "api.keep_dtype_scope",
    "Builds operators inside keep_dtype_scope as it builds any other.",
    lambda ask, params: (
        _printing(ask(params), "inside: 1.000244140625", "inside: 1.0") if _named(params, "kept_sum") else ask(params)
    ),
)
