"""Finds a Chromium that starts, for the tests of pages, and installs Debian's where there is none and it may be.

Usage: python tests/browser/chromium.py: prints its path; where there is none, what to do, and exit status 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

#: Names of the command, on Debian, Ubuntu, Fedora and by Google.
_COMMANDS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable",
             "/usr/bin/chromium")  # fmt: skip
_HOW = (
    "The tests of pages need a Chromium that starts. Install one (Debian: apt-get install chromium), or name its "
    "command in the environment variable NPU_CHROMIUM. As root on Debian this environment installs it by itself."
)
_SECONDS = 60  # to show an empty page; it takes one or two


def why_not(path):
    """Why this Chromium shows no page, in one line; empty where it does."""
    with tempfile.TemporaryDirectory(prefix="npu-chromium-") as profile:
        # Containers have neither a sandbox nor a graphics card; a profile of our own disturbs nobody's.
        words = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--dump-dom",
            "about:blank",
        ]
        try:
            done = subprocess.run([path, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{path} shows no page within {_SECONDS} s"
        except OSError as error:
            return f"{path} cannot be started: {error.strerror}"
    if done.returncode == 0 and b"<html" in done.stdout.lower():
        return ""
    said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return f"{path} ends with status {done.returncode} and no page" + (f": {said[-1].strip()[:300]}" if said else "")


def find(complaints=None):
    """The path of the first Chromium that starts; empty where there is none. `complaints` takes why others do not."""
    named = os.environ.get("NPU_CHROMIUM")
    for command in (named,) if named else _COMMANDS:
        path = shutil.which(command)
        reason = why_not(path) if path else ""
        if path and not reason:
            return path
        if reason and complaints is not None:
            complaints.append(reason)
    return ""


def install():
    """Install Debian's, or once more where it is broken."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import debian

    if not os.environ.get("NPU_CHROMIUM"):  # Debian has split it in two
        debian.install(find, ["chromium", "chromium-common"], ["chromium"], options=["--reinstall"])


def main():
    complaints = []
    path = find()
    if not path:
        install()
        path = find(complaints)
    print(path or " ".join(["; ".join(complaints) + "." if complaints else "", _HOW]).strip(), file=_stream(path))
    return 0 if path else 1


def _stream(path):
    return sys.stdout if path else sys.stderr


if __name__ == "__main__":
    sys.exit(main())
