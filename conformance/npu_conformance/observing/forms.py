"""How facts begin, by method: what tells the aspect of a fact, or of a pattern of facts, from its words."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Callable, Mapping, Sequence, Tuple

from npu_conformance.observing import observe, timeline

__all__ = ["aspect_of", "features_of"]

_N = r"(?:\d+|\*)"  # a number, or the pattern of any

#: Files that both a run and a step may leave. The first expression that a text begins with tells its aspect.
_OF_FILES = (
    (r"dump \S+ step \S+$", "dump_steps"), (r"(exception_)?dump \S+ of device ", "dump_devices"),
    (r"dump .* overflow status", "overflow_dump"), (r"dump .* is fetch ", "dump_values"),
    (r"dump .* holds ", "dump_bits"), (r"dump .* bytes ", "dump_sizes"), (r"dump ", "dump"),
    (r"exception_dump .* holds ", "exception_dump_bits"), (r"exception_dump .* bytes ", "exception_dump_sizes"),
    (r"exception_dump ", "exception_dump"),
)  # fmt: skip

_FORMS: Mapping[str, Tuple[Tuple[str, str], ...]] = {
    "options": tuple(
        (rf"{word} ", aspect)
        for word, aspect in (
            ("effective", "effective"), ("origin", "origins"), ("warning", "warnings"), ("meaning", "meaning"),
            ("directive", "directives"), ("advice", "advice"),
        )
    ),
    "partition": (
        (r"geop \S+ (arg|ret) ", "signature"), (r"geop \S+ copy ", "copies"), (r"geop ", "geops"),
        (r"geops ", "count"), (r"device ", "placement"), (r"host \S+ because ", "reasons"), (r"host ", "host"),
        (r"border ", "borders"), (r"min_geops ", "min_geops"), (r"note ", "notes"),
    ),
    "precision": (
        (r"dtypes ", "dtypes"), (r"engine ", "engines"), (r"list ", "lists"), (r"impl_mode ", "impl_modes"),
        (r"cast ", "casts"), (r"notice ", "notices"),
    ),
    "compile": tuple(
        (rf"turn {_N} {words}", aspect)
        for words, aspect in (
            (r"kernel \S+ computes ", "joined_kernels"), ("kernel ", "kernels"), ("compiled ", "switches"),
            ("size ", "sizes"), ("reused ", "cached"), ("pass ", "passes"), ("constant ", "constants"),
            ("weights ", "weights"), ("note ", "file_notes"), ("wrote ", "wrote"), ("left ", "left"),
            ("rejected ", "turns"), ("", "contents"),
        )
    ),
    "library": (
        (r"library \S+ precision_reduce ", "library_flags"), (r"library \S+ (not )?writable", "library_modes"),
        (r"library \S+ (in|out)put\d+ ", "library_dtypes"),
        (r"library ", "library_files"),
    ),
    "run": (
        (r"fetch ", "fetches"), (r"engine ", "engine"),
        (rf"run {_N} geops ", "run_geops"), (rf"run {_N} copy ", "transfers"), (rf"run {_N} on device ", "on_device"),
        (rf"run {_N} \w+ \S+ (among|part) ", "collectives"), (rf"run {_N} (device|host) ", "run_placement"),
        (rf"run {_N} (launches|iterations) ", "run_launches"), (rf"run {_N} exchanges ", "run_exchanges"),
        (rf"run {_N} elapsed ", "run_elapsed"), (rf"run {_N} moved ", "run_moved"),
        (rf"run {_N} (peak|total|variables|constants) ", "run_memory"),
        (r"log ", "log"), (r"printed ", "output"), (r"failed ", "failed"), *_OF_FILES,
        (r"(file|in|profile) ", "files"),
    ),
    "timeline": (
        (r"profile \S+ (task_trace|aicpu) of ", "profile_operators"), (r"profile \S+ wrong: ", "profile_faults"),
        (r"profile \S+ (forward|backward) ", "profile_points"), (r"tuning ", "tuning"), (r"tuned ", "tuned"),
        *((rf"{word} ", aspect) for word, aspect in timeline.WORDS.items()),
    ),
}  # fmt: skip

#: Features that facts need beside those of their aspect, by method and beginning.
_FEATURES: Mapping[str, Tuple[Tuple[str, str], ...]] = {
    "run": ((r"profile ", "run.profile"), (rf"rank {_N} ", "ranks")),
}

_RANK = re.compile(rf"rank {_N} ")


@functools.lru_cache(maxsize=1 << 16)
def aspect_of(method: str, text: str) -> str:
    """The aspect that a fact, or a pattern of facts, is of; empty where none of the method (of any: "") begins so."""
    if method == "run":
        text = _RANK.sub("", text, 1)
    return next((aspect for match, aspect in _forms(method) if match(text)), "")


@functools.lru_cache(maxsize=None)
def _forms(method: str) -> Sequence[Tuple[Callable[[str], object], str]]:
    """How facts of a method, or of any (""), begin, and of which aspect they are then."""
    forms = _FORMS[method] if method else itertools.chain.from_iterable(_FORMS.values())
    return [(re.compile(expression).match, aspect) for expression, aspect in forms]


def features_of(method: str, text: str) -> Tuple[str, ...]:
    """What a backend must claim before any answer of its can have a fact, or one that a pattern fits."""
    aspect = aspect_of(method, text)
    own = (observe.ASPECTS[aspect].feature,) if aspect else ()
    return (*own, *(feature for expression, feature in _FEATURES.get(method, ()) if re.match(expression, text)))
