"""Finds an OpenSSH server for the tests of backends on another machine, and installs Debian's where it may be.

Usage: python tests/conformance/sshd.py: prints its path; where there is none, why the tests will be skipped.
"""

from __future__ import annotations

import os
import shutil
import sys

#: Where it lies, which is not in everybody's PATH.
_PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"])
_HOW = "There is no sshd here, so tests over ssh are skipped. On Debian: apt-get install openssh-server, as root."


def find():
    """The path of the server, which has to be absolute; empty where there is none, or no client."""
    if not (shutil.which("ssh") and shutil.which("ssh-keygen")):
        return ""
    return shutil.which("sshd", path=_PLACES) or ""


def install():
    """Install Debian's without starting it."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import debian

    debian.install(find, ["openssh-server", "openssh-client"], RUNLEVEL="1")


def main():
    if not find():
        install()
    print(find() or _HOW)
    return 0


if __name__ == "__main__":
    sys.exit(main())
