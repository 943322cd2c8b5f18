"""What is made from the option table: the reference page, the JSON Schema, and how fast all of it is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_conformance.library import library
from npu_conformance.library.shown import shown
from npu_reference.options import OPTIONS, resolve, schema
from npu_reference.options.page import main, page
from tests.cases.corpus import corpus
from tests.options import strategies

pytestmark = pytest.mark.not_oldest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made():
    return page(shown(corpus()))


def test_the_reference_page_is_current(made):
    current = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert current == made, "run python -m npu_reference.options.page"


def test_the_page_is_written_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "load", corpus)
    assert main([str(tmp_path / "options.md")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["options.md"]


def test_every_option_has_its_heading(made):
    headings = [line[4:] for line in made.splitlines() if line.startswith("### ")]
    assert [name for name in headings if name in OPTIONS] == list(OPTIONS)


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
def test_the_schema_lists_every_option_and_is_json(surface, edition):
    made = schema(surface, edition)
    assert list(made["properties"]) == strategies.names_on(surface, edition)
    json.dumps(made)


def accepts(part, value):
    """A reader of the few JSON Schema words that the options use."""
    if "anyOf" in part:
        return any(accepts(one, value) for one in part["anyOf"])
    if "const" in part:
        return value == part["const"] and type(value) is type(part["const"])
    kinds = {"boolean": bool, "integer": int, "string": str, "object": dict, "null": type(None)}
    kind = part.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (kind == "integer" and isinstance(value, bool))):
        return False
    if "enum" in part and value not in part["enum"]:
        return False
    if ("minimum" in part and value < part["minimum"]) or ("maximum" in part and value > part["maximum"]):
        return False
    for key, inner in part.get("properties", {}).items():
        if key in value and not accepts(inner, value[key]):
            return False
    return all(key in value for key in part.get("required", ())) and (
        part.get("additionalProperties", True) or set(value) <= set(part["properties"])
    )


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_schema_accepts_what_is_inside_and_refuses_wrong_types_and_words(surface, edition, data):
    made = schema(surface, edition)
    name = data.draw(st.sampled_from(strategies.names_on(surface, edition)))
    facet = OPTIONS[name].facets[surface, edition]
    inside = data.draw(strategies.inside(name, facet))
    assert accepts(made["properties"][name], inside)
    if facet.status in strategies.UNSEEN:
        return
    outside = data.draw(strategies.outside(facet))
    (error,) = resolve({name: outside}, surface=surface, edition=edition, files={}).errors
    if error.code == "OPTION_TYPE" and not isinstance(outside, str):
        assert not accepts(made["properties"][name], outside)


def test_options_need_no_tensorflow_and_are_there_at_once():
    code = (
        "import sys, time; start = time.process_time(); import npu_reference.options as o; "
        "r = o.resolve({'hccl_timeout': 600}, surface='runconfig'); spent = time.process_time() - start; "
        "assert r.values['hccl_timeout'] == 544; "
        "assert not any(m.startswith(('tensorflow', 'numpy')) for m in sys.modules); "
        "assert spent < 0.3, spent"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=str(ROOT / "impl"))
