"""What a program leaves as it compiles, unloads and ends, and when it is killed."""

from __future__ import annotations

import hashlib
import json
import struct

import pytest

from npu_reference import tuning
from npu_reference.artifacts import Folder, fusions, library
from npu_reference.artifacts.places import LEVEL_KINDS, OPTION_KINDS
from npu_reference.artifacts.weights import _pieces
from npu_reference.catalog import Catalog
from npu_reference.compiler.collectives import MC2
from npu_reference.compiler.lowering import unfolding
from npu_reference.device import faults
from npu_reference.errors import NpuError
from npu_reference.graphs import OPS, GraphBuilder, close_over
from npu_reference.graphs.tensors import tensor_proto
from npu_reference.options import resolve
from npu_reference.partition import partition
from tests.artifacts.making import Machine, apart, dense
from tests.timing.networks import mlp, step


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_kinds_of_levels_and_words_are_of_the_five_documented_ones():
    kinds = {".cce", "_loc.json", ".o", ".json", "_compute.json"}
    assert {kind for found in [*LEVEL_KINDS.values(), *OPTION_KINDS.values()] for kind in found} == kinds


def test_the_six_mc2_operators_can_be_read_and_have_kernels():
    assert len(MC2) == 6
    assert not [name for name in MC2 if name not in OPS or Catalog.built_in().get(name) is None]


def test_what_reads_an_mc2_operator_is_a_kernel_of_its_own_and_leaves_files(machine):
    """It was joined to the operator that leaves none (runconfig.op_debug_level.mc2 names six, and no others)."""
    g = GraphBuilder()
    reduced = g.op("MatMulAllReduce", "reduced", [g.placeholder(name, "float16", [8, 8]) for name in ("x", "w")])
    g.op("Relu", "relu", [reduced])
    left = machine.compile((g.build(), ["x:0", "w:0"], ["relu:0"]), more=["MatMulAllReduce"], op_debug_level=1)
    assert [kernel.nodes for kernel in left.kernels] == [("reduced",), ("relu",)]
    assert len(machine.files("kernel_meta")) == len(LEVEL_KINDS[1])


def test_compiling_again_leaves_the_same_bytes(tmp_path):
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        machine = Machine(tmp_path / name)
        machine.compile(op_debug_level=1)
        found.append({file: (machine.path / file).read_bytes() for file in machine.files()})
    assert found[0] == found[1] and len(found[0]) == 12


def test_a_partition_is_unfolded_once_for_each_of_its_sizes(monkeypatch):
    graph, feeds, fetches = apart()
    cut = partition(close_over(graph, feeds, fetches, []), resolve({}).raise_first())
    calls = []
    flatten = unfolding.flatten
    monkeypatch.setattr(unfolding, "flatten", lambda one: calls.append(one) or flatten(one))
    first, again = unfolding.unfold(cut, {"x": [4, 8]}), unfolding.unfold(cut, {"x": (4, 8)})
    assert len(calls) == 1 and first == again and again.partition is cut
    assert unfolding.unfold(cut, {"x": [2, 8]}).shapes is not first.shapes and len(calls) == 2
    for rows in range(10):
        unfolding.unfold(cut, {"x": [rows, 8]})
    assert len(cut.derived) <= unfolding._MOST_DERIVED
    monkeypatch.setattr(unfolding, "_MOST_KEPT", 0)  # a large graph is compiled once, and would be kept for nothing
    cut.derived.clear()
    del calls[:]
    for _ in range(2):
        unfolding.unfold(cut)
    assert len(calls) == 2 and cut.derived == {}


def test_operators_compiled_alike_write_their_files_once(machine, monkeypatch):
    g = GraphBuilder()
    x = g.placeholder("x", "float16", [4, 8])
    fed = [g.placeholder(f"w{number}", "float16", [8, 8]) for number in range(20)]
    names = [g.op("MatMul", f"product{number}", [x, w]).name for number, w in enumerate(fed)]
    wrote = []
    write = Folder.write
    monkeypatch.setattr(Folder, "write", lambda self, name, pieces: (wrote.append(name), write(self, name, pieces)))
    left = machine.compile(
        (g.build(), ["x:0", *(f"{w.name}:0" for w in fed)], [f"{n}:0" for n in names]), op_debug_level=1
    )
    assert len([kernel for kernel in left.kernels if kernel.nodes]) == 20
    assert len(wrote) == len(set(wrote)) == 4 * len({kernel.kernel for kernel in left.kernels})


def test_a_kernel_of_the_cache_has_files_at_the_level_that_keeps_them(machine):
    """The documents say that files are kept, and nothing of kernels that were compiled before: no case asks it."""
    cached = {"op_compiler_cache_mode": "enable", "op_compiler_cache_dir": "cache", "edition": "legacy"}
    compiled = machine.compile(op_debug_level=0, **cached)
    reused = machine.compile(op_debug_level=3, **cached)
    assert compiled.misses == reused.hits > 0 and not reused.misses
    kept = [name for name in machine.files() if name.startswith("kernel_meta/")]
    assert len(kept) == 2 * reused.hits


def test_the_description_of_a_kernel_vouches_for_its_object(machine):
    machine.compile(op_debug_level=3)
    for path in machine.path.glob("kernel_meta/*.json"):
        description = json.loads(path.read_text())
        assert hashlib.sha256(path.with_suffix(".o").read_bytes()).hexdigest() == description["sha256"]
        assert description["binFileName"] == description["kernelName"] == path.stem


def test_lines_of_the_code_are_those_the_locations_say(machine):
    machine.compile(dense(), op_debug_level=1)
    loc = next(machine.path.glob("kernel_meta/*_loc.json"))
    told = json.loads(loc.read_text())
    lines = loc.with_name(told["cceFile"]).read_text().splitlines()
    assert [lines[place["cce_line"] - 1].split("// ")[1] for place in told["loc"]] == ["MatMul", "Relu"]


def test_two_sessions_of_a_program_share_one_fusion_result(machine):
    program = machine.program()
    machine.compile(dense(), program=program, session=1)
    machine.compile(dense(), program=program, session=2)
    machine.compile(dense(), program=program, session=2)
    assert machine.files() == []
    program.end()
    keys = list(json.loads((machine.path / "fusion_result.json").read_text()))
    assert keys == [f"session_and_graph_id_{ids}" for ids in ("1_0", "2_0", "2_1")]


@pytest.mark.parametrize("when", [(2, 1), (1, 2), (2, 1, 2, 1), (2, 2), (1, 1)])
def test_each_session_of_a_program_has_its_results_written_when_it_says(machine, when):
    """runconfig.export_compile_stat.1, .2: at once for a session that says 2, for one that says 1 by the end."""
    program = machine.program()
    written = {}
    for session, one in enumerate(when):
        machine.compile(dense(), program=program, session=session, export_compile_stat=one)
        if one == 2:
            written = set(range(session + 1))
        assert _sessions(machine) == written or not written
    program.end()
    assert _sessions(machine) == set(range(len(when)))


def _sessions(machine):
    path = machine.path / "fusion_result.json"
    return {int(key.split("_")[-2]) for key in json.loads(path.read_text())} if path.exists() else set()


def test_the_file_of_an_earlier_program_does_not_speak_for_a_killed_one(machine):
    machine.compile(dense(), export_compile_stat=2)
    assert machine.files() == ["fusion_result.json"]
    machine.compile(dense(), export_compile_stat=1)  # and is killed
    assert machine.files() == []


@pytest.mark.parametrize("text", ["{}", "[1]", '{"mine": 1}', "no JSON", "[" * 3000])
def test_another_file_of_that_name_stays_until_it_is_replaced(machine, text):
    (machine.path / "fusion_result.json").write_text(text)
    program = machine.program()
    machine.compile(dense(), program=program, export_compile_stat=1)
    assert (machine.path / "fusion_result.json").read_text() == text
    program.end()
    assert "session_and_graph_id_0_0" in (machine.path / "fusion_result.json").read_text()


def test_a_program_that_cannot_write_at_its_end_says_so(machine):
    (machine.path / "fusion_result.json").mkdir()
    program = machine.program()
    machine.compile(dense(), program=program)
    assert [note.code for note in program.end()] == ["NOT_WRITTEN"] and program.end() == ()


def weights(machine):
    return [path for path in machine.path.rglob("weight_*") if path.is_file()]


def test_a_weight_file_holds_the_constant_and_is_named_by_it(machine):
    left = machine.compile(dense(0.5), external_weight=True)
    (path,) = weights(machine)
    data = path.read_bytes()
    assert data == struct.pack("<e", 0.5) * 64 and path.name == f"weight_{hashlib.sha256(data).hexdigest()}"
    assert [(one.node, one.op, one.bytes) for one in left.constants] == [("w", "FileConstant", 128)]


def test_equal_weights_of_a_session_are_one_file_and_sessions_are_apart(machine):
    program = machine.program()
    for session, weight in ((1, 0.5), (1, 0.5), (1, 0.25), (2, 0.5)):
        machine.compile(dense(weight), program=program, session=session, external_weight=True)
    assert sorted(path.parent.name for path in weights(machine)) == ["tmp_weight_1001_1"] * 2 + ["tmp_weight_1001_2"]
    program.unload(1)
    assert [path.parent.name for path in weights(machine)] == ["tmp_weight_1001_2"]
    machine.compile(dense(0.5), program=program, session=3, external_weight=True)
    program.end()  # two sessions that nobody has closed
    assert list(machine.path.iterdir()) == [machine.path / "fusion_result.json"]


def test_what_somebody_else_put_beside_the_weights_stays(machine):
    program = machine.program()
    machine.compile(dense(), program=program, external_weight=True, export_compile_stat=0)
    (machine.path / "tmp_weight_1001_0" / "mine").write_text("x")
    program.end()
    assert machine.files() == ["tmp_weight_1001_0/mine"]


def test_a_spoilt_weight_of_an_earlier_process_of_this_number_is_written_again(machine):
    machine.compile(dense(), external_weight=True)
    (path,) = weights(machine)
    good = path.read_bytes()
    path.write_bytes(good[:7])
    machine.programs = 0
    machine.compile(dense(), external_weight=True)
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    "values, dtype, form",
    [
        ([1.5, -2.0], "float32", "<2f"), ([1, 2, 3], "int64", "<3q"), ([True, False], "bool", "<2?"),
        ([1.5, 0.25], "float16", "<2e"), ([7], "uint8", "<1B"),
    ],
)  # fmt: skip
def test_bytes_of_constants_are_little_endian_and_repeat_what_stands_for_many(values, dtype, form):
    listed = tensor_proto(values, dtype)
    assert b"".join(_pieces(listed)) == struct.pack(form, *values)
    filled = tensor_proto(values[0], dtype, [3, 100])
    assert b"".join(_pieces(filled)) == struct.pack("<" + form[-1], values[0]) * 300


@pytest.mark.parametrize(
    "dtype, field, letter", [("complex64", "scomplex_val", "f"), ("complex128", "dcomplex_val", "d")]
)
def test_the_last_complex_number_that_is_listed_stands_for_what_follows(dtype, field, letter):
    listed = tensor_proto(0, dtype, [4])
    getattr(listed, field)[:] = [1.5, -2.0, 0.25, 8.0]  # two numbers, real and imaginary parts
    assert b"".join(_pieces(listed)) == struct.pack("<8" + letter, 1.5, -2.0, 0.25, 8.0, 0.25, 8.0, 0.25, 8.0)


def test_a_large_filled_constant_is_written_in_pieces():
    sizes = [len(piece) for piece in _pieces(tensor_proto(0.5, "float32", [1 << 20]))]
    assert sum(sizes) == 4 << 20 and max(sizes) <= 1 << 20


def test_debug_files_that_cannot_be_written_are_one_error_before_anything_runs(machine):
    (machine.path / "kernel_meta").write_text("")
    with pytest.raises(NpuError) as caught:
        machine.compile(op_debug_level=1)
    assert (caught.value.code, caught.value.subject) == ("FILES_LEFT", "debug_dir")
    assert "kernel_meta" in caught.value.reason and machine.files() == ["kernel_meta"]


def test_a_full_disk_under_kernel_files_is_an_error_and_leaves_no_part(machine):
    program = machine.program(faults=faults.parse([{"kind": "disk_full", "after": 3000}]))
    with pytest.raises(NpuError, match="No space left"):
        machine.compile(program=program, op_debug_level=1)
    assert not list(machine.path.rglob("*.part"))


def test_one_kernel_leaves_one_of_each_kind(machine):
    g = GraphBuilder()
    g.op("Relu", "same", [g.placeholder("x", "float32", [2])])
    machine.compile((g.build(), ["x:0"], ["same:0"]), op_debug_level=3)
    assert len(machine.files("kernel_meta")) == 2


def test_the_library_says_what_the_catalogue_says():
    (one,) = library.files()
    told = json.loads(one.text)
    assert one.path == "opp/built-in/op_impl/ai_core/tbe/config/ascend910/aic-ascend910-ops-info.json"
    assert one.mode & 0o222 == 0 and len(told) > 400
    again = Catalog.built_in().with_ops_info(one.text, "itself")
    assert not again.notes
    plain = Catalog.built_in()
    for op in plain:
        was, now = plain.get(op).after_fusion(), again.get(op).after_fusion()
        if was.columns:
            assert now.columns == was.columns and now.flag == (was.flag or "graylist"), op


def test_a_program_without_debug_options_leaves_nothing_but_what_the_documents_say(machine):
    program = machine.program()
    machine.compile(apart(), program=program)
    program.end()
    assert machine.files() == ["fusion_result.json"]
    machine.compile(apart(), edition="legacy", surface="session")
    assert machine.files() == ["fusion_result.json"]


def test_repository_hits_are_of_kernels_whose_tile_tuning_found():
    net = mlp(layers=2, batch=48, width=96)
    first = step(*net).compiled
    tiles = tuning.tiles_of(tuning.tune([first], tuning.TuningPlan("2", ".", None, None, True)))
    tuned = step(*net, tiles=tiles).compiled
    hits, effects = ([], [])
    for compiled in (first, tuned):
        counts = fusions.entry(compiled, 0)["ub_fusion"].values()
        hits.append(sum(int(one["repository_hit_times"]) for one in counts))
        effects.append(sum(int(one["effect_times"]) for one in counts))
    assert tiles and hits[0] == 0 and 0 < hits[1] <= effects[1]
