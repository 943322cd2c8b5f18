"""What one option is: its facets on each surface in each edition, from which everything else is derived."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_reference.options.domains import Domain

__all__ = ["EDITIONS", "SAME", "STATUSES", "SURFACES", "UNLISTED", "Advice", "Facet", "Option", "both", "declare"]

#: ``session`` is the parameter map of the custom optimizer, ``runconfig`` the constructor of NPURunConfig.
SURFACES = ("session", "runconfig")

#: ``legacy`` is what documents 001, 002 and 004 describe, ``current`` documents 000 and 003.
EDITIONS = ("legacy", "current")

#: What giving a value does.
STATUSES = {
    "active": "takes effect",
    "deprecated": "takes effect, with one warning (G8)",
    "experimental": "takes effect; a debugging extension that may change",
    "reserved": "takes effect, with a warning: the documents list it for NPURunConfig only",
    "ignored": "accepted whatever the value, without any effect",
    "unsupported": "listed but not supported: a warning, no effect, the value is not looked at (G7)",
    "removed": "no longer exists: a warning, no effect",
    "undocumented": "takes effect, with a warning: no document lists it for this surface, real scripts set it",
    "idle": "accepted with a warning, without any effect: no document lists it, real scripts set it",
}

#: How the source of a facet begins that no document has.
UNLISTED = "none"

#: A default in inference that is the default in training.
SAME = object()


class Facet(NamedTuple):
    """One option on one surface in one edition.

    ``field`` is ``b``, ``i`` or ``s``: the field of the parameter map, and on the RunConfig surface the Python type
    bool, int or str; ``o`` stands for a configuration object. ``default`` None means that nothing is passed on.
    ``applies`` is ``T`` (training), ``I`` (online inference) or ``TI``; outside of it there is a warning, and the
    option is ignored where it is ``bound`` to that mode, that is, where it means nothing in the other (G13).
    ``switch`` is the bool option without which this one has no effect, whatever its text says (D27).
    ``earlier`` is the field that an earlier adapter had for what is a text now; values of that type are taken (G27).
    """

    domain: Domain
    field: str
    default: object = None
    default_inference: object = SAME
    applies: str = "TI"
    status: str = "active"
    source: str = ""
    bound: bool = False
    switch: str = ""
    earlier: str = ""

    @property
    def listed(self) -> bool:
        """Whether a document lists the option for this surface, in whatever edition."""
        return not self.source.startswith(UNLISTED)

    def default_in(self, run_mode: int) -> object:
        """The default in training (1) or online inference (0)."""
        if run_mode == 0 and self.default_inference is not SAME:
            return self.default_inference
        return self.default


class Advice(NamedTuple):
    """A sentence of the documents that who gives an option should know; where it holds, and the requirement."""

    text: str
    requirement: str
    editions: Tuple[str, ...] = ("legacy", "current")
    #: The values it is about; empty for any.
    values: Tuple[object, ...] = ()
    #: ``T``, ``I`` or ``TI``, as for a facet.
    applies: str = "TI"

    def concerns(self, edition: str, run_mode: int, value: object) -> bool:
        """Whether it is about this value in this edition and graph run mode."""
        in_mode = "IT"[run_mode] in self.applies
        return in_mode and edition in self.editions and (not self.values or value in self.values)


class Option(NamedTuple):
    """One option; ``facets`` is keyed by (surface, edition), and lacks where the option does not exist."""

    name: str
    topic: str
    meaning: str
    unit: str
    facets: Dict[Tuple[str, str], Facet]
    requirements: Tuple[str, ...]
    readings: Tuple[str, ...]
    anchor: str
    advice: Tuple[Advice, ...] = ()

    def facet(self, surface: str, edition: str) -> Optional[Facet]:
        """The option as one surface in one edition sees it, or None where it does not exist."""
        return self.facets.get((surface, edition))

    @property
    def surfaces(self) -> Tuple[str, ...]:
        """The surfaces the documents list it for."""
        return tuple(
            surface
            for surface in SURFACES
            if any(key[0] == surface and facet.status != "reserved" for key, facet in self.facets.items())
        )


#: What :func:`both` gives to :func:`declare`.
BothSurfaces = Dict[str, Any]


def both(
    domain: Domain,
    field: str,
    default: object = None,
    applies: Tuple[str, str] = ("TI", "TI"),
    *,
    bound: bool = False,
    switch: str = "",
) -> BothSurfaces:
    """The facets of an option that is the same on both surfaces but for where it applies (session, RunConfig)."""
    return {
        "session": Facet(domain, field, default, applies=applies[0], bound=bound, switch=switch),
        "runconfig": Facet(domain, field, default, applies=applies[1], bound=bound, switch=switch),
    }


def declare(
    name: str,
    topic: str,
    meaning: str,
    *,
    session: Optional[Facet] = None,
    runconfig: Optional[Facet] = None,
    legacy: Optional[Mapping[str, Any]] = None,
    current: Optional[Mapping[str, Any]] = None,
    overrides: Optional[Mapping[Tuple[str, str], Mapping[str, Any]]] = None,
    unit: str = "",
    readings: Tuple[str, ...] = (),
    requirements: Tuple[str, ...] = (),
    advice: Tuple[Advice, ...] = (),
    by: str = "",
) -> Option:
    """Build an option from what the documents say of its surfaces.

    Differences of age go into ``legacy`` and ``current`` and hold on both surfaces; ``overrides`` are for one
    (surface, edition) alone. An option of the RunConfig surface alone is new: the legacy edition has none, and the
    current session passes its key on as ``reserved``, since that is how NPURunConfig itself reaches the session (G16).

    The source of a facet is the document of its surface; what an edition changes is by the document of that age, or
    by the reading ``by`` where that document does not state it.
    """
    if session is not None:
        session = session._replace(source=session.source or f"002 § {name}")
    if runconfig is not None:
        runconfig = runconfig._replace(source=runconfig.source or f"003 § {name}")
    facets: Dict[Tuple[str, str], Facet] = {}
    for edition, changes in (("legacy", legacy), ("current", current)):
        if session is not None:
            facets["session", edition] = session._replace(**(changes or {}))
        if runconfig is not None and (session is not None or edition == "current"):
            facets["runconfig", edition] = runconfig._replace(**(changes or {}))
    carried = runconfig is not None and runconfig.status in ("active", "experimental") and runconfig.field != "o"
    if session is None and carried:
        facets["session", "current"] = facets["runconfig", "current"]._replace(status="reserved")
    of_surface = {"session": session, "runconfig": runconfig}
    for key, changes in (overrides or {}).items():
        facet = facets.get(key, of_surface[key[0]])
        assert facet is not None, f"{name} has no facet {key} to be changed"
        facets[key] = facet._replace(**changes)
    sources = {key: _source(facets, key, by) for key in facets}
    facets = {key: facet._replace(source=sources[key]) for key, facet in facets.items()}
    prefixes = tuple(
        f"{surface}.{name}"
        for surface, given in (("session", session), ("runconfig", runconfig))
        if given is not None and given.listed
    )
    anchor = name.replace("_", "-")
    return Option(name, topic, meaning, unit, facets, prefixes + requirements, readings, anchor, advice)


#: Fields of a facet as the page of options heads them.
_HEADS = {
    "domain": "allowed", "default": "default", "default_inference": "default", "applies": "for", "status": "status",
}  # fmt: skip

#: Which edition's document has a surface's own table.
_HOME = {"session": "legacy", "runconfig": "current"}


def _source(facets: Mapping[Tuple[str, str], Facet], key: Tuple[str, str], by: str) -> str:
    """Where a facet is stated: in its surface's document, and what the other age changes in the document of that age.

    ``by`` is the reading that decides the current edition's changes where document 003 states nothing.
    """
    facet, (surface, edition) = facets[key], key
    by = by if edition == "current" else ""
    other = facets.get((surface, "legacy" if edition == "current" else "current"))
    if other is None or facet.status == "reserved" or (edition == _HOME[surface] and not by):
        return facet.source
    changed = dict.fromkeys(
        head for field, head in _HEADS.items() if _differ(getattr(facet, field), getattr(other, field))
    )
    if not changed:
        return facet.source
    return f"{facet.source}; {', '.join(changed)} by {by or ('002' if edition == 'legacy' else '003')}"


def _differ(one: object, other: object) -> bool:
    return one is not other and one != other
