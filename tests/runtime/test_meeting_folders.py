"""Folders in which ranks meet: none stays of those that are killed, and none of the living or of others goes."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import tempfile
import time

import pytest

from npu_reference.errors import NpuError
from npu_reference.runtime.scripts import meeting_folders

LATER = time.time() + 10_000


@pytest.fixture
def place():
    """A folder with a short path: the address of a socket may have 107 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def kept(folder):
    return sorted(name for name in os.listdir(str(folder)) if name.startswith(meeting_folders.PREFIX))


def inhabited(folder):
    """A process that has made a room and listens there, until it is killed; (its id, the room)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with meeting_folders.room(str(folder)) as path, socket.socket(socket.AF_UNIX) as listener:
                listener.bind(os.path.join(path, meeting_folders.ADDRESS))
                listener.listen(1)
                os.write(write, os.fsencode(path))
                signal.pause()
        finally:
            os._exit(1)
    os.close(write)
    path = os.fsdecode(os.read(read, 4096))
    os.close(read)
    return pid, path


def test_a_room_goes_with_the_launch(place):
    with meeting_folders.room(str(place)) as path:
        assert kept(place) == [os.path.basename(path)]
    assert kept(place) == []


def test_the_room_of_a_launcher_that_was_killed_goes_with_the_next_launch(place):
    pid, path = inhabited(place)
    try:
        meeting_folders.sweep(str(place), LATER)
        assert kept(place) == [os.path.basename(path)]  # it lives
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    meeting_folders.sweep(str(place))
    assert kept(place) == [os.path.basename(path)]  # it is young: its maker may not have come to lock it
    meeting_folders.sweep(str(place), LATER)
    assert kept(place) == []


def test_what_is_not_surely_a_room_of_ours_is_left_alone(place):
    listening, full, linked = (place / f"{meeting_folders.PREFIX}{name}" for name in ("listening", "full", "linked"))
    outside = place / "outside"
    for folder in (listening, full, outside):
        folder.mkdir()
    (full / "mine").write_text("mine")
    (outside / meeting_folders.ADDRESS).write_text("mine")
    linked.symlink_to(outside)
    (place / f"{meeting_folders.PREFIX}file").write_text("mine")
    with socket.socket(socket.AF_UNIX) as listener:  # of a version without locks
        listener.bind(str(listening / meeting_folders.ADDRESS))
        listener.listen(1)
        meeting_folders.sweep(str(place), LATER)
    assert len(kept(place)) == 4 and (full / "mine").exists() and (outside / meeting_folders.ADDRESS).exists()
    meeting_folders.sweep(str(place), LATER)
    assert not listening.exists()


def test_a_place_where_none_can_be_made_is_one_error(place):
    with pytest.raises(NpuError) as caught, meeting_folders.room(str(place / "missing")):
        pass
    assert caught.value.code == "SYSTEM" and "missing" in caught.value.subject
