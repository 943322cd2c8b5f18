"""Asks the ``npu_bridge`` that an environment has installed, as a script would; needs nothing of the suite there.

Options are asked by constructing NPURunConfig and its objects and by opening sessions, values by running, placement by
the partition graphs that TensorFlow gives with RunMetadata. What an adapter has no way to tell is left out of an answer
and named as ``unseen``, and what cannot be asked is unsupported. Started with ``--watch FILE SCRIPT`` it runs a script
as users do, and writes what its session.run calls had where.
"""

import base64
import collections
import concurrent.futures
import contextlib
import gzip
import importlib
import inspect
import itertools
import json
import os
import platform
import re
import runpy
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

#: Which edition of the documents the adapter follows; a vendor says otherwise by ``--backend-env``.
EDITION_VARIABLE = "NPU_ADAPTER_EDITION"

#: Features that a vendor knows of his device and nobody can ask: `device_precision`, where it computes as it decides,
#: `ranks`, where processes that a launch script starts on this machine find each other.
FEATURES_VARIABLE = "NPU_ADAPTER_FEATURES"

#: Environments that are kept with an interpreter of their own each (assumed: cases of one come together).
KEPT = 2

#: Seconds that ranks have together: one that waits for another which is gone does so for half an hour.
WAITED = 120.0

#: Features that are answered as far as an adapter can be asked.
IN_PART = ("options", "run")

#: Sides of an answer to ``options`` of which an installed adapter tells nothing, or only some.
UNSEEN = ["effective", "origins", "warnings", "meaning", "directives", "advice"]

#: The same of answers to ``run`` (placement of operators that TensorFlow has optimised away), and what else is unseen
#: where a run gave no partition graphs.
UNSEEN_OF_RUNS = ["transfers", "log", "run_placement"]
UNSEEN_PLACES = ["engine", "run_geops"]

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
        self.others = collections.OrderedDict()
        self.jobs = itertools.count()

    def hello(self, params):
        major = int(self.tf.__version__.partition(".")[0])
        features = ["options", "run", "trace", "dump", "tensorflow", f"tf{major}"]
        told = os.environ.get(FEATURES_VARIABLE, "").split(",")
        features += [name for name in told if name == "device_precision"]
        if major == 1:  # the documents' scripts are of version 1; later ones have other names
            features += ["output", "keras", "estimator"]
            features += [name for name in told if name == "ranks"]
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
        if params.get("env"):
            return self._under(params.pop("env"), "options", params)
        with room(params) as place:
            values = place.staged(params["values"])
            if params["surface"] == "runconfig":
                config = self._run_config(values)
                told = place.shown(self._attributes(config, values))
                return {"effective": told, "warnings": [], "unseen": UNSEEN}
            lacking = [name for name in OF_A_GRAPH if name in values]
            if lacking:
                raise NotImplementedError(f"{lacking[0]} without its graph")
            self._try_session(values)
        return {"effective": {}, "warnings": [], "unseen": UNSEEN}

    def run(self, params):
        if params.get("env"):
            return self._under(params.pop("env"), "run", params)
        for name in ("faults", "may_fail", "tell"):
            if params.get(name):
                raise NotImplementedError(f"{name} of a run")
        with room(params) as place:
            if "ranks" in params:
                return self._ranks(params, place)
            if "script" in params:
                return {**self._script(params, place), **place.left()}
            if params.get("surface") == "runconfig" and params.get("values"):
                raise NotImplementedError("NPURunConfig for a graph without an Estimator")
            fetched, trace = self._graph({**params, "values": place.staged(params.get("values", {}))})
            return {"fetches": fetched, **told(trace), **place.left()}

    def reset(self, params):
        return {}

    def close(self):
        while self.others:
            self.others.popitem()[1].close()

    def _under(self, env, method, params):
        """The answer of an interpreter that was started with these variables: what is native reads them once."""
        key = json.dumps(env, sort_keys=True)
        if key not in self.others:
            while len(self.others) >= KEPT:
                self.others.popitem(last=False)[1].close()
            self.others[key] = Other(AdapterPlace(os.getcwd()).staged(env))
        self.others.move_to_end(key)
        try:
            body = self.others[key].ask(method, params)
        except (OSError, ValueError) as error:
            self.others.pop(key).close()
            raise RuntimeError(f"the interpreter with these variables ended: {error}") from error
        if method == "options" and params["surface"] == "runconfig":
            raise NotImplementedError("what a session makes of variables beside NPURunConfig")  # it was constructed
        return body

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
        definition, trace = read_graph(self.v1, params["graph"]), Trace()
        found = []
        with self.v1.Graph().as_default() as graph:
            try:
                self.v1.import_graph_def(definition, name="")
                fetched = [graph.as_graph_element(name) for name in names]
                init = [graph.as_graph_element(name) for name in params.get("init", [])]
            except (ValueError, TypeError, KeyError) as error:
                raise Refused(error) from error
            with self._session(graph, values) as session, Watch(self.v1, trace):
                for operation in init:
                    self._call(session, operation, {}, values)
                for _ in range(params.get("steps", 1)):
                    found = self._call(session, fetched, feeds, values)
        return {name: to_wire(value) for name, value in zip(names, found) if ":" in name}, trace

    def _script(self, params, place, around=None, process=None):
        """A process of its own, as users run it."""
        process = process or self._started(params, place, "trace", around)
        out, err = process.communicate()
        trace = read_trace(place.beside("trace"))
        return self._ended(process, out, err, trace)

    def _started(self, params, place, name, around=None):
        """The script's process; what its runs had where comes to lie under that name beside its folder."""
        if self.tf.__version__.partition(".")[0] != "1":
            raise NotImplementedError("scripts of TensorFlow 1")
        command = [sys.executable, os.path.abspath(__file__), "--watch", place.beside(name)]
        command += [params["script"], *params.get("args", [])]
        pipe = subprocess.PIPE
        env = {**os.environ, **(around or {})}
        return subprocess.Popen(command, cwd=place.folder, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)

    def _ended(self, process, out, err, trace):
        if process.returncode != 0:
            lines = err.decode("utf-8", "replace").strip().splitlines()
            raise Refused(RuntimeError(f"the script ended with {process.returncode}: {' | '.join(lines[-3:])}"))
        return {"fetches": {}, "output": out.decode("utf-8", "replace"), **told(trace)}

    def _ranks(self, params, place):
        """The script as so many processes, with the variables that a launch script sets."""
        size = params["ranks"]
        job = f"{os.getpid()}-{next(self.jobs)}"
        started = []
        for rank in range(size):
            number = str(rank)
            around = {"RANK_SIZE": str(size), "RANK_ID": number, "DEVICE_ID": number, "ASCEND_DEVICE_ID": number}
            started.append(self._started(params, place, f"trace{rank}", {**around, "JOB_ID": job}))
        answers = []
        ending = threading.Timer(WAITED, lambda: [process.kill() for process in started])
        ending.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(size) as pool:
                texts = list(pool.map(lambda process: process.communicate(), started))  # all at once: pipes fill up
        finally:
            late = not ending.is_alive()
            ending.cancel()
        if late:
            raise NotImplementedError("ranks that wait for each other in real time")
        for rank, (process, (out, err)) in enumerate(zip(started, texts)):
            trace = read_trace(place.beside(f"trace{rank}"))
            try:
                answers.append({"ok": self._ended(process, out, err, trace)})
            except Refused as error:
                answers.append({"rejected": error.body})
        unseen = sorted({name for one in answers for name in one.get("ok", {}).get("unseen", ())})
        return {"fetches": {}, "ranks": answers, "unseen": unseen or UNSEEN_OF_RUNS, **place.left()}


class Other:
    """This program once more, in an interpreter that was started with further variables."""

    def __init__(self, env):
        command = [sys.executable, os.path.abspath(__file__)]
        around = {**os.environ, **env}
        self.process = subprocess.Popen(command, env=around, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pipes = vars(self.process)
        self.requests, self.answers = pipes["stdin"], pipes["stdout"]

    def ask(self, method, params):
        """The body of the answer, `ok` and what it is beside; the exceptions that make it elsewhere are raised here."""
        self.requests.write(json.dumps({"id": 1, "method": method, "params": params}).encode("utf-8") + b"\n")
        self.requests.flush()
        message = json.loads(self.answers.readline())
        if "unsupported" in message:
            raise NotImplementedError(message["unsupported"]["feature"])
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        if "rejected" in message:
            raise AdapterTold(message["rejected"])
        if method == "options":
            message["ok"]["effective"] = {}  # attributes show what was given, not what variables make of it
        return message["ok"]

    def close(self):
        self.requests.close()
        self.process.kill()
        self.process.wait()
        self.answers.close()


class AdapterTold(Refused):
    """A refusal of which the body is known."""

    def __init__(self, body):
        Exception.__init__(self, body["message"])
        self.body = body


class Trace(list):
    """Records of session.run calls, in their order; None for one of which nothing is known."""


class Watch:
    """While it is entered, every session.run appends to `trace` what ran where; None where that cannot be told.

    The adapter replaces what it takes by calls of functions. So what TensorFlow ran itself is a node of its partition
    graphs, and what led to the output of such a call and is none was on the device.
    """

    def __init__(self, v1, trace):
        self.v1, self.trace, self.within = v1, trace, False
        self.base = next(kind for kind in v1.Session.__mro__ if "run" in vars(kind))

    def __enter__(self):
        self.original = original = self.base.run
        watch = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            if watch.within or run_metadata is not None:
                return original(session, fetches, feed_dict, options, run_metadata)
            asked, metadata = watch.v1.RunOptions(), watch.v1.RunMetadata()
            if options is not None:
                asked.CopyFrom(options)
            asked.output_partition_graphs = True
            watch.within = True
            try:
                found = original(session, fetches, feed_dict, asked, metadata)
            finally:
                watch.within = False
            try:
                watch.trace.append(record(session.graph, fetches, feed_dict, metadata))
            except Exception:  # noqa: BLE001  what cannot be read of a run is not told, and disturbs nobody
                watch.trace.append(None)
            return found

        self.base.run = run
        return self

    def __exit__(self, *error):
        self.base.run = self.original


def told(trace):
    """The members of an answer that say what ran where."""
    if trace is None or any(one is None for one in trace):
        return {"unseen": UNSEEN_PLACES + UNSEEN_OF_RUNS}
    return {"trace": trace, "unseen": UNSEEN_OF_RUNS}


def record(graph, fetches, feeds, metadata):
    """One run in the protocol's form; None where partition graphs do not say what became of an operator."""
    nodes = {node.name: node for node in graph.as_graph_def().node}
    ran = {}
    for part in metadata.partition_graphs:
        for node in part.node:
            plain_name = _COPY.sub("", node.name)  # an adapter may run a copy of the graph under names of its own
            copied = node.name not in nodes and plain_name in nodes and nodes[plain_name].op == node.op
            ran[plain_name if copied else node.name] = node
    if not ran:
        return None
    calls = {name for name, node in ran.items() if name not in nodes and any(
        value.WhichOneof("value") == "func" for value in node.attr.values())}  # fmt: skip
    fed = {named(graph, key).partition(":")[0] for key in feeds or {}}
    asked = [named(graph, one) for one in flat(fetches)]
    # Tensors that come out of a call: those that are fetched or computed on, and are nobody's who ran.
    waiting = [name.partition(":")[0] for name in asked]
    for name, node in ran.items():
        if name not in nodes:
            continue
        for place, text in enumerate(node.input):
            if operator(text) in calls and place < len(nodes[name].input):
                waiting.append(operator(nodes[name].input[place]))
    device, seen = set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in fed or name not in nodes or name in ran:
            continue
        seen.add(name)
        device.add(name)
        waiting.extend(operator(text) for text in nodes[name].input)
    if device and not calls:
        return None  # optimised away by TensorFlow
    host = [name for name in ran if name not in calls and not name.startswith(("_send_", "_recv_"))]
    return {
        "engine": "adapter" if calls else None,
        "geops": len(calls),
        "copies": [],
        "partition": {
            "geops": [{"nodes": sorted(device)}] if device else [],
            "host": [{"node": name} for name in sorted(host)],
        },
    }


#: What an adapter puts behind the name of an operator that it copies.
_COPY = re.compile(r"__[A-Za-z]*[0-9]+\Z")


def operator(text):
    """The operator of an input as a NodeDef names it."""
    return text.lstrip("^").partition(":")[0]


def named(graph, one):
    """The name of what a fetch or a feed stands for."""
    return graph.as_graph_element(one, allow_tensor=True, allow_operation=True).name


def flat(fetches):
    """The single things in a structure of fetches."""
    if isinstance(fetches, dict):
        return [one for part in fetches.values() for one in flat(part)]
    if isinstance(fetches, (list, tuple)):
        return [one for part in fetches for one in flat(part)]
    return [] if fetches is None else [fetches]


def read_trace(path):
    """What a watched script wrote; None where it wrote nothing."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None
    finally:
        with contextlib.suppress(OSError):
            os.remove(path)


def watch_script(seen, words):
    """Runs a script as its interpreter would, and writes what its runs had where."""
    trace = Trace()
    sys.argv = words
    sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
    v1 = importlib.import_module("tensorflow").compat.v1
    importlib.import_module("npu_bridge")  # it may replace methods of sessions, before this does
    try:
        with Watch(v1, trace):
            runpy.run_path(words[0], run_name="__main__")
    finally:
        with open(seen, "w", encoding="utf-8") as stream:
            json.dump(trace, stream)


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


#: A path from the root in a text: at its begin, or behind what paths stand behind in options' texts.
_ROOTED = re.compile(r"(^|[\"'=,:])/(?=[^/\s])")

#: More than this of a file an answer says the length alone.
_LARGEST = 1 << 16


class AdapterPlace:
    """Where a request takes place: a current directory, and a folder that stands for the root of the machine."""

    def __init__(self, base, folder=""):
        self.root, self.folder, self.given = os.path.join(base, "root"), folder, set()

    def staged(self, value):
        """The value with paths from the root below the folder that stands for it, so that nothing else is touched."""
        if isinstance(value, str):
            return _ROOTED.sub(lambda found: f"{found.group(1)}{self.root}/", value)
        if isinstance(value, list):
            return [self.staged(one) for one in value]
        return {key: self.staged(one) for key, one in value.items()} if isinstance(value, dict) else value

    def shown(self, value):
        """The value as the request wrote it."""
        if isinstance(value, str):
            return value.replace(self.root + "/", "/")
        if isinstance(value, list):
            return [self.shown(one) for one in value]
        return {key: self.shown(one) for key, one in value.items()} if isinstance(value, dict) else value

    def beside(self, name):
        """A file that is no part of the request's folder."""
        return f"{self.folder}.{name}"

    def fill(self, files):
        """The request's files.

        Raises:
            NotImplementedError: permissions are asked for, and this user has all of them.
        """
        for name, content in files.items():
            if ".." in name.split("/"):
                raise NotImplementedError("files outside the current directory")
            path = self.staged(name) if name.startswith("/") else os.path.join(self.folder, name)
            os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
            self.given.add(path)
            if isinstance(content, str) and not name.endswith("/"):
                with open(path, "w", encoding="utf-8", newline="") as stream:
                    stream.write(content)
        for name, content in files.items():
            if not isinstance(content, str):
                self._allow(self.staged(name) if name.startswith("/") else os.path.join(self.folder, name), content)

    def _allow(self, path, content):
        if set(content) != {"access"}:
            raise NotImplementedError("files of other kinds")
        if not os.path.lexists(path):
            with open(path, "w", encoding="utf-8"):
                pass
        mode = (0o500 if os.path.isdir(path) else 0) | (0o400 if "r" in content["access"] else 0)
        os.chmod(path, mode | (0o200 if "w" in content["access"] else 0))
        wanted = (os.R_OK if "r" in content["access"] else 0) | (os.W_OK if "w" in content["access"] else 0)
        if not wanted or os.access(path, os.R_OK | os.W_OK) is not (wanted == os.R_OK | os.W_OK):
            raise NotImplementedError("permissions, of a user who has them all")

    def left(self):
        """What a run left: name from the request's folder, or from what stands for the root, to its content."""
        files = {}
        for base in (self.root, self.folder):
            for folder, _, names in os.walk(base):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    size = os.path.getsize(path) if os.path.isfile(path) and not os.path.islink(path) else None
                    if size is None or path in self.given:
                        continue
                    files[os.path.relpath(path, base)] = contents(path, size)
        return {"files": files}


def contents(path, size):
    """A file's content, or of a large one its length."""
    if size > _LARGEST:
        return {"bytes": size}
    with open(path, "rb") as stream:
        return {"b64": base64.b64encode(stream.read()).decode("ascii")}


@contextlib.contextmanager
def room(params):
    """The current directory, the root and the environment of one request, with its files in them."""
    before, environment = os.getcwd(), dict(os.environ)
    place = AdapterPlace(before, tempfile.mkdtemp(prefix="request-", dir=before))
    try:
        os.makedirs(place.root, exist_ok=True)
        place.fill(params.get("files", {}))
        os.environ.update(place.staged(params.get("env", {})))
        os.chdir(place.folder)
        yield place
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        for folder in (place.root, place.folder):
            removed(folder)


def removed(folder):
    """Removes a folder, though a request took permissions from what is in it."""
    for path, names, _ in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(path, name), 0o700)
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
    adapter.close()
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch_script(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
