"""Under pytest the cases are items with stable ids, whatever the number of xdist workers."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from npu_conformance.protocol import client
from tests.conformance.shelves import MINIATURES, QUICK

pytestmark = pytest.mark.oldest_at_night

SELECT = ["-k", "mixed-pyfunc-stays-on-host or mixed-plain-chain-is-one-geop", "--npu-edition", "current"]


@pytest.fixture
def collected(tmp_path: Any, pytestconfig: pytest.Config) -> Any:
    """Runs pytest in a process of its own; the plugin is loaded by name where the package is not installed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    if not pytestconfig.pluginmanager.has_plugin("npu_conformance"):
        command += ["-p", "npu_conformance.plugin"]

    def call(*arguments: str) -> Any:
        return subprocess.run(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=str(tmp_path),
            timeout=120,
            env=client.environment(QUICK.env),
        )

    return call


def ids(output: str) -> set:
    return set(re.findall(r"\S*::(\S+@current\S*) PASSED|PASSED \S*::(\S+@current\S*)", output))


def names(done: Any) -> set:
    return {one or other for one, other in ids(done.stdout)}


@pytest.mark.nightly
def test_what_a_backend_does_not_claim_is_skipped(collected) -> None:
    spec = f"exec:{sys.executable} {MINIATURES} Honest"
    assert collected("--npu-backend", spec, "--pyargs", "npu_conformance", *SELECT).returncode == 0


@pytest.mark.nightly
def test_cases_are_collected_and_judged_on_one_process_and_on_two_alike(collected) -> None:
    common = ["--npu-backend", "reference", "--pyargs", "npu_conformance", "-v", *SELECT]
    one = collected(*common, "-p", "no:xdist")
    two = collected(*common, "-n", "2")
    assert one.returncode == two.returncode == 0, one.stdout + two.stdout
    assert "mixed-pyfunc-stays-on-host@current+rename" in names(one)
    assert names(one) == names(two)


def test_a_failure_shows_the_facts_that_differ_and_the_requirement(collected) -> None:
    narrow = ["--ignore-glob=*/cases/[!m]*", "--npu-edition", "current", "-k", "mixed-chain-splits"]
    done = collected("--npu-backend", "mutant:" + _mutant(), "--pyargs", "npu_conformance", *narrow)
    assert done.returncode == 1
    assert re.search(r"(missing|unexpected|bound|forbidden): ", done.stdout)
    assert "requirements: mixed." in done.stdout
    assert "Traceback" not in done.stdout


def _mutant() -> str:
    from npu_conformance.backends import mutants as mutation

    return next(name for name, one in mutation.registry().items() if one.requirement == "mixed.partition.geop_split")


@pytest.mark.parametrize(
    "arguments", [["--npu-backend", "nobody"], ["--npu-backend", "reference", "--npu-known-failures", "/no/such"]]
)
def test_bad_input_is_one_clear_line(collected, arguments: list) -> None:
    done = collected(*arguments, "--pyargs", "npu_conformance")
    assert done.returncode == 4
    assert "ERROR: [" in done.stdout
    assert "Traceback" not in done.stdout


def test_without_the_option_nothing_is_collected(collected) -> None:
    done = collected("--pyargs", "npu_conformance")
    assert done.returncode == 5
    assert "no tests ran" in done.stdout
