"""Write ``operators.pb.gz``: the operator definitions of TensorFlow 1.15 and 2.21.

    python -m npu_reference.graphs._generate.operators dump OUT        # with each TensorFlow
    python -m npu_reference.graphs._generate.operators merge OUT 1.15=DUMP 2.21=DUMP

The result is a SavedModel message, a container any protobuf reader knows: one MetaGraphDef for each set of versions,
its ``meta_info_def.tags`` the versions, its collections the names and definitions of operators alike in all of them.
Definitions are bytes there: a program that needs ten of 2,000 parses ten.
"""

from __future__ import annotations

import gzip
import sys
from typing import Dict, List, Tuple


def dump(out: str) -> None:
    """The operators registered in the installed TensorFlow, sorted by name, without their documentation."""
    import tensorflow  # noqa: F401  (registers the operators)
    from tensorflow.core.framework import op_def_pb2

    try:
        from tensorflow.python.client import pywrap_tf_session as c_api
    except ImportError:  # TensorFlow 1.15
        from tensorflow.python import pywrap_tensorflow_internal as c_api
    buffer = c_api.TF_GetAllOpList()
    registered = op_def_pb2.OpList()
    registered.ParseFromString(c_api.TF_GetBuffer(buffer))
    result = op_def_pb2.OpList()
    for op in sorted(registered.op, key=lambda op: op.name):
        result.op.add().CopyFrom(_without_documentation(op))
    with open(out, "wb") as stream:
        stream.write(result.SerializeToString(deterministic=True))


def _without_documentation(op):
    op.ClearField("summary")
    op.ClearField("description")
    for part in list(op.input_arg) + list(op.output_arg) + list(op.attr):
        part.ClearField("description")
        if "experimental_full_type" in part.DESCRIPTOR.fields_by_name:
            part.ClearField("experimental_full_type")
    return op


def merge(out: str, named: List[str]) -> None:
    from npu_reference.graphs.proto import message_class

    versions: Dict[str, Dict[str, bytes]] = {}
    for item in named:
        version, path = item.split("=", 1)
        dumped = message_class("OpList")()
        with open(path, "rb") as dump_file:
            dumped.ParseFromString(dump_file.read())
        versions[version] = {op.name: op.SerializeToString(deterministic=True) for op in dumped.op}
    groups: Dict[Tuple[str, ...], Dict[str, bytes]] = {}
    for name in sorted({name for ops in versions.values() for name in ops}):
        forms: Dict[bytes, List[str]] = {}
        for version, ops in versions.items():
            if name in ops:
                forms.setdefault(ops[name], []).append(version)
        for form, where in forms.items():
            groups.setdefault(tuple(where), {})[name] = form
    model = message_class("SavedModel")(saved_model_schema_version=1)
    for group, forms_of_group in sorted(groups.items()):
        graph = model.meta_graphs.add()
        graph.meta_info_def.tags.extend(group)
        graph.collection_def["names"].node_list.value.extend(forms_of_group)
        graph.collection_def["definitions"].bytes_list.value.extend(forms_of_group.values())
    with open(out, "wb") as stream, gzip.GzipFile("", "wb", 9, stream, mtime=0) as packed:
        packed.write(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    if sys.argv[1] == "dump":
        dump(sys.argv[2])
    else:
        merge(sys.argv[2], sys.argv[3:])
