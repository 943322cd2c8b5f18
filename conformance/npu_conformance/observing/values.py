"""When two values of an option are one: the documents fix what a value means, and not how an answer writes it."""

from __future__ import annotations

import functools
import json
import posixpath
import re
from typing import Any, Mapping, Tuple

from npu_conformance.observing.timeline import union
from npu_reference.options import OPTIONS
from npu_reference.options.domains import Text
from npu_reference.options.grammars import GrammarError
from npu_reference.options.grammars.dump_step import Steps
from npu_reference.options.meaning import told

__all__ = ["NOTHING", "OF_A_SESSION", "WITHOUT_EFFECT", "same", "unwrapped"]

#: What an option that is left empty may be told as: "left empty by default, indicating that it is disabled" (003).
NOTHING = (None, False, 0, "", "0")

#: Defaults that 002 gives a session and 003 an NPURunConfig, where they differ: a session of the current edition may
#: have either, since neither document says that it counts for the other's surface (reading A17 and its like).
OF_A_SESSION: Mapping[str, Tuple[Any, Any]] = {
    "enable_data_pre_proc": (False, True),  # 002 L33, 003 L992
    "enable_exception_dump": (0, 2),  # 002 L336, 003 L165
    "hcom_parallel": (False, True),  # 002 L211, 003 L593
    "op_compiler_cache_mode": ("disable", "enable"),  # 002 L541, 003 L802
    "op_select_implmode": ("high_performance", None),  # 002 L347, 003 L1063
    "op_wait_timeout": (None, 120),  # 002 L815, 003 L912
    "hccl_timeout": (None, 1836),  # 002 L805, 003 L896
    "variable_format_optimize": (True, None),  # 002 L180, 003 L1010
}

#: Options that do not take effect by 003 L1160, L1166: their value may be told as it was given.
WITHOUT_EFFECT = ("graph_memory_max_size", "variable_memory_max_size")

_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_NUMBER = re.compile(r"-?\d{1,18}")
_PATH = re.compile(r"(_dir|_path|_file)$")
_HOME = re.compile(r"(\$HOME|\$\{HOME\}|~)(?=/|$)")
_BLANKS = re.compile(r"\s*([,;:|~\[\]{}()=])\s*")


def unwrapped(value: Any) -> Any:
    """A value of a question without the field that it names."""
    return value["value"] if isinstance(value, dict) and set(value) == {"field", "value"} else value


def same(name: str, one: Any, other: Any, home: str = "~") -> bool:
    """Whether two values of an option mean the same, both as JSON has them; ``home``: the user's home directory.

    A number may be written as text, a path in any form of the same place, a text with other blanks, and a list whose
    order means nothing in any order.
    """
    return _canonical(name, json.dumps(one), home) == _canonical(name, json.dumps(other), home)


@functools.lru_cache(maxsize=1 << 14)
def _canonical(name: str, value: str, home: str) -> str:
    """One form of a value, given and returned as JSON."""
    plain = json.loads(value)
    if isinstance(plain, str) and _PATH.search(name):
        plain = posixpath.normpath(_HOME.sub(lambda _: home, plain) or ".")
    elif isinstance(plain, str):
        plain = _meaning(name, plain)
    if plain is None and _PATH.search(name):
        plain = "."  # an empty path is the current directory
    return json.dumps(plain, sort_keys=True)


def _meaning(name: str, text: str) -> Any:
    """What a text says: by the option's grammar, or as a number; else the text without blanks beside punctuation."""
    text = _BLANKS.sub(r"\1", text.strip())
    for facet in OPTIONS[name].facets.values() if name in OPTIONS else ():
        if isinstance(facet.domain, Text) and facet.domain.parse is not None:
            try:
                meant = facet.domain.parse(text)
                parsed = told(meant)
            except (GrammarError, ValueError):
                continue
            if isinstance(meant, Steps):
                return [[first, last - 1] for first, last in union((one, end + 1) for one, end in meant.spans)]
            return sorted(parsed) if isinstance(parsed, list) and _is_set(name, parsed) else parsed
    return int(text) if _NUMBER.fullmatch(text) else _TRUTH.get(text, text)


def _is_set(name: str, parsed: Any) -> bool:
    return name in ("enable_scope_fusion_passes", "optypelist_for_implmode", "auto_tune_mode") and all(
        isinstance(part, str) for part in parsed
    )
