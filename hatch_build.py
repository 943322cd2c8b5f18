"""What a build adds to the sources: the version with its commit, and what pyproject.toml cannot say of itself.

hatchling calls this file (``[tool.hatch]`` in pyproject.toml). The environment variable ``NPU_PROJECT_URL`` names the
repository's page; the release workflow sets it. Without it the metadata have no URLs, and the README no links.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Optional

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parent
BUILT = "impl/npu_reference/_built.py"

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def version(root: Path = ROOT) -> str:
    """The version of the source at ``root``: of the sdist if it is one, else by the commit.

    A commit that has the tag of its release, and no changed file, is the release: ``0.2.0``. Any other is named:
    ``0.2.0.dev0+g0123456789ab``, then ``.dirty`` where files differ from the commit, ``.checkout`` where git cannot
    tell. ``+unknown`` stands where there is no trace of git.
    """
    built = _built(root)
    if built:
        return str(built["VERSION"])
    source = runpy.run_path(str(root / "impl" / "npu_reference" / "version.py"))
    commit, release = source["commit"](str(root)), source["RELEASE"]
    changed = _git(root, "status", "--porcelain") if commit else None
    if not commit or changed is None:
        return str(source["of_checkout"]())
    tags = _git(root, "tag", "--points-at", "HEAD") or ""
    if not changed and ".dev" not in release and f"v{release}" in tags.split():
        return str(release)
    return str(source["of_commit"](commit, "dirty" if changed else ""))


def project_url(root: Path = ROOT) -> str:
    """The repository's page, without a slash at its end; empty where nobody said."""
    built = _built(root)
    return str(built["URL"]) if built else os.environ.get("NPU_PROJECT_URL", "").rstrip("/")


def readme(text: str, url: str, reference: str) -> str:
    """The README as a package index shows it: links lead to ``reference`` in the repository at ``url``.

    Without ``url`` links become their text, and pictures go.
    """

    def one(match: Any) -> str:
        picture, words, path = match.groups()
        if not url:
            return "" if picture else str(words)
        return f"{picture}[{words}]({url}/{'raw' if picture else 'blob'}/{reference}/{path})"

    return _LINK.sub(one, text)


def _built(root: Path) -> Optional[Dict[str, Any]]:
    return runpy.run_path(str(root / BUILT)) if (root / BUILT).exists() else None


def _git(root: Path, *words: str) -> Optional[str]:
    """What git says; None where it is missing or refuses."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


class Metadata(MetadataHookInterface):
    """Fills the fields that pyproject.toml names as dynamic, but for the version."""

    def update(self, metadata: Dict[str, Any]) -> None:
        url, current = project_url(), version()
        # A local version is that of a commit, a release that of its tag.
        reference = re.sub(r"^.*\+g([0-9a-f]+).*$", r"\1", current) if "+" in current else f"v{current}"
        text = readme((ROOT / "README.md").read_text(encoding="utf-8"), url, reference)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if url:
            metadata["urls"] = {
                "Source": url,
                "Changelog": f"{url}/blob/{reference}/CHANGELOG.md",
                "Issues": f"{url}/issues",
                "Security": f"{url}/blob/{reference}/SECURITY.md",
            }


class Build(BuildHookInterface):
    """Puts the version and the URL into every sdist and wheel that is no pointer to a checkout."""

    def initialize(self, version_of_build: str, build_data: Dict[str, Any]) -> None:
        if version_of_build == "editable":
            return
        descriptor, self._path = tempfile.mkstemp(prefix="npu-conformance-", suffix=".py")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(f'"""Written by the build."""\n\nVERSION = {version()!r}\nURL = {project_url()!r}\n')
        if self.target_name == "wheel":  # what `npu-conformance docs` prints
            for page in (ROOT / "docs").glob("*.md"):
                build_data["force_include"][str(page)] = f"npu_conformance/_data/docs/{page.name}"
        inside = BUILT if self.target_name == "sdist" else BUILT[len("impl/") :]
        os.chmod(self._path, 0o644)
        build_data["force_include"][self._path] = inside

    def finalize(self, version_of_build: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_path"):
            os.remove(self._path)
