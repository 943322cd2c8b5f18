"""The page of a step, in Chromium: timeline, keys, tables, dark, narrow, and a step of many tasks."""

from __future__ import annotations

import pytest

from npu_conformance.models import profiling
from npu_conformance.report import profile_page
from npu_reference.graphs import GraphBuilder
from tests.browser.conftest import open_page
from tests.depth import share
from tests.timing.networks import mlp, step


def written(folder, name, found):
    answer = profiling.answer([profiling.Asked(found, None)])
    path = folder / f"{name}.html"
    path.write_text(profile_page.page(found, answer, title="net<b>", options={"a": "<i>"}), encoding="utf-8")
    return str(path), answer


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return written(tmp_path_factory.mktemp("profile"), "small", step(*mlp()))


@pytest.fixture
def opened(browser, small):
    yield from open_page(browser, *small)


def test_the_page_says_what_it_is_and_shows_every_engine(opened):
    assert opened.page.inner_text("h1") == "net<b>"
    assert "no time here was measured" in opened.page.inner_text("header")
    engines = opened.page.locator("#engines tr").all_inner_texts()
    assert len(engines) == 1 + len(opened.answer["engines"])


def test_keys_zoom_and_move_the_timeline(opened):
    page = opened.page
    whole = page.evaluate("[from, to]")
    page.focus("#timeline")
    page.keyboard.press("+")
    near = page.evaluate("[from, to]")
    page.keyboard.press("ArrowRight")
    moved = page.evaluate("[from, to]")
    assert near[1] - near[0] < whole[1] - whole[0] and moved[0] > near[0]
    page.keyboard.press("Home")
    assert page.evaluate("[from, to]") == whole


def test_a_task_that_is_pointed_at_is_told(opened):
    page = opened.page
    box = page.locator("#timeline").bounding_box()
    row = page.evaluate("rowOf[T.lane[0]]")
    at = page.evaluate("xOf(T.start[0] + T.length[0] / 2, line.clientWidth)")
    page.mouse.move(box["x"] + at, box["y"] + row * 22 + 11)
    assert "h2d" in page.inner_text("#about")


def test_the_critical_path_can_be_seen_alone(opened):
    opened.page.click("#path")
    assert opened.page.get_attribute("#path", "aria-pressed") == "true"


def test_nothing_is_wider_than_a_phone(browser, small):
    for opened in open_page(browser, *small):
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_many_tasks_open_and_zoom(browser, tmp_path_factory):
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [8, 8])
    many = share(10_000, 50_000)
    for number in range(many):
        at = g.op("MatMul", f"product{number}", [at, at])
    found = step(g.build(), ["x:0"], [f"{at.name}:0"])
    for opened in open_page(browser, *written(tmp_path_factory.mktemp("profile"), "large", found)):
        assert opened.page.evaluate("N") > many
        opened.page.click("#in")
        assert opened.page.evaluate("to - from < D.end")
