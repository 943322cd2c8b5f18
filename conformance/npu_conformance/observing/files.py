"""Turns what compilation told and left into facts: kernels, and names of files without what varies."""

from __future__ import annotations

import bisect
import functools
import itertools
import posixpath
import re
from typing import Any, Dict, Iterator, List, Mapping, Pattern, Sequence, Tuple

from npu_conformance.observing import left_files
from npu_conformance.observing.left_files import BadFile
from npu_conformance.observing.naming import brief
from npu_conformance.observing.text_files import json_object

__all__ = ["Stems", "compile_facts", "library_facts", "name_of"]

_Triples = Iterator[Tuple[str, str, str]]


#: What varies from run to run, and the word that stands for it; in this order.
_VARYING: Sequence[Tuple[Pattern[str], str]] = (
    (re.compile(r"(^|/)tmp_weight_[0-9]+_[0-9]+(?=/|\Z)"), r"\1tmp_weight_<pid>_<session>"),
    (re.compile(r"(^|/)weight_[0-9a-fA-F]+\Z"), r"\1weight_<hash>"),
    (re.compile(r"(^|/)FE/[0-9]+/?fusion_result\.json\Z"), r"\1FE/<pid>/fusion_result.json"),  # B11
    (re.compile(r"(^|/)kernel_cache_[^/]+(?=/)"), r"\1kernel_cache_<host>"),
)
_FILLER = re.compile(r"filler[^/]*\Z")
_CACHE = re.compile(r"((?:.*/)?kernel_cache(?:_<host>)?)/(?!op_cache\.ini\Z|kernel_cache/).*")


class Stems:
    """Names of kernels in files, each with the operator that it is called by: which of them a file's name begins with
    is found in time that grows with that name alone."""

    def __init__(self, kernels: Mapping[str, str]) -> None:
        self.kernels = kernels
        self._sorted = sorted(filter(None, kernels))
        self._shorter: List[int] = []  # place of the longest other one that each begins with
        open_ones: List[int] = []
        for place, stem in enumerate(self._sorted):
            while open_ones and not stem.startswith(self._sorted[open_ones[-1]]):
                open_ones.pop()
            self._shorter.append(open_ones[-1] if open_ones else -1)
            open_ones.append(place)

    def of(self, name: str) -> str:
        """The longest that ``name`` begins with; empty without one."""
        place = bisect.bisect_right(self._sorted, name) - 1
        # All that the name begins with are beginnings of the last that does not come after it.
        pairs = zip(self._sorted[place], name) if place >= 0 else ()
        same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
        while place >= 0 and len(self._sorted[place]) > same:
            place = self._shorter[place]
        return self._sorted[place] if place >= 0 else ""


def name_of(path: str, stems: Stems) -> str:
    """A path with what varies replaced by words.

    How a backend arranges its cache is its own business: what lies in it is ``*``, but for the fillers of a case. Empty
    for a kernel that computes no operator of the graph: which of those there are is its business, too.

    Args:
        stems: names of kernels in files, and the operator that each is called by.
    """
    path = _without_varying(path)
    filler = "<filler>" if _FILLER.search(path) else "*"
    cached = _CACHE.fullmatch(path)
    if cached:
        return f"{cached[1]}/{filler}"
    folder, base = posixpath.split(path)
    stem = stems.of(base)
    if stem and not stems.kernels[stem]:
        return ""
    if stem:
        base = f"<{brief(stems.kernels[stem])}>{base[len(stem) :]}"
    return posixpath.join(folder, base)


@functools.lru_cache(maxsize=4096)
def _without_varying(path: str) -> str:
    """A path with words for what varies: most lie in a folder twice, and are left by many programs."""
    for pattern, word in _VARYING:
        path = pattern.sub(word, path)
    return path


# ---------------------------------------------------------------------------------------------------------------------
# compile


def compile_facts(answer: Mapping[str, Any]) -> _Triples:
    """(aspect, subject, text) of a valid ``compile`` answer."""
    turns = answer["turns"]
    first: Dict[str, int] = {}
    for number, turn in enumerate(turns):
        if "rejected" in turn:
            body = turn["rejected"]
            yield "turns", body["subject"], f"turn {number} rejected {body['code']} {body['subject']}".rstrip()
        for path in (*turn.get("files", ()), *turn.get("left", ())):
            left_files.check_name(path)
        named = Stems(_named(turn.get("kernels", [])))
        yield from _kernels(number, turn, first)
        for word in ("files", "left"):
            if word in turn:
                yield from _paths(number, "wrote" if word == "files" else word, turn[word], named)
        yield from _contents(number, {**turn.get("files", {}), **turn.get("left", {})}, named)
        if number == 0:
            told = [kernel for kernel in turn.get("kernels", []) if kernel["nodes"] and kernel.get("bytes")]
            first = {_first(kernel): kernel["bytes"] for kernel in told}


def _first(kernel: Mapping[str, Any]) -> str:
    return str(min(kernel["nodes"]))


def _named(kernels: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
    """Names in files to what the kernel is called; nothing for one that computes no operator of the graph."""
    found: Dict[str, str] = {}
    for kernel in kernels:
        stem = kernel["kernel"]
        if stem and kernel["nodes"]:
            found[stem] = min(found.get(stem) or _first(kernel), _first(kernel))
        elif stem:
            found.setdefault(stem, "")
    return found


#: Switches of the compiler and checks that documents name; what else kernels are compiled with is the backend's own.
_SWITCHES = frozenset(("-O0", "-g", "oom", "check_flag"))


def _kernels(number: int, turn: Mapping[str, Any], first: Mapping[str, int]) -> _Triples:
    for kernel in turn.get("kernels", []):
        if not kernel["kernel"] or not kernel["nodes"]:
            continue  # of the device itself, or unnamed
        name = _first(kernel)
        yield "kernels", name, f"turn {number} kernel {name} {kernel['origin']}"
        if len(kernel["nodes"]) > 1:
            short = brief(name)
            for node in sorted(kernel["nodes"]):
                yield "joined_kernels", node, f"turn {number} kernel {short} computes {node}"
        switches = " ".join(word for word in kernel.get("switches", []) if word in _SWITCHES)
        yield "switches", name, f"turn {number} compiled {name} with {switches or 'nothing'}"
        size, before = kernel.get("bytes"), first.get(name)
        if size and before:
            relation = "larger" if size > before else "smaller" if size < before else "equal"
            yield "sizes", name, f"turn {number} size {name} {relation}"
    if "hits" in turn and "misses" in turn:
        some = {True: "some", False: "none"}
        yield "cached", "", f"turn {number} reused {some[turn['hits'] > 0]} compiled {some[turn['misses'] > 0]}"
    for one in turn.get("fusion", []):
        counts = f"matched {one['matched']} effective {one['effective']}"
        yield "passes", one["name"], f"turn {number} pass {one['section']} {one['name']} {counts}"
    for one in turn.get("constants", []):
        yield "constants", one["node"], f"turn {number} constant {one['node']} {one['op']}"
    for code in sorted({one["code"] for one in turn.get("notes", [])}):
        yield "file_notes", code, f"turn {number} note {code}"
    sizes = {one["file"]: one["bytes"] for one in turn.get("constants", []) if one.get("file") and "bytes" in one}
    if sizes:
        yield "weights", "", f"turn {number} weights {len(sizes)} files {sum(sizes.values())} bytes"


def _paths(number: int, word: str, files: Mapping[str, Any], named: Stems) -> _Triples:
    counts: Dict[str, int] = {}
    for path in files:
        name = name_of(path, named)
        if name:
            counts[name] = counts.get(name, 0) + 1
    for name, count in sorted(counts.items()):
        several = f" x {count}" if name.endswith(("<filler>", "<hash>")) else ""
        yield word, name, f"turn {number} {word} {name}{several}"


def _contents(number: int, files: Mapping[str, Any], named: Stems) -> _Triples:
    """What the files say that are of a kind; those of a cache are the backend's own business."""
    told = (one._replace(name=name_of(one.name, named)) for one in left_files.left(files))
    found, _ = left_files.observed((one for one in told if one.name and not one.name.endswith("/*")), _NOTHING)
    for aspect, subject, text in found:
        if aspect == "contents":
            yield aspect, subject, f"turn {number} {text}"


_NOTHING = left_files.About({})


# ---------------------------------------------------------------------------------------------------------------------
# library


def library_facts(answer: Mapping[str, Any]) -> _Triples:
    """(aspect, subject, text) of a valid ``library`` answer."""
    for one in answer["files"]:
        path = re.sub(r"(?i)(config/)([a-z0-9_]+)(/aic-)\2(-ops-info\.json)\Z", r"\1<soc>\3<soc>\4", one["path"])
        yield "library_files", path, f"library {path}"
        if not re.fullmatch(r"[0-7]{3,4}", one["mode"]):
            raise BadFile(f"file {path[:80]!r} has no permissions of three or four octal digits")
        writable = "writable" if int(one["mode"], 8) & 0o222 else "not writable"
        yield "library_modes", path, f"library {path} {writable}"
        operators = json_object(one["text"].encode("utf-8", "replace"))
        if operators is None:
            yield "library_files", path, f"library {path} is no JSON object"
            continue
        for name, entry in sorted(operators.items()):
            reduce = entry.get("precision_reduce") if isinstance(entry, dict) else None
            flag = reduce.get("flag") if isinstance(reduce, dict) else None
            yield "library_flags", name, f"library {name} precision_reduce {flag or 'not given'}"
            for key, tensor in sorted(entry.items()) if isinstance(entry, dict) else ():
                if isinstance(tensor, dict) and isinstance(tensor.get("dtype"), str):
                    words = sorted(set(tensor["dtype"].replace(" ", "").split(",")))
                    yield "library_dtypes", name, f"library {brief(name)} {key} {' '.join(words)}"
