"""A resolution in the making: what the rules read, and the few things they may do."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, Tuple

from npu_reference.errors import NpuError
from npu_reference.options.domains import echo, shorten
from npu_reference.options.fileview import FileProblem, FileView, NotLookedAt
from npu_reference.options.grammars import GrammarError
from npu_reference.options.outcome import Effective, Remark, Warning_

__all__ = ["State"]


class State:
    """Values given and accepted so far; rules read and change it through its methods.

    Attributes:
        surface, edition, run_mode: what is being resolved; ``run_mode`` 1 is training.
        env: the whole environment; files: where named files are read from.
        given: option to value, for those that were given, are right, and are not ignored.
        parsed: option to the meaning of its text or file.
        effective: option to effective value so far.
        rule: the requirement or reading that is being applied; what is said meanwhile carries it.
    """

    def __init__(self, surface: str, edition: str, env: Mapping[str, str], files: FileView) -> None:
        self.surface = surface
        self.edition = edition
        self.env = env
        self.files = files
        self.run_mode = 1
        self.given: Dict[str, object] = {}
        self.parsed: Dict[str, object] = {}
        self.effective: Dict[str, Effective] = {}
        self.errors: List[Tuple[str, NpuError]] = []
        self.warnings: List[Warning_] = []
        self.notes: List[Remark] = []
        self.rule = ""
        self.defaults: Mapping[str, Effective] = {}

    @property
    def training(self) -> bool:
        return self.run_mode == 1

    def has(self, name: str) -> bool:
        """Whether the option was given with an acceptable value, and is not ignored."""
        return name in self.given

    def refused(self, name: str) -> bool:
        """Whether a value was given for the option and refused; no rule may then speak of the default as the user's."""
        return any(one == name for one, _ in self.errors)

    def value(self, name: str) -> object:
        """The effective value so far; None for an option that does not exist here."""
        effective = self.effective.get(name)
        return None if effective is None else effective.value

    def error(self, name: str, code: str, reason: str, remedy: str = "") -> None:
        """Refuse the value of an option, or of an environment variable; the option falls back to its default (G18)."""
        self.errors.append((name, NpuError(code, name, shorten(reason), shorten(remedy), rule=self.rule)))
        self._forget(name)
        if name in self.defaults:
            self.effective[name] = self.defaults[name]
        elif name in self.effective:
            del self.effective[name]

    def warn(self, name: str, code: str, message: str, rule: str = "") -> None:
        """Tell the user something about an option."""
        self.warnings.append(Warning_(name, code, shorten(message), rule or self.rule))

    def warn_idle(self, name: str, why: str) -> None:
        """Tell the user that an option has no effect."""
        self.warn(name, "no_effect", f"{name} has no effect, since {why}.")

    def note(self, name: str, message: str, rule: str = "") -> None:
        """Tell the user what the documents say about an option, where nothing has to be done about it."""
        self.notes.append(Remark(name, shorten(message), rule or self.rule))

    def adjust(self, name: str, value: object, rule: str) -> None:
        """Change a value to the one that takes effect, keeping its origin."""
        self.effective[name] = Effective(value, self.effective[name].origin, rule)

    def force(self, name: str, value: object, rule: str) -> None:
        """Set an option whatever was given for it."""
        self._forget(name)
        self.effective[name] = Effective(value, "forced", rule)

    def drop(self, name: str, rule: str) -> None:
        """Ignore what was given: the default holds, and the origin says which rule decided."""
        default = self.defaults.get(name)
        self.force(name, None if default is None else default.value, rule)

    def fall_back(self, name: str, value: object, origin: str, rule: str) -> None:
        """Set an option that was not given, from the environment or a file."""
        self.effective[name] = Effective(value, origin, rule)

    def parse(self, name: str, text: str, parser: Callable[[str], object], idle_without: str = "") -> None:
        """Read the text of an option by its grammar; what is wrong becomes an error that quotes it.

        Args:
            idle_without: the option that is off, so that nothing reads this text: what is wrong is a warning then.
        """
        try:
            self._parsed(name, parser(text))
        except GrammarError as problem:
            if idle_without:
                message = f"{name} is not read, since {idle_without} is not True; it could not be: at {problem.where}: "
                self.warn(name, "no_effect", message + problem.reason)
                return
            reason = f"at {problem.where}: {problem.reason} Its value is {echo(text)}."
            self.error(name, "OPTION_SYNTAX", reason, problem.remedy)

    def read(self, name: str, path: str, parser: Callable[[str], object]) -> None:
        """Read the file that an option names; what is wrong becomes an error with its line."""
        try:
            text = self.files.read(path)
            self._parsed(name, parser(text))
        except NotLookedAt:
            self.warn(name, "not_checked", f"the file {echo(path)} of {name} was not looked at.")
        except FileProblem as problem:
            self.error(name, "OPTION_FILE", f"the file {echo(path)} {problem}.", "Name a file that can be read.")
        except GrammarError as problem:
            reason = f"in {echo(path)} at {problem.where}: {problem.reason}"
            self.error(name, "OPTION_FILE", reason, problem.remedy)

    def _parsed(self, name: str, meaning: object) -> None:
        self.parsed[name] = meaning
        for note in getattr(meaning, "notes", ()):
            self.warn(name, getattr(note, "code", "part_ignored"), f"{name}: {note}")

    def _forget(self, name: str) -> None:
        self.given.pop(name, None)
        self.parsed.pop(name, None)
