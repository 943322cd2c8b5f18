"""The reference implementation as a backend: what it claims, and how it answers each method."""

from __future__ import annotations

import base64
import functools
import glob
import importlib.util
import json
import os
import platform
import posixpath
import re
from typing import Any, Callable, Dict, Hashable, List, Mapping, Optional, Sequence, Tuple

import npu_reference
from npu_conformance.protocol import messages as protocol
from npu_reference.collection import collect_no_more
from npu_reference.errors import NpuError

__all__ = ["ReferenceBackend"]

#: Largest file that is told with its content, in bytes.
_MOST_INLINE = 64 << 10

_AREAS = ["artifacts", "in_out_pair", "mixed", "options", "partition", "precision", "run", "timing"]

#: Features of every answer that needs no TensorFlow.
_FEATURES = [
    "advice", "borders", "casts", "concurrent", "compile", "compile.constants", "compile.notes", "compile.passes",
    "compile.sizes", "compile.switches", "compile.tuning", "copies", "directives", "engines", "faults", "flavour.tf1",
    "flavour.tf2", "impl_modes", "library", "lists", "meaning", "min_geops", "notes", "notices", "op_list", "ops_info",
    "options", "partition", "policy.adapter", "precision", "ranks", "reasons", "signature", "timeline",
    "timeline.dataset", "timeline.device", "timeline.files", "timeline.fusion", "timeline.launches", "timeline.memory",
    "timeline.streams", "timeline.tasks", "timeline.transfers", "timeline.tuning",
]  # fmt: skip

_DEVICE = "Ascend910A"

#: Codes with which a step ends on the device, after it was understood.
_ENDS = (
    "DEVICE_MEMORY", "DEVICE_TIMEOUT", "DEVICE_FAULT", "DEVICE_ENDLESS", "COLLECTIVE_TIMEOUT", "KERNEL_FAILURE",
)  # fmt: skip


#: What ranks are forked from, once anything runs; it ends with this process.
_FORKERS: List[Any] = []

#: Resolutions, and partitions, that a backend remembers (assumed: questions about one graph come together, and few of
#: them differ in more than what precision asks of the options).
_REMEMBERED = {"resolution": 64, "partition": 16}


class ReferenceBackend:
    """Answers by :mod:`npu_reference`. Mutants override one of its steps.

    Each public method takes the ``params`` of the protocol and returns its ``ok``. TensorFlow is imported by
    ``run`` only.
    """

    name = "reference"

    def hello(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        features = list(_FEATURES)
        version = tensorflow_version()
        if version is not None:
            features += ["run", "tensorflow", "tf1" if version[0] == 1 else "tf2", "trace", "log", "output"]
            features += ["device_precision", "dump", "exception_dump", "faults", "may_fail", "devices", "collectives"]
            features += ["run.memory", "run.profile", "run.timeline", "run.transfers"]
            features += [name for name in ("estimator", "keras") if _has(name, version)]
        return {
            "protocol": protocol.VERSION,
            "backend": {"name": self.name, "version": npu_reference.__version__},
            "capabilities": {
                "areas": list(_AREAS),
                "editions": ["legacy", "current"],
                "features": sorted(set(features)),
            },
            "runtime": {
                "python": platform.python_version(),
                "tensorflow": ".".join(str(part) for part in version) if version else None,
                "device": "simulated",
            },
        }

    def options(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        from npu_reference.options.directives import directives
        from npu_reference.options.meaning import meanings

        resolution = self.resolve(params)
        resolution.raise_first()
        return {
            "effective": {
                name: {"value": effective.value, "origin": effective.origin}
                for name, effective in resolution.effective.items()
            },
            "warnings": [{"option": warning.option, "code": warning.code} for warning in resolution.warnings],
            "meaning": meanings(resolution),
            "directives": directives(resolution.typed),
            "notes": [{"option": note.option, "message": note.message} for note in resolution.notes],
        }

    def partition(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.partitioned(params).to_json()
        return answer

    def precision(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.assigned(params).to_json()
        return answer

    def compile(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        from npu_conformance.backends.compiling import Turns

        return Turns(self, params).run()

    def library(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        from npu_reference.artifacts import library

        return {
            "files": [
                {"path": one.path, "mode": f"{one.mode:04o}", "text": one.text}
                for one in library.files(self.catalog(params), params["edition"])
            ]
        }

    def timeline(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        variants: Dict[str, Any] = {}
        made: Dict[str, Any] = {}  # by what a variant gives: the same is compiled once
        for name, changes in params.get("variants", {}).items():
            laid = {option: value for option, value in {**params["values"], **changes}.items() if value is not None}
            key = repr(laid)
            if key not in made:
                made[key] = self._ended({**params, "values": laid}, every=True)
            variants[name] = made[key]
        return {"base": self._ended(params), "variants": variants}

    def _ended(self, params: Mapping[str, Any], every: bool = False) -> Dict[str, Any]:
        """The step, or the error it ends in; of a variant, whatever it is refused for."""
        try:
            return self.step(params)
        except NpuError as error:
            if not every and error.code not in _ENDS:
                raise
            return {"rejected": error.to_json()}

    def run(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        if importlib.util.find_spec("tf_keras") is not None:
            os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # TensorFlow reads it once, when it is imported
        # So it does this: every new graph would be searched for kernels that add in an order of the processor's own.
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
        if not _FORKERS:
            from npu_reference.runtime.scripts.forking import Forker

            _FORKERS.append(Forker())
            _FORKERS[0].copy_this()
        from npu_reference.runtime.scripts import runner

        if "ranks" in params:
            return self.run_ranks(params)
        if "script" in params:
            answer: Dict[str, Any] = runner.run_script(params)
            return answer
        answer = runner.run_graph(params)
        return answer

    def run_ranks(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """The script of the request as several ranks, each a process."""
        answer: Dict[str, Any] = _FORKERS[0].ask(params)
        return answer

    def reset(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """Forgets earlier requests; what the reference remembers of them it would make again, just as it is."""
        return {}

    def shutdown(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """Before the process ends."""
        collect_no_more()
        return {}

    # The steps

    def resolve(self, params: Mapping[str, Any]) -> Any:
        """The Resolution of the request's option values."""
        from npu_reference.options import resolve

        return resolve(
            params["values"],
            surface=params["surface"],
            edition=params["edition"],
            env=params.get("env", {}),
            files=params.get("files", {}),
        )

    def resolved(self, params: Mapping[str, Any]) -> Any:
        """The same, without an error; the last ones are remembered, since most graphs are asked under few options.

        Raises:
            NpuError: the first error of the options.
        """
        asked = [params["values"], params["surface"], params["edition"], params.get("env"), params.get("files")]
        return self._remembered("resolution", repr(asked), lambda: self.resolve(params).raise_first())

    def divided(
        self, params: Mapping[str, Any], options: Any, shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None
    ) -> Any:
        """The request's graph under resolved options, divided; the last ones are remembered by the graph and what
        dividing asks of the options: a graph is asked in one precision mode after the other."""
        from npu_reference.partition import partition

        graph, operators = self.graph(params), self.operator_list(params)
        settings, flavour = options.typed.partition, params.get("flavour", "tf1")

        def found() -> Any:
            # What the key names by its identity is kept with it.
            cut = partition(graph, settings, flavour=flavour, op_list=operators, shapes=shapes)
            return cut, graph, operators

        key = (id(graph), id(operators), settings, flavour, None if shapes is None else repr(shapes))
        return self._remembered("partition", key, found)[0]

    def _remembered(self, kind: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made of a key, one of the last of its kind; nobody changes it."""
        kept = self.__dict__.setdefault("_kept", {}).setdefault(kind, {})
        if key in kept:
            kept[key] = kept.pop(key)  # the last ones asked for are the last to go
            return kept[key]
        made = make()
        kept[key] = made
        if len(kept) > _REMEMBERED[kind]:
            del kept[next(iter(kept))]
        return made

    def resolve_in(self, params: Mapping[str, Any], files: Any) -> Any:
        """The Resolution of the request's option values, whose files lie in a folder."""
        return self.resolve({**params, "files": files})

    def program(self, params: Mapping[str, Any], place: Any, process: int) -> Any:
        """A program that compiles in a folder."""
        from npu_reference.artifacts import Program
        from npu_reference.device import faults

        return Program(place, process=str(process), faults=faults.parse(params.get("faults")))

    def model(self, params: Mapping[str, Any], resolution: Any, tiles: Mapping[Any, Any]) -> Any:
        """The request's graph, compiled with tiles that tuning found before."""
        from npu_reference.artifacts import Model
        from npu_reference.compiler import compile_graph, settings_of
        from npu_reference.graphs import arg_shapes, closed_graph
        from npu_reference.hardware import load
        from npu_reference.precision import assign

        sizes = {name: tuple(shape) for name, shape in params.get("shapes", {}).items()}
        shapes = arg_shapes(closed_graph(params["graph"]), list(params.get("feeds", [])), sizes)
        cut = self.divided({**params, "flavour": "tf1"}, resolution, shapes)
        assignment = assign(cut, resolution, catalog=self.catalog(params))
        device = load(params.get("device", "Ascend910A"))
        settings = settings_of(resolution)._replace(tiles=tiles)
        return Model(cut, assignment, compile_graph(cut, assignment, device, settings, shapes), shapes)

    def graph(self, params: Mapping[str, Any]) -> Any:
        """The request's Graph, closed over its feeds and fetches when it names any."""
        from npu_reference.graphs import closed_graph
        from npu_reference.graphs.names import split_fetches

        fetches, targets = split_fetches(params.get("fetches", []))
        return closed_graph(params["graph"], list(params.get("feeds", [])), fetches, targets)

    def operator_list(self, params: Mapping[str, Any]) -> Any:
        """The request's OpList, or None for the catalog's."""
        return _operators(json.dumps(params["op_list"])) if "op_list" in params else None

    def partitioned(self, params: Mapping[str, Any]) -> Any:
        """The request's Partition."""
        from npu_reference.partition import partition

        policy = params.get("policy", "documented")
        if policy == "documented":
            return self.divided(params, self.resolved(params))
        # The adapter's own pass reads the parameter map its own way, refusals and defaults included.
        options = params.get("values") or {} if policy == "adapter" else self.resolved(params)
        return partition(
            self.graph(params),
            options,
            policy=policy,
            flavour=params.get("flavour", "tf1"),
            op_list=self.operator_list(params),
        )

    def catalog(self, params: Mapping[str, Any]) -> Any:
        """The operator library, with the request's operator information file laid over it (document 004)."""
        from npu_reference.catalog import Catalog

        return _catalog(params["ops_info"]) if "ops_info" in params else Catalog.built_in()

    def assigned(self, params: Mapping[str, Any]) -> Any:
        """The request's Assignment."""
        from npu_reference.precision import assign

        return assign(self.partitioned(params), self.resolved(params), catalog=self.catalog(params))

    def step(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """One step of the request's graph on the simulated device, as ``timeline`` answers it."""
        from npu_reference import tuning

        made = self.profiled(params)
        options = self.resolved(params)
        answer: Dict[str, Any] = {**made.timeline_json(), "device": options.typed.ranks.device or 0}
        for task in answer["tasks"]:  # casts and copies that compilation adds are no operators of the graph
            task["nodes"] = [name for name in task.get("nodes", []) if ":" not in name]
            task["node"] = None if ":" in (task.get("node") or "") else task.get("node")
        files = self.profile_files(made, options)
        plan = tuning.plan_of(options)
        if plan is not None:
            tuned = self.tuned(made, plan)
            computed = {kernel.node: kernel.members for kernel in made.compiled.fused.kernels}
            answer["tuned"] = [list(computed[name]) for one in tuned for name in one.operators]
            where = _below(plan.work_path)
            results = tuning.result_files(plan, tuned, made.compiled.device, {})
            files.update((posixpath.join(where, name), content) for name, content in results.items())
        if files:
            answer["files"] = {path: _told(content) for path, content in sorted(files.items())}
        return answer

    def tuned(self, made: Any, plan: Any) -> Any:
        """What tuning found for the kernels of a step, or of a compiled model."""
        from npu_reference import tuning

        return tuning.tune([made.compiled], plan)

    def bank(self, path: str, device: Any) -> Any:
        """The tiles that tuning left in a folder, and why there are none where what lies there is not trusted."""
        from npu_reference import tuning

        return tuning.read(path, device)

    def profile_files(self, made: Any, resolution: Any) -> Dict[str, bytes]:
        """Path, below the folder that stands for the machine's root and for the current directory, to content."""
        from npu_reference import profiling

        wanted = resolution.typed.profiling
        if wanted is None:
            return {}
        where = _below(wanted.output)
        content = profiling.files([profiling.ProfiledRun(made)], wanted)
        tree = profiling.tree.name_of(1, content)
        return {posixpath.join(where, tree, path): data for path, data in content.items()}

    def profiled(self, params: Mapping[str, Any]) -> Any:
        """The request's Profile, as the faults asked for left it."""
        from npu_reference.device import faults, watchdogs
        from npu_reference.device.timing import profile
        from npu_reference.graphs import arg_shapes, closed_graph
        from npu_reference.hardware import load

        options = self.resolved(params)
        given = {name: tuple(shape) for name, shape in params.get("shapes", {}).items()}
        shapes = arg_shapes(closed_graph(params["graph"]), list(params.get("feeds", [])), given)
        divided = self.divided({**params, "flavour": "tf1"}, options, shapes)
        device = load(params.get("device", _DEVICE))
        made = profile(
            divided,
            options,
            device,
            shapes,
            catalog=self.catalog(params),
            concurrent=params.get("concurrent", 1),
            ranks=params.get("ranks", 1),
        )
        return watchdogs.endure(made, divided, options, faults.parse(params.get("faults"))).profile


@functools.lru_cache(maxsize=16)
def _catalog(ops_info: str) -> Any:
    """The operator library with a text over it, of which there are few; it cannot be changed."""
    from npu_reference.catalog import Catalog

    return Catalog.built_in().with_ops_info(ops_info, "ops_info")


@functools.lru_cache(maxsize=16)
def _operators(text: str) -> Any:
    """The OpList of a text, which few requests have of their own; it cannot be changed."""
    from npu_reference.catalog import OpList

    return OpList.parse(text, "op_list")


def _below(directory: str) -> str:
    """Where a directory that options name lies in the folder that stands for the machine's root and the current one."""
    return posixpath.normpath("/" + directory).strip("/")


def _told(content: bytes) -> Dict[str, Any]:
    """A file as an answer tells it; of a large one its size alone."""
    if len(content) > _MOST_INLINE:
        return {"bytes": len(content)}
    return {"b64": base64.b64encode(content).decode("ascii")}


def tensorflow_version() -> Optional[Tuple[int, ...]]:
    """Version of the TensorFlow installed, found without importing it; None without one."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        return None
    site = os.path.dirname(next(iter(spec.submodule_search_locations)))
    for folder in sorted(glob.glob(os.path.join(glob.escape(site), "tensorflow*-*.dist-info"))):
        found = re.match(r"(tensorflow|tensorflow_cpu|intel_tensorflow)-(\d+)\.(\d+)\.(\d+)", os.path.basename(folder))
        if found:
            return tuple(int(part) for part in found.groups()[1:])
    return None


def _has(name: str, version: Tuple[int, ...]) -> bool:
    """Whether the documents' import lines for this API work: Estimator left TensorFlow, Keras 2 moved to tf_keras."""
    if name == "estimator":
        return importlib.util.find_spec("tensorflow_estimator") is not None
    return version < (2, 16) or importlib.util.find_spec("tf_keras") is not None
