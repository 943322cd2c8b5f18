"""The cases of plain option values: current, complete for what they claim, and each able to fail."""

from __future__ import annotations

import json

import pytest

from fixtures.programs import compile_grid, file_grid, kernel_grid
from fixtures.programs.covering import pairs
from fixtures.programs.file_rows.kind import possible, rows
from fixtures.programs.option_tables.runconfig import RUNCONFIG
from fixtures.programs.option_tables.session import SESSION
from npu_conformance.judging import judge
from npu_conformance.observing.values import unwrapped
from npu_conformance.protocol import client
from tests.cases.asking import ask
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

OPTIONS = [one for one in corpus().instances() if one.case.method == "options" and one.case.area == "options"]


def test_every_type_default_and_example_of_the_tables_has_a_row_or_is_given_in_words():
    cited = {name for one in OPTIONS for name in one.case.requirements}
    rows = {f"session.{row.name}" for row in SESSION} | {f"runconfig.{row.name}" for row in RUNCONFIG}
    ends = (".type", ".example")
    missing = [
        one.id
        for one in corpus().requirements.values()
        if one.id.endswith(ends) and one.id.count(".") == 2 and one.id.rsplit(".", 1)[0] in rows and one.id not in cited
    ]
    assert not missing


def test_whatever_shows_in_a_configuration_an_error_or_a_log_has_a_case_or_a_written_reason():
    seen = [one for one in corpus().requirements.values() if one.observable in ("config", "error", "log")]
    cited = {name for case in corpus().cases.values() for name in case.requirements}
    assert len(seen) >= 718, "the inventory of the documents: what a document demands does not go"
    assert not [one.id for one in seen if one.id not in cited and not one.excused]
    assert sum(bool(one.excused) for one in seen) <= 15, "a reason is for what no black box can see"


class _Wrong:
    """A backend that never refuses and whose every value is another one."""

    def options(self, params):
        from npu_conformance.backends.reference import ReferenceBackend

        bare = {**params, "values": {}, "env": {}}
        answer = ReferenceBackend().options(bare)
        names = set(answer["effective"]) | set(params["values"])
        return {"effective": {name: {"value": "something else", "origin": "forced"} for name in names}, "warnings": []}


@pytest.mark.nightly
def test_every_case_fails_on_a_backend_that_takes_everything_and_means_nothing_by_it(tmp_path):
    assert OPTIONS
    assert not [
        one.id
        for one in OPTIONS
        if ask(_Wrong(), one, str(tmp_path)).status != "fail" and not one.case.expect.ignorable
    ]


def test_a_path_refused_for_its_characters_names_a_file_that_is_there():
    asked = [
        one.case.params
        for one in OPTIONS
        if one.case.expect.rejected and any(name.endswith("file.charset") for name in one.case.requirements)
    ]
    assert len(asked) > 3
    assert not [
        params
        for params in asked
        if params.get("files", {}).keys().isdisjoint(unwrapped(value) for value in params["values"].values())
    ]


def test_a_default_of_the_wrong_kind_is_no_pass():
    one = next(one for one in OPTIONS if one.case.id == "session-enable-exception-dump-default")
    answer = {"effective": {"enable_exception_dump": {"value": False, "origin": "default"}}, "warnings": []}
    assert json.dumps(False) != json.dumps(0)
    assert judge.judge(one, client.Answered(answer)).status == "fail"


@pytest.mark.parametrize("grid", [kernel_grid, compile_grid])
def test_every_two_things_about_compilation_that_can_meet_do_so_in_a_row(grid):
    chosen = grid.rows()
    shown = set().union(*map(pairs, chosen))
    assert shown == set().union(*map(pairs, grid.possible()))
    assert len(chosen) < 70


def test_a_level_of_debugging_switches_a_cache_off_by_the_age_of_its_documents():
    gates = {"level 3 of 002": {"rl"}, "level 3 of 003": {"sc", "rc"}}
    for subject, places in gates.items():
        found = {row["where"] for row in compile_grid.possible() if row["subject"] == subject}
        assert found == places


@pytest.mark.parametrize("kind", file_grid.KINDS, ids=lambda kind: kind.option)
def test_every_two_things_about_a_file_that_can_meet_do_so_in_a_row(kind):
    chosen = rows(kind)
    assert set().union(*(pairs(row) for row in chosen)) == set().union(*(pairs(row) for row in possible(kind)))
    assert len(chosen) < 60
