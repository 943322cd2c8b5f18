"""Mutants of automatic tuning: other operators than those asked for, files elsewhere."""

from __future__ import annotations

from typing import Any, List

from npu_conformance.backends.mutants.edits import Answer, Params, altered
from npu_conformance.backends.mutants.timing_edits import When, always, hearing, telling, value_of
from npu_reference.tuning import TuningPlan

__all__: List[str] = []


def _elsewhere(where: str) -> Any:
    def edit(step: Answer, params: Params) -> None:
        step["files"] = {where + name.rpartition("/")[2]: told for name, told in step.get("files", {}).items()}

    return edit


telling(
    "tuning-without-files",
    "runconfig.work_path.contents",
    "Leaves no files of tuning.",
    lambda step, params: step.pop("files", None),
)
telling(
    "tuning-files-in-the-home-directory",
    "files.aoe.work_path_default",
    "Leaves the files of tuning in the home directory where no work_path is given.",
    _elsewhere("root/"),
    lambda params: value_of(params, "work_path") is None,
)
telling(
    "tuning-files-below-the-home-directory",
    "runconfig.work_path.relative",
    "Takes a relative work_path from the home directory.",
    _elsewhere("root/results/"),
    lambda params: not str(value_of(params, "work_path") or "/").startswith("/"),
)
hearing(
    "tuning-by-default",
    "runconfig.aoe_mode.default",
    "Tunes where aoe_mode is not given.",
    lambda params: value_of(params, "aoe_mode") is None and value_of(params, "work_path") is not None,
    aoe_mode=lambda given: "2",
)
hearing(
    "tuning-of-subgraphs-for-operators",
    "runconfig.aoe_mode.2",
    "Tunes subgraphs where operators are to be tuned.",
    lambda params: value_of(params, "aoe_mode") == "2",
    aoe_mode="1",
)
hearing(
    "tuning-without-the-configuration",
    "runconfig.aoe_config_file.purpose",
    "Tunes all operators, whatever aoe_config_file names.",
    always,
    aoe_config_file=None,
)


def _planning(name: str, requirement: str, fault: str, change: Any, when: When = always) -> None:
    """A mutant that tunes by another plan."""
    altered(name, requirement, fault, "tuned", lambda ask, made, plan: ask(made, change(plan)))


class _Parts(TuningPlan):
    """A plan whose names are looked for inside of words."""

    def takes(self, kernel: Any) -> bool:
        words = (kernel.node, *kernel.members)
        named = any(name in word for name in self.names or () for word in words)
        return named or super().takes(kernel)


class _PartsOfTypes(TuningPlan):
    """A plan whose types are looked for inside of words."""

    def takes(self, kernel: Any) -> bool:
        words = (kernel.type, *kernel.ops)
        named = any(name in word for name in self.types or () for word in words)
        return named or super().takes(kernel)


class _Unfused(TuningPlan):
    """A plan that looks at the first operator of a kernel alone."""

    def takes(self, kernel: Any) -> bool:
        return super().takes(kernel._replace(members=kernel.members[:1], ops=kernel.ops[:1]))


class _Either(TuningPlan):
    """A plan that takes no types where there are names."""

    def takes(self, kernel: Any) -> bool:
        return TuningPlan(*(self._replace(types=()) if self.names else self)).takes(kernel)


_planning(
    "tuning-of-parts-of-names",
    "files.aoe_cfg.tune_ops_name",
    "Tunes operators whose names contain a name that is listed.",
    lambda plan: _Parts(*plan),
)
_planning(
    "tuning-of-parts-of-types",
    "files.aoe_cfg.tune_ops_type",
    "Tunes operators whose types contain a type that is listed.",
    lambda plan: _PartsOfTypes(*plan),
)
_planning(
    "tuning-of-unfused-operators",
    "files.aoe_cfg.fused_op",
    "Does not tune a fused operator for a type inside of it.",
    lambda plan: _Unfused(*plan),
)
_planning(
    "tuning-of-names-or-types",
    "files.aoe_cfg.union",
    "Does not look at the types where names are listed.",
    lambda plan: _Either(*plan),
)
