"""The page that ``%npu`` shows in a notebook works in its frame, and reaches nothing outside of it."""

from __future__ import annotations

import os

import pytest

from npu_conformance import magics

GRAPH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "graphs", "timing")


class Shell:
    """What of IPython's shell registering needs."""

    user_ns = {}

    def register_magic_function(self, function, kind, name):
        self.ask = function


@pytest.mark.parametrize("command", ["partition", "profile"])
def test_its_scripts_run_and_the_notebook_is_out_of_their_reach(browser, command):
    shell = Shell()
    magics.register(shell)
    answer = shell.ask(f"{command} '{os.path.join(GRAPH, 'a_variable.pbtxt')}'")
    page, complaints = browser.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content(f"<!doctype html><title>notebook</title>{answer._repr_html_()}")
    frame = page.frame_locator("iframe")
    assert frame.locator("h1").first.inner_text()
    assert frame.locator("svg, table, button").first.is_visible()
    assert complaints == []
    (inner,) = page.main_frame.child_frames
    reached = inner.evaluate("() => { try { return parent.document.title } catch (error) { return error.name } }")
    assert reached == "SecurityError"
    page.close()
