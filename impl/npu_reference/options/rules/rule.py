"""What a rule between options is: a name, what makes it apply, and a check over the state."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Tuple

from npu_reference.options.state import State

__all__ = ["ALWAYS", "Rule", "RuleBook"]

#: The trigger of a rule that applies whatever is given.
ALWAYS = "*"


class Rule(NamedTuple):
    """One rule.

    ``name`` is the requirement or reading that it implements; ``triggers`` are the options (or environment
    variables) of which at least one must be given for it to apply; ``editions`` and ``surfaces`` are where it holds.
    ``about`` are options whose values it speaks of: where one of them was refused, it has nothing to say, since it
    would take the default for the user's (G18).
    """

    name: str
    triggers: Tuple[str, ...]
    check: Callable[[State], None]
    editions: Tuple[str, ...]
    surfaces: Tuple[str, ...]
    about: Tuple[str, ...] = ()

    def applies(self, state: State) -> bool:
        """Whether one of the triggers was given, and nothing that it is about was refused."""
        for trigger in self.triggers:  # most rules are about nothing that was given
            if trigger in state.given or trigger in state.env or trigger == ALWAYS:
                return not any(state.refused(name) for name in self.about)
        return False

    @property
    def meaning(self) -> str:
        """The rule in one sentence, for the reference page."""
        return " ".join((self.check.__doc__ or "").split())


class RuleBook:
    """Collects the rules of one module, in order."""

    def __init__(self) -> None:
        self.rules: List[Rule] = []

    def rule(
        self,
        name: str,
        *triggers: str,
        editions: Tuple[str, ...] = ("legacy", "current"),
        surfaces: Tuple[str, ...] = ("session", "runconfig"),
        about: Tuple[str, ...] = (),
    ) -> Callable[[Callable[[State], None]], Callable[[State], None]]:
        """Register a check under the requirement or reading it implements."""

        def register(check: Callable[[State], None]) -> Callable[[State], None]:
            self.rules.append(Rule(name, triggers, check, editions, surfaces, about))
            return check

        return register
