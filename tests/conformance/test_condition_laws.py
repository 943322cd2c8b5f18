"""What cases of partition and precision say is asked once more beside what no document relates to it."""

from __future__ import annotations

import collections
import re
from functools import partial
from pathlib import Path

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.protocol import requests
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import asking, conditions, neutral_options, relations, scheduling
from npu_conformance.strength.laws.kinds import under_conditions
from npu_conformance.strength.laws.kinds.kind import closed
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.options import OPTIONS
from tests.cases.corpus import corpus

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def shelf():
    return corpus()


@pytest.fixture(scope="module")
def dealt(shelf):
    return scheduling.deal(shelf, 0, 8)


@pytest.fixture(autouse=True)
def few_made_small(monkeypatch):
    """The first fault of each part is told by the fewest conditions, as in a run; of the others none is."""
    monkeypatch.setattr(under_conditions, "_SMALLER", 1)


def test_every_condition_says_why_it_makes_no_difference(shelf):
    readings = set(re.findall(r"^\| ([A-Z]\d+) \|", (ROOT / "docs" / "readings.md").read_text(encoding="utf-8"), re.M))
    for one in conditions.CONDITIONS.values():
        assert one.because, one.name
        unknown = [name for name in one.because if name not in shelf.requirements and name not in readings]
        assert not unknown, f"{one.name}: {unknown}"


def of_table(question):
    return [name for name in question.conditions if name in conditions.CONDITIONS]


def test_every_case_is_asked_once_more_in_one_of_its_editions_under_two_conditions_or_more(shelf, dealt):
    asked = [one for question in dealt if of_table(question) for group in question.graphs for one in group]
    assert len({one.id for one in asked}) == len(asked)
    assert {one.case.id for one in asked} == {one.case.id for one in shelf.instances() if scheduling.usable(one)}
    assert min(len(question.conditions) for question in dealt) >= 2
    assert any(one.case.expect.rejected is not None for one in asked)
    for question in dealt:
        assert len({(one.edition, one.case.method) for group in question.graphs for one in group}) == 1
        groups = [conditions.CONDITIONS[name].group for name in of_table(question)]
        twice = [group for group, count in collections.Counter(groups).items() if group and count > 1]
        assert not twice, question.conditions


def test_mixed_computing_is_not_switched_off_by_defaults_beside_it(dealt, tmp_path):
    name = "in mixed computing that leaves nothing on the host"
    laid = [one for one in dealt if name in one.conditions][:80]
    mixed = 0
    for one in laid:
        params = requests.prepare(one.first, str(tmp_path)).params
        alone, _ = scheduling.request(one, scheduling.Way((0,), (name,)), params, True, closed)
        if "op_list" in alone and alone["op_list"] != params.get("op_list"):  # some graphs keep something on the host
            whole = scheduling.way_of(scheduling.WHOLE, one)
            others = tuple(each for each in whole.conditions if each != "beside defaults that are written out")
            mixing, _ = scheduling.request(one, whole._replace(conditions=others), params, True, closed)
            asked, _ = scheduling.request(one, whole, params, True, closed)
            assert bool(mixing["values"].get("mix_compile_mode")) is asked["values"]["mix_compile_mode"], one.conditions
            mixed += "beside defaults that are written out" in one.conditions
    assert mixed > 20


def test_requirements_meet_conditions_as_far_as_their_cases_go(dealt):
    met, possible = scheduling.pairs(dealt)
    assert met <= possible
    assert len(met) >= 0.9 * len(possible), f"{len(met)} of {len(possible)}"
    assert {name for _, name in met} == set(conditions.CONDITIONS), "a condition that nothing is asked under"


def test_requirements_meet_values_of_options_as_far_as_their_cases_go(dealt):
    met, possible = scheduling.option_pairs(dealt)
    assert len(met) >= 0.85 * len(possible), f"{len(met)} of {len(possible)}"
    groups = {name: one.group for name, one in neutral_options.given().items()}
    options, all_options = ({(one, groups[name]) for one, name in pairs} for pairs in (met, possible))
    assert len(options) >= 0.95 * len(all_options), f"{len(options)} of {len(all_options)}"
    assert {name for _, name in met} == set(neutral_options.given()), "a value that nothing is asked beside"


def of_cases(dealt):
    """Pairs of a case and what it is asked under, and all conditions that could be."""
    cases = [(one, question.conditions) for question in dealt for group in question.graphs for one in group]
    met = {(one.case.id, name) for one, names in cases for name in names}
    fitting = conditions.CONDITIONS.values()
    return met, {(one.case.id, each.name) for one, _ in cases for each in fitting if scheduling.fits(each, one)}


def test_cases_meet_most_conditions_in_a_run_and_others_by_another_seed_or_in_more_rounds(shelf, dealt):
    met, possible = of_cases(dealt)
    assert len(met & possible) >= 0.58 * len(possible), f"{len(met & possible)} of {len(possible)}"
    other, _ = of_cases(scheduling.deal(shelf, 1, 8))
    assert len(met | other) >= 1.2 * len(met)
    rounds = scheduling.deal(shelf, 0, 8, rounds=3)
    assert rounds[: len(dealt)] == dealt
    more, possible = of_cases(rounds)
    assert len(more & possible) >= 0.85 * len(possible), f"{len(more & possible)} of {len(possible)}"
    assert len(more - possible) >= 1.5 * len(met - possible), "values of options"


def test_every_option_of_the_documents_is_laid_or_left_out_with_a_reason(shelf):
    listed = {
        name
        for name, option in OPTIONS.items()
        if any(facet.listed and facet.status not in ("reserved", "idle") for facet in option.facets.values())
    }
    given = {name for one in neutral_options.given().values() for name in (*one.values, *one.env)}
    laid = {one.name.partition(" ")[0] for one in neutral_options.rows()}
    assert laid <= given
    assert not laid & set(neutral_options.LEFT_OUT)
    assert listed - laid == set(neutral_options.LEFT_OUT)
    variables = {one.partition("=")[0] for row in relations.RELATIONS for one in (*row.those, *row.others)}
    assert {name for name in variables if name.isupper()} - given == {"RANK_SIZE"}, "a launched rank is a condition"


def test_every_option_that_is_laid_says_by_a_requirement_what_it_is_about(shelf):
    assert [one.source for one in neutral_options.rows() if one.source not in shelf.requirements] == []


def test_no_document_relates_what_stands_beside_a_question(dealt):
    for question in dealt:
        names = [name for name in question.conditions if name not in conditions.CONDITIONS]
        laid = [neutral_options.given()[name] for name in names]
        assert len({one.group for one in laid}) == len(laid)
        told = [option for one in laid for option in (*one.values, *one.env)]
        assert len(set(told)) == len(told)
        given = {*question.first.case.params["values"], *question.first.case.params.get("env", {})}
        assert not given & set(told)


def test_what_a_surface_does_not_have_is_not_laid_there():
    (name,) = [name for name in neutral_options.given() if name.startswith("beside dump_config")]
    asked = {"surface": "session", "edition": "current", "values": {}}
    assert neutral_options.beside_of([name], asked) == asked
    assert "dump_config" in neutral_options.beside_of([name], {**asked, "surface": "runconfig"})["values"]


def test_dealing_depends_on_the_library_and_the_seed_alone(shelf, dealt):
    backwards = shelf._replace(cases=dict(reversed(list(shelf.cases.items()))))
    assert {frozenset(one.conditions) for one in scheduling.deal(backwards, 0, 8)} == {
        frozenset(one.conditions) for one in dealt
    }
    assert scheduling.deal(shelf, 0, 8) == dealt
    assert scheduling.deal(shelf, 1, 8) != dealt


def failures(backend, shelf, law, folder, editions=()):
    """The detail of a law's record, of each edition that breaks it."""
    folder.mkdir(exist_ok=True)
    chosen = tuple(one for one in asking.instances(editions) if asking.law_of(one).name == law)
    claims = judge.Claims.of(ReferenceBackend().hello({"protocol": 1}))
    plan = asking.Plan(0, 0, chosen, str(folder), shelf)
    made = asking.run(plan, "here", hosting.Here(backend, str(folder)), claims)
    again = asking.records(plan, claims, asking.load(str(folder)))
    assert [one.result for one in again] == [one.result for one in made]
    return [one.result.detail for one in made if one.result.status == "fail"]


def test_the_reference_keeps_the_laws(shelf, tmp_path):
    for law in conditions.LAWS:
        assert failures(ReferenceBackend(), shelf, law.name, tmp_path) == []


class Unmarked(ReferenceBackend):
    """Offloads what was built inside without_npu_compile_scope, in online inference."""

    def graph(self, params):
        graph = super().graph(params)
        if params["values"].get("graph_run_mode") != 0:
            return graph
        return without(graph, "_without_npu_compile")


def without(graph, attr):
    from npu_reference.graphs import graph_from_def

    definition = graph.to_def()
    for node in definition.node:
        node.attr.pop(attr, None)
    return graph_from_def(definition)


class Unranged(ReferenceBackend):
    """Does not read in_out_pair where the graph has functions."""

    def partition(self, params):
        values = params["values"]
        if "in_out_pair" in values and load_graph(params["graph"]).functions:
            values = {name: value for name, value in values.items() if name != "in_out_pair"}
        return super().partition({**params, "values": values})


class Unlisted(ReferenceBackend):
    """Does not read modify_mixlist where mixed computing is on."""

    def precision(self, params):
        values = params["values"]
        if values.get("mix_compile_mode"):
            values = {name: value for name, value in values.items() if name != "modify_mixlist"}
        return super().precision({**params, "values": values})


class Turned(ReferenceBackend):
    """Offloads what in_out_pair names, whatever its flag says, where gradients are merged at the end of a step."""

    def partition(self, params):
        values = params["values"]
        if values.get("is_tailing_optimization") and "in_out_pair_flag" in values:
            values = {**values, "in_out_pair_flag": True}
        return super().partition({**params, "values": values})


class Lenient(ReferenceBackend):
    """Ignores dtypes that no kernel has where kernels' files are kept."""

    def precision(self, params):
        try:
            return super().precision(params)
        except NpuError as error:
            if error.code != "PRECISION_DTYPES" or "debug_dir" not in params["values"]:
                raise
            values = {name: value for name, value in params["values"].items() if name != "customize_dtypes"}
            return super().precision({**params, "values": values})


class Unopened(ReferenceBackend):
    """Takes no mode into functions: what stands there keeps the dtypes of the graph."""

    def precision(self, params):
        answer = super().precision(params)
        functions = load_graph(params["graph"]).functions
        for one in answer["nodes"]:
            name, slash, inner = one["node"].partition("/")
            if slash and name in functions:
                body = functions[name].body
                node = body.index[inner]
                one["inputs"] = [dtype.base.name for dtype in body.input_dtypes(node)]
                one["outputs"] = [dtype.base.name for dtype in body.output_dtypes(node)]
        return answer


class Shallow(ReferenceBackend):
    """Looks at the operators of a function, and not into what they call."""

    def partition(self, params):
        answer = super().partition(params)
        graph = load_graph(params["graph"])
        deep = {node.name for node in graph.nodes if node.proto.op.endswith("_outer")}
        moved = [one["node"] for one in answer["host"] if one["node"] in deep]
        if moved:
            answer["host"] = [one for one in answer["host"] if one["node"] not in deep]
            answer["geops"].append({"name": "G", "nodes": moved, "args": [], "rets": [], "copies": []})
        return answer


class Crowded(ReferenceBackend):
    """Sends what the scope keeps on the host to the device where the graph is large."""

    def graph(self, params):
        graph = super().graph(params)
        return without(graph, "_without_npu_compile") if len(graph.nodes) > 90 else graph


class Unprinted(ReferenceBackend):
    """Does not read marks from texts with line ends of Windows."""

    def graph(self, params):
        with open(params["graph"], "rb") as stream:
            windows = params["graph"].endswith(".pbtxt") and b"\r\n" in stream.read()
        return without(super().graph(params), "_without_npu_compile") if windows else super().graph(params)


class Second(ReferenceBackend):
    """Takes the option values of the first graph of a process for all that follow, until it is told to forget."""

    def __init__(self):
        self.values = None

    def reset(self, params):
        self.values = None
        return {}

    def partition(self, params):
        self.values = self.values or params["values"]
        mixed = self.values.get("mix_compile_mode", False)
        return super().partition({**params, "values": {**params["values"], "mix_compile_mode": mixed}})


class Here(hosting.Here):
    served = 1  # so that it is told to forget


#: Conditions that bring functions with them.
FUNCTIONS = (
    "with functions that nobody calls",
    "with operators in functions of their own",
    "with operators in branches of conditionals of their own",
    "beside a loop, a branch, a variable and an image that nothing connects it with",
)

FAULTS = [
    (Unmarked, "partition-conditions", ("in online inference",)),
    (Unranged, "partition-conditions", FUNCTIONS),
    (Unlisted, "precision-conditions", ("in mixed computing that leaves nothing on the host",)),
    (Shallow, "partition-conditions", ("with operators in functions of their own",)),
    (Crowded, "partition-conditions", ("among a hundred device operators that nothing connects it with",)),
    (Unprinted, "partition-conditions", (conditions.TEXT,)),
    (Turned, "partition-conditions", ("beside is_tailing_optimization=true",)),
    (Lenient, "precision-conditions", ("beside debug_dir=idle/debug",)),
]


@pytest.mark.parametrize("backend, law, condition", FAULTS)
def test_a_fault_under_one_condition_is_found_and_told_of_by_that_condition_alone(
    backend, law, condition, shelf, tmp_path
):
    # All of these show in either edition, but a condition meets few cases of each: a run asks both.
    ask = partial(failures, backend(), shelf, law, tmp_path)
    (detail,) = ask(["current"]) or ask(["legacy"])
    assert detail.split(": ")[2] in condition, detail


def test_a_mode_that_is_not_taken_into_functions_is_found_in_each_of_their_forms(shelf, tmp_path):
    forms = ("inside a function that a function calls", "inside a branch of an If", "inside the body of a While")
    details = failures(Unopened(), shelf, "precision-conditions", tmp_path, ["current"])
    assert details and all(detail.split(": ")[2] in forms for detail in details), details


@pytest.mark.parametrize("name", ["_taken", "_apart"])
def test_what_a_graph_is_moved_into_calls_what_it_was(name):
    """What is put into functions is a well-formed graph still, and holds each operator once."""
    from npu_conformance.strength.laws import nesting
    from npu_reference.graphs import GraphBuilder, graph_from_def

    changes = {
        "_taken": (nesting.in_calls, nesting.in_branch, nesting.in_loop, nesting.in_flow),
        "_apart": (nesting.apart, nesting.apart_in_branches),
    }
    for change in changes[name]:
        g = GraphBuilder()
        x = g.placeholder("x", "float32", [2, 2])
        g.op("Relu", "second", [g.op("Abs", "first", [x])])
        definition = g.build().to_def()
        assert change(definition)
        graph = graph_from_def(definition)
        bodies = [graph.functions[function].body for function in graph.functions]
        assert any(node.op == "Relu" for body in [graph, *bodies] for node in body.nodes)


def test_feeds_in_another_order_are_told_by_their_names():
    assert conditions.feeds_read_back(["x:0", "y:1"]) == {"_arg_x_0_1": "_arg_x_0_0", "_arg_y_1_0": "_arg_y_1_1"}


def test_a_graph_that_comes_second_in_a_process_is_found(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(hosting, "Here", Here)
    details = failures(Second(), shelf, "partition-conditions", tmp_path, ["current"])
    assert details and all(detail.split(": ")[2].endswith(conditions.AFTER) for detail in details), details


def test_what_a_backend_gets_wrong_without_any_condition_is_the_case_s_own_matter(shelf, tmp_path):
    class Unread(ReferenceBackend):
        """Reads no list."""

        def precision(self, params):
            values = {name: value for name, value in params["values"].items() if name != "modify_mixlist"}
            return super().precision({**params, "values": values})

    assert failures(Unread(), shelf, "precision-conditions", tmp_path, ["current"]) == []


def test_an_answer_is_told_apart_into_those_of_its_graphs():
    answer = {
        "geops": [
            {"name": "g", "nodes": ["a", "zq_second/a", "zq_beside_0"], "args": ["x_0_arg", "zq_second/x_0_arg"]},
            {"nodes": ["zq_second/b"], "copies": [{"node": "zq_second/c"}]},
        ],
        "host": [{"node": "x"}, {"node": "zq_scope/zq_second/x"}],
        "borders": [{"source": "x:0", "direction": "h2d"}],
    }
    assert scheduling.own(answer, 0) == {
        "geops": [{"name": "g", "nodes": ["a"], "args": ["x_0_arg"]}],
        "host": [{"node": "x"}],
        "borders": [{"source": "x:0", "direction": "h2d"}],
    }
    assert scheduling.own(answer, 1) == {
        "geops": [{"name": "g", "nodes": ["a"], "args": ["x_0_arg"]}, {"nodes": ["b"], "copies": [{"node": "c"}]}],
        "host": [{"node": "x"}],
        "borders": [],
    }
