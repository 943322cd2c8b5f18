"""Folders in which ranks meet: none stays of those that are killed, and none of the living or of others goes."""

from __future__ import annotations

import os
import signal
import socket
import time

import pytest

from npu_reference.errors import NpuError
from npu_reference.runtime.scripts import rooms

LATER = time.time() + 10_000


def kept(folder):
    return sorted(name for name in os.listdir(str(folder)) if name.startswith(rooms.PREFIX))


def inhabited(folder):
    """A process that has made a room and listens there, until it is killed; (its id, the room)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with rooms.room(str(folder)) as path, socket.socket(socket.AF_UNIX) as listener:
                listener.bind(os.path.join(path, rooms.ADDRESS))
                listener.listen(1)
                os.write(write, os.fsencode(path))
                signal.pause()
        finally:
            os._exit(1)
    os.close(write)
    path = os.fsdecode(os.read(read, 4096))
    os.close(read)
    return pid, path


def test_a_room_goes_with_the_launch(tmp_path):
    with rooms.room(str(tmp_path)) as path:
        assert kept(tmp_path) == [os.path.basename(path)]
    assert kept(tmp_path) == []


def test_the_room_of_a_launcher_that_was_killed_goes_with_the_next_launch(tmp_path):
    pid, path = inhabited(tmp_path)
    try:
        rooms.sweep(str(tmp_path), LATER)
        assert kept(tmp_path) == [os.path.basename(path)]  # it lives
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    rooms.sweep(str(tmp_path))
    assert kept(tmp_path) == [os.path.basename(path)]  # it is young: its maker may not have come to lock it
    rooms.sweep(str(tmp_path), LATER)
    assert kept(tmp_path) == []


def test_what_is_not_surely_a_room_of_ours_is_left_alone(tmp_path):
    listening, full, linked = (tmp_path / f"{rooms.PREFIX}{name}" for name in ("listening", "full", "linked"))
    outside = tmp_path / "outside"
    for folder in (listening, full, outside):
        folder.mkdir()
    (full / "mine").write_text("mine")
    (outside / rooms.ADDRESS).write_text("mine")
    linked.symlink_to(outside)
    (tmp_path / f"{rooms.PREFIX}file").write_text("mine")
    with socket.socket(socket.AF_UNIX) as listener:  # of a version without locks
        listener.bind(str(listening / rooms.ADDRESS))
        listener.listen(1)
        rooms.sweep(str(tmp_path), LATER)
    assert len(kept(tmp_path)) == 4 and (full / "mine").exists() and (outside / rooms.ADDRESS).exists()
    rooms.sweep(str(tmp_path), LATER)
    assert not listening.exists()


def test_a_place_where_none_can_be_made_is_one_error(tmp_path):
    with pytest.raises(NpuError) as caught, rooms.room(str(tmp_path / "missing")):
        pass
    assert caught.value.code == "SYSTEM" and "missing" in caught.value.subject
