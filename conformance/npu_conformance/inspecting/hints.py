"""What a profile says should be changed, and by which option: each hint one rule over what was summed up."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

__all__ = ["RULES", "Hint", "hints"]

#: From which share of an iteration on a cause is worth a hint (assumed: below it nobody gains much).
_WORTH = 0.05
_IDLE = 0.2
_SMALL = 5.0  # microseconds of a kernel that is over before the next is launched (assumed)

_MATRIX = ("MatMul", "BatchMatMul", "Conv2D", "Conv3D", "Depthwise")
_CONVERTING = ("Cast", "TransData", "Transpose", "TransposeD")


class Hint(NamedTuple):
    """What is the matter, how much of an iteration it is, what would help, and the options that do."""

    code: str
    share: float
    text: str
    remedy: str
    options: List[str]

    def to_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "share": round(self.share, 6)}


_Rule = Callable[[Mapping[str, Any]], Optional[Hint]]

RULES: List[_Rule] = []


def _rule(check: _Rule) -> _Rule:
    RULES.append(check)
    return check


def hints(content: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The hints for a profile, what costs most first."""
    found = [hint for check in RULES for hint in [check(content)] if hint is not None]
    return [hint.to_json() for hint in sorted(found, key=lambda hint: (-hint.share, hint.code))]


@_rule
def _aicpu(content: Mapping[str, Any]) -> Optional[Hint]:
    share = _of_engine(content, "AI_CPU")
    if share < _WORTH:
        return None
    names = _dearest(content, lambda row: row["engine"] == "AI_CPU")
    return Hint(
        "aicpu", share, f"the AI CPU computes {_percent(share)} of the time: {names}.",
        "`npu-conformance precision` says which dtypes the AI Core takes of them; mix_compile_mode or in_out_pair "
        "keeps them on the host.", ["mix_compile_mode", "in_out_pair"],
    )  # fmt: skip


@_rule
def _idle(content: Mapping[str, Any]) -> Optional[Hint]:
    share = content["idle_us"] / content["wall_us"] if content["wall_us"] else 0.0
    if share < _IDLE:
        return None
    return Hint(
        "idle", share, f"nothing runs on the device for {_percent(share)} of the time.",
        "Let the device make several iterations a launch, and make batches larger.", ["iterations_per_loop"],
    )  # fmt: skip


@_rule
def _input(content: Mapping[str, Any]) -> Optional[Hint]:
    means = content["steps"]["means"] if content["steps"] else {}
    whole = means.get("iteration_us", 0.0)
    share = means.get("input_us", 0.0) / whole if whole else 0.0
    if share < _WORTH or share > 1:
        return None
    return Hint(
        "input", share, f"forward begins {_percent(share)} of an iteration after the one before has ended.",
        "Make batches ahead (prefetch, map in parallel), and have them ready on the device.", ["enable_data_pre_proc"],
    )  # fmt: skip


@_rule
def _communication(content: Mapping[str, Any]) -> Optional[Hint]:
    share = content["communication"]["alone_us"] / content["wall_us"] if content["wall_us"] else 0.0
    if share < _WORTH:
        return None
    return Hint(
        "communication", share, f"collectives run for {_percent(share)} of the time with nothing computed beside them.",
        "Split gradients so that the first are sent while others are computed; `npu-conformance profile --split` shows "
        "what that gives.",
        ["hcom_parallel"],
    )  # fmt: skip


@_rule
def _single(content: Mapping[str, Any]) -> Optional[Hint]:
    share = _of_rows(content, lambda row: row["type"].startswith(_MATRIX) and row["dtypes"].startswith("FLOAT;"))
    share += _of_rows(content, lambda row: row["type"].startswith(_MATRIX) and row["dtypes"].startswith("FLOAT32"))
    if share < _WORTH:
        return None
    return Hint(
        "float32", share, f"products of matrices that read float32 take {_percent(share)} of the time.",
        "`npu-conformance precision` says which are computed so; mixed precision computes them in float16.",
        ["precision_mode"],
    )  # fmt: skip


@_rule
def _converting(content: Mapping[str, Any]) -> Optional[Hint]:
    share = _of_rows(content, lambda row: row["type"] in _CONVERTING)
    if share < _WORTH:
        return None
    return Hint(
        "conversions", share, f"casts and changes of format take {_percent(share)} of the time.",
        "Neighbours of one dtype need none: modify_mixlist moves operators between the lists.", ["modify_mixlist"],
    )  # fmt: skip


@_rule
def _tiles(content: Mapping[str, Any]) -> Optional[Hint]:
    share = _of_rows(content, lambda row: row["type"].startswith(_MATRIX) and row["bound"] in ("mte1", "mte2", "mte3"))
    if share < _WORTH:
        return None
    return Hint(
        "tiles", share, f"products of matrices that wait for memory take {_percent(share)} of the time.",
        "Tuning looks for better tiles.", ["aoe_mode"],
    )  # fmt: skip


@_rule
def _dynamic(content: Mapping[str, Any]) -> Optional[Hint]:
    share = _of_rows(content, lambda row: row["state"] == "dynamic")
    if share < _WORTH:
        return None
    return Hint(
        "dynamic", share, f"kernels that were compiled for any shape take {_percent(share)} of the time.",
        "Tell the shapes that come.", ["input_shape", "dynamic_dims"],
    )  # fmt: skip


@_rule
def _small(content: Mapping[str, Any]) -> Optional[Hint]:
    few = [
        row for row in content["types"] if row["mean_us"] < _SMALL and row["engine"] in ("AI_CORE", "AI_VECTOR_CORE")
    ]
    count, whole = sum(row["count"] for row in few), sum(row["count"] for row in content["types"])
    share = sum(row["share"] for row in few)
    if count < 0.5 * whole or share < _IDLE:
        return None
    return Hint(
        "small", share,
        f"{count} of {whole} kernels take less than {_SMALL:g} us on average, {_percent(share)} of the time.",
        "Larger batches make them worth their launch; see that no fusion is switched off.", ["fusion_switch_file"],
    )  # fmt: skip


def _of_engine(content: Mapping[str, Any], engine: str) -> float:
    return float(sum(row["share"] for row in content["engines"] if row["engine"] == engine))


def _of_rows(content: Mapping[str, Any], wanted: Callable[[Mapping[str, Any]], bool]) -> float:
    return float(sum(row["share"] for row in content["operators"] if wanted(row)))


def _dearest(content: Mapping[str, Any], wanted: Callable[[Mapping[str, Any]], bool]) -> str:
    names = list(dict.fromkeys(row["type"] or row["op"] for row in content["operators"] if wanted(row)))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more types" if len(names) > 3 else "")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
