"""Case files and goldens are data that is checked to the last key before anything runs."""

from __future__ import annotations

import pytest

from npu_conformance.library import inventory, library
from npu_reference.errors import NpuError
from tests.conformance.shelves import CASES, GOLDEN, Shelf

TOPIC = "cases/small/topic.toml"

CASE = """
[[case]]
id = "one"
title = "One"
requirements = ["small.one"]
method = "partition"
params = { graph = "small.pbtxt" }
expect = { forbid = ["host a"] }
"""


def refused(shelf: Shelf) -> NpuError:
    with pytest.raises(NpuError) as caught:
        shelf.load()
    assert caught.value.code == "CASE_FILE"
    return caught.value


def test_the_shipped_library_loads_and_every_case_of_it_has_an_instance() -> None:
    shelf = library.load()
    assert {instance.case.id for instance in shelf.instances()} == set(shelf.cases)


def test_the_shipped_inventory_has_every_requirement_of_the_documents() -> None:
    assert len(inventory.load()) >= 1103


def test_an_instance_is_named_by_case_edition_and_twin(shelf: Shelf) -> None:
    shelf.write(TOPIC, CASE + 'twins = ["reorder", "rename"]\n')
    shelf.write("golden/small/topic.txt", "# nothing is observed exactly\n")
    assert [instance.id for instance in shelf.load().instances()] == [
        "one@legacy", "one@legacy+rename", "one@legacy+reorder", "one@current", "one@current+rename",
        "one@current+reorder",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "old, new, key, reason",
    [
        ('id = "one"', 'id = "One"', "id", "must be of a-z"),
        ('id = "one"', "id = 1", "id", "non-empty text"),
        ('title = "One"', "", "title", "non-empty text"),
        ('"small.one"', '"small.three"', "requirements", "'small.three' is not in the inventory"),
        ('["small.one"]', "[]", "requirements", "at least one"),
        ('["small.one"]', '["small.one", "small.one"]', "requirements", "twice"),
        ('"partition"', '"guess"', "method", "'guess' is none of"),
        ("params = {", 'level = "perhaps"\nparams = {', "level", "'perhaps' is none of"),
        ("params = {", 'editions = ["future"]\nparams = {', "editions", "'future' is none of"),
        ("params = {", "editions = []\nparams = {", "editions", "at least one"),
        ("params = {", 'colour = "red"\nparams = {', "colour", "unknown key"),
        ("params = {", 'control = "two"\nparams = {', "control", "no other case 'two'"),
        ("params = {", 'requires = ["one"]\nparams = {', "requires", "no other case 'one'"),
        ("params = {", 'needs = ["Two Words"]\nparams = {', "needs", "no feature name"),
        ('graph = "small.pbtxt"', 'graph = "large.pbtxt"', "params.graph", "no fixture 'large.pbtxt'"),
        ('graph = "small.pbtxt"', 'graph = "../cases/small/topic.toml"', "params.graph", "leaves the fixtures"),
        ('graph = "small.pbtxt"', 'graph = "/etc/passwd"', "params.graph", "leaves the fixtures"),
        ('graph = "small.pbtxt"', "", "params", "needs a graph"),
        ('graph = "small.pbtxt"', 'graph = "small.pbtxt", steps = 2', "params.steps", "unknown key"),
        ('graph = "small.pbtxt"', 'graph = "small.pbtxt", policy = "mine"', "policy", "'mine' is none of"),
        ('graph = "small.pbtxt"', 'graph = "small.pbtxt", values = 3', "params.values", "must be a table"),
        ('forbid = ["host a"]', "", "expect", "asserts nothing"),
        ('forbid = ["host a"]', 'forbidden = ["host a"]', "expect.forbidden", "unknown key"),
        ('forbid = ["host a"]', 'observe = ["effective"]', "expect.observe", "no aspect of partition"),
        ('forbid = ["host a"]', 'observe = ["geops"]', "expect.observe", "has no line for this case"),
        ('forbid = ["host a"]', "any_of = [[]]", "expect.any_of", "non-empty list"),
        ('forbid = ["host a"]', "bounds = { geops = 1 }", "expect.bounds.geops", "{ min = N, max = M }"),
        ('forbid = ["host a"]', "bounds = { geops = { min = 1.5 } }", "expect.bounds.geops", "integers"),
        ('forbid = ["host a"]', 'finite = ["x:0"]', "expect.finite", "only a run has values"),
        ('forbid = ["host a"]', 'rejected = { code = "OOPS" }', "expect.rejected.code", "'OOPS' is no code"),
        ('forbid = ["host a"]', 'forbid = ["a"], rejected = { code = "USAGE" }', "expect.rejected", "no other facts"),
        ('forbid = ["host a"]', 'rejected = { code = "USAGE" }', "control", "names the case"),
    ],
)
def test_a_fault_in_a_case_is_said_with_file_case_and_key(
    shelf: Shelf, old: str, new: str, key: str, reason: str
) -> None:
    assert old in CASE
    shelf.write(TOPIC, CASE.replace(old, new))
    shelf.write("golden/small/topic.txt", "# empty\n")
    error = refused(shelf)
    assert "topic.toml" in error.subject
    assert error.subject.endswith(": " + key), error
    assert reason in error.reason, error


@pytest.mark.parametrize(
    "text, reason",
    [
        ("[[case]", "is not TOML"),
        ("", "holds no [[case]]"),
        ("case = 3", "holds no [[case]]"),
        ("[other]\na = 1\n" + CASE, "unknown key"),
        (CASE + CASE, "used twice"),
        ('[defaults]\nid = "x"\n' + CASE, "cannot be shared"),
        ("a = " + "[" * 100000, "is not TOML"),
        ("\x00", "is not TOML"),
    ],
)
def test_a_fault_in_a_case_file_is_said_with_the_file(shelf: Shelf, text: str, reason: str) -> None:
    shelf.write(TOPIC, text)
    shelf.write("golden/small/topic.txt", "# empty\n")
    error = refused(shelf)
    assert "topic.toml" in error.subject
    assert reason in error.reason, error


@pytest.mark.parametrize(
    "golden, subject, reason",
    [
        (GOLDEN + "small-what | host x\n", "small-what", "no case of this topic"),
        (GOLDEN + "small-what-follows | x\n", "small-what-follows", "no case of this topic"),
        (GOLDEN.replace("host x", "host \u540d"), "topic.txt:4", "is not ASCII"),
        (GOLDEN[:-1], "topic.txt", "end with LF"),
        (GOLDEN.replace("\n", "\r\n"), "topic.txt", "end with LF"),
        ("small-partition | zzz\n" + GOLDEN, "topic.txt:2", "not sorted"),
        ("just text\n" + GOLDEN, "topic.txt:1", "not of the form"),
        ("small-options | \n" + GOLDEN, "topic.txt:1", "not of the form"),
        (GOLDEN + "# late comment\n", "topic.txt:8", "not of the form"),
        (GOLDEN.replace("small-options | ", "small-options@legacy | "), "expect.observe", "has no line"),
        (GOLDEN.replace("host x", "nothing"), "expect.observe", "beside other facts"),
    ],
)  # fmt: skip
def test_a_fault_in_a_golden_is_said_with_its_line(shelf: Shelf, golden: str, subject: str, reason: str) -> None:
    shelf.write("golden/small/topic.txt", golden)
    error = refused(shelf)
    assert subject in error.subject, error
    assert reason in error.reason, error


def test_a_golden_without_a_case_file_is_refused(shelf: Shelf) -> None:
    shelf.write("golden/small/other.txt", "a | b\n")
    assert "no case file of this topic" in refused(shelf).reason


def test_a_golden_may_differ_by_edition_and_may_say_nothing(shelf: Shelf) -> None:
    shelf.write(TOPIC, CASES.replace('editions = ["current"]', 'editions = ["legacy", "current"]'))
    golden = GOLDEN.replace(
        "small-options | effective depth = 3\n",
        "small-options@current | effective depth = 3\nsmall-options@legacy | nothing\n",
    )
    shelf.write("golden/small/topic.txt", golden)
    expect = shelf.load().cases["small-options"].expect
    assert expect.golden == {"legacy": (), "current": ("effective depth = 3",)}


def test_params_and_expect_are_merged_with_the_defaults_key_by_key(shelf: Shelf) -> None:
    defaults = '[defaults]\nparams = { surface = "runconfig", values = { a = 1 } }\nexpect = { contains = ["x"] }\n'
    shelf.write(TOPIC, defaults + CASE)
    shelf.write("golden/small/topic.txt", "# empty\n")
    case = shelf.load().cases["one"]
    assert case.params["surface"] == "runconfig"
    assert case.params["graph"].endswith("small.pbtxt")
    assert (case.expect.contains, case.expect.forbid) == (("x",), ("host a",))


def test_what_a_case_uses_of_a_backend_is_needed_without_saying(shelf: Shelf) -> None:
    graph = 'graph = "small.pbtxt"'
    more = graph + ', policy = "adapter", flavour = "tf2", op_list = { Relu = {} }'
    text = CASE.replace(graph, more).replace('forbid = ["host a"]', 'observe = ["reasons"]')
    shelf.write(TOPIC, text)
    shelf.write("golden/small/topic.txt", "one | nothing\n")
    needs = shelf.load().cases["one"].needs
    assert needs == {"partition", "policy.adapter", "flavour.tf2", "op_list", "reasons"}


def test_any_change_of_case_golden_or_inventory_changes_the_digest(shelf: Shelf) -> None:
    digests = [shelf.load().digest]
    for name in (TOPIC, "golden/small/topic.txt", "requirements/all.toml"):
        with open(shelf.path(name), encoding="utf-8") as stream:
            text = stream.read()
        shelf.write(name, "# changed\n" + text)
        digests.append(shelf.load().digest)
    assert len(set(digests)) == 4


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ('level = "must"', 'level = "ought"', "'ought' is none of"),
        ('edition = "current"', 'edition = "old"', "'old' is none of"),
        ('statement = "a and b run on the device."', "", "non-empty text"),
        ('id = "small.two"', 'id = "small.one"', "used twice"),
        ('kind = "effect"', 'kind = "effect"\nmood = "good"', "unknown key"),
        ('check = "Ask."', 'check = "Ask."\nreadings = "M1"', "list of texts"),
    ],
)
def test_a_fault_in_the_inventory_is_said_with_the_requirement(shelf: Shelf, old: str, new: str, reason: str) -> None:
    with open(shelf.path("requirements/all.toml"), encoding="utf-8") as stream:
        text = stream.read()
    assert old in text
    shelf.write("requirements/all.toml", text.replace(old, new, 1))
    error = refused(shelf)
    assert "all.toml" in error.subject
    assert reason in error.reason


PRECISION = CASE.replace('"partition"', '"precision"').replace('forbid = ["host a"]', 'forbid = ["dtypes a *"]')


@pytest.mark.parametrize(
    "ops_info, text",
    [
        ("'{\"Relu\": {}}'", '{"Relu": {}}'),
        ('{ Relu = { heavyOp = "x" } }', '{\n  "Relu": {\n    "heavyOp": "x"\n  }\n}\n'),
        ('{ fixture = "edited.json" }', '{"Log": {}}'),
    ],
)
def test_an_operator_information_file_is_a_text_a_table_or_a_fixture(shelf: Shelf, ops_info: str, text: str) -> None:
    shelf.write("fixtures/edited.json", '{"Log": {}}')
    shelf.write(TOPIC, PRECISION.replace('"small.pbtxt"', f'"small.pbtxt", ops_info = {ops_info}'))
    shelf.write("golden/small/topic.txt", "# nothing is observed exactly\n")
    case = shelf.load().cases["one"]
    assert case.params["ops_info"] == text
    assert case.needs == {"precision", "ops_info"}


@pytest.mark.parametrize(
    "old, new, key, reason",
    [
        ('"small.pbtxt"', '"small.pbtxt", ops_info = 3', "params.ops_info", "is a text, a table or"),
        ('"small.pbtxt"', '"small.pbtxt", ops_info = { fixture = "no.json" }', "ops_info", "no fixture"),
        ('"small.pbtxt"', '"small.pbtxt", policy = "adapter"', "params.policy", "unknown key"),
        ('"small.pbtxt"', '"small.pbtxt", device_precision = "on"', "params.device_precision", "unknown key"),
        ('forbid = ["dtypes a *"]', 'rejected = { code = "PRECISION_DTYPES" }', "control", "a negative case names"),
    ],
)
def test_a_precision_case_is_checked_like_any_other(shelf: Shelf, old: str, new: str, key: str, reason: str) -> None:
    assert old in PRECISION
    shelf.write(TOPIC, PRECISION.replace(old, new))
    shelf.write("golden/small/topic.txt", "# nothing is observed exactly\n")
    problem = refused(shelf)
    assert key in problem.subject and reason in problem.reason


def test_a_run_whose_values_show_the_dtype_needs_a_backend_that_computes_at_it(shelf: Shelf) -> None:
    run = CASE.replace('"partition"', '"run"').replace('"small.pbtxt"', '"small.pbtxt", device_precision = "on"')
    shelf.write(TOPIC, run)
    shelf.write("golden/small/topic.txt", "# nothing is observed exactly\n")
    assert shelf.load().cases["one"].needs == {"run", "device_precision"}
