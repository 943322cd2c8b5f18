"""Decides how a page is made: one self-contained HTML file from a template, everything of the user's escaped."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import npu_reference
from npu_reference.errors import NpuError
from npu_reference.printing import clipped, printable

__all__ = ["Made", "broken", "embed", "made_by", "policy", "render_page", "worded"]

_TEMPLATES = pathlib.Path(__file__).with_name("templates")

#: Address below which the documentation is published, ending in a slash. While it is empty, pages name a document and
#: link to nothing.
DOCS = ""

_LONGEST = 4000  # characters of a command that a page shows (assumed)


class Made(NamedTuple):
    """How a page was made, for its frame.

    command: a line to paste that writes it again; day: YYYY-MM-DD, or empty where equal input must give equal bytes;
    version: of the suite that wrote it, this one if empty.
    """

    command: str = ""
    day: str = ""
    version: str = ""


class _About(NamedTuple):
    """kind: what the page is called; document: in docs/, explains it; reading: how to read it, in a few sentences."""

    kind: str
    document: str
    reading: str


_ABOUT: Mapping[str, _About] = {
    "report.html": _About(
        "Report of a run",
        "run.md",
        "Causes stand first: each is one probable defect of the backend, with the results that it explains. The table "
        "of cases has every case with its status. The address of the page follows what is filtered and opened.",
    ),
    "partition.html": _About(
        "Partition of a graph",
        "partition.md",
        "A GEOP is a part of the graph that runs on the device as one operator. An operator that stays on the host has "
        "one reason, the chain of facts behind it, and a remedy. Boxes stand in the order of execution, from left to "
        "right. In the drawing the wheel and + and − zoom, dragging and the arrow keys move, 0 fits, Enter opens a "
        "box and Escape leads back.",
    ),
    "precision.html": _About(
        "Precision of a graph",
        "precision.md",
        "Every operator on the device has an engine, dtypes, and the rule that decided them. A cast stands where two "
        "operators meet whose dtypes differ.",
    ),
    "profile.html": _About(
        "Profile of a step",
        "device.md",
        "Every row is an engine and a stream. Colours tell kinds of tasks. In the timeline the wheel and + and − zoom, "
        "a click pins a task, dragging marks a range and sums it, and dragging with Shift moves. Of the keys, arrows "
        "move, n and p pin the next and the previous task, r marks what is visible, Escape clears.",
    ),
    "inspect.html": _About(
        "Folder that a run left",
        "inspect.md",
        "A heading of a table sorts by it. The text at the top filters all tables. In the timeline the wheel and + and "
        "− zoom, a click pins a kernel, dragging marks a range and sums it, and dragging with Shift moves.",
    ),
    "script.html": _About(
        "Run of a script",
        "runtime.md",
        "A signature is what one kind of session.run feeds and fetches. Each has a partition, a precision and, where "
        "the clock was on, a timeline, which open over this page.",
    ),
    "comparison.html": _About(
        "What moved between two reports",
        "run.md",
        "Causes stand first, then requirements, then every result that changed. The page shows what the reports state; "
        "verify judges a report again.",
    ),
    "golden.html": _About(
        "What moved since it was recorded",
        "golden.md",
        "A row of the table is a model. Below it stand what its step costs, where its operators lie, and their dtypes, "
        "each before and after. golden update records what is right now.",
    ),
    "site_index.html": _About(
        "Results of several runs",
        "run.md",
        "A row is a requirement, a column a report. A cell leads to the cases of the requirement in that report.",
    ),
    "site_report.html": _About(
        "One report among several",
        "run.md",
        "A case that failed leads to its cause, input, answer and command. The page shows what the report states.",
    ),
    "ranks.html": _About(
        "Run of a script on several ranks",
        "runtime.md",
        "Every rank is one process with one device. A rank that was ended from outside has no page.",
    ),
}


def made_by(words: Sequence[str]) -> Made:
    """For a page that these words of a command line write today (in UTC; ``SOURCE_DATE_EPOCH`` counts instead)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.datetime.now(datetime.timezone.utc)
    if epoch.isdigit() and len(epoch) < 12:
        moment = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    return Made(" ".join(map(shlex.quote, words)), moment.date().isoformat())


def render_page(template: str, made: Optional[Made] = None, **context: Any) -> str:
    """Render `template` with autoescape on.

    Args:
        made: how the page was made; None for a page inside another one, which has no frame of its own.
    Raises:
        NpuError: OUTPUT when the ``report`` extra is not installed.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise NpuError(
            "OUTPUT",
            "report",
            "pages are made with jinja2, which is not installed.",
            "Install npu-conformance[report].",
        ) from None
    version = (made.version if made else "") or npu_reference.__version__
    frame = None if made is None else _frame(_ABOUT[template], made)
    context.update(policy=policy(template), version=version, frame=frame)
    return _environment().get_template(template).render(**context)


def _frame(about: _About, made: Made) -> Dict[str, str]:
    return {
        "version": made.version or npu_reference.__version__,
        "kind": about.kind,
        "reading": about.reading,
        "document": about.document,
        "address": f"{DOCS}{about.document[:-3]}.html" if DOCS else "",
        "command": clipped(printable(made.command), _LONGEST),
        "day": made.day,
    }


#: Pages that others show in frames, which have the policy of the page that shows them beside their own.
_SHOWN = {"script.html": ("partition.html", "precision.html", "profile.html"), "ranks.html": ("script.html",)}

_CODE = re.compile("<(script|style)>.*?</(?:script|style)>", re.DOTALL)


@functools.lru_cache(maxsize=None)
def policy(template: str) -> str:
    """The content security policy of a page: nothing is loaded, and no script or style counts but those that the
    template itself has, and those of the pages that it shows."""
    import markupsafe

    allowed = _allowed(template)
    parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
    parts += [f"{kind}-src " + (" ".join(found) or "'none'") for kind, found in sorted(allowed.items())]
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
    environment.filters["broken"] = lambda text: markupsafe.Markup(broken(str(markupsafe.escape(text))))
    environment.filters["worded"] = lambda text: markupsafe.Markup(worded(str(markupsafe.escape(text))))
    return environment


def worded(escaped: str) -> str:
    """A sentence of ours that is escaped already, what stands in it between backquotes as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escaped)


def broken(escaped: str) -> str:
    """A name that is escaped already, which may be broken behind its separators and nowhere else."""
    return re.sub(r"([/_.:=@+]+)(?=[^/_.:=@+;])", r"\1<wbr>", escaped)


def embed(value: Any) -> str:
    """`value` as JSON that is safe inside an HTML script element, whatever names it holds."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
