"""The page of a script, in Chromium: sessions, options, signatures, and the pages of each in a frame."""

from __future__ import annotations

import os
from collections import namedtuple

import pytest

from npu_conformance.models import script as scripts
from npu_conformance.report import script_page
from npu_reference.graphs import GraphBuilder, close_over, load_graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.runtime.execution.virtual_clock import RunTime
from npu_reference.runtime.observing.account import Account, AccountPlace, Failure
from npu_reference.runtime.observing.trace import TracedCopy
from tests.browser.conftest import open_page
from tests.timing.networks import mlp
from tests.timing.networks import step as timed

_GRAPHS = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "graphs", "models")

Signature = namedtuple("Signature", "feeds fetches targets")
Settings = namedtuple("Settings", "resolution notices device_precision")


def settings(**values):
    return Settings(resolve(values, env={}), (), "off")


def run(account, number, asked, graph, times=1):
    closed = close_over(graph, list(asked.feeds), list(asked.fetches), list(asked.targets))
    session = next(session for session in account.sessions if session.number == number)
    account.planned(number, asked, partition(closed, session.settings.resolution), ("a note",))
    for _ in range(times):
        account.ran(number, asked, [TracedCopy("x:0", "h2d", 4096)])


def pipeline():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2, 2])
    between = g.op("PyFunc", "between", [[g.op("Exp", "before", [x])]], token="t", Tin=["float32"], Tout=["float32"])
    g.op("Exp", "after", [between])
    return g.build()


def many(count):
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [2, 2])
    for number in range(count):
        at = g.op("Relu", f"block{number // 100}/relu{number}", [at])
    return g.build(), f"block{(count - 1) // 100}/relu{count - 1}"


@pytest.fixture(scope="module")
def told():
    """Three sessions of a training script, the second with a graph of 50 000 operators, which an error ended."""
    account = Account()
    account.opened(1, settings(mix_compile_mode=True, precision_mode="allow_mix_precision"))
    account.opened(2, settings())
    account.opened(3, settings(mix_compile_mode=True))
    run(account, 1, Signature(("x:0",), ("after:0",), ()), pipeline(), times=5)
    large, last = many(50000)
    run(account, 2, Signature(("x:0",), (f"{last}:0",), ()), large)
    resnet = load_graph(os.path.join(_GRAPHS, "resnet50_tiny.pb.gz"))
    run(account, 3, Signature((), (), ("init",)), resnet)
    place = AccountPlace("train<b>.py", 12, "main", "sess.run(train_op)")
    account.failure = Failure("ValueError", "", "ValueError: </script><script>alert(1)</script>", (place,))
    return scripts.tell(account, "/models/train<b>.py", 1)


@pytest.fixture(scope="module")
def path(told, tmp_path_factory):
    file = tmp_path_factory.mktemp("script") / "script.html"
    file.write_text(script_page.page(told), encoding="utf-8")
    return str(file)


@pytest.fixture
def opened(browser, path, told):
    yield from open_page(browser, path, told.answer)


def test_the_verdict_counts_sessions_runs_and_operators(opened):
    verdict = opened.page.inner_text("#verdict")
    assert "3 sessions, 7 runs of 3 signatures" in verdict and "exit status 1" in verdict
    assert opened.page.inner_text("h1") == "train<b>.py"


def test_what_ended_the_script_is_text_with_its_line(opened):
    assert opened.page.inner_text("#cause") == "ValueError: </script><script>alert(1)</script>"
    assert "train<b>.py:12" in opened.page.inner_text("#places")


def test_every_session_shows_what_was_given_and_folds_the_defaults(opened):
    first = opened.page.locator("#session-1")
    rows = first.locator("table").first.locator("tbody tr")
    assert rows.all_inner_texts() == ["mix_compile_mode\ttrue\tgiven", "precision_mode\tallow_mix_precision\tgiven"]
    assert not first.locator("details table").first.is_visible()
    first.locator("summary", has_text="at their defaults").click()
    assert "hcom_parallel" in first.locator("details table").first.inner_text()


def test_the_partition_of_a_signature_opens_in_a_frame_and_closes_by_key(opened):
    page = opened.page
    page.locator("#session-1").get_by_role("button", name="Open partition").focus()
    page.keyboard.press("Enter")
    frame = page.frame_locator("#frame iframe")
    frame.get_by_text("PyFunc", exact=False).first.wait_for()
    frame.locator("#search").fill("after")
    assert "after" in frame.locator("#hits").inner_text()
    page.locator("#close").focus()
    page.keyboard.press("Escape")
    assert not page.locator("#frame").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Open partition"


def test_fifty_thousand_operators_open_as_for_the_other_pages(opened):
    page = opened.page
    page.locator("#session-2").get_by_role("button", name="Open precision").click()
    frame = page.frame_locator("#frame iframe")
    frame.locator("#verdict").wait_for()
    frame.locator("#search").fill("relu49999")
    assert "relu49999" in frame.locator("#hits").inner_text()


def test_nothing_is_wider_than_a_phone(browser, path, told):
    for opened in open_page(browser, path, told.answer):
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_on_a_phone_every_value_has_the_name_of_its_column(browser, path, told):
    script = """() => [...document.querySelectorAll("table.wide td[data-head]:not([data-head=''])")].slice(0, 40)
        .map(cell => getComputedStyle(cell, "::before").content)"""
    for opened in open_page(browser, path, told.answer):
        assert set(opened.page.evaluate(script)) == {"none"}
        opened.page.set_viewport_size({"width": 400, "height": 800})
        named = opened.page.evaluate(script)
        assert named and all(":" in one for one in named)


def test_the_dark_page_is_dark(browser, path, told):
    for opened in open_page(browser, path, told.answer, color_scheme="dark"):
        colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in colour[4:-1].split(",")) < 200


@pytest.fixture(scope="module")
def clocked(tmp_path_factory):
    """One signature with a time, and one of which the model knows none."""
    account = Account()
    account.opened(1, settings())
    graph, feeds, fetches = mlp()
    step = timed(graph, feeds, fetches)
    for asked, time in (
        (Signature(tuple(feeds), tuple(fetches), ()), RunTime(0, 0, step.timeline.end, 1, step)),
        (Signature((), ("relu0:0",), ()), RunTime(0, 5, 5, 1, None, "nobody tells the sizes <b>.")),
    ):
        account.planned(1, asked, step.partition, ())
        account.ran(1, asked, [], time)
    told = scripts.tell(account, "/models/train.py", 0)
    file = tmp_path_factory.mktemp("clocked") / "script.html"
    file.write_text(script_page.page(told), encoding="utf-8")
    return str(file), told.answer


def test_the_time_of_a_signature_is_told_and_its_timeline_opens(browser, clocked):
    for opened in open_page(browser, *clocked):
        page = opened.page
        assert "1 run on a simulated device" in page.inner_text("#clock")
        first, second = page.locator(".signature").all()
        assert "1 launch a run" in first.inner_text() and "(simulated)" in first.inner_text()
        assert "no time known: nobody tells the sizes <b>." in second.inner_text()
        assert second.get_by_role("button", name="Open timeline").count() == 0
        first.get_by_role("button", name="Open timeline").click()
        page.frame_locator("#frame iframe").get_by_text("Critical path", exact=True).wait_for()
