"""Installs Debian's packages where it may, for one environment of tests at a time; scripts import it by its folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys

_APT = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=600"]  # seconds to wait for whoever else installs


def install(find, *choices, options=(), **environment):
    """The first of `choices`, lists of packages, that can be installed, unless `find` now finds what is missing.

    tox runs environments beside each other, so who is second finds what the first installed. Output goes to stderr.
    """
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", **environment}
    with open(__file__, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if find():
            return
        subprocess.run([*_APT, "update"], env=env, stdout=sys.stderr)
        for packages in choices:
            asked = [*_APT, "install", "-y", "--no-install-recommends", *options, *packages]
            if subprocess.run(asked, env=env, stdout=sys.stderr).returncode == 0:
                return
