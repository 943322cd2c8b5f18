"""Write ``protos.pb.gz``: the descriptors of TensorFlow's public protocol buffers, of the installed TensorFlow.

    python -m npu_reference.graphs._generate.protos OUT

Run it with the newest supported TensorFlow: newer descriptors read older graphs, the reverse loses fields.
"""

from __future__ import annotations

import gzip
import importlib
import sys
from typing import Dict

#: Everything a reader of graphs needs is imported by one of these.
_ROOTS = (
    "tensorflow.core.framework.graph_pb2",
    "tensorflow.core.framework.op_def_pb2",
    "tensorflow.core.protobuf.meta_graph_pb2",
    "tensorflow.core.protobuf.saved_model_pb2",
    "tensorflow.core.protobuf.config_pb2",
    "tensorflow.core.protobuf.rewriter_config_pb2",
    "tensorflow.core.protobuf.saver_pb2",
)


def _collect(descriptor, files: Dict[str, bytes], descriptor_pb2) -> None:
    """Add ``descriptor`` after everything it imports, which is the order a pool wants."""
    if descriptor.name in files:
        return
    files[descriptor.name] = b""
    for dependency in descriptor.dependencies:
        _collect(dependency, files, descriptor_pb2)
    proto = descriptor_pb2.FileDescriptorProto()
    descriptor.CopyToProto(proto)
    # dict keeps first insertion: take the name out and in again to get dependency order
    del files[descriptor.name]
    files[descriptor.name] = proto.SerializeToString(deterministic=True)


def main(out: str) -> None:
    from google.protobuf import descriptor_pb2

    files: Dict[str, bytes] = {}
    for root in _ROOTS:
        _collect(importlib.import_module(root).DESCRIPTOR, files, descriptor_pb2)
    result = descriptor_pb2.FileDescriptorSet()
    for data in files.values():
        proto = result.file.add()
        proto.ParseFromString(data)
        # Options are for code generators; some are extensions an older protobuf cannot resolve.
        proto.ClearField("options")
        if proto.syntax not in ("proto3", "proto2", ""):
            raise SystemExit(f"{proto.name}: syntax {proto.syntax} does not load in protobuf 3.19")
    with open(out, "wb") as stream, gzip.GzipFile("", "wb", 9, stream, mtime=0) as packed:
        packed.write(result.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(sys.argv[1])
