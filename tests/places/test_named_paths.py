"""Every option or variable that names a directory or a file, with a path in each of the conditions that it may be in.

A path that is missing, full, a pipe or not readable must give one clear error, must leave nothing half written, and
must touch nothing outside. OUTCOMES declares what becomes of each option in each condition; `tests/places/naming.py`
tries all of them in a process of its own, which may write only to its own folders.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import pytest

if os.name != "posix":
    pytest.skip("users, links and limits of POSIX", allow_module_level=True)

from npu_reference.options import OPTIONS
from npu_reference.options.domains import Path
from tests.places.naming import CONDITIONS, DIRECTORIES, FILES

pytestmark = pytest.mark.oldest_at_night

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

#: Directories that are made where they are missing, and those that must be there; how each refuses to write.
MADE = ("debug_dir", "op_compiler_cache_dir", "ASCEND_CACHE_PATH")
NEEDED = ("dump_path", "ASCEND_WORK_PATH", "profiling_options", "work_path")
CACHES = ("op_compiler_cache_dir", "ASCEND_CACHE_PATH")
#: Their characters are restricted by the documents (A3).
NARROW = ("op_compiler_cache_dir", "fusion_switch_file")
#: Of the environment: text that is no UTF-8 is a path like any other.
VARIABLES = ("ASCEND_CACHE_PATH", "ASCEND_WORK_PATH", "NPU_COLLECT_PATH")

TAKEN = ""


def _all(outcome):
    return dict.fromkeys([*DIRECTORIES, *FILES], outcome)


def _refused(**more):
    """What is no place to write to: refused as options are read where it must be there, else as it is written to."""
    found = {**_all("OPTION_FILE"), **dict.fromkeys(MADE, "FILES_LEFT"), "NPU_COLLECT_PATH": "OUTPUT"}
    return {**found, **more}


def _named(restricted):
    return {**_all(TAKEN), **dict.fromkeys(NARROW, restricted)}


#: Kernel files come first, so that a full disk shows there; a full cache keeps nobody from compiling (C14).
_FULL = {
    **_all(TAKEN), "dump_path": "OUTPUT", "debug_dir": "FILES_LEFT", "ASCEND_WORK_PATH": "FILES_LEFT",
    "NPU_COLLECT_PATH": "FILES_LEFT", "op_debug_config": "FILES_LEFT", "profiling_options": "OPTION_FILE",
    "work_path": "OPTION_FILE", "aoe_config_file": "OPTION_FILE",
}  # fmt: skip

#: Condition -> option -> code of the error; empty where it is taken.
OUTCOMES = {
    "there": _all(TAKEN),
    "twice": _all(TAKEN),
    "full": _FULL,
    "file too large": _FULL,
    "missing": _refused(**dict.fromkeys(MADE, TAKEN)),
    "below missing": _refused(**dict.fromkeys(MADE, TAKEN)),
    "a file": _refused(),
    "below a file": _refused(),
    "unwritable": _refused(**dict.fromkeys(FILES, TAKEN)),
    "unreadable": _refused(),
    "below unwritable": _refused(),
    "link": _all(TAKEN),
    "dangling link": _refused(),
    "link to itself": _refused(),
    "pipe": _refused(),
    # What has a name of its own each time needs none of these; tuning puts its files in the place of links.
    "links in it": _refused(
        dump_path=TAKEN, profiling_options=TAKEN, work_path=TAKEN, ASCEND_WORK_PATH="FILES_LEFT"
    ),
    "files in it": _refused(dump_path=TAKEN, profiling_options=TAKEN, ASCEND_WORK_PATH="FILES_LEFT"),
    "long name": _refused(),
    "long path": _refused(
        **dict.fromkeys([*FILES, "debug_dir", "op_compiler_cache_dir", "dump_path", "work_path"], "OPTION_VALUE")
    ),
    "not ASCII": _named("OPTION_VALUE"),
    "line end": _named("OPTION_VALUE"),
    "terminal": _named("OPTION_VALUE"),
    "no text": {**_all("OPTION_TYPE"), **dict.fromkeys(VARIABLES, TAKEN), "profiling_options": "OPTION_SYNTAX"},
    "NUL": {
        **_all("OPTION_VALUE"), "profiling_options": "OPTION_SYNTAX", "ASCEND_CACHE_PATH": "FILES_LEFT",
        "ASCEND_WORK_PATH": "OPTION_FILE", "NPU_COLLECT_PATH": "OUTPUT",
    },
    "empty": {**_all(TAKEN), "dump_path": "OPTION_CONFLICT"},  # as if it were not given
    "blank": {**_refused(**dict.fromkeys(NARROW, "OPTION_VALUE")), "debug_dir": TAKEN, "ASCEND_CACHE_PATH": TAKEN},
}  # fmt: skip


def _reachable(folder):
    """Whether a user without privileges gets to a folder."""
    above = [folder]
    while above[-1] != os.path.dirname(above[-1]):
        above.append(os.path.dirname(above[-1]))
    return all(os.stat(one).st_mode & 0o001 for one in above[1:])


@pytest.fixture(scope="module")
def became():
    """What became of every option in every condition."""
    # Not among pytest's own folders: other runs of pytest shut those to everybody else.
    with tempfile.TemporaryDirectory(prefix="npu-places-") as folder:
        if os.geteuid() == 0 and not _reachable(folder):
            pytest.skip("nobody but root gets to the folder for temporary files")
        done = subprocess.run([sys.executable, "-m", "tests.places.naming", folder], cwd=ROOT, capture_output=True,
                              timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return json.loads(done.stdout.decode("utf-8"))


def test_the_table_is_about_every_condition_and_every_option():
    assert set(OUTCOMES) == set(CONDITIONS)
    assert all(set(row) == {*DIRECTORIES, *FILES} for row in OUTCOMES.values())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_becomes_of_a_name_is_what_the_table_says(became, condition):
    found = {option: (became[option][condition]["error"] or {}).get("code", TAKEN) for option in became}
    assert found == OUTCOMES[condition]


@pytest.mark.parametrize("option", [*DIRECTORIES, *FILES])
def test_an_error_names_option_path_and_remedy_in_one_line(became, option):
    for condition, told in became[option].items():
        assert "crash" not in told, (condition, told["crash"])
        error = told["error"]
        if error is None:
            continue
        message = error["message"]
        # A full disk shows where the first file goes, which the option may not have named.
        named = option in message or condition in ("full", "file too large")
        assert named and error["remedy"] and message.isprintable(), (condition, message)
        last = told["path"].rpartition("/")[2][:40].strip()
        ascii_ = last.isascii() if hasattr(last, "isascii") else all(ord(c) < 128 for c in last)
        if ascii_ and last.isprintable() and condition not in ("empty", "blank", "no text", "long path", "long name"):
            assert last in message or condition in ("full", "file too large", "NUL"), (condition, message)


@pytest.mark.parametrize("option", [*DIRECTORIES, *FILES])
def test_nothing_is_half_written_and_nothing_of_others_is_touched(became, option):
    for condition, told in became[option].items():
        assert told["outside"] or (condition == "link" and option in DIRECTORIES), condition
        assert told["spoilt"] == [], condition
        aside = [name for name in told["left"] if ".part" in name or "/.PROF" in name or ".npu-dump" in name]
        assert aside == [], condition
        if told["error"]:
            assert set(told["left"].values()) <= {"folder"}, condition
        if told["error"] and condition not in ("full", "file too large"):
            assert told["left"] == {}, condition


@pytest.mark.parametrize("option", CACHES)
@pytest.mark.parametrize("condition", ["full", "file too large"])
def test_a_full_cache_is_told_and_keeps_no_part(became, option, condition):
    told = became[option][condition]
    assert any("not kept in the cache" in text for text in told["told"])
    assert set(told["left"].values()) == {"folder"}


def test_every_option_that_names_a_place_is_in_the_table():
    named = {
        option.name
        for option in OPTIONS.values()
        if any(isinstance(facet.domain, Path) for facet in option.facets.values())
    }
    assert named and named <= {*DIRECTORIES, *FILES}
