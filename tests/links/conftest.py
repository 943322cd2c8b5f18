"""Collectives between devices are computed in pure Python: the oldest Python runs these tests at night."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.oldest_at_night
