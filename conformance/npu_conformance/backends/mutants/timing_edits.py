"""What mutants of the timing plane do: another value for an option, or another step than the one that was made."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, Mapping, Optional

from npu_conformance.backends.mutants.edits import Answer, Params, altered, with_values

__all__ = ["Edit", "always", "engine_is", "given", "has", "hearing", "moved", "scaled", "telling", "value_of"]

When = Callable[[Params], bool]
Edit = Callable[[Answer, Params], None]


def always(params: Params) -> bool:
    return True


def value_of(params: Params, option: str) -> Any:
    """The value that a step is given for an option, whatever field it stands in; None without one."""
    value = params["values"].get(option)
    return value["value"] if isinstance(value, dict) and "value" in value else value


def has(option: str, *values: Any) -> When:
    """Whether a step is given this option; with values, whether it is given one of them."""
    return lambda params: value_of(params, option) is not None and (not values or value_of(params, option) in values)


def given(surface: str, option: str, *values: Any) -> When:
    """The same, on this surface only."""
    return lambda params: params["surface"] == surface and has(option, *values)(params)


def hearing(name: str, requirement: str, fault: str, when: When, **changes: Any) -> None:
    """A mutant that makes a step with other values; None takes an option away, a function is given the old value."""

    def changed(params: Params) -> Params:
        found = {
            option: value(value_of(params, option)) if callable(value) else value for option, value in changes.items()
        }
        return with_values(params, **found)

    altered(name, requirement, fault, "step", lambda ask, params: ask(changed(params) if when(params) else params))


def telling(name: str, requirement: str, fault: str, edit: Edit, when: When = always) -> None:
    """A mutant whose step differs: ``edit`` changes a copy of it in place."""

    def step(ask: Callable[[Params], Answer], params: Params) -> Answer:
        answer = ask(params)
        if when(params):
            answer = copy.deepcopy(answer)
            edit(answer, params)
        return answer

    altered(name, requirement, fault, "step", step)


def scaled(factor: float, more: int = 0) -> Edit:
    """Takes that many times as long, and so many nanoseconds more."""

    def edit(step: Answer, params: Params) -> None:
        step["step_ns"] = int(step["step_ns"] * factor) + more

    return edit


def engine_is(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda task: task["engine"] in names


def moved(task: Dict[str, Any], start: int, stream: Optional[int] = None) -> None:
    """Lets a task begin at another moment, and maybe on another stream."""
    task["end_ns"] += start - task["start_ns"]
    task["start_ns"] = start
    if stream is not None:
        task["stream"] = stream
