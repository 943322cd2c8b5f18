"""What a user's ops-info file (`aic-<soc>-ops-info.json`) says of operator types: list flag and kernel dtypes (004)."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from npu_reference.catalog.descriptor import FLAGS, Column
from npu_reference.errors import NpuError
from npu_reference.options.grammars.json_text import Pairs, key_error, parse_json
from npu_reference.options.grammars.scanner import GrammarError

__all__ = ["OpInfo", "is_ops_info", "parse_ops_info"]

#: Bounds on a user's file (assumed: a real one has some 800 operators and 2 MB).
MAX_BYTES = 16 << 20
_MAX_COLUMNS = 1024

_FLAG_FORM = 'Write "precision_reduce": {"flag": "true"} or {"flag": "false"}, or leave precision_reduce out.'
_FORM = f'Write {{"Operator": {{"precision_reduce": {{"flag": "true"}}}}, …}}. {_FLAG_FORM}'
_TENSOR = r"(input|output)([0-9]{1,3})\Z"
_FILE = r"aic-[A-Za-z0-9_]+-ops-info\.json\Z"

#: Words of the file for dtypes that TensorFlow calls otherwise.
_WORDS = {"float": "float32", "double": "float64"}
_DTYPES = frozenset(
    {"float16", "float32", "float64", "bfloat16", "bool", "string", "complex64", "complex128", "int4", "resource"}
    | {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"qint8", "qint16", "qint32", "quint8", "quint16"}
)


class OpInfo(NamedTuple):
    """One entry: the list its flag stands for ("graylist" where there is none), and columns where dtypes are stated."""

    flag: str
    columns: Tuple[Column, ...]


def is_ops_info(name: str) -> bool:
    """Whether a file has the name of an ops-info file."""
    return re.match(_FILE, name.replace("\\", "/").rsplit("/", 1)[-1]) is not None


def parse_ops_info(text: str, subject: str) -> Dict[str, OpInfo]:
    """Entries by operator type.

    Raises:
        NpuError: OPS_INFO_FILE, with line and column of what is wrong.
    """
    if len(text) > MAX_BYTES:
        raise NpuError("OPS_INFO_FILE", subject, f"it is larger than {MAX_BYTES} bytes.")
    try:
        return _entries(parse_json(text), text)
    except GrammarError as problem:
        raise NpuError("OPS_INFO_FILE", f"{subject}: {problem.where}", problem.reason, problem.remedy) from None


def _entries(root: Any, text: str) -> Dict[str, OpInfo]:
    if not isinstance(root, Pairs):
        raise key_error("it is no JSON object.", text, (), _FORM)
    entries: Dict[str, OpInfo] = {}
    for name, value in root.pairs:
        if not name or name != name.strip():
            raise key_error("this is no operator type.", text, (name,), _FORM)
        if name in entries:
            raise key_error("the operator type is listed twice.", text, (name,), "List it once.")
        entries[name] = _entry(name, _object(value, text, (name,)), text)
    return entries


def _entry(name: str, keys: Dict[str, Any], text: str) -> OpInfo:
    flag: Optional[str] = None
    tensors: Dict[str, Dict[int, Tuple[str, ...]]] = {"input": {}, "output": {}}
    for key, value in keys.items():
        if key == "precision_reduce":
            flag = _flag(value, text, (name, key))
            continue
        tensor = re.match(_TENSOR, key)
        if tensor is not None:
            dtypes = _dtypes(value, text, (name, key))
            if dtypes:
                tensors[tensor.group(1)][int(tensor.group(2))] = dtypes
    return OpInfo("graylist" if flag is None else flag, _columns(tensors, text, name))


def _flag(value: Any, text: str, path: Tuple[str, ...]) -> Optional[str]:
    keys = _object(value, text, path, _FLAG_FORM)
    if "flag" not in keys:
        return None
    word = keys["flag"]
    if not isinstance(word, str) or word not in FLAGS:
        raise key_error(f'{word!r} is neither "true" nor "false".', text, (*path, "flag"), _FLAG_FORM)
    return FLAGS[word]


def _dtypes(value: Any, text: str, path: Tuple[str, ...]) -> Tuple[str, ...]:
    listed = _object(value, text, path).get("dtype")
    if listed is None:
        return ()
    if not isinstance(listed, str):
        raise key_error("it is no text with a list of dtypes.", text, (*path, "dtype"), 'Write "float16,float".')
    names = [_WORDS.get(word.strip(), word.strip()) for word in listed.split(",")]
    for name in names:
        if name not in _DTYPES:
            raise key_error(f"{name!r} is no dtype.", text, (*path, "dtype"), 'Write "float16,float".')
    if len(names) > _MAX_COLUMNS:
        raise key_error(f"it lists more than {_MAX_COLUMNS} dtypes.", text, (*path, "dtype"))
    return tuple(names)


def _columns(tensors: Dict[str, Dict[int, Tuple[str, ...]]], text: str, name: str) -> Tuple[Column, ...]:
    """Position k of every list together is one legal combination."""
    count: Optional[int] = None
    sides: List[List[Tuple[str, ...]]] = []
    for side, listed in tensors.items():
        if sorted(listed) != list(range(len(listed))):
            raise key_error(f"its {side}s are not numbered 0, 1, 2 …", text, (name,), f"Begin with {side}0.")
        for k in range(len(listed)):
            if count is not None and len(listed[k]) != count:
                reason = f"{side}{k} lists {len(listed[k])} dtypes, the tensors before it {count}."
                raise key_error(reason, text, (name, f"{side}{k}"), "List one dtype for each combination.")
            count = len(listed[k])
        sides.append([listed[k] for k in range(len(listed))])
    return tuple(Column(*(tuple(dtypes[k] for dtypes in side) for side in sides)) for k in range(count or 0))


def _object(value: Any, text: str, path: Tuple[str, ...], form: str = _FORM) -> Dict[str, Any]:
    if not isinstance(value, Pairs):
        raise key_error("it is no JSON object.", text, path, form)
    keys: Dict[str, Any] = {}
    for key, inner in value.pairs:
        if key in keys:
            raise key_error(f"key {key} is given twice.", text, (*path, key), "Give it once.")
        keys[key] = inner
    return keys
