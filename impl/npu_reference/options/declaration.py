"""What one option is: its facets on each surface in each edition, from which everything else is derived."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from npu_reference.options.domains import Domain

__all__ = ["EDITIONS", "SAME", "STATUSES", "SURFACES", "Facet", "Option", "both", "declare"]

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
}

#: A default in inference that is the default in training.
SAME = object()


class Facet(NamedTuple):
    """One option on one surface in one edition.

    ``field`` is ``b``, ``i`` or ``s``: the field of the parameter map, and on the RunConfig surface the Python type
    bool, int or str; ``o`` stands for a configuration object. ``default`` None means that nothing is passed on.
    ``applies`` is ``T`` (training), ``I`` (online inference) or ``TI``; outside of it the option is ignored with a
    warning (G13).
    """

    domain: Domain
    field: str
    default: object = None
    default_inference: object = SAME
    applies: str = "TI"
    status: str = "active"
    source: str = ""

    def default_in(self, run_mode: int) -> object:
        """The default in training (1) or online inference (0)."""
        if run_mode == 0 and self.default_inference is not SAME:
            return self.default_inference
        return self.default


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


def both(domain: Domain, field: str, default: object = None, applies: Tuple[str, str] = ("TI", "TI")) -> BothSurfaces:
    """The facets of an option that is the same on both surfaces but for where it applies (session, RunConfig)."""
    return {
        "session": Facet(domain, field, default, applies=applies[0]),
        "runconfig": Facet(domain, field, default, applies=applies[1]),
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
) -> Option:
    """Build an option from what the documents say of its surfaces.

    Differences of age go into ``legacy`` and ``current`` and hold on both surfaces; ``overrides`` are for one
    (surface, edition) alone. An option of the RunConfig surface alone is new: the legacy edition has none, and the
    current session passes its key on as ``reserved``, since that is how NPURunConfig itself reaches the session (G16).
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
    for key, changes in (overrides or {}).items():
        facets[key] = facets[key]._replace(**changes)
    prefixes = tuple(
        f"{surface}.{name}" for surface, given in (("session", session), ("runconfig", runconfig)) if given is not None
    )
    return Option(name, topic, meaning, unit, facets, prefixes + requirements, readings, name.replace("_", "-"))
