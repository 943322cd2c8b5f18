"""Notebooks are read cell by cell: places are those of the cells, and mending changes nothing but their code."""

from __future__ import annotations

import json

import pytest

from npu_conformance import cli
from npu_conformance.lint.running import files_of
from npu_conformance.protocol import schema
from npu_reference import notebooks
from tests.lint.notebook import TEXT, notebook
from tests.lint.planted import SESSION, STAR
from tests.lint.reading import answer

NAME = "train.ipynb"
KEY = 'custom_op.parameter_map["mix_compile_mod"].b = True'
ENTRY = SESSION.replace(STAR, "")


def places(data, **more):
    return [(one.cell, one.line, one.code) for one in answer(data, path=NAME, **more).findings]


def fixed(data):
    """The notebook after mending, which lint reads again without a finding that could be mended."""
    found = answer(data, path=NAME, mend=True)
    return data if found.after is None else found.after


def test_code_of_all_cells_is_one_script_and_findings_are_placed_by_cell_and_line():
    data = notebook(STAR, TEXT, ENTRY, "x = 1\n\n" + KEY, "npu_scope.keep_dtype_scope()\n")
    assert places(data) == [(4, 3, "W101"), (5, 1, "E301")]
    one = answer(data, path=NAME).findings[0]
    assert str(one).startswith("train.ipynb:cell 4:3:25 W101 There is no option mix_compile_mod")
    assert one.to_json()["cell"] == 4
    assert "mix_compile_mod" in data.decode("utf-8").splitlines()[one.file_line - 1]


IPYTHON = [
    "%matplotlib inline\n",
    "!pip install x \\\n   y\n",
    "?print\n",
    "print?\n",
    "tf.Session??\n",
    "files = !ls\n",
    "a, b = %timeit 1\n",
    "if x:\n    %load_ext y\n    !ls\nelse:\n\t%reset\n",
    "%%time\nx = 1\n",
    "\n%%capture out\nx = 1\n",
    "%%bash\nif [ -f x ]; then (; fi\n",
    "%%writefile a.py\nnpu_confg_proto(\n",
    "%%html\n<b>'\n",
    "%%\n",
]


@pytest.mark.parametrize("text", IPYTHON, ids=range(len(IPYTHON)))
def test_what_only_ipython_reads_is_ignored_and_lines_are_counted_with_it(text):
    found = places(notebook(STAR, text + "npu_confg_proto()\n", "npu_confg_proto()"))
    left_out = text.startswith("%%") and not text.startswith("%%time")
    assert found == [*([] if left_out else [(2, text.count("\n") + 1, "E202")]), (3, 1, "E202")]


PYTHON = [
    "x = ('%d'\n     % 3)\n",
    "x = '''\n%matplotlib\n!ls\n'''\n",
    "x = 7 \\\n  % 3\n",
    "x = [1,  # (\n  2\n  % 3]\n",
    "x = 1 != 2\nx %= 3\n",
]


@pytest.mark.parametrize("text", PYTHON, ids=range(len(PYTHON)))
def test_what_python_reads_is_left_to_it(text):
    read = notebooks.read(notebook(text))
    assert read.ignored == 0 and text in read.text


def test_a_magic_behind_texts_with_brackets_is_one():
    assert notebooks.read(notebook("x = r'\\' + \"(\\\"\"\n%time\n")).ignored == 1


def test_a_cell_that_is_no_python_costs_itself_only():
    data = notebook(STAR, "x = (\n", "for\n", "npu_confg_proto()\n")
    assert [(cell, code) for cell, _, code in places(data)] == [(2, "E001"), (3, "E001"), (4, "E202")]


BROKEN = {
    "no JSON": b'{"cells": [',
    "no notebook": b'{"a": []}\n',
    "a list": b"[]",
    "a key twice": b'{"cells": [], "cells": []}',
    "another format": b'{"worksheets": [], "nbformat": 3}',
    "no UTF-8": b'{"cells": ["\xff"]}',
    "nested": b'{"cells": ' + b"[" * 200000 + b"]" * 200000 + b"}",
    "a source that is a number": b'{"cells": [{"cell_type": "code", "source": 3}]}',
    "half a character": b'{"cells": [{"cell_type": "code", "source": "import npu_bridge # \\ud800"}]}',
}


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: name.replace(" ", "-"))
def test_what_is_no_notebook_is_one_finding(name):
    (one,) = answer(BROKEN[name], path=NAME).findings
    assert (one.code, one.line, one.cell) == ("E002", 1, 0) and one.message


def test_a_notebook_larger_than_the_bound_is_not_read(monkeypatch):
    monkeypatch.setattr(notebooks, "LARGEST", 100)
    (one,) = answer(notebook(STAR * 9), path=NAME).findings
    assert one.code == "E002" and "more than 100 bytes" in one.message


def test_odd_cells_are_read():
    data = notebook(STAR, source=None)
    whole = json.loads(data)
    whole["cells"] += [{"cell_type": "raw"}, "text", {"cell_type": "code"}, {"cell_type": "code", "source": ""},
                       {"cell_type": "code", "source": "npu_confg_proto()"}]  # fmt: skip
    assert places(json.dumps(whole).encode()) == [(6, 1, "E202")]


def test_a_notebook_of_another_language_is_skipped():
    found = answer(notebook("library(x)\n# npu_bridge", language="R"), path=NAME)
    assert found.findings == () and found.skipped == "It is a notebook of r."


@pytest.mark.parametrize("indent", [1, 4, None])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_mending_changes_the_line_and_no_other_byte(indent, ascii_only):
    before = (STAR, TEXT, "%time\n" + ENTRY + "!ls\n", f"s = 'é\u2028'  # \\ \"\n{KEY}")
    after = tuple(text if text is TEXT else text.replace("mod\"]", "mode\"]") for text in before)
    data = notebook(*before, indent=indent, ascii_only=ascii_only)
    # Jupyter writes 1e-05 and empty lists so, and json would write them otherwise.
    odd = data.replace(b'"nbformat": 4', b'"nbformat":4, "x": [ ], "y": 1.0e-5')
    assert fixed(odd) == notebook(*after, indent=indent, ascii_only=ascii_only).replace(
        b'"nbformat": 4', b'"nbformat":4, "x": [ ], "y": 1.0e-5'
    )


def test_a_source_that_is_one_text_stays_one_and_a_mark_stays():
    data = b"\xef\xbb\xbf" + json.dumps({"cells": [{"source": SESSION + KEY, "cell_type": "code"}]}).encode()
    assert fixed(data) == data.replace(b"mix_compile_mod", b"mix_compile_mode")


def test_lines_that_mending_adds_go_into_the_cell_in_which_they_belong():
    first = "!pip install tensorflow\nimport tensorflow as tf"
    data = notebook(first, TEXT, "config = tf.ConfigProto()", "sess = tf.Session(config=config)\n")
    whole = json.loads(fixed(data))
    assert "".join(whole["cells"][0]["source"]) == (
        "!pip install tensorflow\nimport tensorflow as tf\nfrom npu_bridge.npu_init import *"
    )
    added = "".join(whole["cells"][2]["source"])
    assert added.startswith("config = tf.ConfigProto()\ncustom_op = ") and not added.endswith("\n")
    assert whole["cells"][3] == json.loads(data)["cells"][3]
    (one,) = [one for one in answer(data, path=NAME).findings if one.code == "S401"]
    assert "Add at the end of cell 3: custom_op" in one.message


def test_a_comment_of_the_user_that_looks_like_ours_is_never_mixed_up():
    data = notebook("# npu-conformance: cell 1\n" + ENTRY + KEY)
    found = answer(data, path=NAME, mend=True)
    assert found.after is None and "E003" in {one.code for one in found.findings}


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_bytes(notebook(STAR, ENTRY + KEY + "\n"))
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / NAME).write_bytes(notebook(STAR, ENTRY + KEY + "\n"))

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            cli.main(["lint", *arguments])
        return int(caught.value.code or 0), capsys.readouterr().out

    return run


def test_the_command_reads_notebooks_below_folders_in_every_format(call, tmp_path):
    assert [path[-len(NAME) :] for path in files_of([str(tmp_path)])] == [NAME]
    assert call(".")[1].startswith("train.ipynb:cell 2:6:25 W101 [!] ")
    answered, declared = json.loads(call("--format", "json", ".")[1]), schema.load("lint")
    assert schema.fault(answered, declared, declared) is None and answered["findings"][0]["cell"] == 2
    line = next(n for n, text in enumerate((tmp_path / NAME).read_text().splitlines(), 1) if "compile_mod" in text)
    told = call("--format", "github", ".")[1]
    assert told.startswith(f"::warning file=train.ipynb,line={line},col=1,title=W101::cell 2, line 6: ")
    (result,) = json.loads(call("--format", "sarif", ".")[1])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line, "startColumn": 1}
    assert result["message"]["text"].startswith("cell 2, line 6: ")


def test_the_diff_of_a_notebook_is_one_line_of_its_file(call, tmp_path):
    before = (tmp_path / NAME).read_bytes()
    status, out = call("--diff", "--unsafe-fixes", ".")
    changed = [line for line in out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert status == 1 and len(changed) == 2 and "mix_compile_mode" in changed[1]
    assert call("--fix", "--unsafe-fixes", ".") == (0, "")
    assert (tmp_path / NAME).read_bytes() == before.replace(b"mix_compile_mod", b"mix_compile_mode")
