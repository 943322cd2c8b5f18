"""``npu-conformance lint``: exit statuses, formats, selection, silence, files and folders."""

from __future__ import annotations

import json
import os
import pathlib
import stat

import jsonschema
import pytest

from npu_conformance import cli
from npu_conformance.lint import running
from npu_conformance.lint.registry import LintSettings, rules
from npu_conformance.lint.running import LintTask, files_of, run
from npu_conformance.protocol import schema
from tests.lint.planted import PLANTED, SESSION, STAR
from tests.lint.reading import codes, findings

pytestmark = pytest.mark.oldest_at_night

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRONG = SESSION + 'custom_op.parameter_map["mix_compile_mod"].b = True\n'
RIGHT = SESSION + 'custom_op.parameter_map["mix_compile_mode"].b = True\n'


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """The command in a folder with ``wrong.py`` and ``right.py``: its status, what it prints and says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            cli.main(["lint", *arguments])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return run


def test_a_finding_is_one_line_with_file_line_column_code_and_message(call):
    status, out, err = call("wrong.py")
    line, column = SESSION.count("\n") + 1, len("custom_op.parameter_map[") + 1
    assert status == 1
    assert out.startswith(f"wrong.py:{line}:{column} W101 [!] There is no option mix_compile_mod")
    assert out.count("\n") == 1
    assert err == (
        "1 file read, 1 warning,"
        " 1 [!] can be mended with --unsafe-fixes only, which may change what the program means\n"
    )


def test_nothing_found_is_status_0_and_nothing_on_stdout(call):
    assert call("right.py") == (0, "", "1 file read, nothing found\n")


@pytest.mark.parametrize(
    "arguments",
    [(), ("nowhere.py",), ("--select", "X9", "wrong.py"), ("--explain", "Z1"), ("--format", "xml", "wrong.py"),
     ("--unsafe-fixes", "wrong.py")],
    ids=["no-path", "no-such-path", "no-such-code", "nothing-to-explain", "no-such-format", "no-fix-is-asked-for"],
)
def test_bad_use_is_status_2_and_one_line(call, arguments):
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error[USAGE]") and err.count("\n") == 1


def test_rules_are_selected_and_left_out_by_prefix(call):
    assert call("--select", "W1,E", "wrong.py")[0] == 1
    assert call("--select", "E", "wrong.py")[0] == 0
    assert call("--ignore", "W", "wrong.py")[0] == 0
    assert call("--select", "W", "--ignore", "W101", "wrong.py")[0] == 0


def test_the_diff_shows_what_fix_then_writes(call, tmp_path):
    status, out, _ = call("--diff", "--unsafe-fixes", "wrong.py")
    assert status == 1
    assert '\n-custom_op.parameter_map["mix_compile_mod"].b = True\n' in out
    assert '\n+custom_op.parameter_map["mix_compile_mode"].b = True\n' in out
    assert (tmp_path / "wrong.py").read_text(encoding="utf-8") == WRONG
    assert call("--fix", "--unsafe-fixes", "wrong.py")[0] == 0
    assert (tmp_path / "wrong.py").read_text(encoding="utf-8") == RIGHT
    assert call("--diff", "--unsafe-fixes", "wrong.py") == (0, "", "")


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_mended_file_keeps_its_permissions_and_a_link_stays_one(call, tmp_path):
    (tmp_path / "wrong.py").chmod(0o750)
    (tmp_path / "link.py").symlink_to("wrong.py")
    assert call("--fix", "--unsafe-fixes", "link.py")[0] == 0
    assert (tmp_path / "link.py").is_symlink()
    assert stat.S_IMODE((tmp_path / "wrong.py").stat().st_mode) == 0o750
    assert (tmp_path / "wrong.py").read_text(encoding="utf-8") == RIGHT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "right.py", "wrong.py"]


def test_json_is_valid_against_its_schema(call):
    _, out, _ = call("--format", "json", ".")
    answer, declared = json.loads(out), schema.load("lint")
    assert schema.fault(answer, declared, declared) is None
    assert answer["files"] == 2
    assert [(one["path"], one["code"], one["severity"]) for one in answer["findings"]] == [
        ("wrong.py", "W101", "warning")
    ]


#: What SARIF 2.1.0 requires of what is written here.
SARIF = {
    "definitions": {
        "region": {
            "type": "object",
            "required": ["startLine", "startColumn"],
            "additionalProperties": False,
            "properties": {
                name: {"type": "integer", "minimum": 1} for name in ("startLine", "startColumn", "endLine", "endColumn")
            },
        },
        "fix": {
            "type": "object",
            "required": ["description", "artifactChanges"],
            "additionalProperties": False,
            "properties": {
                "description": {"type": "object", "required": ["text"]},
                "artifactChanges": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["artifactLocation", "replacements"],
                        "additionalProperties": False,
                        "properties": {
                            "artifactLocation": {"required": ["uri"]},
                            "replacements": {
                                "type": "array",
                                "minItems": 1,
                                "items": {
                                    "type": "object",
                                    "required": ["deletedRegion"],
                                    "additionalProperties": False,
                                    "properties": {
                                        "deletedRegion": {"$ref": "#/definitions/region"},
                                        "insertedContent": {"type": "object", "required": ["text"]},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "invocations": {
                        "type": "array",
                        "items": {
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "required": ["message"],
                                        "properties": {
                                            "level": {"enum": ["none", "note", "warning", "error"]},
                                            "message": {"type": "object", "required": ["text"]},
                                        },
                                    },
                                },
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "help"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string", "pattern": "^[A-Z][A-Za-z]*$"},
                                                "fullDescription": {"type": "object", "required": ["text"]},
                                                "help": {"type": "object", "required": ["text", "markdown"]},
                                                "helpUri": {"type": "string", "format": "uri", "pattern": "^https://"},
                                                "shortDescription": {"type": "object", "required": ["text"]},
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "properties": {
                                                        "level": {"enum": ["none", "note", "warning", "error"]}
                                                    },
                                                },
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "level", "locations"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "fixes": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/fix"}},
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {"required": ["uri"]},
                                                    "region": {"$ref": "#/definitions/region"},
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_sarif_has_the_shape_of_its_standard_and_names_every_rule(call, tmp_path):
    (tmp_path / "a b.py").write_text(WRONG, encoding="utf-8")
    status, out, _ = call("--format", "sarif", ".")
    answer = json.loads(out)
    jsonschema.validate(answer, SARIF)
    driver, results = answer["runs"][0]["tool"]["driver"], answer["runs"][0]["results"]
    assert status == 1
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in rules()]
    assert (
        [driver["rules"][one["ruleIndex"]]["id"] for one in results]
        == [one["ruleId"] for one in results]
        == ["W101"] * 2
    )
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.py"
    assert all(rule["help"]["markdown"].startswith(rule["shortDescription"]["text"]) for rule in driver["rules"])
    assert not any("helpUri" in rule for rule in driver["rules"])  # the pages have no address of their own


def test_sarif_links_every_rule_to_its_heading_on_the_page_of_rules(call):
    answer = json.loads(call("--format", "sarif", "--docs-url", "https://docs.invalid/lint.html", "wrong.py")[1])
    jsonschema.validate(answer, SARIF)
    page = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    for rule in answer["runs"][0]["tool"]["driver"]["rules"]:
        address, _, anchor = rule["helpUri"].partition("#")
        assert address == "https://docs.invalid/lint.html"
        assert f"](#{anchor})" in page and f"\n## {rule['id']} {anchor.partition('-')[2]}\n" in page


def test_sarif_says_how_each_finding_is_mended_and_whether_that_is_safe(call, tmp_path):
    safe = SESSION + 'custom_op.parameter_map["precision_mode"].s = "allow_mix_precision"'  # no line end
    (tmp_path / "safe.py").write_bytes(safe.replace("\n", "\r\n").encode("utf-8"))
    answer = json.loads(call("--format", "sarif", "safe.py", "wrong.py")[1])
    jsonschema.validate(answer, SARIF)
    (first,), (second,) = (one["fixes"] for one in answer["runs"][0]["results"])
    assert first["description"]["text"] == "Safe fix."
    assert second["description"]["text"].startswith("Unsafe fix")
    (change,) = first["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "safe.py"
    line, column = SESSION.count("\n") + 1, len('custom_op.parameter_map["precision_mode"].s = ') + 1
    end = column + len('"allow_mix_precision"')
    assert change["replacements"] == [{
        "deletedRegion": {"startLine": line, "startColumn": column, "endLine": line, "endColumn": end},
        "insertedContent": {"text": 'tf.compat.as_bytes("allow_mix_precision")'},
    }]  # fmt: skip


def test_github_gets_a_command_a_line_with_its_characters_escaped(call, tmp_path):
    (tmp_path / "a,b.py").write_text(WRONG, encoding="utf-8")
    _, out, _ = call("--format", "github", "a,b.py")
    assert out.startswith("::warning file=a%2Cb.py,line=7,col=25,title=W101::There is no option mix_compile_mod")
    assert out.count("\n") == 1


def test_statistics_count_codes(call):
    assert call("--statistics", "wrong.py", "right.py")[1] == "1 W101 unknown-option\n"


def test_list_and_explain_need_no_path(call):
    status, out, _ = call("--list")
    assert status == 0
    assert [line.split(" ")[0] for line in out.splitlines()] == [rule.code for rule in rules()]
    for rule in rules():
        status, out, _ = call("--explain", rule.code)
        assert status == 0 and rule.summary in out


def test_the_edition_chooses_the_documents(call, tmp_path):
    (tmp_path / "fp16.py").write_text(
        STAR + "c = NPURunConfig(precision_mode='allow_mix_precision_fp16')\n", encoding="utf-8"
    )
    assert call("fp16.py")[0] == 0
    status, out, _ = call("--edition", "legacy", "fp16.py")
    assert status == 1 and "E109" in out and "The current edition takes it." in out


@pytest.mark.parametrize(
    "comment, silenced",
    [
        ("# npu: ignore", True),
        ("#npu:ignore[W101]", True),
        ("# why # npu: ignore[E, W]", True),
        ("# npu: ignore[W2]", False),
        ("# npu: ignore[]", False),
        ("# npu: ignored", False),
    ],
)
def test_a_comment_silences_its_line(comment, silenced):
    text = SESSION + f'custom_op.parameter_map["mix_compile_mod"].b = True  {comment}\n'
    assert (codes(text) == []) == silenced


def test_a_comment_silences_its_file_and_a_text_like_one_does_not():
    assert codes("# npu: ignore-file[W1]\n" + WRONG) == []
    assert codes("# npu: ignore-file[E]\n" + WRONG) != []
    assert codes("x = '# npu: ignore-file'\n" + WRONG) != []


def test_a_folder_is_read_without_environments_and_hidden_folders(tmp_path):
    for name in ("b.py", "a/z.py", "a/b/c.py", ".git/x.py", "venv/y.py", "a/__pycache__/m.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    found = [os.path.relpath(path, str(tmp_path)) for path in files_of([str(tmp_path), str(tmp_path / "b.py")])]
    assert found == ["b.py", "a/z.py", "a/b/c.py"]


def test_a_named_file_that_is_no_python_is_skipped_and_told_and_one_in_a_folder_is_not(call, tmp_path):
    (tmp_path / "model.pb").write_bytes(b"\x0a\x05NpuOp\xff\x00")
    (tmp_path / "notes").write_text("see npu_bridge, then:\n", encoding="utf-8")
    status, out, err = call("model.pb", "notes", "right.py")
    assert status == 0 and out == ""
    told = [line.split(":")[0] for line in err.splitlines() if "it is no Python source" in line]
    assert told == ["skipped model.pb", "skipped notes"] and err.count("model.pb") == 1
    assert "1 file read, nothing found" in err
    assert "skipped" not in call(".")[2]
    answer = json.loads(call("--format", "json", "model.pb")[1])
    assert answer["files"] == 0 and [one["path"] for one in answer["skipped"]] == ["model.pb"]


def test_a_named_file_that_is_python_by_its_text_is_read_whatever_its_name(call, tmp_path):
    (tmp_path / "train").write_text(WRONG, encoding="utf-8")
    assert call("train")[0] == 1
    (tmp_path / "old").write_text("#!/usr/bin/env python\nimport npu_bridge\nexec 'x' in {}\n", encoding="utf-8")
    status, out, err = call("old")
    assert status == 1 and "E001" in out and "skipped" not in err


def test_many_processes_answer_what_one_does_in_the_same_order(tmp_path):
    for number, planted in enumerate(PLANTED):
        (tmp_path / f"{number:03}.py").write_text(planted.text, encoding="utf-8")
    files = files_of([str(tmp_path)])
    task = LintTask(tuple(rule.code for rule in rules()), LintSettings())
    one = list(run(files, task, 1))
    assert list(run(files, task, 2)) == one
    assert [answer.path for answer in one] == files


def test_a_file_in_which_nothing_can_be_found_is_not_parsed(monkeypatch):
    parsed = []
    monkeypatch.setattr(running, "Source", lambda path, data: parsed.append(path))
    for text in (
        "import torch\nx = torch.nn.Dropout(0.5)\n",
        "import tensorflow as tf\nx = tf.constant(1)\n",
        "print 'x'\n",
    ):
        assert findings(text) == ()
    assert parsed == []


@pytest.mark.parametrize(
    "data, code",
    [
        (b"# coding: utf-8\nimport npu_bridge\nx = '\xff'\n", "E002"),
        (b"# coding: klingon\nimport npu_bridge\n", "E002"),
        (b"import npu_bridge\x00\n", "E001"),
        (b"import npu_bridge\nx = " + b"(" * 5000 + b")" * 5000 + b"\n", "E001"),
        (b"import npu_bridge\nx = " + b"-" * 20000 + b"1\n", "E001"),
        (b"import npu_bridge\nx = '''\n", "E001"),
        (b"import npu_bridge\nexec 'x' in {}\n", "E001"),
    ],
    ids=["bytes", "cookie", "nul", "brackets", "signs", "open-text", "python-2"],
)
def test_a_file_that_cannot_be_read_is_one_finding(data, code):
    assert [one.code for one in findings(data)] == [code]


def test_an_unreadable_path_is_a_finding_of_its_own(tmp_path):
    task = LintTask(tuple(rule.code for rule in rules()), LintSettings())
    (answer,) = run([str(tmp_path / "gone.py")], task)
    assert [one.code for one in answer.findings] == ["E002"]


def test_a_configuration_file_beside_the_script_is_read(tmp_path):
    text = SESSION + (
        'custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")\n'
        'custom_op.parameter_map["modify_mixlist"].s = tf.compat.as_bytes("lists/mix.json")\n'
    )
    path = tmp_path / "train.py"
    assert codes(text, path=str(path)) == []  # the file may be on the device's machine
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "mix.json").write_text("{broken", encoding="utf-8")
    assert codes(text, path=str(path)) == [(8, "E108")]
    (tmp_path / "lists" / "mix.json").write_text('{"black-list": {"to-add": ["MatMul"]}}', encoding="utf-8")
    assert [code for _, code in codes(text, path=str(path))] in ([], ["W106"])


def test_directories_on_the_devices_machine_are_not_looked_for():
    assert codes(SESSION + (
        'custom_op.parameter_map["enable_dump"].b = True\n'
        'custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/home/nobody/dump")\n'
        'custom_op.parameter_map["profiling_mode"].b = True\n'
        'custom_op.parameter_map["profiling_options"].s = b\'{"output":"/home/p","task_trace":"on"}\'\n'
    )) == []  # fmt: skip


def test_the_hook_of_pre_commit_runs_this_command():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "entry: npu-conformance lint\n" in text and "types_or: [python, jupyter]" in text


def test_linting_loads_no_tensorflow_and_no_numpy():
    import subprocess
    import sys

    program = (
        "import sys\nfrom npu_conformance.lint.registry import LintSettings, rules\n"
        "from npu_conformance.lint.running import LintTask, check_text\n"
        "check_text('x.py', b'from npu_bridge.npu_init import *\\nc = NPURunConfig(a=1)\\n',\n"
        "           LintTask(tuple(r.code for r in rules()), LintSettings()))\n"
        "heavy = {'tensorflow', 'numpy', 'npu_bridge'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
