"""The page of a step, in Chromium: timeline, keys, tables, dark, narrow, and a step of many tasks."""

from __future__ import annotations

import collections
import json

import pytest

from npu_conformance.models import profiling
from npu_conformance.report import profile_page
from npu_reference.graphs import GraphBuilder
from tests.browser.conftest import open_page
from tests.depth import share
from tests.timing.networks import mlp, step


def written(folder, name, found):
    answer = profiling.answer([profiling.ProfileRequest(found, None)])
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


def test_an_interval_what_is_known_least_and_other_options_are_told(browser, tmp_path):
    found = step(*mlp())
    known = {"class": "dense", "nets": 8, "least": 0.5, "most": 2.0}
    answer = {**profiling.answer([profiling.ProfileRequest(found, None)]), "step_ns": 4000, "error": known}
    answer["least_known"] = [{"op": "Erfc", "count": 2, "time_ns": 1000, "share": 0.25, "says": "one pass"}]
    answer["compared"] = [{"options": {"deterministic": 1}, "step_ns": 8000, "faster": 0.5, "peak": 512}]
    path = tmp_path / "known.html"
    path.write_text(profile_page.page(found, answer, title="net", options={}), encoding="utf-8")
    for opened in open_page(browser, str(path), answer):
        told = opened.page.inner_text("#verdict")
        assert "2.00 µs to 8.00 µs" in told and "8 dense networks" in told
        row = opened.page.locator("#least tr").last.inner_text().split("\t")
        assert row == ["Erfc", "2", "1.00 µs", "25.0 %", "one pass"]
        row = opened.page.locator("#compared tr").last.inner_text().split("\t")
        assert row == ["deterministic=1", "8.00 µs", "0.50", "512 B"]


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


def place(page, i, part=0.5):
    """Where in the window a part of a task is drawn."""
    box = page.locator("#timeline").bounding_box()
    seen = "([i, part]) => [xOf(T.start[i] + T.length[i] * part, line.clientWidth), rowOf[T.lane[i]]]"
    x, row = page.evaluate(seen, [i, part])
    return box["x"] + x, box["y"] + row * 22 + 11


def longest(page):
    return page.evaluate("T.length.indexOf(Math.max(...T.length))")


def test_a_click_pins_a_task_until_escape(opened):
    page = opened.page
    task = longest(page)
    page.mouse.click(*place(page, task))
    page.mouse.move(5, 5)
    told = page.inner_text("#about")
    assert told.startswith("pinned") and page.evaluate("pinned") == task
    page.focus("#timeline")
    page.keyboard.press("Escape")
    assert page.evaluate("pinned") == -1 and page.inner_text("#about").startswith("Click a task")


def test_keys_pin_tasks_in_turn(opened):
    page = opened.page
    page.focus("#timeline")
    page.keyboard.press("n")
    first = page.evaluate("pinned")
    several = "order.map(lane => [...T.lane.keys()].filter(i => T.lane[i] === lane)).find(list => list.length > 2)"
    page.evaluate(f"pin({several}[0])")
    start = page.evaluate("[pinned, T.start[pinned]]")
    page.keyboard.press("n")
    assert first >= 0 and page.evaluate("T.start[pinned]") > start[1]
    page.keyboard.press("p")
    assert page.evaluate("pinned") == start[0]


def test_a_dragged_range_is_summed_by_engine_and_operator(opened):
    page = opened.page
    box = page.locator("#timeline").bounding_box()
    x, y = box["x"] + page.evaluate("LABEL") + 1, box["y"] + 11
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + (box["x"] + box["width"] - x) / 2, y, steps=5)
    page.mouse.up()
    start, end = page.evaluate("range")
    spans = page.evaluate("T.start.map((t, i) => [t, t + T.length[i], D.lanes[T.lane[i]][0], D.words[T.name[i]]])")
    by_engine, by_operator = collections.Counter(), collections.Counter()
    for first, last, engine, operator in spans:
        inside = min(last, end) - max(first, start)
        if inside > 0:
            by_engine[engine] += inside
            by_operator[operator] += inside
    engines, operators = page.evaluate("sums(range)")
    assert {name: pytest.approx(t) for name, (t, _) in engines} == by_engine
    assert {name: pytest.approx(t) for name, (t, _) in operators} == by_operator
    rows = page.locator("#range-engines tr").all_inner_texts()
    assert len(rows) == 1 + len(by_engine) and rows[1].startswith(max(by_engine, key=by_engine.get))
    page.click("#range-zoom")
    assert page.evaluate("[from, to]") == pytest.approx([start, end])
    page.click("#range-clear")
    assert page.locator("#range").is_hidden()


def test_keys_mark_and_clear_a_range(opened):
    page = opened.page
    page.focus("#timeline")
    page.keyboard.press("+")
    page.keyboard.press("r")
    assert page.evaluate("range") == page.evaluate("[from, to]") and page.locator("#range").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#range").is_hidden()


def test_dragging_with_shift_moves_and_marks_nothing(opened):
    page = opened.page
    page.click("#in")
    before = page.evaluate("from")
    x, y = place(page, longest(page))
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate("from") > before and page.evaluate("range") is None


def test_ticks_are_round_and_few_at_any_zoom(opened):
    page = opened.page
    for _ in range(12):
        labels = [text for _, text in page.evaluate("ticks(line.clientWidth)")]
        assert 1 <= len(labels) <= 12 and len(set(labels)) == len(labels)
        numbers = [float(text.split()[0]) for text in labels]
        steps = {f"{b - a:.0e}"[0] for a, b in zip(numbers, numbers[1:])}
        assert len({text.split()[1] for text in labels}) == 1 and steps <= {"1", "2", "5"}
        page.click("#in")


def test_search_finds_tasks_and_enter_pins_them(opened):
    page = opened.page
    page.fill("#find", "matmul")
    count = int(page.inner_text("#found").split()[0])
    assert count > 0
    page.press("#find", "Enter")
    first = page.evaluate("pinned")
    page.press("#find", "Enter")
    assert first >= 0 and (count == 1 or page.evaluate("pinned") != first)
    page.fill("#find", "no task has this name")
    assert page.inner_text("#found") == "0 found"


def test_what_is_saved_is_a_trace_with_every_task(opened):
    page = opened.page
    with page.expect_download() as told:
        page.click("#save")
    with open(told.value.path(), encoding="utf-8") as stream:
        events = json.load(stream)["traceEvents"]
    assert told.value.suggested_filename == "trace.json"
    assert sum(event["ph"] == "X" for event in events) == page.evaluate("N")
    assert {event["name"] for event in events if event["ph"] == "M"} == {"thread_name"}


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
