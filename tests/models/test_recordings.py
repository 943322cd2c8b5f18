"""The programs behind the recorded graphs still write them, byte for byte, in the version that recorded them."""

from __future__ import annotations

import glob
import importlib
import os

import pytest
import tensorflow.compat.v1 as tf

from fixtures.programs.models import record
from tests.models.recorded_models import GRAPHS

pytestmark = [pytest.mark.tensorflow, pytest.mark.not_oldest, pytest.mark.not_between, pytest.mark.newest_at_night]

PROGRAMS = ["resnet50", "bert_base", "yolo", "lstm", "text_pipeline"]
RECORDERS = {"1.15.5", "2.21.0"}


def model(program):
    return importlib.import_module(f"fixtures.programs.models.{program}").MODEL


def contents(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("size", ["tiny", "full"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_writes_the_recorded_bytes_or_builds_the_same_nodes(program, size, tmp_path):
    written = record.record(model(program), size, str(tmp_path))
    recorded = os.path.join(GRAPHS, os.path.basename(written))
    if tf.__version__ in RECORDERS:
        assert contents(written) == contents(recorded)
        assert contents(written.replace(".pb.gz", ".toml")) == contents(recorded.replace(".pb.gz", ".toml"))
    else:
        # A version that records nothing: the program still builds a model of the same inputs and results.
        made = record.sidecar.read(written.replace(".pb.gz", ".toml"))
        kept = record.sidecar.read(os.path.join(GRAPHS, record.fixture_name(model(program), size, "2.21.0") + ".toml"))
        assert [feed.tensor for feed in made.feeds] == [feed.tensor for feed in kept.feeds]
        assert [run.name for run in made.runs] == [run.name for run in kept.runs]


def test_every_recorded_graph_has_a_program_and_a_sidecar():
    graphs = {os.path.basename(path)[: -len(".pb.gz")] for path in glob.glob(os.path.join(GRAPHS, "*.pb.gz"))}
    sidecars = {os.path.basename(path)[: -len(".toml")] for path in glob.glob(os.path.join(GRAPHS, "*.toml"))}
    expected = {
        record.fixture_name(model(program), size, version)
        for program in PROGRAMS
        for version in RECORDERS
        for size in (model(program).sizes if version.startswith("1.") else model(program).again)
    }
    assert graphs == sidecars == expected


def test_the_recorded_graphs_stay_small():
    assert sum(os.path.getsize(path) for path in glob.glob(os.path.join(GRAPHS, "*"))) < 3 * 2**20
