"""Every page has its frame, no violation that axe knows, and no broken word, wide and narrow, light and dark."""

from __future__ import annotations

import re
import shlex
from typing import Dict

import pytest
from axe_playwright_python.sync_playwright import Axe

from npu_conformance.models import demonstration
from npu_conformance.report import run_page, script_page, script_ranks
from npu_conformance.report.page import Made
from tests.browser.conftest import open_page, run_command
from tests.browser.test_script_page import Signature, pipeline, run, settings
from tests.conformance import all_host
from tests.conformance.test_inspect_folders import profile
from tests.depth import at_night

NAMES = ("report", "partition", "precision", "profile", "golden", "inspect", "script", "ranks")
MADE = Made("npu-conformance simulate --html page.html train.py", "2030-01-02")
LONG = "scope_of_a_model/layer_with_a_long_name/attention/self_attention/output_projection/MatMul"


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> Dict[str, str]:
    """A page of every kind, all but two written by the command line."""
    folder = tmp_path_factory.mktemp("accessible")
    at = {name: str(folder / f"{name}.html") for name in NAMES}
    demonstration.write(str(folder / "demo"))
    model = str(folder / "demo" / "model.pb")
    run_command("partition", model, "-o", "mix_compile_mode=true", "--html", at["partition"])
    run_command("precision", model, "-o", "precision_mode=allow_mix_precision", "--html", at["precision"])
    run_command("profile", model, "--fetch", "train", "--batch", "64", "--html", at["profile"])
    run_command("golden", "update", model, "-o", "mix_compile_mode=true", "--batch", "64")
    record = folder / "demo" / "model.pb.golden.txt"
    record.write_text(record.read_text("utf-8").replace('mode": true', 'mode": false'), "utf-8")
    run_command("golden", "check", model, "--html", at["golden"], status=1)
    run_command("inspect", str(profile(folder / "p")), "--html", at["inspect"])
    (folder / "report.html").write_text(
        run_page.page(all_host.SHIPPED, all_host.report(all_host.records()[:60])), encoding="utf-8"
    )
    told = _told()
    (folder / "script.html").write_text(script_page.page(told, MADE), encoding="utf-8")
    ranks = {"rank": 0, "status": 1, "answer": told.answer}
    left = folder / "left"
    left.mkdir()
    (left / "rank0.html").write_text(script_page.page(told), encoding="utf-8")
    ended = {"rank": 1, "status": -9, "answer": None}
    answer = {"script": "train.py", "status": 1, "first_to_fail": 0, "ranks": [ranks, ended]}
    (folder / "ranks.html").write_text(script_ranks.page(str(left), answer, MADE), encoding="utf-8")
    return at


def _told():
    from npu_conformance.models import script as scripts
    from npu_reference.graphs import GraphBuilder
    from npu_reference.runtime.observing.account import Account, AccountPlace, Failure

    account = Account()
    account.opened(1, settings(mix_compile_mode=True, precision_mode="allow_mix_precision"))
    account.opened(2, settings())
    run(account, 1, Signature(("x:0",), ("after:0",), ()), pipeline(), times=5)
    g = GraphBuilder()
    g.op("Relu", LONG, [g.placeholder("x", "float32", [2, 2])])
    run(account, 2, Signature(("x:0",), (f"{LONG}:0",), ()), g.build())
    place = AccountPlace("train.py", 12, "main", "sess.run(train_op)")
    account.failure = Failure("ValueError", "", "ValueError: no", (place,))
    return scripts.tell(account, "/models/train.py", 1)


def violations(page):
    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), *(at_night(*one) for one in [(400, "dark"), (1280, "dark"), (400, "light")])]
)
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_no_violation(browser, paths, name, width, scheme):
    for opened in open_page(browser, paths[name], {}, color_scheme=scheme):
        page = opened.page
        page.set_viewport_size({"width": width, "height": 900})
        # All that can be folded is unfolded, and what a page shows on demand is shown.
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        if name == "partition":
            page.fill("#search", "hashed")
            page.press("#search", "Enter")
        if name in ("profile", "inspect"):
            page.focus("#timeline")
            page.keyboard.press("n")
            page.keyboard.press("r")
        if name == "precision":
            page.locator("#kinds button").first.click()
        if name == "ranks":
            page.get_by_role("button", name="rank 1").click()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_wrote_it_how_to_read_it_and_where_to_go(browser, paths, name):
    for opened in open_page(browser, paths[name], {}):
        page = opened.page
        frame = page.inner_text("header") + page.inner_text("footer")
        assert re.search(r"npu-conformance [0-9]", frame) and "npu-conformance docs " in frame
        command = page.locator("footer dt:text-is('Command') + dd").inner_text()
        assert command.startswith("npu-conformance ")
        days = page.locator("header time").all_inner_texts()
        assert len(days) == (name != "report")  # which is made again from its records, byte for byte
        page.get_by_role("link", name="How to read this page").click()
        assert page.url.endswith("#about-page")
        links = page.locator("nav a, #ranks button")
        assert links.count() >= 2
        for target in page.locator("nav a").evaluate_all("links => links.map(a => a.getAttribute('href').slice(1))"):
            assert page.locator(f"[id='{target}']").count() == 1


def test_the_command_on_a_page_writes_the_same_page_again(paths, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1900000000")
    with open(paths["partition"], encoding="utf-8") as stream:
        before = stream.read()
    command = before.partition("<dt>Command</dt><dd><code>")[2].partition("</code>")[0].replace("<wbr>", "")
    run_command(*shlex.split(command)[1:])
    with open(paths["partition"], encoding="utf-8") as stream:
        again = stream.read()
    day = before.partition('<time datetime="')[2][:10]
    assert again == before.replace(day, "2030-03-17")


#: Texts that stand in several lines though a line ends inside a word of them: neither behind a blank nor a separator.
BROKEN = """() => {
  const found = [];
  for (const e of document.querySelectorAll("h1, h2, h3, th, td, .name, summary, code, dd, button")) {
    if (!e.checkVisibility() || e.closest("pre")) continue;
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
      const range = document.createRange(), text = node.data;
      let before = null;
      for (let k = 0; k < text.length; k++) {
        range.setStart(node, k); range.setEnd(node, k + 1);
        const box = range.getClientRects()[0];
        if (!box) continue;
        if (before !== null && box.top > before + 4 && /[a-z0-9]/i.test(text[k]) && /[a-z0-9]/i.test(text[k - 1]))
          found.push(text.slice(0, k) + "|" + text.slice(k));
        before = box.top;
      }
    }
  }
  return found;
}"""


@pytest.mark.parametrize("width", [at_night(1280), 400])
@pytest.mark.parametrize("name", NAMES)
def test_no_heading_and_no_name_is_broken_inside_a_word(browser, paths, name, width):
    for opened in open_page(browser, paths[name], {}):
        opened.page.set_viewport_size({"width": width, "height": 900})
        assert opened.page.evaluate(BROKEN) == []
