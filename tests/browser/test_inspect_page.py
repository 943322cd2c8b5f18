"""Pages of folders that runs left, in Chromium: their tables, sorting, filtering, keys, dark, narrow, hostile names."""

from __future__ import annotations

import json

import pytest

from tests.browser.conftest import open_page, run_command
from tests.conformance.test_inspect import dump
from tests.conformance.test_inspect_folders import cached, profile


def written(folder, place):
    """(path of the page, answer) of a folder."""
    path = str(folder / "page.html")
    return path, json.loads(run_command("inspect", str(place), "--html", path, "--format", "json"))


@pytest.fixture(scope="module")
def inspected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    return written(folder, profile(folder / "p"))


@pytest.fixture
def opened(browser, inspected):
    yield from open_page(browser, *inspected)


def column(page, heading, place):
    """The cells of a column of the table that has this heading."""
    rows = page.locator(f"table:has(th:has-text('{heading}')) tbody tr td:nth-child({place})")
    return rows.all_inner_texts()


def test_the_page_shows_what_the_answer_says(opened):
    assert opened.page.inner_text("h1").startswith("PROF_000001_")
    assert "nothing here is a measurement" in opened.page.inner_text("header")
    assert column(opened.page, "Type of operator", 1) == [row["type"] for row in opened.answer["content"]["types"]]
    assert opened.answer["content"]["hints"][0]["text"] in opened.page.inner_text(".facts")


def test_a_heading_sorts_by_number_and_by_name_and_can_be_reached_by_keys(opened):
    heading = opened.page.locator("th button:text-is('Mean')")
    heading.focus()
    opened.page.keyboard.press("Enter")
    assert column(opened.page, "Type of operator", 1)[0] == "MatrixInverse"
    opened.page.keyboard.press("Enter")
    assert column(opened.page, "Type of operator", 1)[-1] == "MatrixInverse"
    assert opened.page.locator("th[aria-sort=ascending]").count() == 1
    opened.page.click("th button:text-is('Type of operator')")
    assert column(opened.page, "Type of operator", 1) == ["Cast", "MatMulV2", "MatrixInverse"]


def test_a_text_filters_all_tables(opened):
    opened.page.fill("#filter", "matmul2_")
    names = column(opened.page, "Bound by", 1)
    assert names and all(name.startswith("MatMul2_") for name in names)
    assert column(opened.page, "Type of operator", 1) == []


def test_keys_move_the_timeline_and_a_kernel_that_is_pointed_at_is_told(opened):
    page = opened.page
    whole = page.evaluate("[from, to]")
    page.focus("#timeline")
    page.keyboard.press("+")
    assert page.evaluate("to - from") < whole[1] - whole[0]
    page.keyboard.press("Home")
    box = page.locator("#timeline").bounding_box()
    longest = page.evaluate("T.length.indexOf(Math.max(...T.length))")
    row = page.evaluate(f"rowOf[T.lane[{longest}]]")
    at = page.evaluate(f"xOf(T.start[{longest}] + T.length[{longest}] / 2, line.clientWidth)")
    page.mouse.move(box["x"] + at, box["y"] + row * 22 + 11)
    assert page.inner_text("#about").startswith("MatrixInverse MatrixInverse1_0 · AI_CPU")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(browser, inspected, scheme):
    for opened in open_page(browser, *inspected, color_scheme=scheme):
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_several_folders_are_one_page_with_a_link_to_each(browser, tmp_path):
    profile(tmp_path / "p")
    cached(tmp_path)
    for opened in open_page(browser, *written(tmp_path, tmp_path)):
        assert opened.page.locator("nav a").all_inner_texts() == ["cache", "profile"]
        assert opened.page.locator("#time").is_hidden()


def test_names_of_somebody_else_are_text(browser, tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    rows = "Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\n"
    rows += '"</script><b>x\x1b",<i>T</i>,<u>,s,1,2\n'
    (folder / "op_summary_1.csv").write_text(rows, encoding="utf-8")
    for opened in open_page(browser, *written(tmp_path, folder)):
        assert opened.page.inner_text("h1") == folder.name
        assert column(opened.page, "Bound by", 1) == ["</script><b>x\\x1b"]


@pytest.mark.nightly
def test_a_large_profile_opens_with_its_first_hundred_thousand_kernels(browser, tmp_path):
    rows = "".join(f"op{number % 50},MatMulV2,AI_CORE,{number % 3},{2 * number},1.5\n" for number in range(100_500))
    heads = "Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\n"
    (tmp_path / "op_summary_1.csv").write_text(heads + rows, encoding="ascii")
    for opened in open_page(browser, *written(tmp_path, tmp_path)):
        assert opened.page.evaluate("N") == 100_000 and "first 100,000 of 100,500" in opened.page.inner_text("#about")
        opened.page.click("#in")
        assert opened.page.evaluate("to - from < D.end")


def test_words_of_a_narrow_table_stay_whole_and_the_table_scrolls(browser, tmp_path):
    folder = dump(tmp_path / "d", *((f"scope/of/a/layer_{number}/with/a/long/name", [1.0, 2.0]) for number in range(3)))
    for opened in open_page(browser, *written(tmp_path, folder)):
        opened.page.set_viewport_size({"width": 400, "height": 800})
        lines_of = opened.page.locator(".scroll td:not(.name)").evaluate_all(
            "cells => cells.map(c => { const r = document.createRange(); r.selectNodeContents(c);"
            " return [c.innerText.trim(), new Set([...r.getClientRects()].map(b => Math.round(b.top))).size]; })"
        )
        broken = [text for text, lines in lines_of if " " not in text and lines > 1]
        assert broken == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") == 400
