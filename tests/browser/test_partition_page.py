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
