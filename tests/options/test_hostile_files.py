"""Whatever lies where an option points: read, or refused with one error that names it; nothing else is touched."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_reference import reading
from npu_reference.options import OPTIONS, fileview, resolve
from npu_reference.options.domains import Path, Text
from tests.options import strategies
from tests.options.test_hostile import MEGABYTES, check

pytestmark = pytest.mark.oldest_at_night

SOME = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
#: What lets a file or directory be looked at, beside the option that names it.
BESIDE = {
    "modify_mixlist": {"precision_mode": "allow_mix_precision"},
    "customize_dtypes": {"precision_mode": "force_fp32"},
    "dump_path": {"enable_dump": True},
    "work_path": {"aoe_mode": "2"},
    "profiling_options": {"profiling_mode": True},
}
#: A content of each option's file that every edition reads.
GOOD = {
    **strategies.SAMPLES,
    "modify_mixlist": '{"black-list": {"to-add": ["Cast"]}}',
    "fusion_switch_file": '{"Switch": {"GraphFusion": {"SoftmaxFusionPass": "off"}}}',
    "op_precision_mode": "AvgPoolV2=high_precision\n",
    "customize_dtypes": "OpType::Relu:InputDtype:float16,OutputDtype:float16\n",
    "op_debug_config": "op_debug_config = dump_cce\n",
    "aoe_config_file": '{"tune_ops_type": ["Add"]}',
}
#: Texts outside the grammar of each option that has one.
BROKEN = {
    "in_out_pair": ["[[['a'], ['b']]", "a", "[[['a']]]", "[[[a], [b]]]"],
    "dump_step": ["0,5", "5-3", "|", "0|"],
    "input_shape": ["data1,2", "data:", "data:1;data:2", "data:x"],
    "dynamic_dims": ["1", "1;2,3", "1,;2,", "a;b"],
    "dynamic_inputs_shape_range": ["getnext:1", "x:[1]", "data:[1", "data:[5~3]"],
    "graph_memory_max_size": ["26G", "-1", "274877906945", "0x10"],
    "variable_memory_max_size": ["5G", "-1", "274877906945", "1e9"],
    "auto_tune_mode": ["XX", "RL,", "RL;GA"],
    "local_device_list": ["0,a", "0;1", "0,", "-1"],
    "stream_max_parallel_num": ["DNN_VM_TF", "DNN_VM_TF:x", "DNN_VM_TF:0", ":1"],
    "enable_scope_fusion_passes": ["a,,b", ",", "a,"],
    "optypelist_for_implmode": ["Pooling,,LRN", ","],
    "profiling_options": ["{", "[]", '{"output":1}', '{"training_trace":"off"}'],
}


def places(name):
    """Where an option's value is looked at."""
    return [
        place
        for place in strategies.PLACES
        if place in OPTIONS[name].facets and OPTIONS[name].facets[place].status not in strategies.UNSEEN
    ]


def asked(name, value, surface, edition, **more):
    facet = OPTIONS[name].facets[surface, edition]
    mode = 1 if "T" in facet.applies else 0
    values = {"graph_run_mode": mode, **BESIDE.get(name, {}), **more.pop("beside", {}), name: value}
    return resolve(values, surface=surface, edition=edition, **more)


def refused(resolution, name, *codes):
    """The one error about an option; what it is about has its default again."""
    check(resolution)
    own = [error for error in resolution.errors if error.subject == name]
    assert [error.code for error in own] == [own[0].code] if own else False, resolution.errors
    assert own[0].code in codes
    assert resolution.effective[name].origin in ("default", "environment")


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_option_of_a_surface_takes_what_is_inside_and_refuses_what_is_outside(surface, edition, data):
    for name in strategies.names_on(surface, edition):
        facet = OPTIONS[name].facets[surface, edition]
        if facet.status in strategies.UNSEEN or name == "graph_run_mode":
            continue
        fine = asked(name, data.draw(strategies.inside(name, facet)), surface, edition, files={})
        assert not [error for error in fine.errors if error.code in ("OPTION_TYPE", "OPTION_VALUE", "OPTION_SYNTAX")]
        wrong = asked(name, data.draw(strategies.outside(facet)), surface, edition, files={})
        refused(wrong, name, "OPTION_TYPE", "OPTION_VALUE")


FILE_PLACES = [(name, *place) for name in GOOD for place in places(name)]


def test_every_option_with_a_grammar_or_a_file_is_tried_here():
    domains = {name: [facet.domain for facet in option.facets.values()] for name, option in OPTIONS.items()}
    spoken = {name for name, found in domains.items() if any(isinstance(one, Text) and one.parse for one in found)}
    read = {name for name, found in domains.items() if any(isinstance(one, Path) and one.read for one in found)}
    assert set(BROKEN) == spoken
    assert set(GOOD) == read == set(strategies.FILES)


@pytest.mark.parametrize("name", BROKEN)
def test_a_text_outside_its_grammar_is_refused_on_every_surface(name):
    for surface, edition in places(name):
        for text in BROKEN[name]:
            beside = {"mix_compile_mode": True} if name == "in_out_pair" else BESIDE.get(name, {})
            resolution = asked(name, text, surface, edition, beside=beside, files={"/out/": None})
            refused(resolution, name, "OPTION_SYNTAX", "OPTION_VALUE")


@pytest.mark.parametrize("name, surface, edition", FILE_PLACES)
def test_a_good_file_is_read_whatever_its_line_ends_and_mark(name, surface, edition, tmp_path):
    plain = None
    for number, content in enumerate((GOOD[name], "\ufeff" + GOOD[name], GOOD[name].replace("\n", "\r\n"))):
        path = tmp_path / f"file{number}"
        path.write_bytes(content.encode("utf-8"))
        resolution = asked(name, str(path), surface, edition)
        assert not resolution.errors
        plain = plain or resolution.parsed[name]
        assert resolution.parsed[name] == plain


@pytest.mark.parametrize("name, surface, edition", FILE_PLACES)
def test_other_encodings_are_refused(name, surface, edition, tmp_path):
    path = tmp_path / "file"
    for data in (
        GOOD[name].encode("utf-16"),
        GOOD[name].encode("utf-32-le"),
        (GOOD[name] + "\u00e9").encode("latin-1"),
        (GOOD[name] + "\u6d4b").encode("gb18030"),
        GOOD[name].encode("utf-8") + b"\xf0\x9f\x98",
        b"\xed\xa0\x80" + GOOD[name].encode("utf-8"),
    ):
        path.write_bytes(data)
        refused(asked(name, str(path), surface, edition), name, "OPTION_FILE")
        refused(asked(name, "/f", surface, edition, files={"/f": data}), name, "OPTION_FILE")


@pytest.mark.parametrize("name, surface, edition", FILE_PLACES)
@SOME
@given(data=st.data())
def test_malformed_files_are_read_or_refused_by_one_error(name, surface, edition, data):
    content = data.draw(strategies.FILES[name]).encode("utf-8")
    at = data.draw(st.integers(0, len(content)))
    broken = content[:at] + data.draw(st.binary(max_size=4)) + content[at + data.draw(st.integers(0, 4)) :]
    resolution = asked(name, "/f", surface, edition, files={"/f": broken})
    if any(error.subject == name for error in resolution.errors):
        refused(resolution, name, "OPTION_FILE", "OPTION_CONFLICT")
    check(resolution)


@pytest.mark.parametrize("name, surface, edition", FILE_PLACES)
def test_what_is_no_file_is_refused_at_once(name, surface, edition, tmp_path):
    os.mkfifo(str(tmp_path / "pipe"))
    (tmp_path / "loop").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text(GOOD[name])
    start = time.process_time()
    for path in (".", "..", "pipe", "loop", "loop/x", "dangling", "file/..", "file/x", "missing", "../missing/x"):
        refused(asked(name, str(tmp_path / path), surface, edition), name, "OPTION_FILE")
    for path in ("/dev/full", "/dev/zero", "/", "x" * 300, "/" + "../" * 50 + "no"):
        refused(asked(name, path, surface, edition), name, "OPTION_FILE")
    for path in ("a\0b", "x/" * 3000):
        refused(asked(name, path, surface, edition), name, "OPTION_VALUE")
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name, surface, edition", FILE_PLACES)
def test_a_path_with_dots_or_links_is_the_file_it_leads_to(name, surface, edition, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "file").write_text(GOOD[name])
    (tmp_path / "a" / "link").symlink_to(tmp_path / "file")
    meant = asked(name, str(tmp_path / "file"), surface, edition).parsed[name]
    for path in ("a/../file", "./a/.././file", "a/link", "a//../file"):
        resolution = asked(name, f"{tmp_path}/{path}", surface, edition)
        assert resolution.parsed[name] == meant
        given_text = asked(name, f"/t/{path}", surface, edition, files={"/t/file": GOOD[name], "/t/a/link": GOOD[name]})
        assert given_text.parsed[name] == meant


@pytest.mark.parametrize("name", ["dump_path", "work_path"])
def test_a_directory_that_is_none_is_refused_at_once(name, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("")
    os.mkfifo(str(tmp_path / "pipe"))
    for surface, edition in places(name):
        for path in ("loop", "file", "pipe", "missing", "file/.."):
            refused(asked(name, str(tmp_path / path), surface, edition), name, "OPTION_FILE")
        assert not asked(name, f"{tmp_path}/../{tmp_path.name}", surface, edition).errors


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@SOME
@given(data=st.data())
def test_only_what_options_name_is_opened_and_nothing_is_written(surface, edition, data, tmp_path, monkeypatch):
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    (tmp_path / "op_cache.ini").write_text("[op_compiler_cache]\nmax_op_cache_size=1\nremain_cache_size_ratio=1\n")
    opened = []

    def watched(path, mode):
        opened.append((path, mode))
        return open(path, mode)

    monkeypatch.setattr(reading, "open", watched, raising=False)
    values = {"graph_run_mode": data.draw(st.integers(0, 1))}
    for name in data.draw(st.sets(st.sampled_from(strategies.names_on(surface, edition)), max_size=12)):
        domain = OPTIONS[name].facets[surface, edition].domain
        if isinstance(domain, Path):
            values[name] = data.draw(st.sampled_from([str(folder / name), str(tmp_path), f"{folder}/../{name}"]))
            (folder / name).write_text(data.draw(strategies.FILES.get(name, st.text(max_size=5))), encoding="utf-8")
        else:
            values[name] = data.draw(strategies.inside(name, OPTIONS[name].facets[surface, edition]))
    before = _listed(tmp_path)
    check(resolve(values, surface=surface, edition=edition, env={"HOME": str(tmp_path)}))
    assert _listed(tmp_path) == before
    named = [text for text in values.values() if isinstance(text, str)]
    caches = [os.path.join(text, "op_cache.ini") for text in (*named, str(tmp_path / "atc_data"))]
    assert {path for path, mode in opened} <= {*named, *caches}
    assert {mode for path, mode in opened} <= {"rb"}


def _listed(folder):
    return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*"))


@pytest.mark.parametrize("surface, edition", strategies.PLACES)
@pytest.mark.nightly
def test_ten_megabytes_are_refused_in_any_option_and_file(surface, edition):
    start = time.process_time()
    for kind in ("zeros", "brackets", "json"):
        text = MEGABYTES[kind]
        for name in strategies.names_on(surface, edition):
            facet = OPTIONS[name].facets[surface, edition]
            if facet.status in strategies.UNSEEN:
                continue
            values = {"graph_run_mode": 1 if "T" in facet.applies else 0, "mix_compile_mode": True, name: text}
            refused_or_typed = resolve(values, surface=surface, edition=edition, files={})
            check(refused_or_typed)
            assert [error.subject for error in refused_or_typed.errors] == [name]
            if isinstance(facet.domain, Path) and facet.domain.read is not None:
                refused(asked(name, "/f", surface, edition, files={"/f": text}), name, "OPTION_FILE")
                check(asked(name, "/f", surface, edition, files={"/f": text[: fileview.LARGEST - 1]}))
    assert time.process_time() - start < 20
