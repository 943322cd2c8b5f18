"""The page of a partition works in a real browser: it opens alone, finds, explains, folds, and can be read."""

from __future__ import annotations

import collections
import re

import pytest

from npu_reference.graphs import GraphBuilder, write_graph
from tests.browser.conftest import open_page, written_by


def wait_for_detail(page, text):
    page.locator("#detail").get_by_text(text, exact=True).first.wait_for()


def on_host(answer, but=("FEED", "FETCH")):
    """An operator on the host that is there for a reason of its own, where there is one."""
    return next((entry for entry in answer["host"] if entry["reason"] not in but), answer["host"][0])


def test_the_page_opens_and_says_what_the_answer_says(opened):
    page, answer = opened.page, opened.answer
    count = len(answer["geops"])
    verdict = page.inner_text("#verdict")
    assert f"{count} GEOP" in verdict and f"at least {answer['min_geops']} needed" in verdict
    assert f"{len(answer['host'])} operators on the host" in verdict
    assert page.locator("#graph svg g.box.geop").count() == count
    assert "simulated" in page.inner_text("header")


def test_search_finds_a_node_and_a_click_shows_its_reason_with_the_remedy(opened):
    page, entry = opened.page, on_host(opened.answer)
    page.fill("#search", entry["node"])
    page.locator("#hits").get_by_role("button", name=entry["node"], exact=True).click()
    detail = page.locator("#detail")
    assert detail.locator("h2").inner_text() == entry["node"]
    page.fill("#search", "e")  # many hits, and what is explained stays in sight
    page.locator("#hits button").first.click()
    assert detail.locator("h2").bounding_box()["y"] < 800
    page.fill("#search", entry["node"])
    page.locator("#hits").get_by_role("button", name=entry["node"], exact=True).click()
    text = detail.inner_text()
    assert entry["reason"] in text and entry["remedy"] in text and entry["op"] in text
    assert all(step["why"] in text for step in entry["witness"])


def test_search_finds_operators_of_a_type_and_says_where_they_run(opened):
    page = opened.page
    page.fill("#search", "matmul")
    assert re.match(r"\d+ match", page.inner_text("#hits p"))
    page.locator("#hits button.geop").first.click()
    assert "device" in page.inner_text("#detail .pill")
    page.fill("#search", "no operator has this name")
    assert page.inner_text("#hits p").startswith("0 matches")


def test_every_reason_lists_its_operators(opened):
    page = opened.page
    counts = collections.Counter(entry["reason"] for entry in opened.answer["host"])
    rows = page.locator("#reasons tr").all_inner_texts()[1:]
    assert {row.split("\t")[0].strip(): int(row.split("\t")[-1]) for row in rows} == counts
    reason, count = counts.most_common()[-1]
    page.locator("#reasons").get_by_role("button", name=reason, exact=True).click()
    wait_for_detail(page, reason)
    assert page.locator("#detail table tr").count() == count


def test_name_scopes_unfold_and_fold(opened):
    page = opened.page
    first = page.locator("#tree > details").first
    inside = first.locator("div.tree").first
    assert not inside.is_visible()
    first.locator("summary").first.click()
    inside.locator("details, tr").first.wait_for()
    assert inside.is_visible()
    first.locator("summary").first.click()
    inside.wait_for(state="hidden")


def test_all_of_it_can_be_reached_and_done_with_the_keyboard(opened):
    page = opened.page
    page.locator("#graph g.box.geop").first.focus()
    page.keyboard.press("Enter")
    wait_for_detail(page, opened.answer["geops"][0]["name"])
    page.locator("#tree summary").first.focus()
    page.keyboard.press("Space")
    page.locator("#tree > details[open]").first.wait_for()
    page.locator("#reasons button").first.focus()
    page.keyboard.press("Enter")
    wait_for_detail(page, page.locator("#reasons button").first.inner_text())
    seen = set()
    page.locator("#search").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("() => document.activeElement.outerHTML.slice(0, 200)"))
    assert len(seen) > 6  # the focus moves on, and is nowhere trapped


CONTRAST = """() => {
  const channel = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const worst = {};
  for (const e of document.querySelectorAll("h1, h2, p, td, th, button, .dim, b, summary")) {
    if (!e.textContent.trim() || !e.offsetParent) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), key = e.tagName + "." + e.className;
    worst[key] = Math.min(worst[key] || 99, ratio);
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_colour_schemes(browser, partitioned, scheme):
    for opened in open_page(browser, *partitioned, color_scheme=scheme):
        opened.page.locator("#graph g.box").first.click()
        background = opened.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 380) == (scheme == "light")
        # WCAG 2.1 asks 4.5 of ordinary text.
        poor = {key: round(ratio, 2) for key, ratio in opened.page.evaluate(CONTRAST).items() if ratio < 4.5}
        assert not poor


def test_a_narrow_window_needs_no_scrolling_sideways(opened):
    opened.page.set_viewport_size({"width": 390, "height": 800})
    assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_names_of_any_length_need_no_scrolling_sideways(browser, tmp_path):
    made = GraphBuilder()
    relu = made.op("Relu", "scope" * 50 + "/" + "relu" * 50, [made.placeholder("x", "float32", [2])])
    made.op("PyFunc", "function" * 40, [[relu]], token="t", Tout=["float32"])
    write_graph(made.build(), str(tmp_path / "long.pb"))
    path, _ = written_by(tmp_path, "long", [str(tmp_path / "long.pb"), "-o", "mix_compile_mode=true"])
    for width in (390, 1280):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(f"file://{path}")
        page.locator("#tree > details").first.wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.close()


def opened_geop(page):
    """The first GEOP, opened by its second click."""
    box = page.locator("#graph g.box.geop").first
    box.click()
    box.click()


def test_zooming_moving_and_fitting_change_what_is_seen_of_the_drawing(opened):
    page = opened.page
    before = page.evaluate("scale")
    page.click("#in")
    assert page.evaluate("scale") > before
    page.click("#graph", position={"x": 4, "y": 4})
    page.mouse.wheel(0, -100)  # the drawing has the focus, so the page stays where it is
    page.wait_for_function("before => scale > 1.5 * before", arg=before)
    assert page.evaluate("scrollY") == 0
    at, box = page.evaluate("[shiftX, shiftY]"), page.locator("#graph").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 65, box["y"] + 45, steps=4)
    page.mouse.up()
    assert page.evaluate("[shiftX, shiftY]") == [at[0] + 60, at[1] + 40]
    page.click("#fit")
    left, top, right, bottom = page.evaluate(
        "[shiftX, shiftY, shiftX + level.width * scale - pane.clientWidth,"
        " shiftY + level.height * scale - pane.clientHeight]"
    )
    assert left >= 0 and top >= 0 and right <= 1 and bottom <= 1


def test_a_wheel_over_a_drawing_that_nobody_clicked_scrolls_the_page(opened):
    page = opened.page
    before, box = page.evaluate("scale"), page.locator("#graph").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.wheel(0, 200)
    page.wait_for_function("() => scrollY > 0")
    assert page.evaluate("scale") == before


def test_a_geop_opens_to_its_operators_and_leads_back(opened):
    page, geop = opened.page, opened.answer["geops"][0]
    opened_geop(page)
    assert page.locator("#levels b").inner_text() == geop["name"]
    shown = page.evaluate("level.boxes.map(box => box.nodes.map(i => D.names[i])).flat()")
    copies = {one if isinstance(one, str) else one["node"] for one in geop.get("copies", [])}
    assert set(shown) == set(geop["nodes"]) - (copies - set(shown)) and len(shown) == len(set(shown))
    assert page.locator("#graph g.box").count() <= 60
    page.locator("#graph g.fold").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#levels button").count() == 2
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator("#levels").inner_text() == "Whole graph"
    assert "chosen" in page.locator("#graph g.box.geop").first.get_attribute("class")


def test_arrows_lead_from_box_to_box_and_only_one_is_a_stop_of_the_tab_key(opened):
    page = opened.page
    page.focus("#graph")
    page.keyboard.press("Enter")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") != first
    page.keyboard.press("ArrowLeft")
    assert page.locator("#graph g.box[tabindex='0']").count() == 1


def test_search_marks_boxes_and_enter_goes_down_to_the_operator(opened):
    page, name = opened.page, opened.answer["geops"][0]["nodes"][-1]
    page.fill("#search", name)
    assert page.locator("#graph g.hit").count() >= 1
    page.press("#search", "Enter")
    assert page.locator("#detail h2").inner_text() == page.evaluate("D.names[hitNodes.values().next().value]")
    assert page.evaluate("level.boxes.find(box => box.g === document.activeElement).nodes.length") == 1


def test_a_host_operator_leads_to_its_reason_its_path_and_its_remedy(opened):
    page, entry = opened.page, on_host(opened.answer)
    page.fill("#search", entry["node"])
    page.locator("#hits").get_by_role("button", name=entry["node"], exact=True).click()
    heads = page.locator("#detail h3").all_inner_texts()
    assert heads[:3] == ["Reason", "Path to the cause", "Remedy"]
    assert page.locator("#detail ol li").count() == len(entry["witness"])
    on_path = {step["node"] for step in entry["witness"]}
    marked = page.evaluate(
        "level.boxes.filter(b => b.g.classList.contains('path')).flatMap(b => b.nodes.map(i => D.names[i]))"
    )
    assert not on_path or on_path & set(marked)


def test_colours_tell_place_engine_and_dtype(opened):
    page = opened.page
    assert "device" in page.inner_text("#legend") and "host" in page.inner_text("#legend")
    page.select_option("#colour", "engine")
    assert "cube" in page.inner_text("#legend") and "vector" in page.inner_text("#legend")
    page.select_option("#colour", "dtype")
    assert "float" in page.inner_text("#legend")
    strip = page.locator("#graph g.box.geop").first.locator("g rect")
    fills = strip.evaluate_all("all => all.map(rect => rect.getAttribute('fill'))")
    assert len(set(fills)) > 1


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The page of fifty thousand operators, every fiftieth of them on the host."""
    folder = tmp_path_factory.mktemp("large")
    g = GraphBuilder()
    values = [g.placeholder("x", "float32", [2])]
    for number in range(50_000):
        name = f"tower_{number // 5000}/layer_{number // 100 % 50}/op_{number % 100}"
        kept = {"attrs_": {"_without_npu_compile": True}} if number % 50 == 0 else {}
        values.append(g.op("AddV2", name, [values[-1], values[-(number % 7) - 1]], **kept))
    write_graph(g.build(), str(folder / "large.pb"))
    words = ["--feed", "x:0", "--fetch", f"{name}:0", "-o", "mix_compile_mode=true"]
    return written_by(folder, "large", [str(folder / "large.pb"), *words])


@pytest.mark.nightly
def test_a_page_of_fifty_thousand_operators_can_be_used(browser, large):
    for opened in open_page(browser, *large):
        page = opened.page
        assert f"{len(opened.answer['geops'])} GEOPs" in page.inner_text("#verdict").replace(",", "")
        page.fill("#search", "tower_9/layer_49/op_50")
        page.locator("#hits").get_by_role("button", name="tower_9/layer_49/op_50", exact=True).click()
        wait_for_detail(page, "SCOPE")
        page.locator("#tree summary").first.click()
        page.locator("#tree > details[open] details").first.wait_for()
        assert page.locator("#graph svg g.box").count() < 5000
        page.fill("#search", "tower_3/layer_7/op_1")
        page.press("#search", "Enter")
        assert page.locator("#detail h2").inner_text().startswith("tower_3/layer_7/op_1")
        assert page.locator("#graph svg g.box").count() < 5000


def test_a_geop_of_fifty_thousand_operators_opens_folded(browser, tmp_path):
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    for number in range(50_000):
        value = g.op("Relu", f"relu_{number}", [value])  # no scope to fold by
    write_graph(g.build(), str(tmp_path / "flat.pb"))
    words = [str(tmp_path / "flat.pb"), "--feed", "x:0", "--fetch", "relu_49999:0"]
    for opened in open_page(browser, *written_by(tmp_path, "flat", words)):
        opened_geop(opened.page)
        assert 2 < opened.page.locator("#graph g.box").count() <= 60
        opened.page.fill("#search", "relu_31234")
        opened.page.press("#search", "Enter")
        assert opened.page.locator("#graph g.chosen title").inner_html() == "relu_31234"
