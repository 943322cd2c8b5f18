"""What the programs of fixtures/programs make stands where they write it, and one module alone writes cases."""

from __future__ import annotations

import gzip
import importlib
import json
import re
from pathlib import Path

import pytest

from fixtures.programs import casegen, writing
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

HERE = Path(casegen.__file__).parent
PROGRAMS = [path.stem for path in sorted(HERE.glob("*.py")) if "write(rendered())" in path.read_text("utf-8")]


def rendered(program):
    files = importlib.import_module(f"fixtures.programs.{program}").rendered()
    return {path: text.encode("ascii") if isinstance(text, str) else text for path, text in files.items()}


def content(path, stored):
    return gzip.decompress(stored) if path.suffix == ".gz" else stored


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_files_are_what_their_program_makes(program):
    made = rendered(program)
    stale = [path for path in made if content(path, path.read_bytes()) != content(path, made[path])]
    assert made and not stale, f"run -m fixtures.programs.{program}"


#: A graph that TensorFlow records, and one that tests alone ask about.
RECORDED, OF_TESTS = "bert_large.pb.gz", "data_parallel_in_turn.pbtxt"


def test_every_graph_is_made_by_a_program_and_asked_about():
    made = {path for program in PROGRAMS for path in rendered(program) if writing.GRAPHS in path.parents}
    stored = {path for folder in {path.parent for path in made} for path in folder.iterdir()}
    graphs = {path for path in stored if path.suffix in (".pb", ".pbtxt", ".gz")}
    asked = json.dumps([case.params for case in corpus().cases.values()], default=repr)
    assert len(graphs) > 700
    assert {path.name for path in graphs - made} == {RECORDED}, "no program makes these"
    assert {path.name for path in made & graphs if f"/{path.name}\"" not in asked} == {OF_TESTS}


def test_no_program_of_options_runs_or_compilation_looks_at_an_implementation():
    names = ["option_*", "file_*", "company_*", "kernel_*", "compile_*", "related_*", "adapter_*", "casegen*", "scene*"]
    found = [path for name in names for place in HERE.glob(name) for path in (place, *place.glob("*.py"))]
    texts = {path: path.read_text("utf-8") for path in found if path.is_file()}
    assert len(texts) > 20
    assert not [path for path, text in texts.items() if "npu_reference" in text]


def test_one_module_alone_says_what_a_case_is_and_writes_files_of_cases():
    writes = re.compile(r"\[\[case\]\]|\[case\.(params|expect)|class Case|/ ?\"golden\"")
    assert {path.name for path in HERE.rglob("*.py") if writes.search(path.read_text("utf-8"))} == {"casegen.py"}
