"""Entries of option files that match no operator are told, for every option that names operators, in one way."""

from __future__ import annotations

import json

import pytest

from npu_reference.catalog import Catalog, unmatched
from npu_reference.graphs import GraphBuilder
from npu_reference.options import OPTIONS, resolve
from npu_reference.options.files.aoe_config import AoeConfig
from npu_reference.partition import partition
from tests.options import strategies

MIXED = {"precision_mode": "allow_mix_precision"}


def tower():
    """A product and a Relu in a scope, a Mean, and a call of a function with an Exp."""
    g = GraphBuilder()
    product = g.op(
        "MatMul", "tower/dense/MatMul", [g.placeholder("x", "float32", [8, 16]), g.placeholder("w", "float32", [16, 4])]
    )
    relu = g.op("Relu", "tower/relu", [product])
    g.op("Mean", "mean", [relu, g.const("axes", [0], "int32")])
    body = g.function("body", {"x": "float32"}, {"y": "float32"})
    body.returns(y=body.op("Exp", "exp", [body.args["x"]]))
    g.op("PartitionedCall", "call", [[relu]], Tout=["float32"], f=body)
    return g.build()


def text_of(option, names=(), types=()):
    """A file of an option that lists these names and types."""
    if option == "modify_mixlist":
        return json.dumps({"black-list": {"to-add": list(types)}})
    if option == "op_precision_mode":
        sections = (("[ByOpType]", types), ("[ByNodeName]", names))
        return "\n".join(line for head, some in sections for line in (head, *(f"{one}=high_precision" for one in some)))
    if option == "customize_dtypes":
        dtypes = "InputDtype:float16,OutputDtype:float16"
        return "\n".join([*(f"{one}::{dtypes}" for one in names), *(f"OpType::{one}:{dtypes}" for one in types)])
    if option == "op_debug_config":
        return "op_debug_config = oom\nop_debug_list = " + ",".join([*names, *(f"OpType::{one}" for one in types)])
    return json.dumps({"tune_ops_name": list(names), "tune_ops_type": list(types)})


BESIDE = {"modify_mixlist": MIXED, "aoe_config_file": {"aoe_mode": "2", "work_path": "/w"}}
LISTING = ("modify_mixlist", "op_precision_mode", "customize_dtypes", "op_debug_config", "aoe_config_file")


def told(option, names=(), types=(), graph=None, catalog=None):
    values = {option: "/f", **BESIDE.get(option, {})}
    files = {"/f": text_of(option, names, types), "/w/": None}
    resolution = resolve(values, surface="runconfig", edition="current", env={}, files=files)
    resolution.raise_first()
    found = unmatched(resolution, graph or tower(), catalog)
    assert all(one.option == option and one.message.startswith(f"{option}: ") for one in found)
    return found


def test_every_option_whose_file_names_operators_is_tried_here():
    """Of the others, fusion_switch_file names passes: what it names and nobody knows is told as the option is read."""
    assert set(LISTING) <= set(strategies.FILES) & set(OPTIONS)


@pytest.mark.parametrize("option", sorted({*LISTING} - {"modify_mixlist"}))
@pytest.mark.parametrize(
    "name, hint",
    [
        ("tower/dense/matmul", "Did you mean tower/dense/MatMul?"),  # other capitals
        ("dense/MatMul", "Did you mean tower/dense/MatMul?"),  # a scope too few
        ("import/tower/relu", "Did you mean tower/relu?"),  # a scope too many
        ("tower/rleu", "Did you mean tower/relu?"),
        ("nothing_like_it", ""),
    ],
)
def test_a_name_that_no_operator_has_is_one_warning_with_the_nearest_name(option, name, hint):
    (one,) = told(option, [name])
    assert (one.level, one.subject) == ("warning", name)
    assert one.message == f"{option}: the graph has no operator {name}. {hint}".rstrip()


@pytest.mark.parametrize("option", ["op_precision_mode", "op_debug_config", "aoe_config_file"])
def test_a_name_with_an_output_number_is_told_without_it(option):
    (one,) = told(option, ["tower/relu:0"])
    assert one.message.endswith("Names stand without an output number: tower/relu.")


@pytest.mark.parametrize("option", LISTING)
def test_a_type_that_the_device_has_not_is_a_warning_and_one_that_the_graph_has_not_is_a_note(option):
    unknown, absent = told(option, (), ["relu", "Softplus", "Relu", "MatMulV2"])
    assert (unknown.level, unknown.subject) == ("warning", "relu")
    assert "Names are case-sensitive; did you mean Relu?" in unknown.message
    assert (absent.code, absent.subject, absent.level) == ("entry_no_effect", option, "info")
    assert absent.message == f"{option}: the graph has no operator of type Softplus."


@pytest.mark.parametrize("option", ["modify_mixlist", "op_precision_mode", "customize_dtypes"])
def test_a_name_of_tensorflow_that_becomes_several_types_is_told_with_them(option):
    """P11: it means none of them."""
    (one,) = told(option, (), ["Mean"])
    assert one.level == "warning" and "TensorFlow's Mean becomes ReduceMean or ReduceMeanD." in one.message
    assert told(option, (), ["MatMul", "ReduceMean"]) == []


@pytest.mark.parametrize("option", ["op_debug_config", "aoe_config_file"])
def test_what_is_chosen_by_any_name_of_a_type_takes_that_of_tensorflow(option):
    assert told(option, (), ["Mean", "MatMul", "MatMulV2", "Exp"]) == []


def test_an_entry_without_a_prefix_may_be_a_type():  # D17
    assert told("op_debug_config", ["Relu", "tower/relu"]) == []
    (absent,) = told("op_debug_config", ["GatherV2"])
    assert absent.level == "info"


def test_operators_of_functions_are_named_by_function_and_by_call():
    for name in ("body/exp", "call/exp", "outer/call/exp"):
        assert told("op_precision_mode", [name]) == [], name
    assert len(told("op_precision_mode", ["exp"])) == 1


def test_an_entry_is_told_once_and_many_are_counted():
    names = [f"missing{number}" for number in range(500)]
    found = told("op_precision_mode", [*names, *names])
    assert len(found) == 21 and found[-1].message == "op_precision_mode: and 480 more entries match nothing."


def test_many_missing_names_are_not_each_compared_with_all_of_a_large_graph():
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [2])
    for number in range(100):
        at = g.op("Relu", f"scope_{number}/relu", [at])
    found = told("op_precision_mode", [f"scope_{number}/rleu" for number in range(100)], graph=g.build())
    assert len(found) == 21 and sum("Did you mean" in one.message for one in found) == 5


def test_a_list_of_types_with_modes_counts_where_no_file_of_modes_does():  # P24
    values = {"op_select_implmode": "high_precision", "optypelist_for_implmode": "Pooling,SoftmaxV2"}
    graph = tower()
    (one,) = unmatched(resolve(values, surface="session", edition="current", env={}), graph)
    assert (one.option, one.level) == ("optypelist_for_implmode", "info") and "types Pooling, SoftmaxV2" in one.message
    files = {"/f": "Relu=high_precision\n"}
    both = resolve({**values, "op_precision_mode": "/f"}, surface="session", edition="current", env={}, files=files)
    assert unmatched(both, graph) == []


@pytest.mark.parametrize("point, matches", [("tower/relu", True), ("tower/relu_Reduce_2", True), ("tower/rleu", False)])
def test_points_of_a_profile_are_names_and_may_have_what_fusion_put_behind_them(point, matches):
    options = json.dumps({"output": "/w", "training_trace": "on", "fp_point": point, "bp_point": "mean"})
    for on in (True, False):
        values = {"profiling_mode": on, "profiling_options": options}
        resolution = resolve(values, surface="session", edition="current", env={}, files={"/w/": None})
        assert len(unmatched(resolution, tower())) == int(on and not matches)


def test_nothing_is_told_of_what_has_no_effect():  # T35: nothing is tuned without aoe_mode
    files = {"/f": text_of("aoe_config_file", ["nowhere"])}
    resolution = resolve({"aoe_config_file": "/f"}, surface="runconfig", edition="current", env={}, files=files)
    assert AoeConfig(names=("nowhere",)) == resolution.parsed["aoe_config_file"]
    assert unmatched(resolution, tower()) == []


def test_types_of_a_users_library_are_those_of_the_device():
    library = Catalog.built_in().with_ops_info('{"Relu": {"precision_reduce": {"flag": "false"}}}')
    assert told("op_precision_mode", (), ["Relu"], catalog=library) == []


def test_a_range_whose_end_is_misspelt_is_told_with_the_nearest_name():
    values = {"mix_compile_mode": True, "graph_run_mode": 0, "in_out_pair": "[[['tower/dense/matmul'], ['mean:0']]]"}
    cut = partition(tower(), resolve(values, surface="session", edition="current", env={}))
    hints = [note.message for note in cut.notes if note.code == "RANGE_UNKNOWN_NODE"]
    assert len(hints) == 1 and hints[0].endswith("Did you mean mean?")
