"""The form of dumps: what lies in one file, how files are named, where they lie. Never imports TensorFlow."""

from __future__ import annotations
