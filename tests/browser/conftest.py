"""Pages of partitions, written by the command line, in a real Chromium."""

from __future__ import annotations

import contextlib
import io
import json
import os
from typing import NamedTuple

import pytest
from playwright.sync_api import sync_playwright

from fixtures.programs.models import sidecar
from npu_conformance import cli
from tests.browser.chromium import find

pytestmark = pytest.mark.browser

_GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "graphs", "models")

#: Models whose pages are opened, at the size they were recorded, mixed computing in one and in many GEOPs.
PAGES = ("bert_base", "resnet50_tf221")


class Opened(NamedTuple):
    """A page as it stands in the browser, and the answer it shows."""

    page: object
    answer: dict
    complaints: list


def written(folder, name):
    """(path of the page, answer) of the training step of a model."""
    run = next(run for run in sidecar.read(os.path.join(_GRAPHS, f"{name}.toml")).runs if run.name == "train")
    words = [os.path.join(_GRAPHS, f"{name}.pb.gz"), "-o", "mix_compile_mode=true"]
    words += [word for feed in run.feeds for word in ("--feed", feed)]
    words += [word for fetch in [*run.fetches, *run.targets] for word in ("--fetch", fetch)]
    return written_by(folder, name, words)


def written_by(folder, name, words):
    """(path of the page, answer) of `npu-conformance partition` with these arguments."""
    path = str(folder / f"{name}.html")
    return path, json.loads(run_command("partition", *words, "--html", path, "--format", "json"))


def run_command(*words, status=0):
    """What the command line answers; its status must be this one."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    assert ended.value.code == status
    return out.getvalue()


@pytest.fixture(scope="session")
def browser():
    path = find()
    assert path, "no Chromium: python tests/browser/chromium.py says how to get one"
    with sync_playwright() as playwright:
        # Containers have neither a sandbox nor a graphics card.
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(scope="session", params=PAGES)
def partitioned(request, tmp_path_factory):
    return written(tmp_path_factory.mktemp("pages"), request.param)


@pytest.fixture
def opened(browser, partitioned):
    """The page of a model, freshly opened; it must neither complain nor ask for anything beside itself."""
    yield from open_page(browser, *partitioned)


def open_page(browser, path, answer, **how):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **how)
    page.set_default_timeout(10_000)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url == "file://" + path else complaints.append(asked.url))
    page.goto("file://" + path)
    yield Opened(page, answer, complaints)
    assert complaints == []
    page.close()
