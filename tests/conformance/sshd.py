"""Finds an OpenSSH server for the tests of backends on another machine, and installs Debian's where it may be.

Usage: python tests/conformance/sshd.py: prints its path; where there is none, why the tests will be skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
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
    """Install Debian's without starting it; what apt-get says goes to stderr."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    asked = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "openssh-server", "openssh-client"]
    subprocess.run(["apt-get", "update", "-q"], env=environment, stdout=sys.stderr)
    subprocess.run(asked, env=environment, stdout=sys.stderr)


def main():
    if not find():
        install()
    print(find() or _HOW)
    return 0


if __name__ == "__main__":
    sys.exit(main())
