"""A known failure must still fail, in the way it says, before it expires; any other entry is an error."""

from __future__ import annotations

import datetime
import os

import pytest

from npu_conformance.files import output
from npu_conformance.judging import known_failures
from npu_conformance.report import verify, write
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf, hosted, judged, spoken, statuses

pytestmark = pytest.mark.oldest_at_night

ENTRY = """
[[known]]
id = "small-partition@*"
outcome = "fail"
signature = "partition/unexpected/*"
reason = "x is wrongly offloaded"
expires = {expires}
"""
AGAIN = ENTRY.replace("small-partition@*", "small-partition-again@*")
LATER = "2999-12-31"


def entries(shelf: Shelf, text: str = ENTRY + AGAIN, expires: str = LATER) -> list:
    path = shelf.write("known.toml", text.replace("{expires}", expires))
    return known_failures.load(path, shelf.load().instances())


def test_a_failure_as_listed_is_an_xfail_and_does_not_count(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Lies"), known=entries(shelf))
    assert statuses(report)["small-partition"] == "xfail"
    assert report.verdict == "conformant"


def test_a_listed_case_that_passes_makes_the_verdict_negative(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Honest"), known=entries(shelf))
    assert statuses(report)["small-partition"] == "xpass"
    assert report.verdict == "not conformant"


@pytest.mark.parametrize("backend", ["Crashes", "Raises"])
def test_a_listed_case_that_fails_otherwise_makes_the_verdict_negative(shelf: Shelf, backend: str) -> None:
    report = judged(shelf, hosted(backend), known=entries(shelf))
    record = next(one for one in report.records if one.instance.case.id == "small-partition")
    assert record.result.status == "xpass"
    assert "known as fail with signature partition/unexpected/*, but it is" in record.result.detail
    assert report.verdict == "not conformant"


def test_an_expired_entry_makes_the_verdict_negative(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Lies"), known=entries(shelf, expires="2020-01-01"))
    assert report.errors == (
        "small-partition@*: this known failure expired on 2020-01-01",
        "small-partition-again@*: this known failure expired on 2020-01-01",
    )
    assert report.verdict == "not conformant"


def test_an_entry_counts_on_its_last_day(shelf: Shelf) -> None:
    known = entries(shelf, expires="2030-05-31")
    assert known_failures.apply(known, [], datetime.date(2030, 5, 31))[1] == []
    assert len(known_failures.apply(known, [], datetime.date(2030, 6, 1))[1]) == 2


def test_what_the_backend_does_not_claim_is_left_alone(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Modest"), known=entries(shelf))
    assert statuses(report)["small-partition"] == "unsupported"


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("small-partition@*", "no-such-case*", "matches no case"),
        ("small-partition@*", "*", "matches"),
        ('outcome = "fail"', 'outcome = "pass"', "'pass' is none of"),
        ('outcome = "fail"', 'outcome = "unsupported"', "is none of"),
        ("expires = {expires}", 'expires = "2999-01-01"', "must be a date"),
        ("expires = {expires}", "expires = 2999-01-01T00:00:00", "must be a date"),
        ("expires = {expires}", "", "must be a date"),
        ('reason = "x is wrongly offloaded"', "", "non-empty text"),
        ('reason = "x is wrongly offloaded"', 'reason = "r"\nmood = "x"', "unknown key"),
        ("[[known]]", "[[knwon]]", "holds [[known]] only"),
    ],
)
def test_a_malformed_entry_is_refused(shelf: Shelf, old: str, new: str, reason: str) -> None:
    with pytest.raises(NpuError) as caught:
        entries(shelf, (ENTRY + AGAIN).replace(old, new))
    assert caught.value.code == "CASE_FILE"
    assert reason in caught.value.reason


def test_two_entries_for_one_case_are_refused(shelf: Shelf) -> None:
    with pytest.raises(NpuError) as caught:
        entries(shelf, ENTRY + ENTRY.replace("small-partition@*", "small-part*"))
    assert "as does" in caught.value.reason


def test_a_pattern_wider_than_twenty_cases_is_refused(shelf: Shelf) -> None:
    instances = [shelf.load().instances()[1]] * 21
    path = shelf.write("known.toml", ENTRY.replace("{expires}", LATER))
    with pytest.raises(NpuError) as caught:
        known_failures.load(path, instances)
    assert "matches 21 cases" in caught.value.reason


def test_every_file_of_a_report_is_written_whichever_optional_keys_an_entry_has(shelf: Shelf) -> None:
    optional = {"small-partition@*": "", "small-partition-again@*": 'issue = "https://one"\n'}
    optional.update({"small-options@*": 'owner = "one team"\n', "small-what*": 'issue = "two"\nowner = "others"\n'})
    known = entries(shelf, "".join(ENTRY.replace("small-partition@*", name) + more for name, more in optional.items()))
    folder = shelf.path("report")
    with output.replaced_folder(folder) as aside:
        write.write(shelf.load(), judged(shelf, spoken("Lies"), known=known), aside)
    assert verify.verify(shelf.load(), folder).faults == ()
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as stream:
        page = stream.read()
    assert all(text in page for text in ("https://one", "one team", "two", "others"))


def test_a_pattern_of_thousands_of_stars_takes_no_longer_than_one(shelf: Shelf) -> None:
    instances = shelf.load().instances() * 1000
    path = shelf.write("known.toml", ENTRY.replace("{expires}", LATER).replace("small-partition@*", "*" * 100_000))
    with pytest.raises(NpuError) as caught:
        known_failures.load(path, instances)
    assert "more than 20" in caught.value.reason


def test_a_list_without_an_end_is_refused() -> None:
    with pytest.raises(NpuError) as caught:
        known_failures.load("/dev/zero", [])
    assert "larger than 8 MiB" in caught.value.reason
