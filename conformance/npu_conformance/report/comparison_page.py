"""Decides what the page that compares two runs shows: what moved, why, and what it costs."""

from __future__ import annotations

from typing import Optional

from npu_conformance.judging import judge
from npu_conformance.library.library import Library
from npu_conformance.report import comparison
from npu_conformance.report.page import Made, render_page

__all__ = ["page"]

_SHOWN = 500  # causes, requirements, and instances of each kind (assumed); --format json has all
_LISTED = 50  # cases of one cause


def page(library: Library, found: comparison.Comparison, made: Optional[Made] = None) -> str:
    """The HTML text.

    Raises:
        NpuError: OUTPUT without jinja2.
    """
    requirements = [
        {
            "id": name,
            "before": before,
            "after": after,
            "statement": library.requirements[name].statement,
            "level": library.requirements[name].level,
            "document": f"{library.requirements[name].document} {library.requirements[name].anchor}".rstrip(),
        }
        for name, before, after in found.requirements
    ]
    worse = set(found.worse)
    changed = [
        {"id": change[0], "before": change[1], "after": change[2], "details": found.details[change[0]]}
        for change in sorted(found.changed, key=lambda change: change not in worse)
    ]
    present = {*found.before.counts, *found.after.counts}
    return render_page(
        "comparison.html",
        made=made or Made(),
        before=found.before,
        after=found.after,
        worse=len(worse),
        statuses=[status for status in judge.ORDER if status in present],
        causes=found.causes[:_SHOWN],
        causes_count=len(found.causes),
        requirements=requirements[:_SHOWN],
        requirements_count=len(requirements),
        lost=sum(one["level"] == "must" and one["before"] == "pass" for one in requirements),
        won=sum(one["level"] == "must" and one["after"] == "pass" for one in requirements),
        changed=changed[:_SHOWN],
        changed_count=len(changed),
        only=[("first", found.only_before[:_SHOWN], len(found.only_before)),
              ("second", found.only_after[:_SHOWN], len(found.only_after))],
        listed=_LISTED,
    )  # fmt: skip
