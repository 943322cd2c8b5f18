"""Methods of worker protocol 1 over an adapter."""

import collections
import concurrent.futures
import importlib
import inspect
import itertools
import json
import os
import platform
import subprocess
import sys
import threading

from .place import AdapterPlace, room
from .refusing import AdapterTold, Refused
from .watching import UNSEEN_OF_RUNS, Trace, Watch, read_trace, told
from .wire import from_wire, in_field, plain, read_graph, to_wire

#: The file that starts this program: by its path, since nothing of the suite need be installed.
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")

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

#: Options that speak of the graph, so that a graph of ours would be refused for the graph's sake.
OF_A_GRAPH = ("in_out_pair", "input_shape", "dynamic_dims", "dynamic_node_type", "dynamic_inputs_shape_range")


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
        command = [sys.executable, PROGRAM, "--watch", place.beside(name)]
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
        command = [sys.executable, PROGRAM]
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
