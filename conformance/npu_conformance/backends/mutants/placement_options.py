"""Mutants of the options that say what goes to the device: taken for another value, on either surface."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import (
    Answer,
    Params,
    ReferenceBackend,
    altered,
    everything_on_host,
    script_text,
    to_device,
    with_pairs,
    with_values,
)

__all__: List[str] = []

When = Callable[[Mapping[str, Any]], bool]


def _given(option: str, value: Any, surface: str = "") -> When:
    """Whether a request gives the option this value, on this surface or on any."""

    def when(params: Params) -> bool:
        return params["values"].get(option) == value and params["surface"] in (surface or params["surface"])

    return when


def _placing(name: str, requirement: str, fault: str, when: When, **changes: Any) -> None:
    """A mutant that places operators by other values."""

    def partition(ask: Callable[[Params], Answer], params: Params) -> Answer:
        return ask(with_values(params, **changes) if when(params) else params)

    altered(name, requirement, fault, "partition", partition)


def _unplaced(surface: str) -> None:
    """A mutant that leaves everything to the host in full offload."""

    @mutant(f"{surface}-full-offload-of-nothing", f"{surface}.mix_compile_mode.false")
    class Faulty(ReferenceBackend):
        """Leaves everything to the host where mix_compile_mode is False."""

        def partition(self, params: Params) -> Answer:
            answer = super().partition(params)
            return everything_on_host(answer) if _given("mix_compile_mode", False, surface)(params) else answer


for _surface in ("session", "runconfig"):
    _unplaced(_surface)
    _placing(
        f"{_surface}-mix-compile-mode-true-inverted",
        f"{_surface}.mix_compile_mode.true",
        "Offloads the whole graph where mix_compile_mode is True.",
        _given("mix_compile_mode", True, _surface),
        mix_compile_mode=False,
    )
    for _value in (True, False):
        _placing(
            f"{_surface}-enable-data-pre-proc-{str(_value).lower()}-inverted",
            f"{_surface}.enable_data_pre_proc.{str(_value).lower()}",
            f"Places GetNext as with enable_data_pre_proc {not _value} where it is {_value}.",
            _given("enable_data_pre_proc", _value),
            enable_data_pre_proc=not _value,
        )
_placing(
    "runconfig-mixed-without-a-frontend",
    "runconfig.mix_compile_mode.supplement",
    "Leaves nothing to the frontend in mixed computing of a RunConfig.",
    _given("mix_compile_mode", True, "runconfig"),
    mix_compile_mode=False,
)
_placing(
    "runconfig-mixed-unlike-a-session",
    "runconfig.mix_compile_mode.session_equivalence",
    "Takes no mix_compile_mode from a RunConfig.",
    lambda params: params["surface"] == "runconfig",
    mix_compile_mode=None,
)
_placing(
    "use-off-line-ignored",
    "session.use_off_line.false",
    "Places operators on the device whatever use_off_line says.",
    _given("use_off_line", False, "session"),
    use_off_line=True,
)
_placing(
    "use-off-line-inverted",
    "session.use_off_line.true",
    "Leaves the graph to the host with use_off_line True.",
    _given("use_off_line", True, "session"),
    use_off_line=False,
)


@mutant("pairs-unread", "session.in_out_pair.purpose")
class PairsUnread(ReferenceBackend):
    """Offloads whatever can be, wherever in_out_pair begins and ends."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_pairs(params, lambda entries: []))


@mutant("any-optimizer-is-ours", "session.register.name")
class AnyOptimizerIsOurs(ReferenceBackend):
    """Takes an optimizer of another spelling for NpuOptimizer."""

    def run(self, params: Params) -> Answer:
        args = ["NpuOptimizer" if str(one).lower() == "npuoptimizer" else one for one in params.get("args", [])]
        return super().run({**params, "args": args} if "args" in params else params)


@mutant("scope-ends-with-the-inner-one", "api.without_npu_compile_scope")
class ScopeEndsWithTheInnerOne(ReferenceBackend):
    """Has a without_npu_compile_scope that ends as soon as one inside of it does."""

    def run(self, params: Params) -> Answer:
        answer = super().run(params)
        if "without_npu_compile_scope" in script_text(params):
            for record in answer["trace"]:
                if record.get("partition"):
                    record["partition"] = to_device(record["partition"], ["after_inner"])
        return answer
