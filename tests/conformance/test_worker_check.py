"""What `worker-check` tells an author of each mistake in speaking the protocol: what was due, what came, what to do."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List

import pytest

from npu_conformance.commands import worker_check
from npu_conformance.protocol import schema
from npu_conformance.running import checkup
from tests.conformance.shelves import BACKENDS, QUICK, hosted
from tests.depth import at_night

pytestmark = pytest.mark.oldest_at_night

BROKEN = os.path.join(BACKENDS, "misspoken.py")
SETTINGS = QUICK._replace(factor=0.3)
assert worker_check


def failed(name: str) -> List[checkup.Check]:
    """The checks that a mistaken worker does not pass."""
    spec = name if ":" in name else f"exec:{sys.executable} {BROKEN} {name}"
    return [one for one in checkup.check(spec, SETTINGS) if not one.passed]


def line_of(text: str, path: str = BROKEN) -> str:
    """`file:line` of the line of a source that has this text."""
    with open(path, encoding="utf-8") as stream:
        (number,) = [number for number, line in enumerate(stream, 1) if text in line]
    return f"{path}:{number}"


#: Mistake: what the first failed check says of expected, came, remedy, path.
TOLD: Dict[str, Dict[str, str]] = {
    "python_form": {"came": "{'id': 1", "remedy": "json.dumps(answer) in the place of str(answer)"},
    "not_a_number": {"came": "NaN", "remedy": "allow_nan=False"},
    "by_hand": {"expected": "one JSON object", "remedy": "with a library for JSON"},
    "indented": {"came": "'{'", "remedy": "json.dumps without indent"},
    "another_encoding": {"detail": "not UTF-8", "remedy": "Encode answers as UTF-8"},
    "talks_on_stdout": {"came": "'loading the driver", "remedy": "file=sys.stderr"},
    "no_areas": {
        "came": "members editions, features",
        "remedy": 'Add "areas": ["mixed"] to answer.ok.capabilities',
        "path": "answer.ok.capabilities.areas",
    },
    "features_are_a_text": {"expected": "of type array", "path": "answer.ok.capabilities.features"},
    "another_version": {"path": "answer.ok.protocol", "detail": "2 is not 1"},
    "no_outcome": {"expected": "exactly one of ok", "came": "id", "path": "answer"},
    "another_id": {"came": '"id": 2', "remedy": "Copy the id of the request", "path": "answer.id"},
    "no_id": {"remedy": 'Add "id": request["id"] to answer', "path": "answer.id"},
    "never_answers": {"detail": "no answer within", "came": "nothing", "remedy": "Flush after every answer"},
    "no_newline": {"detail": "a line that never ends", "remedy": "newline"},
    "closes_stdout": {"detail": "stdout was closed", "remedy": "Keep stdout open"},
    "ends_at_once": {"came": "ended with status 0", "remedy": "Read the next line in a loop"},
    "dies_of_a_signal": {"came": "ended by signal 11", "remedy": "native code"},
    "error_of_its_own": {"expected": "ok with what it claims", "remedy": "Let hello answer", "path": "answer.error"},
}


@pytest.mark.parametrize("name", sorted(TOLD))
def test_each_mistake_is_told_with_what_to_change(name: str) -> None:
    first = failed(name)[0]
    assert first.name == "says hello with what it claims"
    for member, text in TOLD[name].items():
        assert text in getattr(first, member), first
    assert first.expected and first.came and first.remedy


def test_a_traceback_gives_the_line_to_mend() -> None:
    first = failed("raises")[0]
    assert first.at == line_of("# raised here")
    assert first.remedy == f"Mend {first.at}: KeyError: 'edition'."
    assert "status 1" in first.came


def test_a_hosted_backend_that_raises_is_told_its_line() -> None:
    first = failed("py:misspoken:Hosted")[0]
    assert first.at == line_of("# raised in a method")
    assert first.remedy == f"Mend {first.at}: ZeroDivisionError: division by zero."


@pytest.mark.parametrize(
    "name, check, remedy",
    [
        at_night("two_lines", "writes one line an answer", "one line for each request"),
        ("dies_of_nonsense", "answers error with id null to a line that is not JSON, and goes on", "Mend "),
        ("knows_every_method", "answers unsupported to an unknown method", "Answer no-such-method with unsupported"),
        at_night("counts", "answers equal requests alike", "Take times, counters and addresses out"),
        ("overclaims", "answers each method it claims", "Write the method options, or take it from the features"),
        at_night("stays", "ends on shutdown", "Leave the loop after the answer to shutdown"),
        ("ends_badly", "ends on shutdown", "Run the command by hand"),
        at_night("strict_about_fields", "ignores fields it does not know", "Mend "),
    ],
)
def test_mistakes_behind_hello_are_found_by_the_check_of_their_name(name: str, check: str, remedy: str) -> None:
    found = {one.name: one for one in failed(name)}
    assert check in found, found
    assert remedy in found[check].remedy, found[check]


def test_an_honest_one_is_told_nothing_and_the_answer_follows_its_schema() -> None:
    found = checkup.check(hosted("Honest"), SETTINGS._replace(factor=1.0))
    assert all(one == checkup.Check(one.name, True, "") for one in found)
    whole: Any = checkup.answer([*found, *failed("no_areas")])
    declared = schema.load("worker-check")
    assert schema.fault(whole, declared, declared) is None
    assert whole["checks"][-1]["path"] == "answer.ok.capabilities.areas"
