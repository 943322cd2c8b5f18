"""Answers of any size cost their own cases, in bounded time, memory and space; so do all of them together."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
from random import Random
from typing import Any, Dict, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.files import output, packing
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, Written
from npu_conformance.library import library
from npu_conformance.observing import files, profile_files
from npu_conformance.protocol import client, messages
from npu_conformance.report import results, verify, write
from npu_conformance.running import keeping
from npu_conformance.strength.laws import answers, asker, asking
from npu_conformance.strength.laws.plans import PARTS, Asked, LawFinding
from npu_reference.errors import NpuError
from tests.conformance.backends import overwhelming
from tests.conformance.shelves import BACKENDS, Shelf

pytestmark = pytest.mark.oldest_at_night

METHODS = {"one-variant-for-all": "timeline", "runs-alike": "run", "many-kernels": "compile",
           "many-iterations": "timeline", "blanks": "compile"}  # fmt: skip

CASE = """
[[case]]
id = "small-{kind}"
title = "An answer like no other"
requirements = ["small.one"]
method = "{method}"
params = {{ graph = "small.pbtxt", values = {{ as = "{kind}" }}{more} }}
expect = {{ contains = ["nothing says this"] }}
"""

#: Run in a process of its own, which has two gigabytes of addresses.
PROGRAM = """
import json, os, sys
from npu_conformance.files import output
from npu_conformance.report import verify, write
from tests.conformance.shelves import QUICK, Shelf, judged
shelf = Shelf.__new__(Shelf)
shelf.folder = sys.argv[1]
folder = shelf.path("report")
with output.replaced_folder(folder) as aside:
    settings = QUICK._replace(factor=3.0, repeat=False)
    report = judged(shelf, f"exec:{sys.executable} {sys.argv[2]}", settings, keep=aside)
    write.write(shelf.load(), report, aside)
print(json.dumps({one.instance.case.id: [one.result.status, one.result.detail] for one in report.records}))
print(json.dumps(verify.verify(shelf.load(), folder).faults))
"""


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.nightly
def test_an_answer_that_nobody_can_bear_costs_its_case(shelf: Shelf) -> None:
    fetches = {"runs-alike": ', fetches = ["a:0"]'}
    cases = [
        CASE.format(kind=kind, method=METHODS.get(kind, "partition"), more=fetches.get(kind, ""))
        for kind in overwhelming.ANSWERS
    ]
    with open(shelf.path("cases/small/topic.toml"), "a", encoding="utf-8") as stream:
        stream.write("".join(cases))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, shelf.folder, os.path.join(BACKENDS, "overwhelming.py")],
        stdout=subprocess.PIPE, check=True, timeout=300, preexec_fn=limited,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    found, faults = map(json.loads, done.stdout.decode().splitlines())
    assert faults == []
    told: Dict[str, str] = {name[len("small-") :]: " ".join(said) for name, said in found.items()}
    assert {name for name, said in told.items() if said.startswith("pass")} == set(told) - set(overwhelming.ANSWERS)
    assert {name: said for name, said in told.items() if said.startswith("harness-error")} == {}
    for kind in ("one-name", "many-nodes", "many-keys"):
        assert told[kind].endswith("the answer has more than 4096 KiB, which is more than a report keeps of one")
    assert "stands twice" in told["a-key-twice"]
    assert told["no-end"].startswith("protocol-error no answer of the protocol: not JSON")
    for kind in ("kept-nodes", "one-name-for-all", "long-names"):
        assert "says more than is looked at" in told[kind], told[kind]
    for kind in ("many-iterations", "blanks"):
        assert told[kind] == "fail missing: nothing says this"
    report = shelf.path("report")
    assert sum(os.path.getsize(os.path.join(report, name)) for name in os.listdir(report)) < 64_000_000
    # What is compressed in it was judged again above; where it is damaged, it cannot be.
    path = os.path.join(report, results.ANSWERS)
    with open(path, "rb") as stream:
        content = stream.read()
    with open(path, "wb") as stream:
        stream.write(content[:-1])
    with pytest.raises(NpuError, match="what is compressed is cut off"):
        verify.verify(shelf.load(), report)


def record(number: int, size: int) -> Record:
    result = judge.Result("fail", "", (judge.Difference("missing", "x", "host"),), (), "partition/missing/host")
    return Record(_INSTANCES[number], result, None, "", "", 0.0, Written.of([], {"ok": "x" * size}))


class _OfCase:
    """An instance as far as a store looks at it."""

    def __init__(self, number: int) -> None:
        self.id = f"case-{number}"
        self.case = self
        self.method = "partition"


_INSTANCES = {number: _OfCase(number) for number in range(40)}


@given(
    st.lists(st.integers(0, 2000), min_size=1, max_size=40),
    st.sampled_from([keeping._Weight(15000, 9000), keeping._Weight(9000, 15000)]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=30, deadline=None)
def test_the_largest_answers_go_whatever_came_first(sizes: List[int], most: Any, order: Random) -> None:
    def share(weight: Any) -> int:
        return max(weight.unpacked * most.in_files, weight.in_files * most.unpacked)

    numbers = list(range(len(sizes)))
    found = []
    for _ in range(2):
        store = keeping.Store(0)
        store._most = most
        store._room = share(most)
        order.shuffle(numbers)
        for number in numbers:
            store.add(number, record(number, sizes[number]))
        assert sorted(store.records) == list(range(len(sizes)))
        found.append({number: one.result.status for number, one in store.records.items()})
    assert found[0] == found[1]
    weights = [keeping._weight(record(number, size)) for number, size in enumerate(sizes)]
    kept = [share(weights[number]) for number, status in found[0].items() if status == "fail"]
    gone = [share(weights[number]) for number, status in found[0].items() if status == "protocol-error"]
    assert not gone or not kept or max(kept) <= min(gone)
    assert bool(gone) == (sum(map(share, weights)) > share(most))
    for one in ("unpacked", "in_files"):
        assert sum(getattr(weights[number], one) for number, status in found[0].items() if status == "fail") <= getattr(
            most, one
        )


@pytest.mark.nightly
def test_all_files_of_a_whole_run_stay_under_64_mb_whatever_is_answered(tmp_path) -> None:
    whole = library.load()
    instances = whole.instances()
    drawn = Random(0)

    def large() -> List[Any]:
        noise = base64.b64encode(drawn.getrandbits(8 * 6000).to_bytes(6000, "big")).decode()
        return [client.Answered({"noise": noise}), "", ()]

    kinds: List[Any] = [
        large(),
        [client.Answered({}), "", tuple(judge.Difference("missing", f"{place} '<&\">", "host") for place in range(99))],
        [client.Failed("'" * 500), "'" * 500, ()],
    ]
    store = keeping.Store(len(instances))
    for number, instance in enumerate(instances):
        outcome, detail, differences = large() if number % 8 else kinds[number % len(kinds)]
        result = judge.Result("fail", detail, differences, (), f"{instance.case.method}/error")
        store.add(number, keeping.bounded(Record(instance, result, outcome, "", "", 0.0), {}))
    laws = asking.Plan(asking.DEFAULT, 0, tuple(asking.instances()), str(tmp_path))
    finding = LawFinding(Asked(0, "current", {}), "'" * 5000, None)
    broken = {(asking.law_of(one).name, one.edition): [finding] * 99 for one in laws.instances}
    cases = [one.case for one in laws.instances]
    needs = frozenset(need for case in cases for need in case.needs)
    claims = judge.Claims(frozenset(case.area for case in cases), frozenset(["legacy", "current"]), needs)
    records = [*store.records.values(), *asking.records(laws, claims, [], broken)]
    header = {
        "suite": {"version": "1", "library": whole.digest}, "platform": {}, "selection": {}, "known_failures": [],
        "backend": {"backend": {"name": "n" * messages.HELLO_BYTES, "version": "1"}, "spec": "x"},
    }  # fmt: skip
    write.write(whole, Report(header, tuple(records), (), "not conformant"), str(tmp_path))
    took = {name: os.path.getsize(str(tmp_path / name)) for name in os.listdir(str(tmp_path))}
    assert len(took) >= 4 and took[results.ANSWERS] > keeping._IN_FILES // 2
    of_laws = (PARTS + 1) * asker._ROOM
    assert sum(took.values()) + of_laws < 64_000_000, took


class _Noisy:
    """A worker that answers what no compression makes shorter."""

    folder = served = ""

    def __init__(self) -> None:
        self._drawn = Random(0)

    def known(self, method: str, params: Any) -> None:
        """Nothing was asked before."""

    def request(self, method: str, params: Any, seconds: float) -> client.Outcome:
        return client.Answered({"noise": "".join(map(chr, self._drawn.choices(range(33, 127), k=90_000)))})


def test_answers_about_laws_beyond_their_room_are_as_none_in_the_file() -> None:
    plan = asking.Plan(asking.DEFAULT, 0, (), "")
    asked = asker.Asker(plan, _Noisy(), judge.Claims.of({"capabilities": {}}), 0)  # type: ignore[arg-type]
    found = []
    while not asked.done:
        found.append(Asked(len(found), "current", {"first": asked.request("partition", {})}))
    with tempfile.TemporaryDirectory() as folder:
        answers.write(folder, found)
        size = os.path.getsize(os.path.join(folder, asking.FILE))
        assert [type(one.outcomes["first"]) for one in answers.load(folder)].count(client.Nonsense) == 2
    assert asker._ROOM // 2 < size < asker._ROOM + 1000 * len(found)


# What is long is compressed


@given(st.lists(st.integers() | st.text(max_size=9), max_size=9), st.integers(1, 900))
def test_what_is_packed_is_the_same_unpacked(some: List[Any], times: int) -> None:
    value = some * times
    text = output.dumps(value)
    packed = packing.pack(text)
    assert len(packed) <= len(text)
    assert packing.unpack(json.loads(packed), packing.Room(len(text))) == value
    assert packing.plain(packed) == text


def read(content: bytes, most: int = 1 << 20, longest: int = 1 << 20) -> List[bytes]:
    return list(packing.lines(io.BytesIO(content), most, longest))


_TEXTS = st.text(st.characters(max_codepoint=127, blacklist_characters="\n"), max_size=9)


@given(st.lists(_TEXTS, min_size=1), st.integers(1, 900))
def test_lines_are_the_same_in_one_file(some: List[str], times: int) -> None:
    content = packing.compressed(some * times)
    assert read(content) == [f"{text}\n".encode() for text in some * times]
    assert packing.compressed([]) == b""


@pytest.mark.parametrize(
    "content, says",
    [
        (b"", "is cut off"),
        (packing.compressed(["a"])[:-1], "is cut off"),
        (packing.compressed(["a"]) + b"x", "goes on"),
        (packing.compressed(["a"]) * 2, "goes on"),
        (b"a\n" * 50, "cannot be read"),
        (b"\x1f\x8b\x08" + bytes(20), "cannot be read"),
        (lzma.compress(b"a\nb"), "has no end"),
        (lzma.compress(b"\n" * (3 << 20)), "takes more"),
        (lzma.compress(b"a" * (1 << 19) * 3 + b"\n"), "takes more|too long"),
        (lzma.compress(b"a\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]), "cannot be read"),
    ],
    ids=[
        "nothing", "cut off", "a byte behind", "two streams", "no compression", "gzip", "no last line end",
        "many lines", "a long line", "a large dictionary",
    ],
)
def test_what_are_no_compressed_lines_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(content)


def test_a_line_that_is_too_long_is_refused_as_soon_as_it_is() -> None:
    with pytest.raises(ValueError, match="too long"):
        read(packing.compressed(["a" * 5000]), longest=4000)


LONG = output.dumps("x" * 5000)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda data: data[:-1], "is cut off, or goes on"),
        (lambda data: data + b"x", "is cut off, or goes on"),
        (lambda data: b"x" + data, "cannot be read"),
        (lambda data: gzip.compress(b'{"x": '), "Expecting value"),
        (lambda data: gzip.compress(output.dumps("x" * (2 << 20)).encode()), "takes more than 1 MiB"),
    ],
)
def test_what_is_no_packed_value_is_refused(change: Any, says: str) -> None:
    data = base64.b64decode(json.loads(packing.pack(LONG))["gzip"])
    with pytest.raises(ValueError, match=says):
        packing.unpack({"gzip": base64.b64encode(change(data)).decode()}, packing.Room(1 << 20))


@pytest.mark.parametrize("value", ["é", "a", 1, None])
def test_what_is_compressed_is_base64(value: Any) -> None:
    with pytest.raises(ValueError):
        packing.unpack({"gzip": value}, packing.Room(1 << 20))


def test_a_tensor_of_an_answer_that_is_not_kept_is_removed(tmp_path) -> None:
    (tmp_path / "tensors").mkdir()
    for name in ("a", "b"):
        (tmp_path / "tensors" / name).write_text(name)
    one = record(0, 1)
    keeping.tidy([one._replace(written=one.written._replace(tensors=(("tensors/a", 1),)))], str(tmp_path))
    assert os.listdir(str(tmp_path / "tensors")) == ["a"]


# What is found in time that grows with an answer is what was found before


@given(st.lists(st.text("ab_", max_size=6), max_size=8), st.text("ab_", max_size=8))
def test_the_kernel_of_a_file_is_the_longest_that_its_name_begins_with(stems: List[str], name: str) -> None:
    kernels = dict.fromkeys(stems, "op")
    expected = max((stem for stem in kernels if stem and name.startswith(stem)), key=len, default="")
    assert files.Stems(kernels).of(name) == expected


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("xyz")), max_size=12),
    st.lists(st.none() | st.integers(0, 30), max_size=6),
)
def test_operators_near_a_moment_are_those_within_its_bound(moments: List[Any], wanted: List[Any]) -> None:
    near = profile_files._NEAR
    placed = [(moment * near / 2, name) for moment, name in moments]
    asked = [None if one is None else one * near / 2 for one in wanted]
    expected = [
        name
        for one in asked
        if one is not None
        for name in sorted({name for moment, name in placed if abs(moment - one) <= near})
    ]
    assert sorted(profile_files._near(placed, asked)) == sorted(expected)


@pytest.mark.parametrize(
    "name, place",
    [
        ("a/PROF_1/device/op_summary_0_1.csv", ("a", "PROF_1", "op_summary")),
        ("PROF_1/PROF_2/x/task_time.csv", ("PROF_1", "PROF_2", "task_time")),
        ("PROF_1/step_trace.csv", ("", "PROF_1", "step_trace")),
        ("/out/PROF_1/step_trace.csv", None),
        ("a/PROF_/step_trace.csv", None),
        ("PROF_1/Step.csv", None),
        ("PROF_1.csv", None),
    ],
)
def test_a_table_is_one_of_the_innermost_profile_that_it_lies_in(name: str, place: Any) -> None:
    assert profile_files._place(name) == place
