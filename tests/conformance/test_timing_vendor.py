"""A backend that measures and models nothing but copies is asked about copies, and judged like any other."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

import pytest

from npu_conformance.judging import judge
from npu_conformance.running import checkup, runner
from npu_conformance.strength import hosting
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

SHELF = corpus()
TIMING = [one for one in SHELF.instances() if one.case.area == "timing" and not one.twin]


class Copies:
    """Knows the sizes of the graphs it is asked about, and the documents' rule of input_fusion_size."""

    features = ["timeline", "timeline.transfers"]

    def hello(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            "protocol": 1,
            "backend": {"name": "copies", "version": "1"},
            "capabilities": {"areas": ["timing"], "editions": ["current"], "features": self.features},
        }

    def timeline(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        variants = {
            name: self.step({**params["values"], **values}, params) for name, values in params["variants"].items()
        }
        return {"base": self.step(params["values"], params), "variants": variants}

    def step(self, values: Mapping[str, Any], params: Mapping[str, Any]) -> Dict[str, Any]:
        threshold = values.get("input_fusion_size", 131072)
        small = [64] * len(params["feeds"])
        fused = [size for size in small if size <= threshold]
        alone = [size for size in small if size > threshold]
        moved = ([("h2d", sum(fused))] if fused else []) + [("h2d", size) for size in alone]
        moved += [("d2h", 64)] * len(params["fetches"])
        return {"step_ns": 0, "transfers": [{"direction": way, "bytes": size} for way, size in moved]}


def _asked(features: List[str]) -> List[str]:
    claims = judge.Claims(frozenset(["timing"]), frozenset(["legacy", "current"]), frozenset(features))
    return [one.case.id for one in TIMING if judge.applicable(one, claims) is None]


def test_what_is_not_claimed_is_not_asked() -> None:
    assert "timing-inputs-of-the-example" in _asked(Copies.features)
    assert not [name for name in _asked(Copies.features) if "stream" in name or "parallel" in name or "lost" in name]
    assert _asked(["timeline"]) and set(_asked(["timeline"])) < set(_asked(Copies.features))
    assert not _asked(["partition"])


def test_it_is_judged_by_what_it_says(tmp_path: Any) -> None:
    by_id = {one.case.id: one for one in TIMING}
    result = hosting.ask(Copies(), by_id["timing-inputs-not-results"], str(tmp_path))
    assert (result.status, result.detail) == ("pass", "")

    class Wrong(Copies):
        def step(self, values: Mapping[str, Any], params: Mapping[str, Any]) -> Dict[str, Any]:
            return super().step({}, params)

    result = hosting.ask(Wrong(), by_id["timing-inputs-not-results"], str(tmp_path))
    assert result.status == "fail" and result.differences[0].aspect == "transfer_counts"


@pytest.mark.nightly
def test_the_plumbing_is_checked_for_what_is_claimed() -> None:
    spec = "py:tests.conformance.test_timing_vendor:Overclaims"
    failed = {one.name: one.detail for one in checkup.check(spec, runner.Settings()) if not one.passed}
    assert failed == {"answers each method it claims": "timeline: timeline is answered by unsupported: timeline"}


class Overclaims:
    """Says that it has a method, and has none."""

    hello = Copies.hello
    features = ["timeline"]
