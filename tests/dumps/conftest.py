"""Dump files are written with the protobuf that TensorFlow brings: each version of it runs these tests."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.tensorflow_version
