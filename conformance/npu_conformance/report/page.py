"""Decides how a page is made: one self-contained HTML file from a template, everything of the user's escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import pathlib
import re
from typing import Any, Dict, List

import npu_reference
from npu_reference.errors import NpuError

__all__ = ["embed", "policy", "render_page", "worded"]

_TEMPLATES = pathlib.Path(__file__).with_name("templates")


def render_page(template: str, **context: Any) -> str:
    """Render `template` with autoescape on. NpuError ``OUTPUT`` when the ``report`` extra is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise NpuError(
            "OUTPUT",
            "report",
            "pages are made with jinja2, which is not installed.",
            "Install npu-conformance[report].",
        ) from None
    about = {"policy": policy(template), "version": npu_reference.__version__}
    return _environment().get_template(template).render(**about, **context)


#: Pages that others show in frames, which have the policy of the page that shows them beside their own.
_SHOWN = {"script.html": ("partition.html", "precision.html", "profile.html"), "ranks.html": ("script.html",)}

_CODE = re.compile("<(script|style)>.*?</(?:script|style)>", re.DOTALL)


@functools.lru_cache(maxsize=None)
def policy(template: str) -> str:
    """The content security policy of a page: nothing is loaded, and no script or style counts but those that the
    template itself has, and those of the pages that it shows."""
    import markupsafe

    allowed = _allowed(template)
    parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    parts += [f"{kind}-src {' '.join(found)}" for kind, found in sorted(allowed.items())]
    if 'href="data:' in _source(template):
        parts.append("img-src data:")
    return markupsafe.Markup("; ".join(parts))


def _allowed(template: str) -> Dict[str, List[str]]:
    """Hashes of the scripts and styles of a page, each once."""
    found: Dict[str, List[str]] = {"script": [], "style": []}
    for code in _CODE.finditer(_source(template)):
        # Files that it includes are part of it; nothing of a user's is.
        text = _environment().from_string(code.group()).render()
        digest = hashlib.sha256(text[text.index(">") + 1 : text.rindex("</")].encode("utf-8")).digest()
        found[code.group(1)].append(f"'sha256-{base64.b64encode(digest).decode('ascii')}'")
    for shown in _SHOWN.get(template, ()):
        for kind, more in _allowed(shown).items():
            found[kind] += [one for one in more if one not in found[kind]]
    return found


def _source(template: str) -> str:
    return (_TEMPLATES / template).read_text("utf-8")


@functools.lru_cache(maxsize=1)
def _environment() -> Any:
    """Made once: it keeps the templates it has compiled."""
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(_TEMPLATES)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embed"] = lambda value: markupsafe.Markup(embed(value))
    environment.filters["worded"] = lambda text: markupsafe.Markup(worded(str(markupsafe.escape(text))))
    return environment


def worded(escaped: str) -> str:
    """A sentence of ours that is escaped already, what stands in it between backquotes as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escaped)


def embed(value: Any) -> str:
    """`value` as JSON that is safe inside an HTML script element, whatever names it holds."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
