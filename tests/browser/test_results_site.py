"""The site of several reports, and the page of what moved between two, in Chromium."""

from __future__ import annotations

import os

import pytest

from npu_conformance.report import comparison, comparison_page, site
from tests.browser.conftest import open_page
from tests.cases.corpus import corpus
from tests.conformance import several_reports


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(folder of the site, page of what moved between the first report and the last)"""
    folder = tmp_path_factory.mktemp("reports")
    reports, out = several_reports.made(str(folder)), folder / "site"
    out.mkdir()
    site.write(corpus(), reports, str(out))
    moved = folder / "moved.html"
    found = comparison.compare(corpus(), reports[0], reports[-1])
    moved.write_text(comparison_page.page(corpus(), found), encoding="utf-8")
    return str(out), str(moved)


@pytest.fixture
def complaining(browser):
    """A page, and whatever it complains of or asks for outside of files."""
    page, complaints = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.set_default_timeout(10_000)
    page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("file://") else complaints.append(asked.url))
    yield page
    assert complaints == []
    page.close()


def test_a_failing_cell_is_followed_to_what_was_asked_and_came(built, complaining):
    page = complaining
    page.goto("file://" + os.path.join(built[0], "index.html"))
    assert page.locator("#rows tr:visible").count() == int(page.inner_text("#shown"))
    page.select_option("#status", "s-fail")
    assert page.locator("#rows tr:visible").count() == int(page.inner_text("#shown"))
    assert page.locator("#rows tr:visible").count() == page.locator("#rows tr:has(a.s-fail)").count()
    page.locator("#rows tr:visible a.s-fail").first.click()
    row = page.locator("tr:target")
    assert row.locator(".tag").inner_text() == "fail"
    row.locator("li a").first.click()
    assert "#failure-" in page.url
    failure = page.locator("details:target")
    assert failure.locator("pre:visible", has_text="npu-conformance run --backend mutant:").count() == 1
    page.go_back()
    page.get_by_text("All backends").click()
    assert page.url.endswith("index.html")


def test_a_search_leaves_the_requirements_that_say_so(built, complaining):
    page = complaining
    page.goto("file://" + os.path.join(built[0], "index.html"))
    page.fill("#text", "multi_entry")
    assert page.locator("#rows tr:visible").count() == 1 == int(page.inner_text("#shown"))


def test_a_page_of_what_moved_opens_with_causes(built, browser):
    for opened in open_page(browser, built[1], {}):
        page = opened.page
        cause = page.locator("details.cause").first
        assert not cause.locator("pre").first.is_visible()
        cause.locator("summary").click()
        assert cause.locator("pre", has_text="npu-conformance run --backend mutant:").is_visible()
        assert page.locator("td.s-fail").count() > 0
