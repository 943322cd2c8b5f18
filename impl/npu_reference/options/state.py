"""A resolution in the making: what the rules read, and the four things they may do."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.outcome import Effective, Warning_

__all__ = ["State"]


class State:
    """Values given and accepted so far. Rules read it, and call ``error``, ``warn``, ``force`` or ``fall_back``."""

    def __init__(self, surface: str, edition: str, env: Mapping[str, str]) -> None:
        self.surface = surface
        self.edition = edition
        self.env = env
        self.run_mode = 1
        self.given: Dict[str, object] = {}
        self.parsed: Dict[str, object] = {}
        self.effective: Dict[str, Effective] = {}
        self.errors: List[Tuple[str, NpuError]] = []
        self.warnings: List[Warning_] = []
        self.defaults: Mapping[str, Effective] = {}

    def has(self, name: str) -> bool:
        """Whether the option was given with an acceptable value, and is not ignored."""
        return name in self.given

    def value(self, name: str) -> object:
        """The effective value so far; None for an option that does not exist here."""
        effective = self.effective.get(name)
        return None if effective is None else effective.value

    def error(self, name: str, code: str, reason: str, remedy: str = "", subject: Optional[str] = None) -> None:
        """Refuse the value of an option; it falls back to its default."""
        self.errors.append((name, NpuError(code, subject or name, reason, remedy)))
        self.given.pop(name, None)
        self.parsed.pop(name, None)
        if name in self.defaults:
            self.effective[name] = self.defaults[name]

    def warn(self, name: str, code: str, message: str) -> None:
        """Tell the user something about an option."""
        self.warnings.append(Warning_(name, code, message))

    def force(self, name: str, value: object, rule: str) -> None:
        """Set an option whatever was given for it."""
        self.effective[name] = Effective(value, "forced", rule)

    def drop(self, name: str, rule: str) -> None:
        """Ignore what was given: the default holds, and the origin says which rule decided."""
        self.given.pop(name, None)
        self.parsed.pop(name, None)
        self.effective[name] = Effective(self.defaults[name].value, "forced", rule)

    def fall_back(self, name: str, value: object, origin: str, rule: str) -> None:
        """Set an option that was not given, from the environment or a file."""
        self.effective[name] = Effective(value, origin, rule)
