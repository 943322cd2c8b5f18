"""The shipped cases and mutants, loaded once for the tests of a process."""

from __future__ import annotations

import functools
from typing import Mapping

from npu_conformance.backends import mutants as mutation
from npu_conformance.library.library import Library, load

__all__ = ["AREAS", "corpus", "mutants"]

#: First components of requirement ids whose every requirement has a case and whose every must has a mutant.
AREAS = ("mixed", "in_out_pair")


@functools.lru_cache(maxsize=None)
def corpus() -> Library:
    return load()


@functools.lru_cache(maxsize=None)
def mutants() -> Mapping[str, mutation.Mutant]:
    return mutation.registry()
