"""The kernel cache: what is taken, what is never trusted, what ages, and several processes at once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.artifacts.binaries import seal_of
from npu_reference.artifacts.cache import USES, KernelCache, flaw, uses
from npu_reference.artifacts.folder import Folder
from npu_reference.device import faults
from npu_reference.errors import NpuError
from tests.artifacts.making import Machine, apart, dense

pytestmark = pytest.mark.oldest_at_night

CACHE = {"op_compiler_cache_mode": "enable", "op_compiler_cache_dir": "/k"}
ENTRIES = "k/kernel_cache/ascend910"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, **CACHE)


def counts(left):
    """Kernels of operators that were taken and compiled; what compilation puts in itself is left out."""
    origins = [kernel.origin for kernel in left.kernels if kernel.nodes]
    return origins.count("reused"), origins.count("compiled")


def entries(machine, ending):
    return sorted(path for path in (machine.path / ENTRIES).glob(f"*{ending}") if "memset" not in path.name)


def test_a_second_program_compiles_nothing(machine):
    assert counts(machine.compile()) == (0, 2)
    assert counts(machine.compile()) == (2, 0)


def test_only_what_the_kernel_is_made_of_decides(machine):
    machine.compile(apart())
    assert counts(machine.compile(apart(rows=5))) == (1, 1)
    assert counts(machine.compile(apart(), deterministic=1)) == (0, 2)


def test_every_file_says_that_it_is_simulated(machine):
    machine.compile(op_debug_level=None)
    machine.compile(op_compiler_cache_mode="disable", op_debug_level=4)
    machine.compile(op_compiler_cache_mode="disable", op_debug_level=1)
    kept = [name for name in machine.files() if name.endswith((".o", ".json", ".cce"))]
    assert len(kept) > 12
    assert not [name for name in kept if b"simulated" not in (machine.path / name).read_bytes()]


def spoil_cut(path):
    path.write_bytes(path.read_bytes()[:-2])


def spoil_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x20
    path.write_bytes(bytes(data))


def spoil_empty(path):
    path.write_bytes(b"")


def spoil_directory(path):
    path.unlink()
    path.mkdir()


def spoil_link(path):
    aside = path.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)


@pytest.mark.parametrize("ending", [".o", ".json"])
@pytest.mark.parametrize("spoil", [spoil_cut, spoil_byte, spoil_empty, spoil_link])
def test_a_spoilt_entry_is_never_taken_and_is_mended(machine, ending, spoil):
    machine.compile()
    spoil(entries(machine, ending)[0])
    left = machine.compile()
    assert counts(left) == (1, 1)
    assert counts(machine.compile()) == (2, 0)


def test_an_entry_whose_code_is_missing_is_compiled_again_with_a_note_and_one_without_description_quietly(machine):
    machine.compile()
    for ending, told in ((".o", [True]), (".json", [])):
        entries(machine, ending)[0].unlink()
        left = machine.compile()
        assert counts(left) == (1, 1)
        assert [note.message.endswith("its .o is missing.") for note in left.notes] == told
        assert counts(machine.compile()) == (2, 0)


def test_a_directory_in_place_of_an_entry_keeps_nobody_from_compiling(machine):
    machine.compile()
    spoil_directory(entries(machine, ".o")[0])
    left = machine.compile()
    assert counts(left) == (1, 1) and [note.code for note in left.notes] == ["CACHE_ENTRY", "CACHE_FULL"]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_change_of_a_description_is_trusted(tmp_path_factory, data):
    machine = Machine(tmp_path_factory.mktemp("cache"), **CACHE)
    machine.compile()
    path = entries(machine, ".json")[0]
    raw = path.read_bytes()
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :]
    path.write_bytes(changed)
    same = False
    with contextlib.suppress(ValueError):
        same = json.loads(changed.decode("ascii")) == json.loads(raw.decode("ascii"))
    assert counts(machine.compile()) == ((2, 0) if same else (1, 1))


def test_an_entry_that_is_cut_off_anywhere_is_no_entry(machine):
    machine.compile()
    for path in entries(machine, ".json"):
        stem = path.name[: -len(".json")]
        description, code = path.read_bytes(), path.with_suffix(".o").read_bytes()
        assert flaw(stem, description, code) is None
        # Without the end of its last line a description still says all there is.
        assert all(flaw(stem, description[:size], code) for size in range(len(description) - 1))
        assert all(flaw(stem, description, code[:size]) for size in range(len(code)))


@pytest.mark.parametrize("key, value", [("version", "0.0.1"), ("form", 2), ("form", None)])
def test_an_entry_of_another_version_is_not_taken_though_its_seal_is_right(machine, key, value):
    machine.compile()
    path = entries(machine, ".json")[0]
    description = json.loads(path.read_text())
    description[key] = value
    description["seal"] = seal_of(description)
    path.write_text(json.dumps(description))
    left = machine.compile()
    assert counts(left) == (1, 1) and "another version" in left.notes[0].message


def test_an_entry_under_the_name_of_another_kernel_is_not_taken(machine):
    machine.compile()
    first, second = (path.name[: -len(".o")] for path in entries(machine, ".o"))
    for ending in (".o", ".json"):
        data = (machine.path / ENTRIES / (first + ending)).read_bytes()
        (machine.path / ENTRIES / (second + ending)).write_bytes(data)
    assert counts(machine.compile()) == (1, 1)


@pytest.mark.parametrize("text", ["[]", "null", "{}", "[" * 5000, '{"form": ' + "[" * 5000, "\x00", '{"form": NaN}'])
def test_a_description_of_any_json_is_refused_in_peace(machine, text):
    machine.compile()
    entries(machine, ".json")[0].write_text(text)
    assert counts(machine.compile()) == (1, 1)


def test_force_clears_entries_once_a_program_and_nothing_else(machine):
    machine.compile()
    (machine.path / ENTRIES / "notes.txt").write_text("mine")
    (machine.path / ENTRIES / f"te_old_{'0' * 64}.o").write_text("x")
    program = machine.program()
    assert counts(machine.compile(program=program, op_compiler_cache_mode="force")) == (0, 2)
    assert counts(machine.compile(program=program, op_compiler_cache_mode="force")) == (2, 0)
    assert f"{ENTRIES}/notes.txt" in machine.files() and not list((machine.path / ENTRIES).glob("te_old*"))


def fill(machine, count, size):
    folder = machine.path / ENTRIES
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"te_filler{number}_{number:064x}.o"
        with open(str(path), "wb") as stream:
            stream.truncate(size)
        os.utime(str(path), (machine.now, machine.now))


def fillers(machine):
    return len(list((machine.path / ENTRIES).glob("te_filler*")))


def limits(machine, size, ratio):
    (machine.path / "k").mkdir(exist_ok=True)
    text = f"[op_compiler_cache]\nmax_op_cache_size={size}\nremain_cache_size_ratio={ratio}\n"
    (machine.path / "k" / "op_cache.ini").write_text(text)


@pytest.mark.parametrize("idle, stay", [(1799, 10), (1800, 10), (1801, 8)])
def test_strictly_more_than_half_an_hour_unused_ages(machine, idle, stay):
    limits(machine, 1, 80)
    fill(machine, 10, 500_000)
    machine.now += idle
    machine.compile()
    assert fillers(machine) == stay


def test_those_longest_unused_go_first(machine):
    limits(machine, 1, 50)
    for number in range(4):
        fill_one = machine.path / ENTRIES / f"te_filler{number}_{number:064x}.o"
        fill_one.parent.mkdir(parents=True, exist_ok=True)
        fill_one.write_bytes(b"\0" * 500_000)
        used = machine.now - 10_000 + (number * 7 % 4) * 1000  # ages 3 2 1 0 in another order than names
        os.utime(str(fill_one), (used, used))
    left = machine.compile()
    assert [name.split("_")[1] for name in left.removed] == ["filler0", "filler3"]


def test_exactly_at_the_limit_a_variable_ages_and_a_file_does_not(tmp_path):
    data = Folder(str(tmp_path), "op_compiler_cache_dir").make()
    (tmp_path / f"te_a_{'0' * 64}.o").write_bytes(b"\0" * (1 << 20))
    os.utime(str(tmp_path / f"te_a_{'0' * 64}.o"), (0, 0))
    assert KernelCache(data, None, (1, 0), at_limit=False, clock=lambda: 5000.0).age() == []
    assert len(KernelCache(data, None, (1, 0), at_limit=True, clock=lambda: 5000.0).age()) == 1


def test_files_that_are_no_entries_neither_count_nor_age(machine):
    limits(machine, 1, 50)
    machine.compile()
    (machine.path / ENTRIES / "film.mp4").write_bytes(b"\0" * 3_000_000)
    machine.now += 7200
    left = machine.compile(deterministic=1)
    assert left.removed == () and f"{ENTRIES}/film.mp4" in machine.files()


def test_no_ini_is_generated_where_a_variable_decides(machine):
    env = {"ASCEND_MAX_OP_CACHE_SIZE": "7"}
    machine.compile(env=env)
    assert "k/op_cache.ini" not in machine.files()
    machine.compile()
    assert (machine.path / "k" / "op_cache.ini").read_text().splitlines()[1:] == [
        "max_op_cache_size=500", "remain_cache_size_ratio=50",
    ]  # fmt: skip


def test_a_broken_ini_made_by_hand_is_kept(machine):
    (machine.path / "k").mkdir()
    (machine.path / "k" / "op_cache.ini").write_text("[nonsense]\n")
    machine.compile()
    assert (machine.path / "k" / "op_cache.ini").read_text() == "[nonsense]\n"


def test_a_full_disk_keeps_nobody_from_compiling(machine):
    program = machine.program(faults=faults.parse([{"kind": "disk_full", "after": 4000}]))
    left = machine.compile(program=program)
    assert counts(left) == (0, 2) and {note.code for note in left.notes} == {"CACHE_FULL"}
    assert counts(machine.compile()) in ((0, 2), (1, 1))
    assert counts(machine.compile()) == (2, 0)


def test_a_kernel_that_cannot_be_compiled_ends_the_compilation_and_is_not_cached(machine):
    broken = faults.parse([{"kind": "kernel_failure", "node": "total"}])
    with pytest.raises(NpuError) as caught:
        machine.compile(program=machine.program(faults=broken))
    assert (caught.value.code, caught.value.subject) == ("KERNEL_FAILURE", "total")
    assert counts(machine.compile()) == (1, 1)
    assert counts(machine.compile(program=machine.program(faults=broken))) == (2, 0)


def test_a_cache_nobody_named_is_done_without_where_it_cannot_be(machine):
    (machine.path / "h").write_text("")
    machine.values = {"op_compiler_cache_mode": "enable"}
    left = machine.compile(env={"HOME": "/h"})
    assert counts(left) == (0, 2) and [note.code for note in left.notes] == ["CACHE_OFF"]


def test_a_cache_that_was_named_is_an_error_where_it_cannot_be(machine):
    (machine.path / "k").write_text("")
    with pytest.raises(NpuError) as caught:
        machine.compile()
    assert (caught.value.code, caught.value.subject) == ("FILES_LEFT", "op_compiler_cache_dir")


def test_only_what_is_asked_for_is_left_by_a_simulated_run(machine):
    machine.values = {}
    program = machine.program(asked_only=True)
    machine.compile(program=program, env={"HOME": "/h"})
    program.end()
    assert machine.files() == []
    program = machine.program(asked_only=True)
    machine.compile(program=program, env={"HOME": "/h"}, export_compile_stat=1, **CACHE)
    program.end()
    assert {name.split("/")[0] for name in machine.files()} == {"fusion_result.json", "k"}


_WORKER = """
import sys, pathlib
sys.path.insert(0, sys.argv[2])
from tests.artifacts.making import Machine, apart
machine = Machine(pathlib.Path(sys.argv[1]), op_compiler_cache_mode=sys.argv[3], op_compiler_cache_dir="/k")
for turn in range(12):
    left = machine.compile(apart(rows=turn % 3 + 1))
    assert left.hits + left.misses >= 2
"""


def test_several_processes_in_one_directory_leave_only_whole_entries(machine):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [sys.executable, "-c", _WORKER, str(machine.path), root]
    running = [subprocess.Popen([*command, mode]) for mode in ("enable", "enable", "force")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    machine.compile(dense())
    for rows in (1, 2, 3):
        machine.compile(apart(rows=rows))
        assert counts(machine.compile(apart(rows=rows))) == (2, 0)
    assert not list((machine.path / ENTRIES).glob("*.part"))


def test_the_record_of_compilations_is_bounded_and_survives_what_is_torn(tmp_path):
    machine = Machine(tmp_path, op_compiler_cache_dir="/c", op_compiler_cache_mode="enable")
    machine.compile()
    path = tmp_path / "c" / "kernel_cache" / "ascend910" / USES
    assert [(one.hits, one.misses) for one in uses(path.read_bytes())] == [(0, 3)]
    path.write_bytes(b"torn\n1 2\n" + b"1600000000 1 2\n" * 6000)
    machine.compile()
    assert path.stat().st_size < 1 << 16
    told = uses(path.read_bytes())
    assert told[-1][1:] == (3, 0) and len(told) > 1000 and set(told[:-1]) == {(1600000000, 1, 2)}


def test_the_record_of_compilations_leads_nowhere_else(tmp_path):
    machine = Machine(tmp_path, op_compiler_cache_dir="/c", op_compiler_cache_mode="enable")
    machine.compile()
    path, outside = tmp_path / "c" / "kernel_cache" / "ascend910" / USES, tmp_path / "outside"
    outside.write_bytes(b"theirs")
    path.unlink()
    path.symlink_to(outside)
    assert machine.compile().hits == 3
    assert outside.read_bytes() == b"theirs"
