"""A language server: what lint finds in an open script, how it is mended, and what stands behind it.

Needs pygls 2, which is imported with this module. Positions of the protocol count lines from 0, and characters in the
units that client and server agree on; everything else here counts as lint does.
"""

from __future__ import annotations

import ast
import asyncio
import io
import re
import tokenize
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer

import npu_reference
from npu_conformance.library import citing
from npu_conformance.lint.checking import problems
from npu_conformance.lint.configs import configs
from npu_conformance.lint.finding import Finding, Replacement
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintSettings, Rule, anchor
from npu_conformance.lint.rendering import markdown
from npu_conformance.lint.running import LintTask, check_text
from npu_conformance.lint.source import Source, Unreadable
from npu_reference import notebooks
from npu_reference.options import OPTIONS

__all__ = ["server"]

SOURCE = "npu-conformance"

#: The kind of action that makes every safe fix of a file at once.
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.npuConformance"

#: Seconds without a change after which a changed script is read (assumed).
_QUIET = 0.15

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "suggestion": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}

#: What is underlined: a text or a name with its dots, or a single character.
_WORD = re.compile(r"""[bBrRuUfF]{0,2}(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|[\w.]+|.""")


class _Text:
    """An open script as it is in the editor; lines are those of Python and of the protocol."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.lines = io.StringIO(text, newline="").readlines() or [""]
        self._encoding = encoding

    @property
    def end(self) -> types.Position:
        return self.position(len(self.lines) + 1, 1)

    @property
    def data(self) -> bytes:
        """The bytes that the editor would write: in the encoding that the script names, if it can hold the text."""
        data = self.text.encode("utf-8", "replace")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return self.text.encode(encoding)
        except (SyntaxError, LookupError, UnicodeError):
            return data

    def position(self, line: int, column: int) -> types.Position:
        """The position of a line and column that count from 1, at most that of the end."""
        if line > len(self.lines):
            last = self.lines[-1]
            if last.endswith(("\n", "\r")):
                return types.Position(len(self.lines), 0)
            line, column = len(self.lines), len(last) + 1
        return types.Position(line - 1, self._units(self.lines[line - 1][: column - 1]))

    def column(self, position: types.Position) -> int:
        """The column from 1 of a position in its line."""
        line = self.lines[position.line] if position.line < len(self.lines) else ""
        units, column = 0, 1
        for character in line:
            if units >= position.character:
                break
            units += self._units(character)
            column += 1
        return column

    def _units(self, text: str) -> int:
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) if self._encoding == "utf-32" else len(text.encode("utf-16-le", "surrogatepass")) // 2

    def word(self, line: int, column: int) -> types.Range:
        """The range of the word at a place."""
        here = self.lines[line - 1] if line <= len(self.lines) else ""
        found = _WORD.match(here, column - 1)
        end = found.end() + 1 if found else column
        return types.Range(self.position(line, column), self.position(line, end))

    def edit(self, one: Replacement) -> types.TextEdit:
        ends = self.position(one.line, one.column), self.position(one.end_line, one.end_column)
        return types.TextEdit(types.Range(*ends), one.text)


class _Read(NamedTuple):
    """What was found in one version of a script."""

    version: Optional[int]
    text: _Text
    findings: Sequence[Finding]
    diagnostics: Sequence[types.Diagnostic]


class _Lint:
    """The scripts that are open, and what is said of them."""

    def __init__(self, pygls: Any, rules: Sequence[Rule], settings: LintSettings, docs: str) -> None:
        self._server = pygls
        self._rules = {rule.code: rule for rule in rules}
        self._task = LintTask(tuple(self._rules), settings, spell=True)
        self._docs = docs
        self._read: Dict[str, _Read] = {}
        self._waiting: Dict[str, asyncio.TimerHandle] = {}

    # -- reading ------------------------------------------------------------------------------------------------------
    def now(self, uri: str) -> Optional[_Read]:
        """What is found in a script as it is now, told to the client if that is new; None for what is no script."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if not _is_script(uri):
            return None
        document = self._server.workspace.get_text_document(uri)
        before = self._read.get(uri)
        if before is not None and before.version == document.version and before.text.text == document.source:
            return before
        encoding = self._server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        text = _Text(document.source, getattr(encoding, "value", str(encoding)))
        findings = check_text(self._path(uri), text.data, self._task).findings
        found = _Read(document.version, text, findings, [self._diagnostic(text, one) for one in findings])
        self._read[uri] = found
        self._publish(uri, found.diagnostics, found.version)
        return found

    def soon(self, uri: str) -> None:
        """Read a script once it has not changed for a moment."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(_QUIET, self.now, uri)

    def again(self, uri: str) -> None:
        """Read a script though it has not changed: files that it names may have."""
        self._read.pop(uri, None)
        self.now(uri)

    def forget(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if self._read.pop(uri, None) is not None:
            self._publish(uri, [], None)

    def _publish(self, uri: str, diagnostics: Sequence[types.Diagnostic], version: Optional[int]) -> None:
        told = types.PublishDiagnosticsParams(uri, list(diagnostics), version)
        self._server.text_document_publish_diagnostics(told)

    def _diagnostic(self, text: _Text, one: Finding) -> types.Diagnostic:
        rule = self._rules.get(one.code)
        link = types.CodeDescription(f"{self._docs}#{anchor(rule)}") if self._docs and rule else None
        return types.Diagnostic(
            range=text.word(one.line, one.column),
            severity=_SEVERITIES[one.severity],
            code=one.code,
            code_description=link,
            source=SOURCE,
            message=one.message,
        )

    # -- mending ------------------------------------------------------------------------------------------------------
    def actions(self, params: types.CodeActionParams) -> List[types.CodeAction]:
        """The fixes of what is found in a range; safe ones first, and all safe ones of the file at once."""
        uri = params.text_document.uri
        found = self.now(uri)
        if found is None:
            return []
        only = params.context.only
        made: List[types.CodeAction] = []
        if _asked(only, types.CodeActionKind.QuickFix):
            pairs = [
                (finding, told)
                for finding, told in zip(found.findings, found.diagnostics)
                if finding.replacements and _overlap(told.range, params.range)
            ]
            for finding, told in sorted(pairs, key=lambda pair: pair[0].unsafe):
                made.append(self._fix(uri, found, finding, told))
        if _asked(only, FIX_ALL):
            mended = check_text(self._path(uri), found.text.data, self._task._replace(mend=True, spell=False)).after
            if mended is not None:
                whole = types.Range(types.Position(0, 0), found.text.end)
                edit = types.TextEdit(whole, Source(uri, mended).text)
                made.append(types.CodeAction("Mend all that is safe", FIX_ALL, edit=_in(uri, [edit])))
        return made

    def _fix(self, uri: str, found: _Read, finding: Finding, told: types.Diagnostic) -> types.CodeAction:
        title = f"Mend {finding.code} {self._rules[finding.code].name}"
        if finding.unsafe:
            title += " (unsafe: may change what the program means)"
        return types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[told],
            is_preferred=not finding.unsafe,
            edit=_in(uri, [found.text.edit(one) for one in finding.replacements]),
        )

    # -- telling ------------------------------------------------------------------------------------------------------
    def hover(self, params: types.HoverParams) -> Optional[types.Hover]:
        """What is behind the findings at a position, and what the documents say of the option there."""
        found = self.now(params.text_document.uri)
        if found is None:
            return None
        at = params.position
        parts: List[str] = []
        where: Optional[types.Range] = None
        for finding, told in zip(found.findings, found.diagnostics):
            if _overlap(told.range, types.Range(at, at)):
                parts += self._told(finding)
                where = where or told.range
        column = found.text.column(at)
        for words in _of_options(self._path(params.text_document.uri), found.text, at.line + 1, column, self._task):
            parts += [part for part in words if part not in parts]
        if not parts:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts)), where)

    def _told(self, finding: Finding) -> List[str]:
        rule = self._rules.get(finding.code)
        if rule is None:
            return [f"**{finding.code}**", _escaped(finding.message)]
        name = f"{rule.code} {rule.name}"
        link = f"[{name}]({self._docs}#{anchor(rule)})" if self._docs else f"**{name}**"
        told = markdown(rule).partition("Found in:")[0].strip()
        return [f"{link} ({finding.severity})", _escaped(finding.message), told]

    def _path(self, uri: str) -> str:
        return self._server.workspace.get_text_document(uri).path or uri


def _of_options(path: str, text: _Text, line: int, column: int, task: LintTask) -> Iterator[List[str]]:
    """Of every option written at a place: what it is, and the sentence of the documents behind it."""
    try:
        source = Source(path, text.data)
        module = Module(source)
        given = [(config, one) for config in configs(module) for one in config.given]
        wrong = problems(module, task.settings.edition)
    except (Unreadable, RecursionError):
        return
    told = set()
    for config, one in given:
        if one.copied or not any(_holds(source, node, line, column) for node in (one.key, one.value)):
            continue
        codes = [problem.code for problem in wrong if problem.given is one] or ["OPTION_VALUE"]
        option = OPTIONS.get(one.name)
        if option is not None and one.name not in told:
            told.add(one.name)
            unit = f" Unit: {option.unit}." if option.unit else ""
            yield [f"**{_escaped(one.name)}** {_escaped(option.meaning)}{unit}"]
        for code in codes:
            cited = citing.cite(code, one.name, "", config.surface, task.settings.edition)
            if cited.sentence:
                yield [f"> {_escaped(cited.sentence)}\n>\n> {_escaped(cited.where)} (`{cited.requirement}`)"]


def _holds(source: Source, node: Any, line: int, column: int) -> bool:
    """Whether a place is in a node, or at its end; of a keyword, in its name and value."""
    if not isinstance(node, (ast.expr, ast.keyword)) or node.end_lineno is None or node.end_col_offset is None:
        return False
    start = node.lineno, source.column(node.lineno, node.col_offset)
    end = node.end_lineno, source.column(node.end_lineno, node.end_col_offset)
    return start <= (line, column) <= end


def _escaped(text: str) -> str:
    """A text as Markdown shows it: no mark-up, link or HTML of a script's own."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", text)


def _asked(only: Optional[Sequence[Any]], kind: Any) -> bool:
    """Whether a client wants actions of a kind; one that names no kinds wants all."""
    name = getattr(kind, "value", kind)
    wanted = [getattr(one, "value", one) for one in only or ()]
    return not wanted or any(name == one or name.startswith(f"{one}.") for one in wanted)


def _overlap(one: types.Range, other: types.Range) -> bool:
    """Whether ranges touch."""
    return one.start <= other.end and other.start <= one.end


def _in(uri: str, edits: List[types.TextEdit]) -> types.WorkspaceEdit:
    return types.WorkspaceEdit(changes={uri: edits})


def _is_script(uri: str) -> bool:
    """Whether a document is a script; cells of notebooks are none, since lint reads all cells of one together."""
    return not uri.startswith("vscode-notebook-cell:") and not uri.endswith(notebooks.SUFFIX)


def server(rules: Sequence[Rule], settings: LintSettings, docs: str = "") -> LanguageServer:
    """A server that speaks to one client, over ``start_io``.

    Args:
        rules: those that read a script.
        docs: address of the page of rules, to which diagnostics link; empty for none.
    """
    # The whole text with each change: pygls counts lines otherwise than Python does where it applies parts.
    made = LanguageServer(SOURCE, npu_reference.__version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    lint = _Lint(made, rules, settings, docs)

    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        lint.again(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        lint.soon(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        lint.again(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        lint.forget(params.text_document.uri)

    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL])

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def acted(params: types.CodeActionParams) -> List[types.CodeAction]:
        return lint.actions(params)

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> Optional[types.Hover]:
        return lint.hover(params)

    return made
