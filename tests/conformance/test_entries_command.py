"""`partition`, `precision` and `profile` tell the same of entries of option files that match nothing, once."""

from __future__ import annotations

import json

import pytest

from npu_conformance import cli
from npu_reference.graphs import write_graph
from tests.catalog.test_entries import tower

MODES = "[ByOpType]\nSoftmaxV2=high_precision\n[ByNodeName]\ntower/Relu=high_performance\nx:0=high_performance\n"
LISTED = "op_debug_config = oom\nop_debug_list = tower/dense/matmul,tower/relu\n"
TOLD = [
    ("warning", "tower/Relu", "Did you mean tower/relu?"),
    ("warning", "x:0", "Names stand without an output number: x."),
    ("info", "op_precision_mode", "no operator of type SoftmaxV2"),
    ("warning", "tower/dense/matmul", "Did you mean tower/dense/MatMul?"),
]


@pytest.fixture
def asked(tmp_path, capsys):
    """Runs a command on the graph, and answers its stdout."""
    write_graph(tower(), str(tmp_path / "m.pbtxt"))
    options = []
    for name, text in (("op_precision_mode", MODES), ("op_debug_config", LISTED)):
        (tmp_path / name).write_text(text, encoding="ascii")
        options += ["-o", f"{name}={tmp_path / name}"]

    def run(command, *more):
        with pytest.raises(SystemExit) as left:
            cli.main([command, str(tmp_path / "m.pbtxt"), *options, *more])
        assert not left.value.code
        return capsys.readouterr().out

    return run


#: With x fed, and without the Mean: entries are held against the whole graph.
RUN = ("--feed", "x:0", "--feed", "w:0", "--fetch", "tower/relu:0")


@pytest.mark.parametrize("command", ["partition", "precision", "profile"])
@pytest.mark.parametrize("run", [(), RUN], ids=["whole", "run"])
def test_each_command_tells_every_entry_once(asked, command, run):
    answer = json.loads(asked(command, *run, "--format", "json"))
    notes = [*answer["notes"], *answer.get("warnings", ())]
    for level, subject, words in TOLD:
        found = [note for note in notes if note["subject"] == subject and words in note["message"]]
        assert len(found) == 1, (subject, notes)
        assert found[0].get("level", level) == level
    assert asked(command, *run).count("the graph has no operator") == len(TOLD)
