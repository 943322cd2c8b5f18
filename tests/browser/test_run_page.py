"""The report of a run with 200 failures, in Chromium: causes first, search, filter, deep links, dark, on a phone."""

from __future__ import annotations

import re
import urllib.parse

import pytest

from npu_conformance.report import causes, run_page
from tests.browser.conftest import open_page
from tests.conformance import all_host

_FAILURES = 200


@pytest.fixture(scope="module")
def records():
    """200 failures of a backend that offloads nothing, and whatever passed among them."""
    found = all_host.records()
    failed = [number for number, record in enumerate(found) if record.result.status == "fail"]
    return found[: failed[_FAILURES - 1] + 1]


@pytest.fixture(scope="module")
def path(records, tmp_path_factory):
    file = tmp_path_factory.mktemp("run") / "report.html"
    file.write_text(run_page.page(all_host.SHIPPED, all_host.report(records)), encoding="utf-8")
    return str(file)


@pytest.fixture
def page(browser, path):
    for opened in open_page(browser, path, {}):
        yield opened.page


def shown(page):
    """Rows of the table; of more than are drawn at once, how many the filter leaves."""
    drawn, told = page.locator("#cases > tr:visible").count(), int(page.inner_text("#shown"))
    assert drawn == min(told, 200)
    return told


def test_failures_come_first_a_handful_of_causes_for_two_hundred(page, records):
    assert sum(record.result.status == "fail" for record in records) == _FAILURES
    found = causes.causes(records)
    assert len(found) <= 12
    assert page.locator("details.cause").count() == len(found)
    assert page.locator("h2").first.inner_text().startswith(f"What to fix ({len(found)} causes")
    assert page.locator("details.cause").first.bounding_box()["y"] < 400


def test_a_cause_opens_with_sentence_example_and_command(page, records):
    first = causes.causes(records)[0]
    cause = page.locator("details.cause").first
    assert not cause.locator("blockquote").is_visible()
    cause.locator("summary").first.click()
    case = first.example.instance.case
    assert all_host.SHIPPED.requirements[case.requirements[0]].statement in cause.locator("blockquote").inner_text()
    assert cause.locator("pre:visible", has_text=f"-k {case.id}@").count() > 0
    assert first.remedy.replace("`", "") in cause.inner_text()
    assert cause.locator("p > code", has_text="npu-conformance explain").first.inner_text() in first.remedy
    assert cause.locator("details[id]").count() == min(len(first.failures), run_page._SHOWN_FAILURES) - 1
    assert page.url.endswith(f"#cause-{first.name}")


def test_search_finds_cases_by_part_of_their_id(page, records):
    wanted = records[-1].instance.case.id
    page.fill("#text", wanted.upper())
    assert 1 <= shown(page) == int(page.inner_text("#shown"))
    assert all(wanted in text for text in page.locator("#cases > tr:visible").all_inner_texts())
    page.fill("#text", "no case has this name")
    assert shown(page) == 0


def test_filters_by_status_and_area_narrow_each_other(page, records):
    page.select_option("#status", "fail")
    failed = {record.instance.case.id for record in records if record.result.status == "fail"}
    assert shown(page) == len(failed)
    area = records[-1].instance.case.area
    page.select_option("#area", area)
    assert shown(page) == len({name for name in failed if all_host.SHIPPED.cases[name].area == area})


def test_a_filter_is_in_the_address_and_comes_back_with_it(browser, page, path):
    page.fill("#text", "a & b=#%")
    page.fill("#text", "range")
    page.select_option("#status", "fail")
    count, address = shown(page), page.url
    assert urllib.parse.parse_qs(address.partition("#?")[2]) == {"text": ["range"], "status": ["fail"]}
    again = browser.new_page()
    again.goto(address)
    assert shown(again) == count > 0 and again.input_value("#text") == "range"
    again.close()


def test_a_deep_link_opens_a_failure_with_what_it_lies_in(browser, path, page):
    link = page.locator("details.cause details[id]").last.get_attribute("id")
    again = browser.new_page()
    again.goto(f"file://{path}#{link}")
    inner = again.locator(f"[id='{link}']")
    inner.locator("pre:visible").first.wait_for()
    assert -1 <= inner.bounding_box()["y"] < 900
    again.close()


def test_a_link_to_a_case_shows_it_whatever_is_filtered(page):
    page.fill("#text", "no case has this name")
    cause = page.locator("details.cause").first
    cause.locator("summary").first.click()
    link = cause.locator("a[href^='#case-']").first
    name = link.inner_text()
    link.click()
    page.locator(f"[id='case-{name}']").wait_for()
    assert page.url.endswith(f"#case-{name}") and page.input_value("#text") == ""


def test_a_failure_links_to_its_requirement(page):
    cause = page.locator("details.cause").first
    cause.locator("summary").first.click()
    link = cause.locator("a[href^='#requirement-']").first
    row = page.locator(f"[id='{link.get_attribute('href')[1:]}']")
    link.click()
    page.wait_for_function("scrollY > 0")
    assert re.search(r"\bfail\b", row.inner_text())


def test_nothing_is_wider_than_a_phone(browser, path):
    for opened in open_page(browser, path, {}):
        opened.page.set_viewport_size({"width": 390, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        opened.page.locator("details.cause > summary").first.click()
        opened.page.locator("details.cause details > summary").first.click()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        told = opened.page.locator("#cases td.main").first.bounding_box()
        assert told["x"] >= 0 and told["x"] + told["width"] <= 390


def test_the_dark_page_is_dark(browser, path):
    for opened in open_page(browser, path, {}, color_scheme="dark"):
        colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in colour[4:-1].split(",")) < 200


def test_keys_go_to_the_search_and_clear_it(page):
    page.keyboard.press("/")
    page.keyboard.type("range")
    assert page.input_value("#text") == "range" and page.url.endswith("text=range")
    page.keyboard.press("Escape")
    assert page.input_value("#text") == ""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "status"


def test_on_paper_causes_are_open_and_nothing_that_only_a_screen_needs(page):
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.cause blockquote").first.is_visible()
    assert not page.locator("#filters").is_visible() and not page.locator("nav").is_visible()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A run that has everything: known failures, twins that differ, times, an environment, 10 000 results."""
    found = []
    shipped = [one for one in all_host.records() if one.result.status == "fail"]
    for copy in range(10_000 // len(shipped) + 1):
        for one in shipped:
            case = one.instance.case._replace(id=f"{one.instance.case.id}-{copy}")
            found.append(one._replace(instance=one.instance._replace(case=case), seconds=len(found) / 1000))
    passed = found[0].result._replace(status="pass", detail="", differences=(), signature="")
    known = found[1].result._replace(status="xfail", detail="fixed in 1.5")
    found[0] = found[0]._replace(result=passed)
    found[1] = found[1]._replace(result=known, known=found[1].instance.id)
    made = all_host.report(tuple(found[:10_000]))
    entry = {"id": found[1].instance.id, "outcome": "fail", "signature": "*", "reason": "fixed in 1.5", "issue": "",
             "owner": "somebody", "expires": "2030-03-31"}  # fmt: skip
    header = {**made.header, "known_failures": [entry], "day": "2030-03-21", "platform": {"system": "Linux"}}
    header["backend"] = {**header["backend"], "runtime": {"driver": "<b>7.1</b>\u202e"}}
    file = tmp_path_factory.mktemp("full") / "report.html"
    file.write_text(run_page.page(all_host.SHIPPED, made._replace(header=header)), encoding="utf-8")
    return str(file)


def test_ten_thousand_results_open_search_and_filter_with_few_elements(browser, full):
    for opened in open_page(browser, full, {}):
        page = opened.page
        # None of it grows with the results, but for causes and requirements.
        assert page.evaluate("document.querySelectorAll('*').length") < 15_000
        everything = shown(page)
        assert everything > 2_000
        page.click("#more")
        assert page.locator("#cases > tr").count() == 400
        page.fill("#text", "-7")
        assert 0 < shown(page) < everything
        last = page.evaluate("rows[rows.length - 1].id")
        page.goto(f"file://{full}#case-{last}")
        page.locator(f"[id='case-{last}']").wait_for()


def test_known_failures_have_days_left_twins_their_originals_and_slow_cases_their_seconds(browser, full):
    for opened in open_page(browser, full, {}):
        page = opened.page
        known = page.locator("#known + .wide").inner_text()
        assert "10 days left" in known and "fixed in 1.5" in known and "somebody" in known
        assert "came out otherwise" in page.locator("#twins + p").inner_text()
        assert "xfail" in page.locator("#twins ~ .wide").first.inner_text()
        first = page.locator("#slowest + .wide tr").nth(1).inner_text()
        assert "9.999" in first
        told = page.locator("#environment + .wide").inner_text()
        assert "<b>7.1</b>\\u202e" in told and "Linux" in told
        assert "Requirements" in page.locator("#documents + .wide").inner_text()


def test_what_a_cause_has_no_room_for_is_linked_to_the_cases(browser, full):
    for opened in open_page(browser, full, {}):
        page = opened.page
        cause = page.locator("details.cause").first
        assert cause.locator("details[id]").count() == run_page._SHOWN_FAILURES - 1
        cause.locator("summary").first.click()
        link = cause.locator("a[href^='#?cause=']")
        cases = int(link.inner_text().split()[0])
        link.click()
        page.wait_for_function("document.getElementById('cause').value !== ''")
        assert shown(page) == cases > run_page._SHOWN_FAILURES
