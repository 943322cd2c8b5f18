"""Asks the ``npu_bridge`` that an environment has installed, as a script would; needs nothing of the suite there.

Options are asked by constructing NPURunConfig and its objects and by opening sessions, values by running. What an
adapter has no way to tell is left out of an answer and named as ``unseen``, and what cannot be asked is unsupported.
"""

import base64
import contextlib
import gzip
import importlib
import inspect
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile

#: Which edition of the documents the adapter follows; a vendor says otherwise by ``--backend-env``.
EDITION_VARIABLE = "NPU_ADAPTER_EDITION"

#: Features that are answered as far as an adapter can be asked.
IN_PART = ("options", "run")

#: Sides of an answer to ``options`` of which an installed adapter tells nothing, or only some.
UNSEEN = ["effective", "origins", "warnings", "meaning", "directives", "advice"]

#: The same of answers to ``run``: what ran where.
UNSEEN_OF_RUNS = ["engine", "run_geops", "run_placement", "transfers", "log", "files"]

#: Options that speak of the graph, so that a graph of ours would be refused for the graph's sake.
OF_A_GRAPH = ("in_out_pair", "input_shape", "dynamic_dims", "dynamic_node_type", "dynamic_inputs_shape_range")

_PLAIN = (bool, int, float, str)


class Refused(Exception):
    """The adapter does not take the input. Which code it stands for is known only if the adapter says so."""

    def __init__(self, error, names=()):
        text = f"{type(error).__name__}: {error}"[:2000]
        super().__init__(text)
        code, subject = getattr(error, "code", None), getattr(error, "subject", None)
        told = isinstance(code, str) and isinstance(subject, str)
        named = [name for name in names if name in text]
        guess = "OPTION_TYPE" if isinstance(error, TypeError) else "OPTION_VALUE"
        self.body = {
            "code": code if told else guess,
            "message": text,
            "subject": subject if told else (named[0] if len(named) == 1 else ""),
        }
        if not told:
            self.body["unseen"] = ["code", "subject", "message"]


class Adapter:
    """Methods of worker protocol 1 over the adapter of this interpreter.

    Raises:
        ImportError: there is no TensorFlow or no adapter here.
    """

    def __init__(self):
        self.tf = importlib.import_module("tensorflow")
        self.v1 = self.tf.compat.v1
        self.api = importlib.import_module("npu_bridge.npu_init")

    def hello(self, params):
        major = int(self.tf.__version__.partition(".")[0])
        features = ["options", "run", "tensorflow", f"tf{major}"]
        if major == 1:  # the documents' scripts are of version 1; later ones have other names
            features += ["output", "keras", "estimator"]
        package = sys.modules["npu_bridge"]
        return {
            "protocol": 1,
            "backend": {"name": "adapter", "version": str(getattr(package, "__version__", "unknown"))[:200]},
            "capabilities": {
                "areas": ["in_out_pair", "mixed", "options", "precision", "run"],
                "editions": [os.environ.get(EDITION_VARIABLE) or "current"],
                "features": features,
                "in_part": list(IN_PART),
            },
            "runtime": {"python": platform.python_version(), "tensorflow": self.tf.__version__},
        }

    def options(self, params):
        values = params["values"]
        with room(params):
            if params["surface"] == "runconfig":
                if params.get("env"):
                    raise NotImplementedError("NPURunConfig under variables that its session reads later")
                config = self._run_config(values)
                return {"effective": self._attributes(config, values), "warnings": [], "unseen": UNSEEN}
            lacking = [name for name in OF_A_GRAPH if name in values]
            if lacking:
                raise NotImplementedError(f"{lacking[0]} without its graph")
            self._try_session(values)
        return {"effective": {}, "warnings": [], "unseen": UNSEEN}

    def run(self, params):
        with room(params) as folder:
            if "script" in params:
                return self._script(params, folder)
            if params.get("surface") == "runconfig" and params.get("values"):
                raise NotImplementedError("NPURunConfig for a graph without an Estimator")
            return {"fetches": self._graph(params), "unseen": UNSEEN_OF_RUNS}

    def reset(self, params):
        return {}

    # Options

    def _run_config(self, values):
        """What a script writes: the class called with its keywords."""
        arguments = {name: self._object(value) for name, value in values.items()}
        try:
            return self.api.NPURunConfig(**arguments)
        except Exception as error:
            raise Refused(error, values) from error

    def _object(self, value):
        if not (isinstance(value, dict) and set(value) == {"class", "arguments"}):
            return value
        made = getattr(self.api, value["class"], None)
        if made is None:
            raise NotImplementedError(f"class {value['class']}")
        try:
            return made(**value["arguments"])
        except Exception as error:
            raise Refused(error, value["arguments"]) from error

    def _attributes(self, config, values):
        """Options that the object shows as attributes of their name, with or without an underscore before it."""
        own = set(inspect.signature(type(config).__init__).parameters)
        for base in type(config).__mro__[1:-1]:
            if base.__name__ == "RunConfig":
                own -= set(inspect.signature(base).parameters)
        told = {}
        for name in sorted(own | set(values)):
            value = getattr(config, name, getattr(config, f"_{name}", None))
            if plain(value):
                told[name] = {"value": value}
        return told

    def _try_session(self, values):
        """Opens a session with the options and runs the smallest graph in it: adapters look at them then."""
        with self.v1.Graph().as_default() as graph:
            fed = self.v1.placeholder("float32", [2], name="x")
            fetched = self.v1.add(fed, fed, name="y")
            with self._session(graph, values) as session:
                self._call(session, fetched, {fed: [1.0, 2.0]}, values)

    # Sessions

    def _session(self, graph, values):
        try:
            return self.v1.Session(graph=graph, config=self._config(values))
        except Exception as error:
            raise Refused(error, values) from error

    def _call(self, session, fetches, feeds, values):
        try:
            return session.run(fetches, feeds)
        except Exception as error:
            raise Refused(error, values) from error

    def _config(self, values):
        """As the documents' samples write it."""
        config = self.v1.ConfigProto(allow_soft_placement=True)
        rewrite = config.graph_options.rewrite_options
        rewrite.remapping = type(rewrite).OFF
        rewrite.memory_optimization = type(rewrite).NO_MEM_OPT
        entry = rewrite.custom_optimizers.add()
        entry.name = "NpuOptimizer"
        for name, value in values.items():
            field, content = in_field(value)
            setattr(entry.parameter_map[name], field, content.encode("utf-8") if field == "s" else content)
        return config

    def _graph(self, params):
        values = params.get("values", {})
        names = params.get("fetches", [])
        feeds = {name: from_wire(self.tf, tensor) for name, tensor in params.get("feeds", {}).items()}
        definition = read_graph(self.v1, params["graph"])
        with self.v1.Graph().as_default() as graph:
            try:
                self.v1.import_graph_def(definition, name="")
                fetched = [graph.as_graph_element(name) for name in names]
                init = [graph.as_graph_element(name) for name in params.get("init", [])]
            except (ValueError, TypeError, KeyError) as error:
                raise Refused(error) from error
            with self._session(graph, values) as session:
                for operation in init:
                    self._call(session, operation, {}, values)
                for _ in range(params.get("steps", 1)):
                    found = self._call(session, fetched, feeds, values)
        return {name: to_wire(value) for name, value in zip(names, found) if ":" in name}

    def _script(self, params, folder):
        """A process of its own, as users run it."""
        if self.tf.__version__.partition(".")[0] != "1":
            raise NotImplementedError("scripts of TensorFlow 1")
        command = [sys.executable, params["script"], *params.get("args", [])]
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise Refused(RuntimeError(f"the script ended with {done.returncode}: {' | '.join(lines[-3:])}"))
        return {"fetches": {}, "output": done.stdout.decode("utf-8", "replace"), "unseen": UNSEEN_OF_RUNS}


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


@contextlib.contextmanager
def room(params):
    """The current directory and the environment of one request, with its files in it."""
    before, environment = os.getcwd(), dict(os.environ)
    folder = tempfile.mkdtemp(prefix="request-", dir=before)
    try:
        for name, content in params.get("files", {}).items():
            if os.path.isabs(name) or ".." in name.split("/"):
                raise NotImplementedError("files outside the current directory")
            if not isinstance(content, str):
                raise NotImplementedError("permissions of files")
            path = os.path.join(folder, name)
            os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
            if not name.endswith("/"):
                with open(path, "w", encoding="utf-8", newline="") as stream:
                    stream.write(content)
        os.environ.update(params.get("env", {}))
        os.chdir(folder)
        yield folder
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        shutil.rmtree(folder, ignore_errors=True)


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


def answer(adapter, line):
    """The message that answers one line."""
    identifier = None
    try:
        request = json.loads(line)
        identifier = request["id"] if isinstance(request.get("id"), int) else None
        method, params = request["method"], request.get("params", {})
        if not (isinstance(method, str) and isinstance(params, dict)):
            raise ValueError("method is no text, or params is no object")
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        return {"id": identifier, "error": {"message": f"malformed request: {error!r}"}}, ""
    if method == "shutdown":
        return {"id": identifier, "ok": {}}, method
    if method not in ("hello", "options", "run", "reset"):
        return {"id": identifier, "unsupported": {"feature": method}}, method
    try:
        return {"id": identifier, "ok": getattr(adapter, method)(params)}, method
    except Refused as error:
        return {"id": identifier, "rejected": error.body}, method
    except NotImplementedError as error:
        return {"id": identifier, "unsupported": {"feature": str(error) or method}}, method
    except Exception as error:  # noqa: BLE001  whatever an adapter raises is its answer
        return {"id": identifier, "error": {"message": f"{type(error).__name__}: {error}"[:4000]}}, method


def main():
    """Serves until ``shutdown`` or the end; stdout is the protocol's alone, wherever native code writes."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    try:
        adapter = Adapter()
    except Exception as error:  # noqa: BLE001  a native library may fail in any way
        sys.stderr.write(f"{sys.executable}: npu_bridge cannot be imported: {type(error).__name__}: {error}\n")
        return 3
    for line in requests:
        if line.strip():
            message, method = answer(adapter, line)
            answers.write(json.dumps(message, allow_nan=False).encode("utf-8") + b"\n")
            if method == "shutdown":
                break
    return 0


if __name__ == "__main__":
    sys.exit(main())
