"""Decides how a page is made: one self-contained HTML file from a template, everything of the user's escaped."""

from __future__ import annotations

import functools
import json
import pathlib
import re
from typing import Any

from npu_reference.errors import NpuError

__all__ = ["embed", "render_page", "worded"]

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
    return _environment().get_template(template).render(**context)


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
