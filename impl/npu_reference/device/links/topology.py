"""Where ranks are: the server, the HCCS group and the device of each, and so which kind of link joins any two."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.device.links.rank_table import RankTable
from npu_reference.options.classes import OptionValueError

__all__ = ["DevicePlace", "Topology", "topology"]

#: Devices of a server where no rank table tells (document: a server with eight Ascend 910).
PER_SERVER = 8

#: Devices that HCCS joins in a full mesh (document: two groups, {0-3} and {4-7}).
GROUP = 4

#: Most ranks; assumed. Messages of some algorithms grow with its square.
_MOST = 1024


class DevicePlace(NamedTuple):
    """Where a rank is: numbers of the server, of the HCCS group in it, and of the device in it."""

    server: int
    group: int
    device: int


class Topology(NamedTuple):
    """The places of ranks 0, 1, ...; equal topologies are equal values."""

    places: Tuple[DevicePlace, ...]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.places)

    def link(self, one: int, other: int) -> str:
        """What joins two ranks: ``hccs`` in a group, ``pcie`` between groups of a server, ``roce`` between servers."""
        a, b = self.places[one], self.places[other]
        if a.server != b.server:
            return "roce"
        return "hccs" if a.group == b.group else "pcie"

    def of(self, ranks: Sequence[int]) -> Topology:
        """The topology of some ranks alone, numbered in the order given, as a communicator numbers its members."""
        return Topology(tuple(self.places[rank] for rank in ranks))

    def grid(self) -> Optional[List[List[List[int]]]]:
        """Ranks by server, group and place in the group, each in the order of ranks; None where sizes differ."""
        servers: Dict[int, Dict[int, List[int]]] = {}
        for rank, place in enumerate(self.places):
            servers.setdefault(place.server, {}).setdefault(place.group, []).append(rank)
        found = [list(groups.values()) for groups in servers.values()]
        even = len({len(groups) for groups in found}) == 1
        even = even and len({len(members) for groups in found for members in groups}) == 1
        return found if even else None


def topology(
    devices: Optional[int] = None,
    table: Optional[RankTable] = None,
    *,
    group: int = GROUP,
    per_server: int = PER_SERVER,
) -> Topology:
    """The topology of a number of ranks, or of a rank table.

    Args:
        devices: how many ranks there are; None for as many as the table has.
        table: where they are; without it they fill one server after the other.
        group: devices that HCCS joins (``Device.hccs_group``); per_server: devices of a server without a table.

    Raises:
        OptionValueError: there are no such ranks, or the table has another number of them.
    """
    if table is not None and table.size > _MOST:
        raise OptionValueError("OPTION_VALUE", "RANK_SIZE", f"the rank table has {table.size}, more than {_MOST}.")
    if table is not None:
        if devices is not None and devices != table.size:
            reason = f"{devices} ranks are asked for, and the rank table has {table.size}."
            raise OptionValueError("OPTION_VALUE", "RANK_SIZE", reason, f"Set {table.size}, or give its own table.")
        found: Dict[int, DevicePlace] = {}
        for number, server in enumerate(table.servers):
            for entry in server.devices:
                found[entry.rank] = DevicePlace(number, entry.device // group, entry.device)
        return Topology(tuple(found[rank] for rank in range(table.size)))
    if devices is None or not 1 <= devices <= _MOST:
        raise OptionValueError("OPTION_VALUE", "RANK_SIZE", f"{devices} ranks cannot be.", f"Give 1 to {_MOST}.")
    numbers = [divmod(rank, per_server) for rank in range(devices)]
    return Topology(tuple(DevicePlace(server, device // group, device) for server, device in numbers))
