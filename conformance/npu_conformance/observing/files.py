"""Turns files that a backend left into facts: names without what varies, structure and invariants, never its bytes.

Each kind of file is declared once, with the names it has and what may be said of its content.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Pattern, Sequence, Tuple

from npu_conformance.observing import tensors

__all__ = ["KINDS", "BadFile", "Kind", "compile_facts", "library_facts", "name_of", "register"]

_Triples = Iterator[Tuple[str, str, str]]


class BadFile(tensors.BadTensor):
    """A file of an answer cannot be read as the protocol says; the text says why."""


class Kind(NamedTuple):
    """A kind of file: its word, which paths are of it, and what is said of its content, a text each."""

    word: str
    path: Pattern[str]
    read: Callable[[bytes], Iterator[str]]


#: Every kind whose content is looked into; the first that matches counts.
KINDS: List[Kind] = []


def register(word: str, path: str) -> Callable[[Callable[[bytes], Iterator[str]]], Callable[[bytes], Iterator[str]]]:
    """Registers a reader for files whose whole path matches ``path``."""

    def take(read: Callable[[bytes], Iterator[str]]) -> Callable[[bytes], Iterator[str]]:
        KINDS.append(Kind(word, re.compile(path + r"\Z"), read))
        return read

    return take


#: What varies from run to run, and the word that stands for it; in this order.
_VARYING: Sequence[Tuple[Pattern[str], str]] = (
    (re.compile(r"(^|/)tmp_weight_[0-9]+_[0-9]+(?=/|\Z)"), r"\1tmp_weight_<pid>_<session>"),
    (re.compile(r"(^|/)weight_[0-9a-fA-F]+\Z"), r"\1weight_<hash>"),
    (re.compile(r"(^|/)FE/[0-9]+/?fusion_result\.json\Z"), r"\1FE/<pid>/fusion_result.json"),  # B11
    (re.compile(r"(^|/)kernel_cache_[^/]+(?=/)"), r"\1kernel_cache_<host>"),
)
_FILLER = re.compile(r"filler[^/]*\Z")
_CACHE = re.compile(r"((?:.*/)?kernel_cache(?:_<host>)?)/(?!op_cache\.ini\Z|kernel_cache/).*")


def name_of(path: str, kernels: Mapping[str, str]) -> str:
    """A path with what varies replaced by words.

    How a backend arranges its cache is its own business: what lies in it is ``*``, but for the fillers of a case. Empty
    for a kernel that computes no operator of the graph: which of those there are is its business, too.

    Args:
        kernels: name of a kernel in files -> the operator it is called by.
    """
    for pattern, word in _VARYING:
        path = pattern.sub(word, path)
    filler = "<filler>" if _FILLER.search(path) else "*"
    cached = _CACHE.fullmatch(path)
    if cached:
        return f"{cached[1]}/{filler}"
    folder, base = posixpath.split(path)
    stem = max((stem for stem in kernels if stem and base.startswith(stem)), key=len, default="")
    if stem and not kernels[stem]:
        return ""
    if stem:
        base = f"<{kernels[stem]}>{base[len(stem) :]}"
    return posixpath.join(folder, base)


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
        named = _named(turn.get("kernels", []))
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


def _kernels(number: int, turn: Mapping[str, Any], first: Mapping[str, int]) -> _Triples:
    for kernel in turn.get("kernels", []):
        if not kernel["kernel"] or not kernel["nodes"]:
            continue  # of the device itself, or unnamed
        name = _first(kernel)
        yield "kernels", name, f"turn {number} kernel {name} {kernel['origin']}"
        if len(kernel["nodes"]) > 1:
            for node in sorted(kernel["nodes"]):
                yield "joined_kernels", node, f"turn {number} kernel {name} computes {node}"
        switches = " ".join(kernel.get("switches", []))
        yield "switches", name, f"turn {number} compiled {name} with {switches or 'nothing'}"
        size, before = kernel.get("bytes"), first.get(name)
        if size and before:
            relation = "larger" if size > before else "smaller" if size < before else "equal"
            yield "sizes", name, f"turn {number} size {name} {relation}"
    if "hits" in turn:
        some = {True: "some", False: "none"}
        yield "cached", "", f"turn {number} reused {some[turn['hits'] > 0]} compiled {some[turn['misses'] > 0]}"
    for one in turn.get("fusion", []):
        counts = f"matched {one['matched']} effective {one['effective']}"
        yield "passes", one["name"], f"turn {number} pass {one['section']} {one['name']} {counts}"
    for one in turn.get("constants", []):
        yield "constants", one["node"], f"turn {number} constant {one['node']} {one['op']}"
    for code in sorted({one["code"] for one in turn.get("notes", [])}):
        yield "file_notes", code, f"turn {number} note {code}"
    sizes = {one["file"]: one["bytes"] for one in turn.get("constants", []) if one.get("file")}
    if sizes:
        yield "weights", "", f"turn {number} weights {len(sizes)} files {sum(sizes.values())} bytes"


def _paths(number: int, word: str, files: Mapping[str, Any], named: Mapping[str, str]) -> _Triples:
    counts: Dict[str, int] = {}
    for path in files:
        name = name_of(path, named)
        if name:
            counts[name] = counts.get(name, 0) + 1
    for name, count in sorted(counts.items()):
        several = f" x {count}" if name.endswith(("<filler>", "<hash>")) else ""
        yield word, name, f"turn {number} {word} {name}{several}"


def _contents(number: int, files: Mapping[str, Any], named: Mapping[str, str]) -> _Triples:
    for path, content in sorted(files.items()):
        kind = next((kind for kind in KINDS if kind.path.match(path)), None)
        if kind is None or "b64" not in content:
            continue
        name = name_of(path, named)
        if not name or name.endswith("/*"):
            continue
        for text in kind.read(_decoded(path, content)):
            yield "contents", name, f"turn {number} in {name} {text}"


def _decoded(path: str, content: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(content["b64"], validate=True)
    except ValueError:
        raise BadFile(f"file {path[:80]!r} has no valid b64") from None


# ---------------------------------------------------------------------------------------------------------------------
# Kinds


def _object(data: bytes) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_GRAPH = re.compile(r"session_and_graph_id_[0-9]+_[0-9]+")


@register("fusion results", r"(.*/)?([0-9]*)fusion_result\.json")
def _fusion_result(data: bytes) -> Iterator[str]:
    value = _object(data)
    if value is None:
        yield "is no JSON object"
        return
    graphs = sorted((key for key in value if _GRAPH.fullmatch(key)), key=lambda key: (len(key), key))
    for key in sorted(set(value) - set(graphs)):
        yield f"key {key}"
    for number, key in enumerate(graphs):
        yield f"graph {number} session_and_graph_id"
        sections = value[key] if isinstance(value[key], dict) else {}
        for section, passes in sorted(sections.items()):
            yield f"graph {number} {section}"
            for name, counts in sorted(passes.items()) if isinstance(passes, dict) else ():
                yield from _counts(f"graph {number} {section} {name}", counts)


def _counts(where: str, counts: Any) -> Iterator[str]:
    numbers: Dict[str, int] = {}
    for key, value in sorted(counts.items()) if isinstance(counts, dict) else ():
        if re.fullmatch(r"[0-9]{1,18}", str(value)) and not isinstance(value, bool):
            numbers[key] = int(value)
            yield f"{where} {key} {numbers[key]}"
        else:
            yield f"{where} {key} is no number"
    if numbers.get("effect_times", 0) > numbers.get("match_times", 0):
        yield f"{where} takes effect more often than it matches"
    if numbers.get("repository_hit_times", 0) > numbers.get("effect_times", 0):
        yield f"{where} repository is hit more often than a pass takes effect"


@register("limits of the cache", r"(.*/)?op_cache\.ini")
def _op_cache_ini(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            yield re.sub(r"\s*=\s*", " = ", text)


_OOM = re.compile(
    r"CheckInvalidAccessOfDDR\s*\(.*?if\s*\(\s*access_offset\s*<\s*0\s*\|\|\s*access_offset\s*\+\s*access_extent\s*>\s*"
    r"ddr_size\s*\)\s*\{\s*if\s*\(\s*read_or_write\s*==\s*1\s*\)\s*\{\s*trap\s*\(\s*0X5A5A0001\s*\)\s*;\s*\}\s*else\s*\{"
    r"\s*trap\s*\(\s*0X5A5A0002\s*\)",
    re.IGNORECASE | re.DOTALL,
)
_FLAGS = [f"set_flag(PIPE_MTE3,PIPE_MTE2,EVENT_ID{event})" for event in range(4)]
_FLAGS += [f"pipe_barrier(PIPE_{pipe})" for pipe in ("MTE3", "MTE2", "M", "V", "MTE1", "ALL")]
_FLAGS += [f"wait_flag(PIPE_MTE3,PIPE_MTE2,EVENT_ID{event})" for event in range(4)]


@register("code of a kernel", r".*\.cce")
def _cce(data: bytes) -> Iterator[str]:
    code = data.decode("utf-8", "replace")
    if _OOM.search(code):
        yield "has the oom check"
    elif "CheckInvalidAccessOfDDR" in code or "5A5A000" in code.upper():
        yield "has another oom check"
    plain = re.sub(r"\s+", "", code)
    places, at = [], 0
    for call in _FLAGS:
        at = plain.find(call, at)
        places.append(at)
        if at < 0:
            break
    if places[-1] >= 0:
        yield "has the flag check"
    elif any(call in plain for call in _FLAGS):
        yield "has another flag check"


@register("description", r".*/kernel_meta/.*\.json|kernel_meta/.*\.json")
def _described(data: bytes) -> Iterator[str]:
    yield "is no JSON object" if _object(data) is None else "is a JSON object"


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
        operators = _object(one["text"].encode("utf-8", "replace"))
        if operators is None:
            yield "library_files", path, f"library {path} is no JSON object"
            continue
        for name, entry in sorted(operators.items()):
            flag = entry.get("precision_reduce", {}).get("flag") if isinstance(entry, dict) else None
            yield "library_flags", name, f"library {name} precision_reduce {flag or 'not given'}"
            for key, tensor in sorted(entry.items()) if isinstance(entry, dict) else ():
                if isinstance(tensor, dict) and isinstance(tensor.get("dtype"), str):
                    words = sorted(set(tensor["dtype"].replace(" ", "").split(",")))
                    yield "library_dtypes", name, f"library {name} {key} {' '.join(words)}"
