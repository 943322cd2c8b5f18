"""Declares the adapter's own operators, which no TensorFlow registers, by what goes in and out of them.

Only attributes that decide inputs and outputs are declared: a graph is not refused for what its operator computes.
TensorFlow's own private operators (``_Arg``, ``_UnaryOpsComposition``, ``_FusedConv2D``…) are in its registry.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Tuple

from .proto import message_class

__all__ = ["COPY_MARK", "ITERATIONS_MARK", "OPERATOR_MARK", "PRIVATE_OPS", "SEEDED_MARK", "Declaration", "python_names"]

#: Attribute of a FunctionDef that says of which of these operators it is the computation. A call of such a function
#: is that operator: how TensorFlow, which does not have the operator, can hold and run it all the same.
OPERATOR_MARK = "_npu_operator"
#: Attribute of such a FunctionDef: whether what it draws at random is seeded.
SEEDED_MARK = "_npu_seeded"

#: Attribute of a function that is a copy of one of the graph's: that one's name, by which its operators are judged.
COPY_MARK = "_npu_copy_of"

#: Attribute of the operation that set_iteration_per_loop returns: how often it runs in one session.run.
ITERATIONS_MARK = "_npu_iterations_per_loop"


class Declaration(NamedTuple):
    """An operator in short form.

    ``inputs`` and ``outputs`` hold ``name:type`` separated by blanks, where type is a data type (``float``), a type
    attribute (``T``, with ``@`` where it is in lower case), ``N*T`` for N tensors of type T or ``*Tin`` for a list of
    types. ``attrs`` hold further attributes as ``name:type``.
    """

    name: str
    inputs: str
    outputs: str
    is_stateful: bool = True
    attrs: str = ""

    def to_proto(self) -> Any:
        """The declaration as an OpDef message."""
        proto = message_class("OpDef")(name=self.name, is_stateful=self.is_stateful)
        for texts, args in ((self.inputs, proto.input_arg), (self.outputs, proto.output_arg)):
            for text in texts.split():
                for name, kind in _add_arg(args, text):
                    if all(attr.name != name for attr in proto.attr):
                        proto.attr.add(name=name, type=kind)
        for text in self.attrs.split():
            name, kind = text.split(":")
            proto.attr.add(name=name, type=kind)
        return proto


_ARG = r"(\w+):(?:(\w+)?(\*))?(@?\w+)$"


def _add_arg(args: Any, text: str) -> List[Tuple[str, str]]:
    """Add an argument; the attributes it needs, as (name, type)."""
    match = re.match(_ARG, text)
    assert match is not None, text
    name, number, star, kind = match.groups()
    arg = args.add(name=name)
    if star and not number:
        arg.type_list_attr = kind
        return [(kind, "list(type)")]
    needs = []
    if number:
        arg.number_attr = number
        needs.append((number, "int"))
    if kind[0].islower():
        types = message_class("TensorProto").DESCRIPTOR.fields_by_name["dtype"].enum_type
        arg.type = types.values_by_name["DT_" + kind.upper()].number
    else:
        arg.type_attr = kind.lstrip("@")
        needs.append((arg.type_attr, "type"))
    return needs


_D = Declaration

#: Arguments and results of a fused step of Adam: the gradient, three variables and numbers.
_ADAM = " ".join(f"{name}:T" for name in (*(f"input{i}" for i in range(5)), *(f"mul{i}_x" for i in range(4)), "add2_y"))
_ADAM_RESULTS = "output0:T output1:T output2:T"

PRIVATE_OPS: List[Declaration] = [
    # What partitioning makes: a piece of the graph for the device, a data pipeline for it.
    _D("GeOp", "inputs:*Tin", "outputs:*Tout", attrs="function:func"),
    _D("DPOP", "inputs:*Tin", "outputs:*Tout", attrs="function:func"),
    _D("NpuOnnxGraphOp", "inputs:*Tin", "outputs:*Tout", is_stateful=False),
    # Starting, ending and marking time.
    _D("NPUInit", "", "", is_stateful=False),
    _D("NPUShutdown", "", "", is_stateful=False),
    _D("LogTimeStamp", "", "", is_stateful=False),
    # Data between host and device.
    _D("AdpGetNext", "", "components:*output_types"),
    _D("GetNext", "", "components:*output_types"),
    _D("DynamicGetNext", "x:uint8", "components:*output_types"),
    _D("DynamicGetNextV2", "", "components:*output_types"),
    _D("GetNextFromQueue", "data:uint8", "components:*output_types"),
    _D("GEOPDataset", "", "handle:variant", attrs="f:func"),
    _D("DeviceQueueDataset", "", "handle:variant"),
    _D("HostQueueDataset", "geop_dataset:variant input_dataset:variant", "handle:variant"),
    _D("DPGroupDataset", "input_datasets:N*variant", "handle:variant"),
    _D("OutfeedEnqueueOp", "inputs:*Tin", ""),
    _D("OutfeedEnqueueOpV2", "inputs:*Tin tensor_name:string", ""),
    _D("OutfeedDequeueOp", "", "outputs:*output_types"),
    _D("StopOutfeedDequeueOp", "", ""),
    _D("FileConstant", "", "y:@dtype"),
    # Overflow flags of loss scaling.
    _D("NpuAllocFloatStatus", "", "float_status:float"),
    _D("NpuGetFloatStatus", "input_float:float", "float_status:float"),
    _D("NpuGetFloatStatusV2", "", "data:int32"),
    _D("NpuClearFloatStatus", "float_status:float", "cleared_float_status:float"),
    _D("NpuClearFloatStatusV2", "", ""),
    # Collective communication.
    _D("HcomAllReduce", "input:T", "output:T"),
    _D("HcomAllGather", "input:T", "output:T"),
    _D("HcomReduce", "input:T", "output:T"),
    _D("HcomReduceScatter", "input:T", "output:T"),
    _D("HcomBroadcast", "input:*T", "output:*T"),
    _D("HcomSend", "input:T", ""),
    _D("HcomReceive", "", "output:T"),
    _D(
        "HcomAllToAllV",
        "send_data:T send_counts:int64 send_displacements:int64 recv_counts:int64 recv_displacements:int64",
        "recv_data:T",
    ),
    _D("HcomAllToAllVC", "send_data:T send_count_matrix:int64", "recv_data:T"),
    # Matrix products with an exchange between devices in one kernel: document 003 names them (MC2) and says no more;
    # rank_size is how many devices exchange (assumed).
    _D("MatMulAllReduce", "x1:T x2:T", "y:T"),
    _D("MatMulAllReduceAddRmsNorm", "x1:T x2:T residual:T gamma:T", "y:T norm_out:T"),
    _D("AllGatherMatMul", "x1:T x2:T", "y:T", attrs="rank_size:int"),
    _D("MatMulReduceScatter", "x1:T x2:T", "y:T", attrs="rank_size:int"),
    _D("AlltoAllAllGatherBatchMatMul", "x:T weight:T", "y:T"),
    _D("BatchMatMulReduceScatterAlltoAll", "x:T weight:T", "y:T"),
    # Layers and optimizers the drop-in API offers.
    _D("DropOutDoMask", "x:T mask:uint8 keep_prob:T", "y:T"),
    _D("DropOutDoMaskV3", "x:T mask:uint8 keep_prob:T", "y:T"),
    _D("DropOutGenMask", "shape:T prob:S", "output:uint8"),
    _D("DropOutGenMaskV3", "shape:T prob:S", "output:uint8"),
    _D("FastGelu", "features:T", "activations:T", is_stateful=False),
    _D("FastGeluGrad", "gradients:T features:T", "backprops:T", is_stateful=False),
    _D("FastGeluV2", "features:T", "activations:T", is_stateful=False),
    _D("Gelu", "x:T", "y:T", is_stateful=False),
    _D("GeluGrad", "dy:T x:T y:T", "z:T", is_stateful=False),
    _D("PRelu", "x:T weight:T", "y:T", is_stateful=False),
    _D("PReluGrad", "grads:T features:T weights:T", "dx:T da:T", is_stateful=False),
    _D("LARS", "inputs_w:*T inputs_g:*T weight_decay:float", "outputs:*T", is_stateful=False),
    _D("LarsV2", "input_weight:T input_grad:T weight_decay:T learning_rate:T", "output:T", is_stateful=False),
    _D("BasicLSTMCell", "x:T h:T c:T w:T b:T", "ct:T ht:T it:T jt:T ft:T ot:T tanhct:T"),
    _D("BasicLSTMCellCStateGrad", "c:T dht:T dct:T it:T jt:T ft:T ot:T tanhct:T", "dgate:T dct_1:T"),
    _D("BasicLSTMCellWeightGrad", "x:T h:T dgate:T", "dw:T db:T"),
    _D("BasicLSTMCellInputGrad", "dgate:T w:T", "dxt:T dht:T"),
    _D(
        "DynamicRnn",
        "x:T w:T b:T seq_length:int32 init_h:T init_c:T",
        "y:T output_h:T output_c:T i:T j:T f:T o:T tanhc:T",
    ),
    _D("DynamicRnnV2", "x:T w:T b:T init_h:T init_c:T", "y:T output_h:T output_c:T i:T j:T f:T o:T tanhc:T"),
    _D(
        "DynamicRnnGrad",
        "x:T w:T b:T y:T init_h:T init_c:T h:T c:T dy:T dh:T dc:T i:T j:T f:T o:T tanhc:T",
        "dw:T db:T dx:T dh_prev:T dc_prev:T",
    ),
    _D(
        "DynamicGruV2",
        "x:T weight_input:T weight_hidden:T bias_input:T bias_hidden:T seq_length:int32 init_h:T",
        "y:T output_h:T update:T reset:T new:T hidden_new:T",
    ),
    _D(
        "DynamicGruV2Grad",
        "x:T weight_input:T weight_hidden:T y:T init_h:T h:T dy:T dh:T update:T reset:T new:T "
        "hidden_new:T seq_length:int32",
        "dw_input:T dw_hidden:T db_input:T db_hidden:T dx:T dh_prev:T",
    ),
    _D(
        "DynamicAUGRU",
        "x:T weight_input:T weight_hidden:T weight_att:T bias_input:T bias_hidden:T seq_length:int32 init_h:T",
        "y:T output_h:T update:T update_att:T reset:T new:T hidden_new:T",
    ),
    _D(
        "DynamicAUGRUGrad",
        "x:T weight_input:T weight_hidden:T weight_att:T y:T init_h:T h:T dy:T dh:T update:T "
        "update_att:T reset:T new:T hidden_new:T seq_length:int32",
        "dw_input:T dw_hidden:T db_input:T db_hidden:T dx:T dh_prev:T dw_att:T",
    ),
    _D("DeformableOffsets", "x:T offsets:T", "y:T"),
    _D("DeformableOffsetsGrad", "grad:T x:T offsets:T", "grad_x:T grad_offsets:T"),
    _D("RandomChoiceWithMask", "x:bool", "y:int32 mask:bool"),
    _D("LambApplyWeightAssign", " ".join(f"input{i}:T" for i in range(5)), "output0:T"),
    _D(
        "LambApplyOptimizerAssign",
        "input0:T input1:T input2:T input3:T mul0_x:T mul1_x:T mul2_x:T mul3_x:T add2_y:T steps:T do_use_weight:T "
        "weight_decay_rate:T",
        "output0:T inputv:T inputm:T",
    ),
    _D("AdamApplyOneAssign", _ADAM, _ADAM_RESULTS),
    _D("AdamApplyOneWithDecayAssign", _ADAM.replace("add2_y", "mul4_x:T add2_y"), _ADAM_RESULTS),
    _D(
        "KMeansCentroids",
        "x:T y:T sum_square_y:T sum_square_x:T",
        "segment_sum:T segment_count:T kmean_total_sum:T",
        is_stateful=False,
    ),
]

_WORD = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


def python_names() -> Dict[str, str]:
    """The operators by the names that Python functions made of a library have: ``get_next`` -> ``GetNext``."""
    return {re.sub(_WORD, "_", declared.name).lower(): declared.name for declared in PRIVATE_OPS}
