"""A meeting reached through a socket: one process holds it, the others' ranks take part as if it were theirs.

Each process keeps one connection open for as long as it lives, so that its end is seen at once, however it ends; each
of its threads that waits for a collective has a connection of its own.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any, Callable, Dict, List, Optional, Sequence

from npu_reference.runtime.exchange import wire
from npu_reference.runtime.exchange.meeting import END, Meeting
from npu_reference.runtime.exchange.parts import BrokenExchange, Part

__all__ = ["ENDED", "Host", "RemoteMeeting"]

#: Why a rank leaves that nothing went wrong with.
ENDED = "has ended"


class Host:
    """Lets processes take part in a meeting.

    Args:
        listener: a listening socket.
        meeting: of this process.
    """

    def __init__(self, listener: socket.socket, meeting: Meeting) -> None:
        self._listener = listener
        self._meeting = meeting
        self._connections: Dict[int, socket.socket] = {}
        self._members = 0
        self._changed = threading.Condition()
        self._closed = False
        _start(self._accept)

    def wait_until_left(self) -> None:
        """Return once no process is connected any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._members == 0)

    def close(self) -> None:
        """End all connections; those who wait at the other end are told by that."""
        with self._changed:
            self._closed = True
            connections = list(self._connections.values())
        for one in (self._listener, *connections):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                if self._closed:
                    connection.close()
                    return
                self._connections[connection.fileno()] = connection
            _start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        number = connection.fileno()
        with suppress(OSError, ValueError, KeyError, TypeError):
            hello = wire.read(connection)
            if hello is not None:
                rank, member = int(hello[0]["rank"]), bool(hello[0]["member"])
                with self._changed:  # of two that come as one rank at once the second is refused
                    wrong = self._refusal(hello[0], rank)
                    if member and not wrong:
                        self._meeting.join(rank)
                        self._members += 1
                if wrong:
                    wire.write(connection, {"refused": wrong})
                elif member:
                    self._stay(connection, rank)
                else:
                    wire.write(connection, {})
                    self._answer(connection, rank)
        with self._changed:
            self._connections.pop(number, None)
        connection.close()

    def _refusal(self, hello: Dict[str, Any], rank: int) -> str:
        if int(hello["size"]) != self._meeting.size:
            return f"it says that there are {hello['size']} ranks, and rank 0 that there are {self._meeting.size}"
        if not 0 <= rank < self._meeting.size:
            return f"there is no rank {rank} among {self._meeting.size}"
        if hello["member"] and rank in self._meeting.present:
            return f"another process is rank {rank} already"
        return ""

    def _stay(self, connection: socket.socket, rank: int) -> None:
        """Welcome a rank that has joined, and let it leave."""
        why = "is gone: its process died"
        try:
            wire.write(connection, {})
            goodbye = wire.read(connection)
            if goodbye is not None:
                why = str(goodbye[0]["bye"])[:200]
            if why == ENDED:
                self._meeting.wait_until_fetched()
        except (OSError, ValueError, KeyError):
            pass
        finally:
            self._meeting.leave(rank, why)
            with self._changed:
                self._members -= 1
                self._changed.notify_all()

    def _answer(self, connection: socket.socket, rank: int) -> None:
        while True:
            message = wire.read(connection)
            if message is None:
                return
            header, arrays = message
            try:
                made = self._do(rank, header, arrays)
                wire.write(connection, {"end": made is END}, () if made is END or made is None else made)
            except BrokenExchange as broken:
                wire.write(connection, {"broken": [broken.kind, list(broken.ranks), broken.text]})

    def _do(self, rank: int, header: Dict[str, Any], arrays: List[Any]) -> Any:
        what = header["what"]
        if what == "take_part":
            return self._meeting.take_part(rank, Part.from_json(header["part"]), arrays)
        if what == "absent":
            return self._meeting.absent(rank, Part.from_json(header["part"]), str(header["why"]))
        if what == "hand_out":
            given = END if header["end"] else arrays
            return self._meeting.hand_out(rank, str(header["channel"]), int(header["to"]), given)
        return self._meeting.receive(rank, str(header["channel"]), int(header["source"]))


class RemoteMeeting:
    """What :class:`Meeting` is, of another process.

    Args:
        rank, size: which rank this process is of how many.
        connect: makes a new connection to the host; OSError where there is none any more.
        first: the same for the first one, which may have to wait for the host.

    Raises:
        Broken: ``value``, the host does not take this rank.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        connect: Callable[[], socket.socket],
        first: Optional[Callable[[], socket.socket]] = None,
    ) -> None:
        self.size = size
        self._rank = rank
        self._connect = connect
        self._lock = threading.Lock()
        self._free: List[socket.socket] = []
        self._member: Optional[socket.socket] = self._open(first or connect, member=True)

    def join(self, rank: int) -> None:
        """Nothing: a process has come when it is connected."""

    def leave(self, rank: int, why: str = ENDED) -> None:
        """Nothing: a process leaves when it ends, or with :meth:`close`."""

    def close(self, why: str = ENDED) -> None:
        """Say goodbye: this rank will bring nothing any more, and why."""
        with self._lock:
            member, self._member = self._member, None
            free, self._free = self._free, []
        if member is not None:
            with suppress(OSError):
                wire.write(member, {"bye": why})
            member.close()
        for one in free:
            one.close()

    def take_part(
        self, rank: int, part: Part, arrays: Sequence[Any], waits: Callable[[int], None] = lambda change: None
    ) -> List[Any]:
        """See :meth:`Meeting.take_part`."""
        made: List[Any] = self._ask({"what": "take_part", "part": part.to_json()}, arrays)
        return made

    def absent(self, rank: int, part: Part, why: str) -> None:
        """See :meth:`Meeting.absent`."""
        self._ask({"what": "absent", "part": part.to_json(), "why": why})

    def hand_out(self, rank: int, channel: str, to: int, arrays: Any) -> None:
        """See :meth:`Meeting.hand_out`."""
        header = {"what": "hand_out", "channel": channel, "to": to, "end": arrays is END}
        self._ask(header, () if arrays is END else arrays)

    def receive(self, rank: int, channel: str, source: int) -> Any:
        """See :meth:`Meeting.receive`."""
        return self._ask({"what": "receive", "channel": channel, "source": source})

    def _ask(self, header: Dict[str, Any], arrays: Sequence[Any] = ()) -> Any:
        try:
            with self._lock:
                free = self._free.pop() if self._free else None
            connection = free or self._open(self._connect, member=False)
            wire.write(connection, header, arrays)
            answer = wire.read(connection)
        except OSError:
            answer = None
        if answer is None:
            raise BrokenExchange("lost", [0], "rank 0, or what started the ranks, is gone: its process ended.")
        with self._lock:
            self._free.append(connection)
        body, made = answer
        if "broken" in body:
            kind, ranks, text = body["broken"]
            raise BrokenExchange(str(kind), [int(rank) for rank in ranks], str(text))
        return END if body["end"] else made

    def _open(self, connect: Callable[[], socket.socket], *, member: bool) -> socket.socket:
        connection = connect()
        try:
            wire.write(connection, {"rank": self._rank, "size": self.size, "member": member})
            answer = wire.read(connection)
            if answer is None:
                raise OSError("the host has closed the connection")
            if answer[0].get("refused"):
                raise BrokenExchange("value", [self._rank], f"rank {self._rank}: {answer[0]['refused']}.")
        except BaseException:
            connection.close()
            raise
        return connection


def _start(target: Any, *args: Any) -> None:
    thread = threading.Thread(target=target, args=args, name="npu_reference exchange", daemon=True)
    thread.start()
