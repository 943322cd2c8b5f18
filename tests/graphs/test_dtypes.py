"""Data types: names, numbers, sizes and references."""

from __future__ import annotations

import copy
import pickle

import pytest

from npu_reference.graphs import DType
from npu_reference.graphs.proto import enum_names


def test_every_type_of_the_descriptors_is_known_under_its_number_and_name() -> None:
    for number, name in enum_names("DataType").items():
        assert DType.of(number) is DType.of(name)
        assert DType.of(number).number == number


@pytest.mark.parametrize("name", ["float32", "DT_FLOAT"])
def test_a_type_is_found_by_either_name(name: str) -> None:
    assert DType.of(name) is DType.FLOAT


def test_a_reference_has_its_base_and_says_so() -> None:
    ref = DType.FLOAT.ref
    assert (ref.number, ref.name, ref.is_ref, ref.base, ref.size) == (101, "float32_ref", True, DType.FLOAT, 4)
    assert ref.ref is ref
    assert not DType.FLOAT.is_ref


@pytest.mark.parametrize("dtype", [DType.STRING, DType.RESOURCE, DType.VARIANT])
def test_types_without_fixed_elements_have_no_size(dtype: DType) -> None:
    assert dtype.size is None


@pytest.mark.parametrize("value", [99, "float33", "", -1])
def test_what_is_no_type_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="no data type"):
        DType.of(value)


def test_copies_are_the_type_itself() -> None:
    assert copy.deepcopy(DType.HALF) is DType.HALF
    assert pickle.loads(pickle.dumps(DType.HALF.ref)) is DType.HALF.ref
