"""Graphs, tensors and values of options, from the protocol's form and into it."""

import base64
import gzip
import importlib
import os
import struct

from .refusing import Refused

_PLAIN = (bool, int, float, str)


def plain(value):
    """Whether JSON tells the value as it is."""
    if isinstance(value, list):
        return all(plain(one) for one in value)
    return isinstance(value, _PLAIN)


def in_field(value):
    """The field of a parameter map that a value stands in, and the value."""
    if isinstance(value, dict) and set(value) == {"field", "value"}:
        return value["field"], value["value"]
    for kind, field in ((bool, "b"), (int, "i"), (float, "f"), (str, "s")):
        if isinstance(value, kind):
            return field, value
    raise NotImplementedError("a value that no field of a parameter map takes")


def read_graph(v1, path):
    """A GraphDef from .pb or .pbtxt, either with .gz."""
    opener = gzip.open if path.endswith(".gz") else open
    name = path[: -len(".gz")] if path.endswith(".gz") else path
    graph = v1.GraphDef()
    if os.path.isdir(path) or not name.endswith((".pb", ".pbtxt")):
        raise NotImplementedError("graphs other than a GraphDef")
    with opener(path, "rb") as stream:
        data = stream.read()
    try:
        if name.endswith(".pb"):
            graph.ParseFromString(data)
        else:
            importlib.import_module("google.protobuf.text_format").Parse(data, graph)
    except Exception as error:
        raise Refused(error) from error
    return graph


def to_wire(value):
    numpy = importlib.import_module("numpy")
    array = numpy.asarray(value)
    shape = list(array.shape)
    if array.dtype.kind in "OSU":
        texts = [one if isinstance(one, bytes) else str(one).encode("utf-8") for one in array.ravel().tolist()]
        raw, name = b"".join(struct.pack("<I", len(one)) + one for one in texts), "string"
    else:
        raw, name = numpy.ascontiguousarray(array).tobytes(), str(array.dtype)
    return {"dtype": name, "shape": shape, "b64": base64.b64encode(raw).decode("ascii")}


def from_wire(tf, tensor):
    numpy = importlib.import_module("numpy")
    if "file" in tensor:
        with open(tensor["file"], "rb") as stream:
            raw = stream.read()
    else:
        raw = base64.b64decode(tensor["b64"])
    if tensor["dtype"] == "string":
        texts, at = [], 0
        while at < len(raw):
            (size,) = struct.unpack_from("<I", raw, at)
            texts.append(raw[at + 4 : at + 4 + size])
            at += 4 + size
        return numpy.array(texts, dtype=object).reshape(tensor["shape"])
    kind = tf.as_dtype(tensor["dtype"]).as_numpy_dtype
    return numpy.frombuffer(raw, kind).reshape(tensor["shape"])
