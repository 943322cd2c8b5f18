"""``npu-conformance lsp`` answers an editor over its standard streams."""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading

import pytest

from npu_conformance import cli
from tests.lint.planted import SESSION

pytestmark = pytest.mark.not_oldest

REQUIRED = os.environ.get("NPU_TESTS_EDITORS") == "required"
pygls = pytest.mark.skipif(not REQUIRED and importlib.util.find_spec("pygls") is None, reason="needs the extra lsp")

SECONDS = 60  # for one answer; a slow machine loads the server in two
URI = "file:///nowhere/train%20it.py"
WRONG = SESSION + 'custom_op.parameter_map["mix_compile_mod"].b = True\n'
LINE = SESSION.count("\n")
SAFE = SESSION + 'custom_op.parameter_map["precision_mode"].s = "allow_mix_precision"\n'


class Editor:
    """The client's side: sends messages, and keeps what comes until it is asked for."""

    def __init__(self, *options):
        command = [sys.executable, "-m", "npu_conformance", "lsp", *options]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.come = queue.Queue()
        self.told = collections.deque()
        self.number = 0
        self.reader = threading.Thread(target=self._receive, daemon=True)
        self.reader.start()
        self.able = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
        self.tell("initialized", {})

    def _receive(self):
        while True:
            length = 0
            for line in iter(self.server.stdout.readline, b"\r\n"):
                if not line:
                    self.come.put(None)
                    return
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.come.put(json.loads(self.server.stdout.read(length).decode("utf-8")))

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode("utf-8")
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.server.stdin.flush()

    def _next(self):
        message = self.come.get(timeout=SECONDS)
        assert message is not None, "the server has ended"
        return message

    def tell(self, method, params):
        self._send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self.told.append(message)

    def diagnostics(self):
        """The next that are published."""
        while True:
            message = self.told.popleft() if self.told else self._next()
            if message.get("method") == "textDocument/publishDiagnostics":
                return message["params"]

    def open(self, text, uri=URI):
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics()["diagnostics"]

    def actions(self, wanted, only=None):
        context = {"diagnostics": [], **({"only": only} if only else {})}
        return self.ask("textDocument/codeAction", {"textDocument": {"uri": URI}, "range": wanted, "context": context})

    def hover(self, line, character):
        at = {"line": line, "character": character}
        return self.ask("textDocument/hover", {"textDocument": {"uri": URI}, "position": at})

    def end(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.server.wait(timeout=SECONDS)

    def kill(self):
        self.server.kill()
        self.server.wait()
        self.reader.join()
        self.server.stdin.close()
        self.server.stdout.close()


@pytest.fixture(scope="module")
def serving():
    one = Editor()
    yield one
    one.kill()


@pytest.fixture
def editor(serving):
    """An editor without an open script; starting a server takes a second or more."""
    yield serving
    serving.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert serving.diagnostics()["diagnostics"] == []


def edited(text, edits):
    """A text of characters that all are one unit, with edits made."""
    lines = text.splitlines(True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    spans = []
    for one in edits:
        ends = [starts[end["line"]] + end["character"] for end in (one["range"]["start"], one["range"]["end"])]
        spans.append((*ends, one["newText"]))
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


@pygls
def test_what_is_found_is_told_when_a_script_is_opened_changed_saved_and_closed():
    one = Editor("--docs-url", "https://docs.invalid/lint.html")
    try:
        say_what_is_found(one)
    finally:
        one.kill()


def say_what_is_found(one):
    (found,) = one.open(WRONG)
    assert (found["code"], found["severity"], found["source"]) == ("W101", 2, "npu-conformance")
    assert found["range"] == {
        "start": {"line": LINE, "character": 24},
        "end": {"line": LINE, "character": 24 + len('"mix_compile_mod"')},
    }
    assert found["codeDescription"]["href"] == "https://docs.invalid/lint.html#w101-unknown-option"
    text = {"uri": URI, "version": 2}
    for right in (SESSION, WRONG):  # of changes that follow each other at once, the last is read
        one.tell("textDocument/didChange", {"textDocument": text, "contentChanges": [{"text": right + "\n"}]})
    assert [diagnostic["code"] for diagnostic in one.diagnostics()["diagnostics"]] == ["W101"]
    one.tell("textDocument/didSave", {"textDocument": {"uri": URI}})
    assert len(one.diagnostics()["diagnostics"]) == 1
    one.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert one.diagnostics()["diagnostics"] == []
    assert one.end() == 0


@pygls
def test_an_unsafe_fix_says_so_and_is_not_preferred(editor):
    (found,) = editor.open(WRONG)
    (action,) = editor.actions(found["range"])
    assert action["title"] == "Mend W101 unknown-option (unsafe: may change what the program means)"
    assert (action["kind"], action["isPreferred"]) == ("quickfix", False)
    assert edited(WRONG, action["edit"]["changes"][URI]) == WRONG.replace("mix_compile_mod", "mix_compile_mode")
    assert editor.actions({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}) == []


@pygls
def test_a_safe_fix_is_preferred_and_all_of_them_can_be_made_at_once(editor):
    (found,) = editor.open(SAFE)
    fix, every = editor.actions(found["range"])
    assert (fix["title"], fix["isPreferred"]) == ("Mend E103 text-for-bytes", True)
    assert (every["title"], every["kind"]) == ("Mend all that is safe", "source.fixAll.npuConformance")
    mended = SAFE.replace('"allow_mix_precision"', 'tf.compat.as_bytes("allow_mix_precision")')
    assert edited(SAFE, fix["edit"]["changes"][URI]) == edited(SAFE, every["edit"]["changes"][URI]) == mended
    assert [action["kind"] for action in editor.actions(found["range"], ["source.fixAll"])] == [every["kind"]]
    assert [action["kind"] for action in editor.actions(found["range"], ["quickfix"])] == ["quickfix"]


@pygls
def test_places_are_counted_in_units_of_utf_16_and_lines_as_python_counts_them(editor):
    text = WRONG.replace("custom_op.parameter_map", "x = '\U0001f600\x0c\u2028'; custom_op.parameter_map")
    text = text.replace("\n", "\r\n")
    (found,) = [told for told in editor.open(text) if told["code"] == "W101"]
    before = text.split("\r\n")[LINE].partition('"mix')[0]
    assert found["range"]["start"] == {"line": LINE, "character": len(before.encode("utf-16-le")) // 2}


@pygls
def test_hovering_tells_the_rule_and_the_sentence_of_the_documents(editor):
    editor.open(SESSION + 'custom_op.parameter_map["graph_run_mode"].i = 2\n')
    told = editor.hover(LINE, len('custom_op.parameter_map["gr'))["contents"]["value"]
    assert "**graph\\_run\\_mode**" in told and "E105" not in told
    assert "> Only 0 and 1.\n" in told and "`runconfig.graph_run_mode.domain`" in told
    value = editor.hover(LINE, len('custom_op.parameter_map["graph_run_mode"].i = '))["contents"]["value"]
    assert "**E105 wrong-value** (error)" in value and value.endswith(told.partition("\n\n")[2])
    assert editor.hover(0, 0) is None


@pygls
def test_a_script_that_is_half_written_or_a_notebook_ends_nothing(editor):
    assert [told["code"] for told in editor.open("import npu_bridge\nx = (\n")] == ["E001"]
    assert editor.hover(1, 4) is not None
    notebook = {"uri": "file:///nowhere/train.ipynb", "languageId": "json", "version": 1, "text": "{}"}
    editor.tell("textDocument/didOpen", {"textDocument": notebook})
    at = {"textDocument": {"uri": notebook["uri"]}, "position": {"line": 0, "character": 0}}
    assert editor.ask("textDocument/hover", at) is None


@pygls
def test_it_says_what_it_can_do(serving):
    able = serving.able
    assert able["textDocumentSync"]["change"] == 1 and able["hoverProvider"]
    assert able["codeActionProvider"]["codeActionKinds"] == ["quickfix", "source.fixAll.npuConformance"]


@pytest.mark.parametrize("missing", ["pygls", "lsprotocol"])
def test_without_pygls_it_is_one_line_that_says_what_to_install(missing, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "npu_conformance.lint.server", raising=False)
    for name in [name for name in sys.modules if name.startswith(missing + ".")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit):
        cli.main(["lsp"])
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("error[SYSTEM] pygls 2") and "npu-conformance[lsp]" in said


def test_a_rule_that_does_not_exist_is_refused_before_anything_is_served(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["lsp", "--select", "X9"])
    assert ended.value.code == 2 and "X9" in capsys.readouterr().err
