"""Pages load nothing, and run no script and take no style but their own: each says so in a policy of its own."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re

import pytest

from npu_conformance.report import comparison, comparison_page, golden_page, page, run_page, site
from tests.conformance.shelves import Shelf, judged, spoken
from tests.conformance.test_report import reported

pytestmark = pytest.mark.oldest_at_night

TEMPLATES = sorted(name for name in os.listdir(str(page._TEMPLATES)) if name.endswith(".html"))
PARTS = sorted(f"parts/{path.name}" for path in (page._TEMPLATES / "parts").glob("*.html"))
#: What has to be given for a page to be made without what it is about.
CONTEXT = {
    "title": "</title><script>alert(1)</script>",
    "data": {"</script>": "<style>", "ranks": []},
    "options": {},
    "simulated": True,
}


def made(template: str, shelf: Shelf) -> str:
    if template == "report.html":
        return run_page.page(shelf.load(), judged(shelf, spoken("Lies")))
    if template == "comparison.html":
        return comparison_page.page(shelf.load(), comparison.compare(shelf.load(), *[reported(shelf, "Lies")] * 2))
    if template == "golden.html":
        return golden_page.page([], page.Made())
    if template.startswith("site_"):
        os.mkdir(shelf.path("site"))
        site.write(shelf.load(), [reported(shelf, "Lies")], shelf.path("site"))
        (report,) = os.listdir(shelf.path("site/reports"))
        name = "index.html" if template == "site_index.html" else os.path.join("reports", report)
        with open(os.path.join(shelf.path("site"), name), encoding="utf-8") as stream:
            return stream.read()
    return page.render_page(template, **CONTEXT)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_page_allows_exactly_the_scripts_and_styles_that_stand_in_it(template: str, shelf: Shelf) -> None:
    text = made(template, shelf)
    head, _, _ = text.partition("<title>")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', head)
    assert head.index("Content-Security-Policy") < min(text.index(one) for one in ("<style", "viewport"))
    told = dict(part.split(" ", 1) for part in html.unescape(policy).split("; "))
    assert {**told, "img-src": "data:"} == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "img-src": "data:",
        "script-src": told["script-src"], "style-src": told["style-src"],
    }  # fmt: skip
    of_shown = " ".join(page.policy(shown) for shown in page._SHOWN.get(template, ())).replace(";", " ").split()
    for kind in ("script", "style"):
        codes = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes]
        own = [f"'sha256-{digest}'" for digest in digests]
        assert [one for one in told[f"{kind}-src"].split(" ") if one not in of_shown] == (own or ["'none'"])


@pytest.mark.parametrize("template", TEMPLATES + PARTS)
def test_no_script_or_style_of_a_template_holds_what_is_a_users(template: str) -> None:
    source = page._source(template)
    for code in page._CODE.finditer(source):
        assert re.sub(r"\{% include \"parts/[a-z.]+\" %\}", "", code.group()).count("{" + "%") == 0
        assert "{{" not in code.group()
    outside = page._CODE.sub("", source)
    # Of these a policy of hashes takes none.
    assert not re.search(r"""\s(style|on[a-z]+|src|srcset|action)=["']|javascript:""", outside)
    assert not re.search(r"<(base|form|object|embed)\b", outside)
    assert set(re.findall(r"<script[^>]*>", outside)) <= {'<script type="application/json" id="data">'}
    assert not re.search(r"setAttribute\(.(style|on)|innerHTML|insertAdjacentHTML|\beval\(|new Function", source)


def test_a_page_inside_another_one_has_no_frame_and_every_other_names_its_document() -> None:
    inside, alone = (page.render_page("profile.html", made, **CONTEXT) for made in (None, page.Made("a <b>", "")))
    assert "<footer" not in inside and "<time" not in alone
    assert "<code>npu-conformance docs device</code>" in alone and "<code>a &lt;b&gt;</code>" in alone


def test_documents_are_links_once_they_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "DOCS", "https://docs.example/")
    text = page.render_page("profile.html", page.Made(), **CONTEXT)
    assert '<a href="https://docs.example/device.html">docs/device.md</a>' in text


def test_every_template_names_a_document_that_there_is() -> None:
    assert sorted(page._ABOUT) == TEMPLATES
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
    assert [one.document for one in page._ABOUT.values() if not os.path.exists(os.path.join(docs, one.document))] == []


def test_a_name_may_be_broken_behind_its_separators_and_nowhere_else() -> None:
    assert page.broken("a/b_c.d:0/ &lt;e&gt; &#39;f&#39;") == (
        "a/<wbr>b_<wbr>c.<wbr>d:<wbr>0/<wbr> &lt;e&gt; &#39;f&#39;"
    )


def test_the_day_is_that_of_the_source_where_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert page.made_by(["npu-conformance", "a b"]) == page.Made("npu-conformance 'a b'", "1970-01-01")
