"""Operator definitions of both TensorFlow versions and of the adapter."""

from __future__ import annotations

import pytest

from npu_reference.graphs import OPS, DType
from npu_reference.graphs.ops import VERSIONS
from npu_reference.graphs.private_ops import PRIVATE_OPS


def test_an_operator_tells_its_inputs_outputs_and_attributes() -> None:
    op = OPS.get("SparseSoftmaxCrossEntropyWithLogits")
    assert [arg.name for arg in op.inputs] == ["features", "labels"]
    assert [arg.type_attr for arg in op.outputs] == ["T", "T"]
    assert op.attrs["Tlabels"].default.type == DType.INT64.number


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("VarHandleOp", "is_stateful"),
        ("Mul", "is_commutative"),
        ("AddN", "is_aggregate"),
        ("Assign", "allows_uninitialized_input"),
    ],
)
def test_flags_of_the_registry_are_kept(name: str, flag: str) -> None:
    assert getattr(OPS.get(name), flag)
    assert not getattr(OPS.get("Relu"), flag)


def test_references_are_marked() -> None:
    assert OPS.get("VariableV2").outputs[0].is_ref
    assert OPS.get("Assign").inputs[0].is_ref
    assert not OPS.get("Assign").inputs[1].is_ref


def test_an_operator_of_one_version_is_absent_from_the_other() -> None:
    assert OPS.versions("StatelessRandomGetAlg") == ("2.21",)
    assert OPS.get("StatelessRandomGetAlg", "1.15") is None
    assert OPS.get("StatelessRandomGetAlg") is not None


def test_where_the_versions_disagree_both_are_kept() -> None:
    old, new = (OPS.get("ParseExample", version) for version in VERSIONS)
    both = [name for name in OPS.names() if OPS.versions(name) == VERSIONS]
    assert old is not None and new is not None
    changed = [name for name in both if set(OPS.get(name, "1.15").attrs) != set(OPS.get(name, "2.21").attrs)]
    assert changed
    assert all(set(OPS.get(name).attrs) == set(OPS.get(name, "2.21").attrs) for name in changed)


def test_attributes_the_newer_version_added_have_defaults() -> None:
    # What OPS.get without a version relies on; TensorFlow's own private operators promise nothing.
    for name in OPS.names():
        old, new = OPS.get(name, "1.15"), OPS.get(name, "2.21")
        if old and new and not name.startswith("_"):
            added = set(new.attrs) - set(old.attrs)
            assert all(new.attrs[attr].default is not None for attr in added), name


def test_tensorflow_s_private_operators_are_known() -> None:
    for name in ["_Arg", "_Retval", "_UnaryOpsComposition", "_Send", "_Recv", "_FusedConv2D"]:
        assert OPS.get(name) is not None


@pytest.mark.parametrize("declared", PRIVATE_OPS, ids=lambda declared: declared.name)
def test_every_operator_of_the_adapter_is_declared_well(declared) -> None:
    op = OPS.get(declared.name)
    assert OPS.versions(declared.name) == ("adapter",)
    assert len(op.inputs) == len(declared.inputs.split())
    assert len(op.outputs) == len(declared.outputs.split())
    for arg in (*op.inputs, *op.outputs):
        assert sum([arg.dtype is not None, bool(arg.type_attr), bool(arg.type_list_attr)]) == 1
        assert {arg.type_attr, arg.number_attr, arg.type_list_attr} - {""} <= set(op.attrs)


def test_no_operator_of_the_adapter_is_declared_twice() -> None:
    assert len({declared.name for declared in PRIVATE_OPS}) == len(PRIVATE_OPS)


def test_an_unknown_operator_is_none() -> None:
    assert OPS.get("NoSuchOperator") is None
    assert OPS.versions("NoSuchOperator") == ()
    assert "NoSuchOperator" not in OPS
