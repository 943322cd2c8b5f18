"""Options of the cache of compiled operators."""

from __future__ import annotations

from npu_reference.options.declaration import Advice, both, declare
from npu_reference.options.domains import Choice, Path

__all__ = ["OPTIONS"]

_TOPIC = "Operator compilation"
_PUBLISH = "For a model that is published, disable or force is advised."

OPTIONS = (
    declare(
        "op_compiler_cache_mode",
        _TOPIC,
        "Whether compiled operators are kept on disk, and whether what is there is thrown away first.",
        **both(Choice("enable", "disable", "force"), "s", "disable"),
        current={"default": "enable"},
        readings=("A1", "A2", "C7", "C9", "C10"),
        advice=(
            Advice(_PUBLISH, "session.op_compiler_cache_mode.publish", ("legacy",), ("enable",)),
            Advice(_PUBLISH, "runconfig.op_compiler_cache_mode.publish", ("current",), ("enable",)),
        ),
        requirements=("files.cache.",),
    ),
    declare(
        "op_compiler_cache_dir",
        _TOPIC,
        "Directory of that cache.",
        **both(Path("directory", "legacy"), "s", "$HOME/atc_data"),
        current={"domain": Path("directory", "current")},
        overrides={("session", "current"): {"domain": Path("directory", "legacy", narrow="current")}},
        readings=("A3", "A4", "B1"),
        requirements=("env.ASCEND_CACHE_PATH", "env.HOME", "files.kernel_cache."),
    ),
)
