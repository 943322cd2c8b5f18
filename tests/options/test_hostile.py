"""Whatever is given: errors of ours in the answer, no other exception, and quickly."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS, Resolution, parse_assignments, resolve
from tests.options import strategies

pytestmark = pytest.mark.oldest_at_night

WIDE = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
NAMES = st.one_of(st.sampled_from(sorted(OPTIONS)), st.text(), st.none(), st.integers())
ENVIRONMENT = st.dictionaries(
    st.sampled_from(
        ["HCCL_EXEC_TIMEOUT", "ASCEND_DEVICE_ID", "AOE_MODE", "ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_WORK_PATH",
         "ASCEND_REMAIN_CACHE_SIZE_RATIO", "NPU_COLLECT_PATH", "ASCEND_CACHE_PATH", "HOME", "RANK_SIZE"]
    ),
    st.text() | st.sampled_from(["1", "0", "-1", "\0", "\ud800", "/x"]),
)  # fmt: skip


def check(resolution):
    assert isinstance(resolution, Resolution)
    assert all(isinstance(error, NpuError) and error.code.startswith("OPTION_") for error in resolution.errors)
    for error in resolution.errors:
        assert len(error.message) < 3000
        str(error).encode("utf-8")
    for warning in resolution.warnings:
        assert len(warning.message) < 3000
        warning.message.encode("utf-8")
    json.dumps(resolution.to_json())


@WIDE
@given(
    st.dictionaries(NAMES, strategies.ANYTHING, max_size=6),
    st.sampled_from(strategies.PLACES),
    ENVIRONMENT,
    st.dictionaries(st.text(min_size=1), st.text() | st.binary(), max_size=3),
)
def test_any_values_are_answered(values, place, env, files):
    surface, edition = place
    check(resolve(values, surface=surface, edition=edition, env=env, files=files))


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_texts_and_files_are_answered(surface, edition, data):
    values = {"mix_compile_mode": True, "dynamic_input": True, "graph_run_mode": data.draw(st.integers(0, 1))}
    files = {}
    for name in data.draw(st.sets(st.sampled_from([*strategies.TEXTS, *strategies.FILES]), max_size=4)):
        source = strategies.TEXTS.get(name, strategies.FILES.get(name))
        text = data.draw(source)
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text("[](){}'\":;,=~|-# \n\0\\ud8x1é", max_size=3)) + text[at + 1 :]
        if name in strategies.FILES:
            files["/" + name] = text
            text = "/" + name
        values[name] = text
    check(resolve(values, surface=surface, edition=edition, files=files))


@WIDE
@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), strategies.ANYTHING, max_size=5))
def test_the_order_of_values_does_not_matter(values):
    backwards = dict(reversed(list(values.items())))
    one, two = resolve(values, files={}), resolve(backwards, files={})
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_effective_values_are_accepted_again(surface, edition, data):
    values = data.draw(strategies.configurations(surface, edition))
    files = {f"/given/{name}": "{}" for name in strategies.FILES}
    files.update({"/given/dump_path/": None, "/given/work_path/": None})
    first = resolve(values, surface=surface, edition=edition, files=files)
    if first.errors:
        return
    given_again = {name: one.value for name, one in first.effective.items() if one.origin == "given"}
    second = resolve(given_again, surface=surface, edition=edition, files=files)
    assert not second.errors
    assert {name: second.values[name] for name in given_again} == given_again


ODD = ["None", "RL, GA", "16 * 1024", "a:[1]", "data: []", "lazy_recompile", "force_fp16", "/x", "0", True, 0, 1, 1.5]


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@WIDE
@given(values=st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.sampled_from(ODD), max_size=6))
def test_a_value_that_is_given_is_never_silently_replaced(surface, edition, values):
    resolution = resolve(values, surface=surface, edition=edition, files={})
    told = {error.subject for error in resolution.errors} | {warning.option for warning in resolution.warnings}
    kept = {name for name, effective in resolution.effective.items() if effective.origin == "given"}
    assert set(values) <= told | kept


MEGABYTES = {
    "zeros": "0" * 10_000_000,
    "brackets": "[" * 10_000_000,
    "commas": "," * 10_000_000,
    "names": "[[[" + "'while_1/resnet_model/conv2d_1/convolution'," * 230_000 + "'b'],['c']]]",
    "open string": "[[['" + "\\" * 10_000_000,
    "numbers": "1;" * 5_000_000 + "2",
    "list": ",".join(["Relu"] * 2_000_000),
    "lines": "\n" * 10_000_000,
    "json": '{"a":' * 2_000_000,
}
TEXTUAL = [name for name, option in OPTIONS.items() if any(facet.field == "s" for facet in option.facets.values())]


@pytest.mark.parametrize("kind", MEGABYTES)
def test_ten_megabytes_are_answered_in_seconds(kind):
    text = MEGABYTES[kind]
    start = time.process_time()
    names = ("in_out_pair", "dump_step", "input_shape", "dynamic_dims", "profiling_options", "dump_path", "dump_mode")
    for name in names:
        check(resolve({name: text, "graph_run_mode": 0, "mix_compile_mode": True}, edition="legacy"))
    check(resolve({"enable_scope_fusion_passes": text, text: text}))
    check(resolve({"fusion_switch_file": "/f"}, files={"/f": text}))
    assert time.process_time() - start < 20


@pytest.mark.parametrize("name", TEXTUAL)
def test_nul_and_half_characters_are_no_text(name):
    for surface, edition in strategies.PLACES:
        for text in ("a\0b", "\0", "\ud800"):
            values = {name: text, "graph_run_mode": 0}
            resolution = resolve(values, surface=surface, edition=edition, files={})
            check(resolution)
            assert resolution.values.get(name) != text


@WIDE
@given(st.lists(st.text() | st.from_regex(r"[a-z_]{1,20}(\.[bifs])?=.{0,20}", fullmatch=True), max_size=4))
def test_any_assignments_are_read_or_refused(assignments):
    try:
        values = parse_assignments(assignments)
    except NpuError as refused:
        assert refused.code == "USAGE"
    else:
        check(resolve(values, files={}))


def test_nothing_given_is_ever_evaluated(tmp_path):
    trap = f"__import__('os').mkdir({str(tmp_path / 'evaluated')!r})"
    for name in TEXTUAL:
        check(resolve({name: trap, "mix_compile_mode": True}, files={}))
        check(resolve({name: "/f"}, files={"/f": trap}))
    assert not list(tmp_path.iterdir())
