"""How an answer reads without a condition."""

from __future__ import annotations

import posixpath
import re
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence

from npu_conformance.strength.laws.effects.request import HERE, Answer, Back

__all__ = ["OWN", "copied", "renamed", "same", "without", "without_first", "without_other_model"]


def _told(answer: Answer) -> Iterator[Dict[str, Any]]:
    """What of an answer has files: turns, or steps, or a run."""
    if "turns" in answer:
        yield from answer["turns"]
    elif "base" not in answer:
        yield answer
    else:
        yield answer["base"]
        yield from answer.get("variants", {}).values()


def copied(answer: Mapping[str, Any]) -> Answer:
    """An answer whose turns or steps may be changed, and nothing in them."""
    if "turns" in answer:
        return {**answer, "turns": [dict(one) for one in answer["turns"]]}
    if "base" not in answer:
        return dict(answer)
    variants = {name: dict(one) for name, one in answer.get("variants", {}).items()}
    return {**answer, "base": dict(answer["base"]), **({"variants": variants} if variants else {})}


def same(answer: Answer) -> Answer:
    return answer


def renamed(change: Callable[[str], Optional[str]]) -> Back:
    """The answer with other names of files; one without a name is left out."""

    def back(answer: Answer) -> Answer:
        for one in _told(answer):
            for key in ("files", "left"):
                if one.get(key):
                    named = [(change(name), file) for name, file in one[key].items()]
                    one[key] = {name: file for name, file in named if name is not None}
        return answer

    return back


def without(pattern: str) -> Back:
    """The answer without the files whose name has the pattern."""
    search = re.compile(pattern).search
    return renamed(lambda name: None if search(name) else name)


#: Without what a condition itself leaves.
OWN = without(rf"\A{HERE}/(?!a/)")


def without_first(answer: Answer) -> Answer:
    return {**answer, "turns": answer["turns"][1:]}


def without_other_model(answer: Answer) -> Answer:
    """Without kernels, and their files, of operators that the case's own model does not have."""
    for turn in answer["turns"]:
        own = [one for one in turn.get("kernels", ()) if one["nodes"] and _of_company(one["nodes"])]
        stems = tuple(one["kernel"] for one in own if one["kernel"])
        if own:
            turn["kernels"] = [one for one in turn["kernels"] if one not in own]
        if stems:
            for key in ("files", "left"):
                if turn.get(key):
                    turn[key] = {
                        name: file for name, file in turn[key].items() if not posixpath.basename(name).startswith(stems)
                    }
    return answer


def _of_company(nodes: Sequence[str]) -> bool:
    return all(node.startswith(f"{HERE}/") for node in nodes)
