"""A backend that only repeats what it is given passes hardly any case.

A case that such a backend passes says little about a real one: most that it passes give an option a value that is a
documented one in another spelling, which no must refuses. MOST bounds the share that it passes of each area, so
that new cases cannot weaken the suite unnoticed.
"""

from __future__ import annotations

import pytest

from npu_conformance.strength import echo, hosting
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

#: Of a hundred instances of an area as written, the echo may pass so many: a ratchet, lowered when the figure falls.
MOST = {"options": 15, "partition": 7, "mixed": 26, "in_out_pair": 12, "precision": 1.5}


@pytest.mark.nightly
def test_the_echo_passes_no_more_than_it_did(tmp_path):
    instances = [one for one in corpus().instances() if one.case.method not in hosting.WORKER_METHODS]
    found = echo.passed(corpus(), instances, str(tmp_path))
    shares = {area: round(100 * one.passed / one.asked, 1) for area, one in found.items()}
    assert set(shares) == set(MOST)
    assert not {area: share for area, share in shares.items() if share > MOST[area]}, shares


@pytest.mark.nightly
def test_an_echo_that_knows_three_defaults_by_heart_gets_no_further(tmp_path):
    instances = [one for one in corpus().instances() if one.case.method == "options" and one.case.area == "options"]
    [found] = echo.passed(corpus(), instances, str(tmp_path), echo.KnowingEcho()).values()
    assert 100 * found.passed / found.asked <= 22, found
