"""Finds the Chromium that the tests of pages open, and installs Debian's where it is missing and may be installed.

Usage: python tests/browser/chromium.py: prints its path; exit status 1, with what to do, where there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

#: Names of the command, on Debian, Ubuntu, Fedora and by Google.
_COMMANDS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable")
_HOW = (
    "The tests of pages need a Chromium. Install one (Debian: apt-get install chromium), or name its command in the "
    "environment variable NPU_CHROMIUM. As root on Debian this environment installs it by itself."
)


def find():
    """The path of a Chromium; empty where there is none."""
    named = os.environ.get("NPU_CHROMIUM")
    for command in (named,) if named else _COMMANDS:
        path = shutil.which(command)
        if path:
            return path
    return ""


def install():
    """Install Debian's, where that is possible; what apt-get says goes to stderr."""
    if os.environ.get("NPU_CHROMIUM") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"])
    for command in commands:
        if subprocess.run(command, env=environment, stdout=sys.stderr).returncode:
            return


def main():
    if not find():
        install()
    path = find()
    print(path or _HOW, file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
