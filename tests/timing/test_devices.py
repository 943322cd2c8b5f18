"""Device files: what ships, and what is wrong with a user's own, by line."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.hardware import PARAMETERS, built_in, load, names
from npu_reference.hardware.device import ORIGINS
from tests.timing.networks import mlp, step


def test_every_device_has_every_figure_with_its_origin():
    assert names()[0] == "Ascend910A" and len(names()) == 7
    for name in names():
        device = built_in(name)
        assert list(device.figures) == list(PARAMETERS)
        assert {figure.origin for figure in device.figures.values()} <= set(ORIGINS) - {"user"}


@pytest.mark.parametrize(
    "name, peak",
    [("Ascend910A", 262), ("Ascend910B", 221), ("Ascend910PremiumA", 320), ("Ascend310", 11), ("Ascend310P3", 69)],
)
def test_the_peak_is_what_cores_and_clock_make(name, peak):
    assert round(built_in(name).float16_peak / 1000) == peak


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_file_may_begin_like_a_device_and_change_it(file):
    path = file('[mine]\nlike = "Ascend910A"\nai_core = { value = 7, unit = "count" }\n')
    device = load(path)
    assert (device.name, device.ai_core, device.figures["ai_core"].origin) == ("mine", 7, "user")
    assert load(path + ":mine").clock == 1000
    assert step(*mlp(), device=device).timeline.end > step(*mlp()).timeline.end


@pytest.mark.parametrize(
    "text, line, words",
    [
        ('[a]\nlike = "Ascend910A"\nai_cores = { value = 1, unit = "count" }\n', 3, "Did you mean ai_core?"),
        ('[a]\nlike = "Ascend910A"\n\nclock = { value = 1, unit = "GHz" }\n', 4, "not in MHz"),
        ('[a]\nlike = "Ascend910A"\nclock = 1000\n', 3, "table of value, unit and origin"),
        ('[a]\nlike = "Ascend910A"\nclock = { value = "fast", unit = "MHz" }\n', 3, "no number"),
        ('[a]\nlike = "Ascend910A"\nclock = { value = nan, unit = "MHz" }\n', 3, "no number"),
        ('[a]\nlike = "Ascend910A"\nclock = { value = 0, unit = "MHz" }\n', 3, "at least 1"),
        ('[a]\nlike = "Ascend910A"\nai_core = { value = 1.5, unit = "count" }\n', 3, "whole number"),
        ('[a]\nlike = "Ascend910A"\ncube_efficiency = { value = 2, unit = "ratio" }\n', 3, "at most 1"),
        ('[a]\nlike = "Ascend910A"\nclock = { value = 1, unit = "MHz", origin = "guess" }\n', 3, "no origin"),
        ('\n[a]\nlike = "Ascend9"\n', 3, "no device 'Ascend9'"),
        ('[a]\nai_core = { value = 1, unit = "count" }\n', 1, "has no clock"),
        ("a = 1\n", 1, "no table"),
        ("", 0, "no device"),
        ("[a\n", 0, "no TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(file, text, line, words):
    path = file(text)
    with pytest.raises(NpuError) as caught:
        load(path)
    assert caught.value.code == "DEVICE_FILE"
    assert caught.value.subject == (f"{path}:{line}" if line else path)
    assert words in str(caught.value)


@pytest.mark.parametrize("spec", ["Ascend", "nowhere.toml", "nowhere.toml:a"])
def test_a_device_that_is_not_there_is_named(spec):
    with pytest.raises(NpuError) as caught:
        load(spec)
    assert caught.value.code == "DEVICE_FILE"
