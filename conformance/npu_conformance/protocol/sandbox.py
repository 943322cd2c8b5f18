"""Shuts a worker in: it reads the system, writes into its own folder alone, and has no network.

By bubblewrap where that works, else by Landlock, which this file run by its path asks the kernel for before it becomes
the worker: ``python -I -S sandbox.py FOLDER COMMAND...``. ``python -I -S sandbox.py --probe`` says as JSON what this
machine can do. Standard library only: it starts in milliseconds.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
from typing import Any, Dict, List, Mapping, Optional

__all__ = ["BUBBLEWRAP", "LANDLOCK", "command", "means"]

BUBBLEWRAP, LANDLOCK = "bubblewrap", "landlock"

_SECONDS = 20  # to see whether something works, which takes milliseconds (assumed)
_DEVICES = ("davinci", "devmm_svm", "hisi_hdc")  # beginnings of names in /dev of Ascend's devices
_OPEN_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# <linux/landlock.h>: numbers of system calls are those of every architecture.
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
#: How many rights on files a version of the interface knows, counted from bit 0.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_RIGHTS = 16  # of version 5 and later
_TCP_SINCE, _SCOPES_SINCE = 4, 6
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def means() -> Optional[Dict[str, Any]]:
    """What can shut a worker in on this machine, as the statement of a run has it; None where nothing can.

    means: by what; network: ``none``, or ``tcp`` where TCP is closed and everything else is open, or ``open``.
    """
    words = ["bwrap", *_WRAPPED, "--", "true"]
    try:
        if subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS).returncode == 0:
            return {"means": BUBBLEWRAP, "network": "none"}
    except (OSError, subprocess.SubprocessError):
        pass
    return landlock()


def landlock() -> Optional[Dict[str, Any]]:
    """The same, of Landlock alone."""
    words = [sys.executable, "-I", "-S", os.path.abspath(__file__), "--probe"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS)
        told: Dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return told or None


#: What every sandbox of bubblewrap has: a worker's end is the end of all that is in it.
_WRAPPED = ("--die-with-parent", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/",
            "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/dev/shm")  # fmt: skip


def command(by: Mapping[str, Any], folder: str, words: List[str]) -> List[str]:
    """The command line of a worker that is shut in.

    Args:
        by: what :func:`means` has found; folder: what it may write.
    """
    if by["means"] != BUBBLEWRAP:
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), folder, *words]
    devices = [os.path.join("/dev", name) for name in sorted(os.listdir("/dev")) if name.startswith(_DEVICES)]
    bound = [word for path in devices for word in ("--dev-bind", path, path)]
    return ["bwrap", *_WRAPPED, *bound, "--bind", folder, folder, "--chdir", folder, "--", *words]


# In the process that becomes the worker


def _call(number: int, *arguments: Any) -> int:
    """A system call. Raises OSError."""
    found: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


_LIBC = ctypes.CDLL(None, use_errno=True)


def _version() -> int:
    """Of the interface that this kernel has. Raises OSError where it has none, or it is switched off."""
    return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))


def _without_network() -> bool:
    """Whether this process has a network of its own from now on, in which nothing is."""
    user, group = os.geteuid(), os.getegid()
    if _LIBC.unshare(_CLONE_NEWNET) == 0:
        return True
    if _LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as stream:
            stream.write(text)
    return True


def _restrict(folder: str) -> Dict[str, Any]:
    """Shuts this process in, and says what holds. Raises OSError."""
    version = _version()
    apart = _without_network()
    every = (1 << _RIGHTS.get(version, _ALL_RIGHTS)) - 1
    tcp = 3 if version >= _TCP_SINCE else 0  # to bind, to connect
    scopes = 3 if version >= _SCOPES_SINCE else 0  # abstract sockets, and signals to what is outside
    size = 24 if scopes else 16 if tcp else 8
    attributes = struct.pack("=QQQ", every, tcp, scopes)[:size]
    rules = _call(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    devices = [os.path.join("/dev", name) for name in os.listdir("/dev") if name.startswith(_DEVICES)]
    allowed = [("/", _READ), (folder, every), *((path, every) for path in (*_OPEN_DEVICES, *devices))]
    for path, rights in allowed:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            if path == folder:
                raise
            continue
        if not os.path.isdir(path):
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14) | (1 << 15)  # to truncate, to control a device
        # With the rights that the version knows, and none of another: the kernel refuses them.
        _call(_ADD_RULE, rules, 1, struct.pack("=Qi", rights & every, opened), ctypes.c_uint32(0))
        os.close(opened)
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges cannot be refused")
    _call(_RESTRICT, rules, ctypes.c_uint32(0))
    return {"means": LANDLOCK, "version": version, "network": "none" if apart else "tcp" if tcp else "open"}


def main(argv: List[str]) -> None:
    if argv[1:] == ["--probe"]:
        try:
            print(json.dumps(_restrict(os.getcwd())))
        except OSError:
            print("{}")
        return
    _restrict(argv[1])
    os.chdir(argv[1])
    os.execvp(argv[2], argv[2:])


if __name__ == "__main__":
    main(sys.argv)
