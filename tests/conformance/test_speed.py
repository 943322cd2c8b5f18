"""A run does nothing twice that it needs once: counted, for clocks say nothing on a machine that others use too."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from typing import Any, Dict, List, Sequence
from unittest import mock

import pytest

from npu_conformance import cli
from npu_conformance.backends import compiling
from npu_conformance.backends import worker as hosting_worker
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.files import scratch
from npu_conformance.judging import judge, records
from npu_conformance.library import twins
from npu_conformance.library.case import Instance
from npu_conformance.observing import files, observe
from npu_conformance.protocol import client, messages, outcomes, process, requests, schema
from npu_conformance.report import results
from npu_conformance.running import runner, seats
from npu_conformance.strength.laws import asking
from npu_reference import collection
from npu_reference.catalog import Catalog, catalog
from npu_reference.graphs import load_graph, ops, readers
from npu_reference.options import resolve
from npu_reference.options.rules import ALWAYS, RULES, Rule
from tests.cases.corpus import corpus
from tests.conformance.shelves import QUICK, Shelf, judged, spoken

pytestmark = pytest.mark.oldest_at_night

SHIPPED = corpus()


def counted(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> List[Any]:
    """Calls of a function from now on."""
    calls: List[Any] = []
    real = getattr(place, name)

    def call(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return real(*given, **named)

    monkeypatch.setattr(place, name, call)
    return calls


def twinned() -> Instance:
    return next(one for one in SHIPPED.instances() if one.twin == "rename" and one.case.method == "partition")


def test_a_text_graph_is_parsed_once_however_often_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    readers._parse_short_text.cache_clear()
    calls, others = (counted(monkeypatch, readers, name) for name in ("read_printed", "parse_text"))
    path = twinned().case.params["graph"]
    first, second = load_graph(path), load_graph(path)
    assert len(calls) == 1 and others == []  # the parser of protocol buffers takes five times as long
    assert first is not second and first.to_bytes() == second.to_bytes()


def test_of_all_operators_those_are_parsed_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = ops.OpRegistry()
    calls = counted(monkeypatch, ops, "_op_def")
    assert "Relu" in registry and len(list(registry.names())) > 1900 and calls == []
    assert registry.get("Relu") is registry.get("Relu") is not None and len(calls) == 1


def test_a_text_graph_that_changed_is_read_anew(tmp_path: Any) -> None:
    path = tmp_path / "graph.pbtxt"
    for name in ("a", "b"):
        path.write_text(f'node {{ name: "{name}" op: "NoOp" }}\n')
        assert [node.name for node in load_graph(path).nodes] == [name]


def test_a_twin_is_written_anew_and_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    twins._rewritten.cache_clear()
    calls = counted(monkeypatch, twins, "_bytes")
    for _ in range(3):
        prepared = requests.prepare(twinned(), str(tmp_path))
        with open(prepared.params["graph"], "rb") as stream:
            assert stream.read()
        os.unlink(prepared.params["graph"])
    assert len(calls) == 1


def test_a_schema_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"id": 1, "ok": {"geops": [], "host": []}}
    assert messages.answer_fault(answer, "partition", 1) is None
    calls = counted(monkeypatch, schema, "_compiled")
    assert messages.answer_fault(answer, "partition", 1) is None and calls == []


def test_an_empty_folder_is_not_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    place = str(tmp_path / "case")
    calls = counted(monkeypatch, scratch.os, "mkdir")
    for _ in range(3):
        scratch.empty(place)
    assert len(calls) == 1
    (tmp_path / "case" / "left").write_text("of the case before")
    scratch.empty(place)
    assert os.listdir(place) == [] and len(calls) == 1
    (tmp_path / "case" / "inner").mkdir()
    del calls[:]
    scratch.empty(place)
    assert os.listdir(place) == [] and len(calls) == 1


@pytest.mark.parametrize("how", ["a link", "a file", "no permissions"])
def test_a_folder_that_a_backend_replaced_is_made_again(tmp_path: Any, how: str) -> None:
    place = tmp_path / "case"
    if how == "a link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    elif how == "a file":
        place.write_text("x")
    else:
        place.mkdir()
        place.chmod(0)
    scratch.empty(str(place))
    assert not place.is_symlink() and place.stat().st_mode & 0o777 == 0o700 and os.listdir(str(place)) == []


def test_a_request_that_fits_the_pipe_needs_no_selector(monkeypatch: pytest.MonkeyPatch, shelf: Shelf) -> None:
    made: List[process.Process] = []
    real = process.Process.send

    def send(self: process.Process, data: bytes) -> None:
        real(self, data)
        made.append(self)
        assert not self._blocked

    monkeypatch.setattr(process.Process, "send", send)
    judged(shelf, spoken("Honest"))
    assert made


def further(parts: Sequence[Any], fresh: Sequence[Any] = (), same: Any = lambda one: None) -> runner.Further:
    return runner.Further(None, parts, lambda told: None, lambda how: None, lambda start: [], fresh, same)


def test_a_part_comes_behind_the_instances_that_ask_the_same() -> None:
    instances = SHIPPED.instances()

    def same(one: Any) -> Any:
        return {"partition": 0, "precision": 2}.get(one.case.method)

    parts = [lambda common, worker, tick, place=place: place for place in range(3)]
    units = list(runner._units(list(enumerate(instances)), further(parts, same=same)))
    chains = [unit for unit in units if isinstance(unit, runner.Chain)]
    assert [parts.index(one.units[-1]) for one in chains] == [2, 0] and parts[1] in units
    for method, chain in zip(("precision", "partition"), chains):
        asked = [pair[1] for unit in chain.units[:-1] for pair in unit]
        assert asked == [one for one in instances if one.case.method == method]
        assert max(map(len, chain.units[:-1])) <= runner._CHUNK
    plain = [unit for unit in units if isinstance(unit, list)]
    everyone = [pair[0] for one in [*plain, *(u for c in chains for u in c.units[:-1])] for pair in one]
    assert sorted(everyone) == list(range(len(instances)))


def test_every_instance_is_in_one_unit_what_takes_long_at_both_ends() -> None:
    instances = SHIPPED.instances()
    units = list(runner._units(list(enumerate(instances)), further([lambda worker: None, lambda worker: None])))
    numbers = [pair[0] for unit in units if not callable(unit) for pair in unit]
    assert sorted(numbers) == list(range(len(instances)))
    places: Dict[str, List[int]] = {"long": [], "part": [], "short": []}
    for place, unit in enumerate(units[:-1]):
        long = not callable(unit) and runner._length(unit[0][1].case) > runner._SHORT
        places["part" if callable(unit) else "long" if long else "short"].append(place)
    left, right = places["part"]
    assert max(places["long"]) < left < min(places["short"]) and max(places["short"]) < right
    forked = [one for one in instances if one.case.method == "run" and "ranks" in one.case.params]
    assert [pair[1] for pair in units[-1]] == forked  # one process that ranks are forked from


def test_what_begins_with_a_fresh_worker_is_at_the_right_where_a_lane_has_one() -> None:
    def again(*given: Any) -> None:
        raise AssertionError("asked")

    pairs = list(enumerate(SHIPPED.instances()))
    assert list(runner._units(pairs, further([lambda worker: None], [again])))[-1] is again


@pytest.mark.parametrize(("served", "restarts"), [(0, 0), (1, 1)])
def test_a_worker_that_nobody_asked_is_fresh(monkeypatch: pytest.MonkeyPatch, served: int, restarts: int) -> None:
    worker: Any = mock.Mock(served=served)
    common: Any = mock.Mock(plan=mock.Mock(graphs=0))
    asking.ask_again(common, worker, None)
    assert worker.fresh.call_count == restarts


def test_units_are_few_and_none_is_long() -> None:
    units = runner._units(list(enumerate(SHIPPED.instances())))
    sizes = Counter(len(unit) for unit in units if not callable(unit))
    assert max(sizes) <= max(runner._CHUNK, len(list(units[-1])))


@pytest.mark.parametrize("words, ends", [(["--version"], 1), (["lint", "--list"], 1), (["simulate", "--help"], 0)])
def test_a_short_command_ends_without_a_last_look(monkeypatch: Any, capsys: Any, words: List[str], ends: int) -> None:
    calls: List[int] = []
    monkeypatch.setattr(cli, "collect_no_more", lambda: calls.append(1))
    monkeypatch.setattr(sys, "argv", ["npu-conformance", *words])
    with pytest.raises(SystemExit):
        cli.main()
    assert len(calls) == ends


def _looks(common: Any, worker: Any, tick: Any) -> Any:
    """In the process of a lane: how often the collector looks, in the lane and in its worker."""
    outcome = worker.request("options", {"values": {}, "surface": "session", "edition": "current"}, 60.0)
    return gc.get_threshold(), outcome


def test_lanes_and_workers_collect_seldom(tmp_path: Any) -> None:
    backend = tmp_path / "looking.py"
    backend.write_text(
        "import gc\nclass Looking:\n    def hello(self, params):\n        raise ValueError(gc.get_threshold())\n"
    )
    claims = judge.Claims(frozenset(["options"]), frozenset(["current"]), frozenset())
    terms = seats.Terms(claims, "", None, False)
    settings = QUICK._replace(jobs=2, env={"PYTHONPATH": os.pathsep.join([str(tmp_path), QUICK.env["PYTHONPATH"]])})
    with seats.seat("py:looking:Looking", settings) as place:
        place.begin(terms)
        threshold, outcome = place.do(_looks, lambda number, record: None)
    assert threshold == collection._SELDOM and isinstance(outcome, client.Failed)
    assert str(collection._SELDOM) in outcome.message


def test_a_line_of_the_operator_library_is_read_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Catalog.built_in()
    found = [first.get(op) for op in ("MatMul", "Conv2D")], first.kernels()
    columns, rows = counted(monkeypatch, catalog, "_column"), counted(monkeypatch, catalog, "_kernels")
    again = Catalog.built_in()
    assert ([again.get(op) for op in ("MatMul", "Conv2D")], again.kernels()) == found
    assert columns == [] and rows == []


def test_a_request_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with client.Client("reference") as worker:
        worker.hello()
        calls = counted(monkeypatch, messages, "encode")
        assert isinstance(
            worker.request("options", {"values": {}, "surface": "session", "edition": "current"}, 60), client.Answered
        )
        assert len(calls) == 1  # to be sent, and to know the question again


def test_values_of_the_usual_types_are_checked_by_their_type_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: Any = {"properties": {"text": {"type": ["string", "null"]}, "size": {"type": "integer"}}, "type": "object"}
    assert schema.fault({"text": None, "size": 1}, wanted, wanted) is None
    calls = counted(monkeypatch, schema, "_is")
    assert schema.fault({"text": "a", "size": 2}, wanted, wanted) is None and calls == []
    assert schema.fault({"text": "a", "size": True}, wanted, wanted) == "$.size: true is not of type integer"
    assert schema.fault({"text": 3}, wanted, wanted) == "$.text: 3 is not of type ['string', 'null']"


def test_facts_are_looked_at_together_and_one_by_one_only_where_one_is_unusual(monkeypatch: pytest.MonkeyPatch) -> None:
    plain: Any = {"effective": {"a": {"value": 1}, "b": {"value": "x"}}}
    calls = counted(monkeypatch, observe, "ascii_line")
    assert observe.facts("options", plain) == ["effective a = 1", 'effective b = "x"'] and calls == []
    assert (
        observe.facts("options", {"effective": {"\u00e4": {"value": 1}}}) == ["effective \\xe4 = 1"] and len(calls) == 1
    )


def test_nothing_is_collected_once_more_when_a_worker_of_the_reference_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: List[bool] = []
    monkeypatch.setattr(collection.gc, "freeze", lambda: frozen.append(True))
    message, done = hosting_worker._answer(
        ReferenceBackend(), messages.encode({"id": 1, "method": "shutdown", "params": {}})
    )
    assert (message, done, frozen) == ({"id": 1, "ok": {}}, True, [True])


def test_rules_of_options_that_nobody_gives_are_not_asked_whether_they_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[Rule] = []
    real = Rule.applies
    monkeypatch.setattr(Rule, "applies", lambda self, state: asked.append(self) or real(self, state))
    resolve({"precision_mode": "must_keep_origin_dtype"}, env={"ASCEND_DEVICE_ID": "0"})
    given = {ALWAYS, "precision_mode", "ASCEND_DEVICE_ID"}
    assert asked and all(given.intersection(rule.triggers) for rule in asked) and len(asked) < len(RULES) / 2


def test_types_of_a_nodes_tensors_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_graph(twinned().case.params["graph"])
    found = [(graph.input_dtypes(node.id), graph.output_dtypes(node.id)) for node in graph.nodes]
    calls = counted(monkeypatch, graph, "_arg_dtypes")
    assert [(graph.input_dtypes(node.id), graph.output_dtypes(node.id)) for node in graph.nodes] == found
    assert calls == []


def test_what_varies_in_a_path_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "work/tmp_weight_7_0/weight_0a1b"
    expected = "work/tmp_weight_<pid>_<session>/weight_<hash>"
    assert files.name_of(path, files.Stems({})) == expected
    monkeypatch.setattr(files, "_VARYING", ())
    assert files.name_of(path, files.Stems({})) == expected


def test_files_below_a_folder_are_told_in_order_and_links_are_not(tmp_path: Any) -> None:
    for name in ("b/inner/one.txt", "a.txt", "b/.lock", "b/kernel.o", "b-c/two.txt", "b/noend"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / "b/empty").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    (tmp_path / "linked").symlink_to(tmp_path / "b")
    whole, size = {"b64": "dGV4dA=="}, {"bytes": 4}
    assert list(compiling.files_below(str(tmp_path)).items()) == [
        ("a.txt", whole), ("b/kernel.o", size), ("b/noend", size), ("b/empty/", {"bytes": 0}),
        ("b/inner/one.txt", whole), ("b-c/two.txt", whole),
    ]  # fmt: skip
    assert compiling.files_below(str(tmp_path / "nowhere")) == {}


@pytest.mark.parametrize("size", [1, 1000])
def test_a_long_answer_that_a_lane_has_written_is_not_encoded_again(monkeypatch: Any, size: int) -> None:
    result = judge.Result("fail", "why", (judge.Difference("missing", "a", "effective"),), ("a = 1",), "options/x")
    outcome = client.Answered({"effective": {"a": {"value": "2" * size}}})
    whole = records.Record(twinned(), result, outcome, "", "", 0.0)
    written = records.Written.of(result.facts, outcomes.outcome_json(outcome))
    lines = results.lines(whole)
    assert bool(lines[1]) == (size > 1) == ("observation" not in lines[0])
    calls = counted(monkeypatch, results.output, "dumps")
    assert results.lines(whole._replace(written=written)) == lines and len(calls) == (2 if size > 1 else 1)


def test_what_lies_behind_an_answer_is_looked_for_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    with client.Client("reference") as asked:
        asked.hello()
        assert asked._process is not None
        calls = counted(monkeypatch, process.Process, "_turn")
        assert not asked._process.more() and calls == []


def test_a_reset_and_its_answer_are_told_without_being_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    line = messages.encode({"id": 7, "method": "reset", "params": {}})
    spaced = line.replace(b",", b", ")
    parsed = hosting_worker._answer(ReferenceBackend(), spaced)
    calls = counted(monkeypatch, messages, "decode")
    assert hosting_worker._answer(ReferenceBackend(), line) == parsed == ({"id": 7, "ok": {}}, False)
    assert client.read(messages.encode(parsed[0]), "reset", 7) == client.Answered({}) and calls == []
    assert isinstance(client.read(messages.encode(parsed[0]), "reset", 8), client.Nonsense) and len(calls) == 1
