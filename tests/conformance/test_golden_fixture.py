"""The fixture `golden_graph` fails a user's test with the moves in words, and does nothing where it is not used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from npu_conformance.protocol import client
from tests.conformance.shelves import QUICK
from tests.conformance.test_golden_graph import chain

pytestmark = pytest.mark.oldest_at_night

pytest_plugins = ["pytester"]

TEST = """
def test_model(golden_graph):
    golden_graph("model.pb"{more})
"""


@pytest.fixture
def suite(pytester, pytestconfig):
    """A user's folder: a model, and one test of it. Calling it runs pytest there and tells status and output."""
    named = pytestconfig.pluginmanager.has_plugin("npu_conformance")
    common = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    if not named:  # where the package is not installed
        common += ["-p", "npu_conformance.plugin"]

    def run(*arguments, more=', {"mix_compile_mode": True}', host_op="Tanh"):
        (pytester.path / "test_model.py").write_text(TEST.format(more=more), encoding="utf-8")
        if host_op:
            chain(pytester.path / "model.pb", host_op=host_op)
        done = pytester.runpytest_inprocess(*common, *arguments)
        return int(done.ret), str(done.stdout)

    return run


def test_a_model_is_recorded_then_passes_then_fails_with_its_moves(suite):
    assert suite("--npu-golden-update")[0] == 0
    assert suite()[0] == 0
    status, said = suite(host_op="PyFunc")
    assert status == 1
    assert "something moved since it was recorded" in said
    assert "middle: GEOP 1 -> host, NOT_SUPPORTED" in said
    assert "geops: 1 -> 2" in said
    assert "Traceback" not in said and "golden_fixture.py" not in said


def test_without_options_the_recorded_ones_are_asked_again(suite):
    assert suite("--npu-golden-update", host_op="PyFunc")[0] == 0
    assert suite(more="", host_op="PyFunc")[0] == 0
    assert suite("--npu-golden-update", more="", host_op="PyFunc")[0] == 0
    assert suite(host_op="PyFunc")[0] == 0  # recording without options kept those of the record


def test_a_record_made_with_other_options_is_no_record(suite):
    assert suite("--npu-golden-update")[0] == 0
    status, said = suite(more=', {"mix_compile_mode": False}, fetches=["after:0"]')
    assert status == 1
    assert "fetches is [], the test says ['after:0']; values is {'mix_compile_mode': True}" in said


@pytest.mark.parametrize(
    ("more", "host_op", "says"),
    [
        ("", "Tanh", "Record one: npu-conformance golden update"),
        (", feed=['x:0']", "Tanh", "[USAGE] golden_graph: there is no keyword feed"),
        (", {'mix_compile_mode': 7}", "Tanh", "has no golden beside it"),
        ("", None, "golden"),
    ],
)
def test_bad_input_fails_the_test_in_one_line(suite, more, host_op, says):
    status, said = suite(more=more, host_op=host_op)
    assert status == 1
    assert says in said and "Traceback" not in said


def test_recording_with_a_wrong_option_leaves_no_record(suite, pytester):
    status, said = suite("--npu-golden-update", more=", {'mix_compile_mode': 7}")
    assert status == 1 and "[OPTION_TYPE]" in said
    assert not list(pytester.path.glob("*.golden.txt"))


def test_where_it_is_not_used_nothing_of_the_suite_is_imported(tmp_path):
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\ndef test_plain():\n"
        "    loaded = [name for name in sys.modules if name.startswith(('npu_reference', 'npu_conformance'))]\n"
        "    assert set(loaded) <= {'npu_conformance', 'npu_conformance.plugin'}\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "npu_conformance.plugin"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(tmp_path), timeout=120,
        env=client.environment({**QUICK.env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode("utf-8")
