"""Where ranks meet: what they get, and what they are told when a collective cannot be completed."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.device.links import topology
from npu_reference.errors import NpuError
from npu_reference.runtime.exchange import joining, wire
from npu_reference.runtime.exchange.meeting import END, Meeting
from npu_reference.runtime.exchange.parts import BrokenExchange, Part
from npu_reference.runtime.exchange.remote import Host, RemoteMeeting

BOUND = 30.0  # seconds after which a test is stuck


def part(kind="allreduce", name="sum", members=(0, 1), shape=(2,), dtype="float32", **more):
    more.setdefault("reduction", "sum" if kind in ("allreduce", "reduce", "reduce_scatter") else "")
    return Part(kind, name, "all", tuple(members), (dtype,), (tuple(shape),), alone=True, **more)


def outcomes(meetings, works):
    """What each rank's work gave or raised."""
    found = [None] * len(works)

    def act(rank):
        try:
            found[rank] = works[rank](meetings[rank])
        except (BrokenExchange, NpuError) as error:
            found[rank] = error

    threads = [threading.Thread(target=act, args=(rank,), daemon=True) for rank in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
        assert not thread.is_alive(), "a rank hangs"
    return found


def together(works):
    meeting = Meeting(topology(len(works)))
    for rank in range(len(works)):
        meeting.join(rank)
    return outcomes([meeting] * len(works), works)


@pytest.fixture
def hosted(tmp_path):
    """Makes a meeting behind a socket, and the ranks that take part through it."""

    def make(size):
        path = str(tmp_path / "exchange")
        meeting = Meeting(topology(size))
        host = Host(joining.listen(path), meeting)
        make.hosts.append(host)
        remotes = [RemoteMeeting(rank, size, lambda: joining._connected(path)) for rank in range(size)]
        return meeting, remotes

    make.hosts = []
    yield make
    for host in make.hosts:
        host.close()


def takes(rank, what, *arrays):
    return lambda meeting: meeting.take_part(rank, what, arrays)


def test_ranks_get_the_sum_and_share_no_memory():
    given_ = [np.array([1.0, 2.0], np.float32), np.array([10.0, 20.0], np.float32)]
    found = together([takes(rank, part(), given_[rank]) for rank in (0, 1)])
    assert [one[0].tolist() for one in found] == [[11.0, 22.0]] * 2
    assert not np.shares_memory(found[0][0], found[1][0]) and given_[0].tolist() == [1.0, 2.0]


@settings(max_examples=15)
@given(st.data())
def test_every_kind_gives_the_same_through_a_socket_as_in_a_process(data):
    size = data.draw(st.integers(2, 4))
    kind = data.draw(st.sampled_from(["allreduce", "allgather", "broadcast", "reduce", "reduce_scatter"]))
    dtype = data.draw(st.sampled_from(["float32", "float16", "int64", "int8"]))
    rows = size * data.draw(st.integers(0, 2))
    arrays = [np.arange(rows * 3).reshape(rows, 3).astype(dtype) + rank for rank in range(size)]
    what = part(kind, members=range(size), shape=(rows, 3), dtype=dtype)
    works = [takes(rank, what, arrays[rank]) for rank in range(size)]
    near = together(works)
    ends = [socket.socketpair() for _ in range(2 * size)]
    meeting = Meeting(topology(size))

    class Listener:
        def __init__(self):
            self.waiting = [end for _, end in ends]

        def accept(self):
            if not self.waiting:
                raise OSError
            return self.waiting.pop(0), None

        def shutdown(self, how):
            pass

        def close(self):
            pass

    host = Host(Listener(), meeting)
    free = [end for end, _ in ends]
    remotes = [RemoteMeeting(rank, size, lambda: free.pop(0)) for rank in range(size)]
    far = outcomes(remotes, works)
    host.close()
    for end, _ in ends:
        end.close()
    for one, other in zip(near, far):
        assert one[0].dtype == other[0].dtype and one[0].tobytes() == other[0].tobytes()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (part(shape=(2,)), part(shape=(3,))),
        (part(dtype="float32"), part(dtype="float16")),
        (part(reduction="sum"), part(reduction="max")),
        (part("broadcast", root=0), part("broadcast", root=1)),
        (part(name="a"), part(name="b")),
    ],
    ids=["shape", "dtype", "reduction", "root", "order"],
)
def test_ranks_that_ask_for_different_things_are_both_told_of_both(mine, theirs):
    def array(what):
        return np.zeros(what.shapes[0], what.dtypes[0])

    found = together([takes(0, mine, array(mine)), takes(1, theirs, array(theirs))])
    for error in found:
        assert isinstance(error, BrokenExchange) and error.kind == "mismatch" and set(error.ranks) == {0, 1}
        assert "rank 0" in error.text and "rank 1" in error.text and mine.name in error.text


def test_a_rank_that_leaves_is_waited_for_no_longer_and_named():
    def leaves(meeting):
        meeting.leave(1, "has failed")

    found = together([takes(0, part(), np.zeros(2, np.float32)), leaves])
    assert found[0].kind == "lost" and found[0].ranks == (1,) and "rank 1 has failed" in found[0].text


def test_who_comes_after_a_rank_has_left_is_told_at_once():
    meeting = Meeting(topology(2))
    meeting.join(0)
    meeting.join(1)
    meeting.leave(1)
    with pytest.raises(BrokenExchange, match="rank 1 has ended"):
        meeting.take_part(0, part(), [np.zeros(2, np.float32)])


def test_a_rank_that_never_comes_is_given_up_where_nothing_could_let_it():
    meeting = Meeting(topology(2), nobody_else=tuple)
    meeting.join(0)
    with pytest.raises(BrokenExchange, match="rank 1 has not come") as raised:
        meeting.take_part(0, part(), [np.zeros(2, np.float32)])
    assert raised.value.kind == "absent"


def test_one_rank_that_fails_lets_no_other_collective_of_it_wait():
    """Rank 0 waits in two collectives at once; the one that breaks ends the other, too."""
    meeting = Meeting(topology(2))
    for rank in (0, 1):
        meeting.join(rank)
    zeros = np.zeros(2, np.float32)
    works = [
        takes(0, part(name="a")._replace(alone=False), zeros),
        takes(0, part(name="b")._replace(alone=False), zeros),
        takes(1, part(name="a", shape=(3,))._replace(alone=False), np.zeros(3, np.float32)),
    ]
    assert all(isinstance(one, BrokenExchange) for one in outcomes([meeting] * 3, works))


def test_who_was_told_first_and_has_left_is_not_named_as_the_cause():
    meeting = Meeting(topology(2))
    for rank in (0, 1):
        meeting.join(rank)
    waiting, zeros = threading.Event(), np.zeros(2, np.float32)

    def first(meeting):
        meeting.take_part(0, part(name="a"), [zeros], lambda change: waiting.set())

    def second(meeting):
        waiting.wait()
        with meeting._changed:  # rank 0 does not wake up before rank 1 has gone
            with pytest.raises(BrokenExchange, match=r"rank 0 waits in .*; rank 1 waits in "):
                meeting.take_part(1, part(name="b"), [zeros])
            meeting.leave(1)

    broken, _ = outcomes([meeting] * 2, [first, second])
    assert broken.kind == "mismatch"


def test_sends_and_receives_pair_by_tag():
    one, two = part("send", "one", tag=1), part("send", "two", tag=2)
    waits = part("receive", "got")

    def sends(meeting):
        meeting.take_part(0, one, [np.array([1, 1], np.float32)])
        meeting.take_part(0, two, [np.array([2, 2], np.float32)])

    def receives(meeting):
        return [meeting.take_part(1, waits._replace(tag=tag), [])[0].tolist() for tag in (1, 2)]

    assert together([sends, receives])[1] == [[1.0, 1.0], [2.0, 2.0]]


def test_elements_are_handed_out_in_order_and_end():
    def reads(meeting):
        for number in range(300):  # more than wait at once
            meeting.hand_out(0, "data", 1, [np.array(number)])
        meeting.hand_out(0, "data", 1, END)

    def takes_all(meeting):
        return [int(one[0]) for one in iter(lambda: meeting.receive(1, "data", 0), END)]

    assert together([reads, takes_all])[1] == list(range(300))


def test_who_ends_first_takes_nothing_away_that_it_has_handed_out(tmp_path):
    path = str(tmp_path / "exchange")
    host = Host(joining.listen(path), Meeting(topology(2)))
    first = RemoteMeeting(0, 2, lambda: joining._connected(path))
    first.hand_out(0, "data", 1, [np.array(7)])
    first.hand_out(0, "data", 1, END)
    first.close()
    late = RemoteMeeting(1, 2, lambda: joining._connected(path))
    assert late.receive(1, "data", 0) == [np.array(7)]
    assert late.receive(1, "data", 0) is END
    late.close()
    host.close()


@pytest.fixture
def short_folder():
    """A folder whose path leaves room in the name of a socket, which has a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="n", dir="/tmp") as folder:
        yield folder


def test_a_main_process_that_is_done_waits_for_those_that_have_not_begun(monkeypatch, short_folder):
    monkeypatch.setattr(joining, "meeting_place", lambda: short_folder)
    env = {"JOB_ID": "late", "RANK_SIZE": "2"}
    monkeypatch.setattr(joining, "_MEETINGS", {})
    monkeypatch.setattr(joining, "_ENDINGS", [])
    main = joining.meeting_of_process(0, 2, env, lambda: None)
    main.hand_out(0, "data", 1, [np.array(7)])
    ending = threading.Thread(target=joining.part, args=("has ended",), daemon=True)
    ending.start()
    path = joining._folder_of(env) + "/exchange"
    late = RemoteMeeting(1, 2, lambda: joining._connected(path))
    assert late.receive(1, "data", 0) == [np.array(7)]
    late.close()
    ending.join(BOUND)
    assert not ending.is_alive()


def test_elements_wait_for_a_rank_that_has_not_come_as_long_as_it_has_time():
    meeting = Meeting(topology(3), connect_seconds=0.0)
    meeting.join(0)
    meeting.hand_out(0, "data", 1, END)
    meeting.wait_until_fetched()
    patient = Meeting(topology(3), connect_seconds=BOUND)
    patient.join(0)
    patient.join(2)
    patient.hand_out(0, "data", 1, END)
    came = threading.Thread(target=patient.join, args=(1,), daemon=True)
    came.start()
    patient.wait_until_fetched()
    came.join(BOUND)
    assert patient.present == [0, 1, 2]


def test_a_process_that_dies_is_known_by_its_connection(hosted):
    meeting, remotes = hosted(2)
    remotes[1]._member.shutdown(socket.SHUT_RDWR)
    found = outcomes(remotes[:1], [takes(0, part(), np.zeros(2, np.float32))])
    assert found[0].kind == "lost" and "its process died" in found[0].text
    assert list(meeting.gone) == [1]


def test_what_holds_the_meeting_may_go_first(hosted):
    meeting, remotes = hosted(2)
    enter = meeting._enter

    def enter_and_close(*args):
        threading.Thread(target=hosted.hosts[0].close, daemon=True).start()
        return enter(*args)

    meeting._enter = enter_and_close
    assert outcomes(remotes[:1], [takes(0, part(), np.zeros(2, np.float32))])[0].kind == "lost"


def test_another_number_of_ranks_or_a_rank_that_is_there_is_refused(hosted, tmp_path):
    _, _ = hosted(2)
    path = str(tmp_path / "exchange")
    with pytest.raises(BrokenExchange, match="there are 3 ranks"):
        RemoteMeeting(2, 3, lambda: joining._connected(path))
    with pytest.raises(BrokenExchange, match="another process is rank 1"):
        RemoteMeeting(1, 2, lambda: joining._connected(path))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros([], np.float32), np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1], np.zeros([0, 4], np.float64),
        np.array([True, False]), np.array([[b"a", b""], [b"longer", b"\x00\xff"]], object),
    ],
)  # fmt: skip
def test_what_is_written_is_read(array):
    one, other = socket.socketpair()
    with one, other:
        wire.write(one, {"what": "x"}, [array])
        header, arrays = wire.read(other)
    assert header == {"what": "x"} and arrays[0].shape == array.shape and arrays[0].tolist() == array.tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{}", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x03nul",
        b'\x00\x00\x00\x3c{"arrays": [{"dtype": "object", "shape": [1]}], "what": 123456}',
        b'\x00\x00\x00\x37{"arrays": [{"dtype": "int8", "shape": [99999999999999]}]}',
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_and_nothing_is_made_of_it(content):
    one, other = socket.socketpair()
    with one, other:
        one.sendall(content)
        one.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ValueError):
            assert wire.read(other) is None


def test_a_folder_of_somebody_else_is_no_place_to_meet(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with pytest.raises(NpuError, match="no folder of this user alone"):
        joining._own(str(folder))


def test_a_rank_that_is_ahead_while_a_collective_is_computed_is_no_standstill(monkeypatch):
    """Threads of a rank are at two collectives of a loop: one is being computed, one waits for the other rank."""
    from npu_reference.runtime.exchange import meeting as module

    computing, looked = threading.Event(), threading.Event()
    plain, look = module.results, Meeting._look

    def slow(*arguments):
        computing.set()
        assert looked.wait(30)
        return plain(*arguments)

    def looking(self, one):
        look(self, one)
        if self._computed:
            looked.set()

    monkeypatch.setattr(module, "results", slow)
    monkeypatch.setattr(Meeting, "_look", looking)
    meeting = Meeting(topology(2))
    for rank in (0, 1):
        meeting.join(rank)
    found = {}

    def come(rank, number):
        found[rank, number] = meeting.take_part(rank, part(), [np.full(2, number + rank, np.float32)])[0].tolist()

    threads = [threading.Thread(target=come, args=where, daemon=True) for where in ((0, 1), (1, 1), (1, 2), (0, 2))]
    threads[0].start()
    threads[1].start()
    assert computing.wait(30)
    threads[2].start()
    assert looked.wait(30)
    threads[3].start()
    for thread in threads:
        thread.join(30)
    assert found == {(0, 1): [3.0, 3.0], (1, 1): [3.0, 3.0], (1, 2): [5.0, 5.0], (0, 2): [5.0, 5.0]}
