"""Reads rank tables: which device of which server each rank is; a table that contradicts itself is refused by field."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from npu_reference import reading, strict_json
from npu_reference.options.classes import OptionValueError

__all__ = ["RankTable", "TableDevice", "TableServer", "parse", "read"]

#: Largest rank table that is read, in bytes; assumed.
_LARGEST = 4 << 20

#: Most devices of a table; assumed.
_MOST = 1 << 16

_FORM = 'Give a JSON with "server_list", of which each has "server_id" and "device" with device_id and rank_id.'


class TableDevice(NamedTuple):
    """A device: its rank among all, its number in the server, and the address of its network card, if it is told."""

    rank: int
    device: int
    ip: str


class TableServer(NamedTuple):
    """A server with its devices in the order of the table."""

    name: str
    devices: Tuple[TableDevice, ...]

    @property
    def ranks(self) -> List[int]:
        """Ranks of its devices, in the order of the table."""
        return [device.rank for device in self.devices]


class RankTable(NamedTuple):
    """All servers, in the order of the table."""

    servers: Tuple[TableServer, ...]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return sum(len(server.devices) for server in self.servers)

    def server_of(self, rank: int) -> Optional[TableServer]:
        """The server of a rank, or None where no server has it."""
        for server in self.servers:
            if rank in server.ranks:
                return server
        return None


def read(path: str, subject: str = "RANK_TABLE_FILE") -> RankTable:
    """The rank table of a file.

    Args:
        subject: what named the file, for messages.

    Raises:
        OptionValueError: OPTION_FILE where it cannot be read, is none, or contradicts itself, with the field.
    """
    try:
        data = reading.content(path, _LARGEST)
    except reading.FileProblem as problem:
        raise OptionValueError("OPTION_FILE", subject, f"{path!r} cannot be read: it {problem}.") from None
    if len(data) > _LARGEST:
        raise OptionValueError("OPTION_FILE", subject, f"{path!r} is larger than {_LARGEST} bytes.")
    return _Reading(path, subject).table(data)


def parse(text: str, subject: str = "RANK_TABLE_FILE") -> RankTable:
    """The rank table of a text. Raises as :func:`read`."""
    return _Reading("the rank table", subject).table(text.encode("utf-8", "replace"))


class _Reading:
    """One table. Both forms of HCCL are taken: server_list, and the older group_list."""

    def __init__(self, path: str, subject: str) -> None:
        self.path, self.subject = path, subject

    def table(self, data: bytes) -> RankTable:
        try:
            document: Any = strict_json.loads(data.decode("utf-8-sig"))
        except strict_json.Repeated as error:
            self._refuse(f"is not clear: {error}", "Write it once.")
        except (ValueError, RecursionError) as error:
            self._refuse(f"is no JSON: {error}")
        if not isinstance(document, dict):
            self._refuse("is no JSON object")
        status = document.get("status", "completed")
        if status != "completed":
            self._refuse(f"has status {_shown(status)}: it is not complete", "Wait until status is completed.")
        servers = self._grouped(document) if "group_list" in document else self._listed(document)
        self._check(servers)
        return RankTable(tuple(servers))

    def _listed(self, document: Dict[str, Any]) -> List[TableServer]:
        entries = self._list(document, "server_list", "")
        self._count(document, "server_count", len(entries), "server_list", "")
        servers = []
        for number, entry in enumerate(entries):
            where = f"server_list[{number}]"
            listed = self._list(entry, "device", where)
            devices = [self._device(one, f"{where}.device[{place}]", place) for place, one in enumerate(listed)]
            servers.append(TableServer(str(entry.get("server_id", number)), tuple(devices)))
        return servers

    def _grouped(self, document: Dict[str, Any]) -> List[TableServer]:
        """The older form: instances (pods) of one group, whose devices are ranks in the order they are listed."""
        groups = self._list(document, "group_list", "")
        self._count(document, "group_count", len(groups), "group_list", "")
        if len(groups) != 1:
            self._refuse(f"has {len(groups)} groups in group_list", "List one group, hccl_world_group.")
        where = "group_list[0]"
        instances = self._list(groups[0], "instance_list", where)
        self._count(groups[0], "instance_count", len(instances), "instance_list", where)
        servers: Dict[str, List[TableDevice]] = {}
        total = 0
        for number, instance in enumerate(instances):
            place = f"{where}.instance_list[{number}]"
            for position, device in enumerate(self._list(instance, "devices", place)):
                spot = f"{place}.devices[{position}]"
                rank = self._number(instance, "rank_id", place) if "rank_id" in instance else total
                found = servers.setdefault(str(instance.get("server_id", "0")), [])
                found.append(self._device({**device, "rank_id": rank}, spot, len(found)))
                total += 1
        for key in ("device_count", "device_num"):
            self._count(groups[0], key, total, "the devices of instance_list", where)
        return [TableServer(name, tuple(devices)) for name, devices in servers.items()]

    def _device(self, entry: Dict[str, Any], where: str, position: int) -> TableDevice:
        rank = self._number(entry, "rank_id", where)
        device = self._number(entry, "device_id", where) if "device_id" in entry else position
        ip = entry.get("device_ip", "")
        if ip:
            try:
                ipaddress.ip_address(str(ip))
            except ValueError:
                self._refuse(f"has device_ip {_shown(ip)} in {where}, which is no address")
        return TableDevice(rank, device, str(ip))

    def _check(self, servers: List[TableServer]) -> None:
        """Every rank, device and address once, and ranks from 0 on."""
        total = sum(len(server.devices) for server in servers)
        if not total:
            self._refuse("lists no device", "List one for every rank.")
        if total > _MOST:
            self._refuse(f"lists {total} devices, more than {_MOST}")
        names: Dict[str, int] = {}
        ranks: Dict[int, str] = {}
        addresses: Dict[str, int] = {}
        for server in servers:
            if server.name in names:
                self._refuse(f"has two servers of server_id {_shown(server.name)}")
            names[server.name] = 1
            on_server: Dict[int, int] = {}
            for rank, device, ip in server.devices:
                if rank in ranks:
                    self._refuse(f"has rank_id {rank} twice, on servers {ranks[rank]} and {server.name}")
                if device in on_server:
                    other = on_server[device]
                    self._refuse(f"has device_id {device} of server {server.name} for ranks {other} and {rank}")
                if ip and ip in addresses:
                    self._refuse(f"has device_ip {ip} for ranks {addresses[ip]} and {rank}")
                ranks[rank], on_server[device] = server.name, rank
                if ip:
                    addresses[ip] = rank
        missing = next((rank for rank in range(total) if rank not in ranks), None)
        if missing is not None:
            self._refuse(f"lists {total} devices, but none has rank_id {missing}", f"Number them 0 to {total - 1}.")

    def _list(self, holder: Dict[str, Any], key: str, where: str) -> List[Dict[str, Any]]:
        found = holder.get(key)
        if not isinstance(found, list) or any(not isinstance(entry, dict) for entry in found):
            self._refuse(f"has no list of objects {key}{' in ' + where if where else ''}")
        return list(found)

    def _count(self, holder: Dict[str, Any], key: str, count: int, counted: str, where: str) -> None:
        if key in holder and self._number(holder, key, where) != count:
            place = f" in {where}" if where else ""
            self._refuse(f"has {key} {_shown(holder[key])}{place}, but there are {count} in {counted}")

    def _number(self, holder: Dict[str, Any], key: str, where: str) -> int:
        found = holder.get(key)
        text = str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) else ""
        if not _digits(text):
            place = f" in {where}" if where else ""
            self._refuse(f"has {key} {_shown(found)}{place}, which is no number from 0 on")
        return int(text)

    def _refuse(self, what: str, remedy: str = _FORM) -> NoReturn:
        raise OptionValueError("OPTION_FILE", self.subject, f"{self.path!r} {what}.", remedy)


def _digits(text: str) -> bool:
    return 0 < len(text) < 10 and all("0" <= letter <= "9" for letter in text)


def _shown(value: Any) -> str:
    return repr(str(value)[:80])
