"""Every example of the documents, on its surface and in its edition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.programs.option_tables.declared import WORDS
from fixtures.programs.option_tables.runconfig import RUNCONFIG
from fixtures.programs.option_tables.session import SESSION
from npu_reference.options import OPTIONS, resolve

EXAMPLES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "options" / "examples.json").read_text(encoding="utf-8")
)["examples"]

#: Options without an example in the documents: those not supported or without effect.
WITHOUT = {
    "session": {"enable_dump_debug", "dump_debug_mode", "distribute_config", "device_type", "aoe_mode", "work_path",
                "op_execute_timeout"},
    "runconfig": {"enable_reduce_precision", "graph_memory_max_size", "variable_memory_max_size"},
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['document']}-{example['example']}")
def test_an_example_is_accepted_unless_a_reading_calls_it_a_defect(example):
    resolution = resolve(
        example["values"], surface=example["surface"], edition=example["edition"], files=example["files"]
    )
    name = example["example"].split(",")[0]
    if example["refused"]:
        assert [error.subject for error in resolution.errors] == [name]
    elif name in OPTIONS:
        assert [error.message for error in resolution.errors] == []
        assert resolution.values[name] == example["effective"]
        assert resolution.effective[name].origin == "given"
    else:
        assert resolution.values["remain_cache_size_ratio"] == 80


@pytest.mark.parametrize("surface", ["session", "runconfig"])
def test_every_option_with_an_example_is_among_them(surface):
    listed = {
        name
        for name, option in OPTIONS.items()
        if surface in option.surfaces and any(facet.listed for key, facet in option.facets.items() if key[0] == surface)
    }
    shown = {example["example"].split(",")[0] for example in EXAMPLES if example["surface"] == surface}
    together = {name for e in EXAMPLES if e["surface"] == surface for name in e["values"]}
    # Of what is not among them, the cases of the tables show that the example takes effect.
    tabled = {row.name for row in {"session": SESSION, "runconfig": RUNCONFIG}[surface] if row.example is not WORDS}
    assert listed - shown - WITHOUT[surface] - together <= tabled
    assert shown - {"op_cache.ini"} <= listed
