"""``%npu`` shows pages below the cells of a notebook."""

from __future__ import annotations

import html
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from npu_reference.graphs.proto import message_class

pytestmark = pytest.mark.not_oldest

REQUIRED = os.environ.get("NPU_TESTS_EDITORS") == "required"
ipython = pytest.mark.skipif(not REQUIRED and importlib.util.find_spec("IPython") is None, reason="needs IPython")

GRAPH = sorted((pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "graphs" / "timing").glob("*.pbtxt"))[0]


@pytest.fixture(scope="module")
def interactive(tmp_path_factory):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))
    settings = Config()
    settings.HistoryManager.enabled = False
    made = InteractiveShell(config=settings)
    made.run_line_magic("load_ext", "npu_conformance")
    return made


@pytest.fixture
def shell(interactive, capsys):
    """Runs a cell; answers its value, what it printed, and what it said."""

    def run(cell, **names):
        interactive.user_ns.update(names)
        result = interactive.run_cell(cell)
        result.raise_error()
        printed = capsys.readouterr()
        return result.result, printed.out, printed.err

    return run


def page(answer):
    """The page in the frame that a notebook shows."""
    frame = re.fullmatch(r'<iframe title="[^"<>]*" sandbox="([^"]*)" srcdoc="([^"]*)" style="[^"<>]*"></iframe>',
                         answer._repr_html_())  # fmt: skip
    assert frame.group(1) == "allow-scripts"  # nothing of the notebook's own origin
    return html.unescape(frame.group(2))


@ipython
@pytest.mark.parametrize("command", ["partition", "precision", "profile"])
def test_a_question_about_a_file_is_answered_by_its_page_in_a_frame(command, shell):
    answer, _, err = shell(f"%npu {command} '{GRAPH}'")
    whole = page(answer)
    assert whole.startswith("<!doctype html>") and "Content-Security-Policy" in whole and err == ""
    assert GRAPH.name in repr(answer) or "GEOP" in repr(answer)


@ipython
def test_lines_of_a_cell_are_options(shell):
    cell = f"%%npu partition '{GRAPH}'\n# mixed computing\nmix_compile_mode=True\n\nprecision_mode=force_fp16\n"
    assert "force_fp16" in page(shell(cell)[0])
    _, out, err = shell("%%npu options --strict\nhccl_timeout=600\nhcll=1")
    assert "hccl_timeout" in out and "--strict" in err


@ipython
def test_a_graph_may_be_a_variable(shell):
    class Graph:
        def as_graph_def(self):
            made = message_class("GraphDef")()
            made.node.add(name="of_a_variable", op="NoOp")
            return made

    for value in (Graph(), Graph().as_graph_def()):
        assert "of_a_variable" in page(shell("%npu partition my_graph", my_graph=value)[0])


@ipython
def test_what_is_asked_for_as_text_or_json_is_printed(shell):
    answer, out, _ = shell(f"%npu partition '{GRAPH}' --format json")
    assert answer is None and out.startswith("{")
    answer, out, _ = shell("%npu explain A19")
    assert answer is None and "A19" in out


@ipython
def test_a_demand_that_is_not_met_is_told_beside_the_page(shell):
    answer, out, _ = shell(f"%npu partition '{GRAPH}' --max-geops 0")
    assert page(answer) and "max-geops" in out.replace("_", "-").lower()


@ipython
@pytest.mark.parametrize(
    "line, said",
    [("", "no command is named"), ("simulate x.py", "'simulate' is not one"), ("partition 'x", "cannot be read"),
     ("profile train.py", "scripts are not run"), ("partition nowhere.pb", "nowhere.pb"), ("partition", "GRAPH"),
     ("options x", "no assignment")],
)  # fmt: skip
def test_what_cannot_be_answered_is_one_line(line, said, shell):
    answer, out, err = shell(f"%npu {line}")
    assert (answer, out) == (None, "") and err.startswith("error[") and err.count("\n") == 1 and said in err


@ipython
def test_an_answer_leaves_no_file(shell, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert page(shell(f"%npu partition '{GRAPH}'")[0])
    assert not list(tmp_path.iterdir())


def test_importing_the_package_loads_nothing_for_notebooks():
    program = (
        "import sys, npu_conformance\n"
        "ours = sorted(name for name in sys.modules if name.startswith(('npu_', 'IPython', 'click', 'rich')))\n"
        "assert ours == ['npu_conformance'], ours\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
