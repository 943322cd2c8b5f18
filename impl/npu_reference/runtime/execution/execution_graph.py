"""The graph that really runs: host operators beside GEOPs as function calls, over all signatures."""

from __future__ import annotations

import hashlib
import threading
from typing import Any, Callable, Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.partition import Partition
from npu_reference.partition.building.state import name_state
from npu_reference.partition.structure.calls import called_functions
from npu_reference.runtime.execution.body_rewriting import Hook, make_runnable
from npu_reference.runtime.execution.border_counters import Gauge, Meter
from npu_reference.runtime.execution.dumping.function_bodies import UNBOUND
from npu_reference.runtime.execution.import_names import Names
from npu_reference.runtime.execution.inlining import Dissolved, dissolve
from npu_reference.runtime.execution.needed_inputs import is_lowered
from npu_reference.runtime.execution.node_order import WiredInput, groups_in_order, parse_input, parse_inputs
from npu_reference.runtime.execution.random_generators import Generators
from npu_reference.runtime.execution.reference_reads import at_launch
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Placed", "Request", "Shadow"]

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_ITERATORS = ("Iterator", "IteratorV2", "MultiDeviceIterator")


class Request(NamedTuple):
    """What is to be placed.

    Attributes:
        graph_def: the partitioned graph, a GraphDef of TensorFlow's own class; given away, bodies change in place.
        geops: names of the GEOPs in it.
        feeds: tensors of the user's graph, in the order of the ``index`` of the _Arg nodes.
        gauges: what GEOPs have to count themselves, by GEOP.
        asked: the graph that was partitioned: what has the name and kind of one of its operators is the user's own.
        answers: tensors of the user's graph that each GEOP gives, in order.
        apart: the partition, where calls are to be taken apart (:mod:`dissolving`); None where they stay.
    """

    graph_def: Any
    geops: Sequence[str]
    feeds: Sequence[str]
    gauges: Mapping[str, Tuple[Gauge, ...]]
    asked: Graph
    answers: Mapping[str, Tuple[str, ...]]
    apart: Optional[Partition] = None


class Placed(NamedTuple):
    """Where things are.

    Attributes:
        nodes: name in the partitioned graph to key in the shadow graph; no entry for _Arg and _Retval nodes.
        args: name of an _Arg node to the tensor that stands for it.
        rets: ``index`` of each _Retval to the tensor it returns.
        bodies: name of each GEOP to the name of its function.
        returns: name of each GEOP, and of each call that was taken apart, to the tensors that it returns.
        effects: keys of further operators that a run has to run.
        fresh: nodes that this request added.
    """

    nodes: Dict[str, str]
    args: Dict[str, WiredInput]
    rets: Dict[int, WiredInput]
    bodies: Dict[str, str]
    returns: Dict[str, List[WiredInput]]
    effects: List[str]
    fresh: int


class Shadow:
    """The graph of the inner session; it only grows, as the user's does.

    A host operator is placed once for each way it is wired: almost always once. State that lives in a node (a one-shot
    iterator, the generator of a random operator) is therefore one for all signatures, as in TensorFlow.

    Operators are known by keys. A key is the name that an operator is imported under: the user's, where that is free
    and TensorFlow would leave it as it is. What the operator is called then is of no matter: it is the one that the
    import returned.

    Attributes:
        sent: what has gone to TensorFlow over the session's life: operators, functions, operators of functions. The
            cost of a signature must go by what it adds to them.
    """

    def __init__(self, user_graph: Any, hooks: Sequence[Hook] = (), config: Any = None) -> None:
        self.user_graph = user_graph
        #: For the calls of GEOPs, serialized: TensorFlow rewrites a function's body under the options of the call, not
        #: of the session, and under its defaults where the call has none.
        self.graph_options = _graph_options(config)
        self.inlines = _inlines(config)
        self.graph = tensorflow().v1.Graph()
        self.hooks: List[Hook] = [*hooks, make_runnable]
        #: What a body is bound to before the hooks, with the functions of its request; the data dump.
        self.binder: Optional[Callable[[Any, str, Dict[str, Any]], None]] = None
        self.meter = Meter()
        self.generators = Generators()
        #: Where the name of a host operator differs: shadow name to user's name.
        self.origin: Dict[str, str] = {}
        #: Name of each GEOP's function to the name of the first GEOP that it was made for.
        self.geops: Dict[str, str] = {}
        #: What an operator of the shadow graph gives: by its key, the user's operator, or the user's tensors.
        self.gives: Dict[str, Union[str, Tuple[str, ...]]] = {}
        self.sent = {"nodes": 0, "functions": 0, "body nodes": 0}
        self._lock = threading.Lock()
        self._names = Names()
        self._function_names = Names()
        self._operations: Dict[str, Any] = {}
        self._placed: Dict[Hashable, Tuple[str, ...]] = {}
        self._functions: Set[str] = set()
        self._bodies: Dict[Hashable, str] = {}
        self._calls: Dict[str, str] = {}
        #: Bodies that the graph still holds, although the session has them.
        self._held: List[str] = []
        self._probes: Dict[WiredInput, Any] = {}

    def place(self, request: Request) -> Placed:
        """Add what is not there yet.

        Raises:
            NpuError: INTERNAL, when TensorFlow refuses the partitioned graph.
        """
        with self._lock:
            batch = _Batch(self, request)
            placed = batch.arrange()
            batch.add()
            self._placed.update(batch.groups)
            self._functions.update(batch.functions.keys() - batch.geops)
            self._bodies.update(batch.shared)
            self._calls.update(batch.called)
            return placed

    def operation(self, key: str) -> Any:
        """The tf.Operation of a key."""
        return self._operations[key]

    def tensor(self, at: WiredInput) -> Any:
        """The tf.Tensor of a key and slot."""
        return self._operations[at.node].outputs[at.slot]

    def release(self) -> None:
        """Let the graph forget the bodies that its session has been given.

        TensorFlow sends a graph's whole library whenever its session is extended, so that a signature would cost the
        more the more there were before it. TensorFlow before 2.11 cannot take a function back.
        """
        with self._lock:
            remove = getattr(self.graph, "_remove_function", None)
            if remove is not None:
                with self.graph._mutation_lock():
                    for name in self._held:
                        remove(name)
            self._held.clear()

    def probes(self, wanted: Sequence[WiredInput]) -> List[Any]:
        """Scalar int64 tensors: how many elements each tensor has; of a string tensor, how many characters."""
        with self._lock:
            missing = [at for at in dict.fromkeys(wanted) if at not in self._probes]
            graph = self.graph
            with graph._mutation_lock(), graph.as_default():
                strings = [at for at in missing if self.tensor(at).dtype.base_dtype == tensorflow().v1.string]
                for at in strings:
                    self._probes[at] = self._count_characters(at)
                texts = set(strings)
                self._count_elements([at for at in missing if at not in texts])
            return [self._probes[at] for at in wanted]

    def _count_characters(self, at: WiredInput) -> Any:
        v1 = tensorflow().v1
        with v1.name_scope(self._names.fresh("npu_probe") + "/"):
            return v1.cast(v1.reduce_sum(v1.strings.length(self.tensor(at))), v1.int64)

    def _count_elements(self, wanted: Sequence[WiredInput]) -> None:
        """Probes of many tensors at once: operators made one by one in Python would take most of a plan's time."""
        if not wanted:
            return
        v1 = tensorflow().v1
        message = v1.GraphDef(versions=self.graph.graph_def_versions)
        tensors = {}
        for at in wanted:
            tensor = self.tensor(at)
            source = f"{at.node}:{at.slot}"
            tensors[source] = tensor
            node = message.node.add(name=self._names.fresh("npu_probe"), op="Size", input=[source])
            node.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
            node.attr["out_type"].type = v1.int64.as_datatype_enum
        names = [f"{node.name}:0" for node in message.node]
        made = v1.import_graph_def(message, input_map=tensors, return_elements=names, name="")
        self._probes.update(zip(wanted, made))


class _Batch:
    """One request on its way into the shadow graph."""

    def __init__(self, shadow: Shadow, request: Request) -> None:
        self.shadow = shadow
        self.request = request
        self.nodes = {node.name: node for node in request.graph_def.node}
        self.functions = {function.signature.name: function for function in request.graph_def.library.function}
        self.geops = set(request.geops)
        self.placed = Placed({}, {}, {}, {}, {}, [], 0)
        self.apart: Set[str] = set()
        self.fresh: List[Any] = []
        self.bodies: List[Any] = []
        #: What this batch adds to what is there already; known to others only once TensorFlow has taken it.
        self.groups: Dict[Hashable, Tuple[str, ...]] = {}
        self.shared: Dict[Hashable, str] = {}
        self.called: Dict[str, str] = {}
        self.contents: Dict[str, Hashable] = {}
        #: Key of a fresh node to the user's name for it.
        self.own: Dict[str, str] = {}

    def arrange(self) -> Placed:
        """Decide for every node whether it is there already or is made now, and under which name."""
        inputs: Dict[str, List[WiredInput]] = {}
        retvals = []
        dissolved = self._dissolve()
        for node in self.nodes.values():
            if node.op == "_Arg":
                self.placed.args[node.name] = self._feed(self.request.feeds[node.attr["index"].i])
            elif node.op == "_Retval":
                retvals.append(node)
            else:
                inputs[node.name] = parse_inputs(node)
        for group in groups_in_order(inputs):
            self._place_group(group, inputs)
        for node in retvals:
            self.placed.rets[node.attr["index"].i] = self._where(parse_inputs(node)[0])
        for name in self.request.geops:
            count = len(self.nodes[name].attr["Tout"].list.type)
            texts = [f"{name}:{at}" for at in range(count)] if dissolved is None else dissolved.returns[name]
            self.placed.returns[name] = [self._where(parse_input(text)) for text in texts]
        if dissolved is not None:
            self.placed.effects.extend(self.placed.nodes[name] for name in dissolved.effects)
            for name in dissolved.returns.keys() - set(self.request.geops):
                self.placed.returns[name] = [self._where(parse_input(text)) for text in dissolved.returns[name]]
        self.placed = self.placed._replace(fresh=len(self.fresh))
        return self.placed

    def _dissolve(self) -> Optional[Dissolved]:
        """Put what calls call in their place, where the request wants that."""
        if self.request.apart is None:
            at_launch(self.request.graph_def, self.request.geops, self.request.asked.index)
            self.nodes = {node.name: node for node in self.request.graph_def.node}
            return None
        for name in self.request.geops:
            function = self.placed.bodies[name] = self.shadow._function_names.fresh(name)
            self._prepare(name, function)
        inlines = self.shadow.inlines
        found = dissolve(self.request.graph_def, self.functions, self.request.apart, inlines=inlines)
        self.nodes = {node.name: node for node in found.nodes}
        for name in self.geops:
            del self.functions[name]
        self.functions.update(found.functions)
        self.geops, self.apart = set(), found.apart
        return found

    def _where(self, source: WiredInput) -> WiredInput:
        if source.node in self.placed.args:
            at = self.placed.args[source.node]
            return WiredInput(at.node, -1) if source.slot < 0 else at
        return WiredInput(self.placed.nodes[source.node], source.slot)

    def _place_group(self, group: Tuple[str, ...], inputs: Dict[str, List[WiredInput]]) -> None:
        members = set(group)
        wiring = []
        ordered = sorted(group)
        for name in ordered:
            ends = [end if end.node in members else self._where(end) for end in inputs[name]]
            # A GEOP's name depends on what else its partition holds; it is the same GEOP if it does the same.
            label = "" if name in self.geops else name
            wiring.append((label, self._content(name), tuple(ends[: _data(ends)]), frozenset(ends[_data(ends) :])))
        # Members of a loop read one another under the partitioned graph's names, which cannot be mistaken for others:
        # the group as a whole is the key.
        key = (tuple(wiring), len(group) > 1)
        names = self._known(key)
        if names is None:
            names = tuple(self.shadow._names.fresh(name) for name in ordered)
            self.groups[key] = names
            self.placed.nodes.update(zip(ordered, names))
            for name, new_name in zip(ordered, names):
                self._make(name, new_name, inputs[name])
        self.placed.nodes.update(zip(ordered, names))
        for name, made in zip(ordered, names):
            if name in self.geops:
                self.placed.bodies[name] = self.called.get(made) or self.shadow._calls[made]

    def _known(self, key: Hashable) -> Optional[Tuple[str, ...]]:
        return self.groups.get(key) or self.shadow._placed.get(key)

    def _content(self, name: str) -> Hashable:
        """What a node is, beside its name and inputs. A user's operator never changes once it has run."""
        node = self.nodes[name]
        if name in self.geops:
            return self._what_it_does(name)
        if name not in self.apart and self._is_users(node):
            # Branches and loops are left only what their readers need.
            return (node.op, *called_functions(node.attr)) if is_lowered(node) else node.op
        return node.SerializeToString(deterministic=True)

    def _what_it_does(self, geop: str) -> Hashable:
        """Equal for GEOPs that hold the same operators, whatever their partitions call them."""
        if geop not in self.contents:
            anonymous = type(self.functions[geop])()
            anonymous.CopyFrom(self.functions[geop])
            anonymous.signature.name = ""
            digest = hashlib.sha256(anonymous.SerializeToString(deterministic=True)).digest()
            self.contents[geop] = digest, self.request.gauges.get(geop, ())
        return self.contents[geop]

    def _is_users(self, node: Any) -> bool:
        asked = self.request.asked
        return node.name in asked.index and asked.nodes[asked.index[node.name]].op == node.op

    def _make(self, name: str, new_name: str, inputs: List[WiredInput]) -> None:
        original = self.nodes[name]
        node = type(original)()
        node.CopyFrom(original)
        _clean(node, named=not self._calls_far(node, new_name))
        node.name = new_name
        del node.input[:]
        node.input.extend(self._where(end).text() for end in inputs)
        # A branch or loop of version 2 states its shapes itself, and may give less than the user's.
        self.shadow.gives[new_name] = () if is_lowered(node) else self.request.answers.get(name, name)
        if name in self.geops:
            self._call(name, new_name, node)
        else:
            self.own[new_name] = name
        self.fresh.append(node)

    def _calls_far(self, node: Any, new_name: str) -> bool:
        """Whether a node is an iterator over what a distribution strategy hands out.

        TensorFlow 2 lets no iterator that has a name of its own call functions of other devices: the process ends, or
        its session never closes. One without has state of its own, which is one as long as the node is on the host.
        """
        if node.op not in _ITERATORS or node.name != new_name or tensorflow().v1.VERSION.startswith("1."):
            return False
        bodies = (function.proto for function in self.request.asked.functions.values())
        return any(inner.op == "RemoteCall" for body in bodies for inner in body.node_def)

    def _call(self, name: str, new_name: str, node: Any) -> None:
        """Let a node call the body of a GEOP; the body is made where no other call has the same."""
        gauges = self.request.gauges.get(name, ())
        # A GEOP that counts does so for one call only.
        key = (self._what_it_does(name), new_name if gauges else "")
        function = self.shared.get(key) or self.shadow._bodies.get(key)
        if function is None:
            function = self.shared[key] = self.shadow._function_names.fresh(new_name)
            self.bodies.append(self._prepare(name, function))
            self.shadow.geops[function] = name
        node.attr["f"].func.name = function
        node.attr["config_proto"].s = self.shadow.graph_options
        self.called[new_name] = function

    def _prepare(self, name: str, function: str) -> Any:
        """The body of a GEOP as it is to run, under the name that its function has."""
        body = self.functions[name]
        gauges = self.request.gauges.get(name, ())
        if gauges:
            self.shadow.meter.install(body, function, gauges)
        self.shadow.generators.install(body, self.functions)
        body.signature.name = function
        if self.shadow.binder is not None:
            self.shadow.binder(body, name, self.functions)
        for hook in self.shadow.hooks:
            hook(body, name)
        return body

    def _feed(self, tensor: str) -> WiredInput:
        """The tensor to feed in place of a user's: the placeholder itself, or one made for any other tensor."""
        name, _, slot = tensor.rpartition(":")
        source = self.shadow.user_graph.get_operation_by_name(name)
        node = tensorflow().v1.NodeDef()
        if source.type in _PLACEHOLDERS:
            node.CopyFrom(source.node_def)
            key: Hashable = (((name, source.type, (), frozenset()),), False)
            wanted = name
            # Control inputs of a fed placeholder never run.
            del node.input[:]
            if source.control_inputs:
                key, wanted = ("fed", tensor), f"npu_feed/{name}_{slot}"
        else:
            node.op = "Placeholder"
            output = source.outputs[int(slot)]
            node.attr["dtype"].type = output.dtype.base_dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(output.get_shape().as_proto())
            key, wanted = ("fed", tensor), f"npu_feed/{name}_{slot}"
        names = self._known(key)
        if names is None:
            names = (self.shadow._names.fresh(wanted),)
            self.groups[key] = names
            node.name = names[0]
            _clean(node)
            self.own[names[0]] = name
            self.shadow.gives[names[0]] = (tensor,)
            self.fresh.append(node)
        return WiredInput(names[0], 0)

    def add(self) -> None:
        """Import what is new.

        The bodies of GEOPs come last: with the functions at hand, TensorFlow 1.15 infers shapes through them, and it
        crashes on v1 Merge nodes there. No run may extend its session in between, hence the lock.
        """
        message = type(self.request.graph_def)
        known = message(versions=self.request.graph_def.versions)
        for name, function in self.functions.items():
            if name not in self.geops and name not in self.shadow._functions and UNBOUND not in function.attr:
                known.library.function.add().CopyFrom(function)
                self.shadow._function_names.fresh(name)
        for gradient in self.request.graph_def.library.gradient:
            if known.library.function and gradient.gradient_func in self.functions:
                known.library.gradient.add().CopyFrom(gradient)
        nodes = message(versions=self.request.graph_def.versions)
        controls = self._detach(nodes)
        geops = message(versions=self.request.graph_def.versions)
        geops.library.function.extend(self.bodies)
        shadow = self.shadow
        graph = shadow.graph
        with graph._mutation_lock(), graph.as_default():
            if known.library.function:
                self._import(known, {})
            if nodes.node:
                self._take(nodes, self._import_nodes(nodes))
            for key, sources in controls:
                shadow.operation(key)._add_control_inputs([shadow.operation(source) for source in sources])
            if self.bodies:
                self._import(geops, {})
                shadow._held.extend(body.signature.name for body in self.bodies)
        shadow.sent["nodes"] += len(self.fresh)
        shadow.sent["functions"] += len(self.bodies) + len(known.library.function)
        shadow.sent["body nodes"] += sum(len(body.node_def) for body in self.bodies)

    def _take(self, nodes: Any, operations: Sequence[Any]) -> None:
        """Remember what the import made, and for errors whose it is."""
        for node, operation in zip(nodes.node, operations):
            self.shadow._operations[node.name] = operation
            own = self.own.get(node.name)
            if own is not None and own != operation.name:
                self.shadow.origin[operation.name] = own

    def _detach(self, nodes: Any) -> List[Tuple[str, List[str]]]:
        """Fill ``nodes``; control edges from nodes that are there already cannot be imported, they are added later."""
        fresh = {node.name for node in self.fresh}
        later = []
        for node in self.fresh:
            copy = nodes.node.add()
            copy.CopyFrom(node)
            old = [text[1:] for text in node.input if text.startswith("^") and text[1:] not in fresh]
            if old:
                inputs = [text for text in node.input if not text.startswith("^") or text[1:] in fresh]
                del copy.input[:]
                copy.input.extend(inputs)
                later.append((node.name, old))
        return later

    def _old_tensors(self, nodes: Any) -> Dict[str, Any]:
        fresh = {node.name for node in nodes.node}
        found: Dict[str, Any] = {}
        for node in nodes.node:
            for end in parse_inputs(node):
                if end.slot >= 0 and end.node not in fresh:
                    found[f"{end.node}:{end.slot}"] = self.shadow.tensor(end)
        return found

    def _import_nodes(self, nodes: Any) -> List[Any]:
        old = self._old_tensors(nodes)
        try:
            return self._import(nodes, old)
        except NpuError:
            # A GEOP's answers have no shape, and some operators are not taken with one shape known and another not.
            for text, tensor in old.items():
                name, _, slot = text.rpartition(":")
                for shape in self._shapes(name)[int(slot) :][:1]:
                    tensor.set_shape(shape)
            for node in nodes.node:
                shapes = self._shapes(node.name)
                if shapes:
                    node.attr["_output_shapes"].list.shape.extend(shape.as_proto() for shape in shapes)
            return self._import(nodes, old)

    def _shapes(self, key: str) -> List[Any]:
        """The shapes that the user's graph knows of what an operator or a GEOP gives; none of one that is not there."""
        graph, gives = self.shadow.user_graph, self.shadow.gives[key]
        try:
            names = (
                [tensor.name for tensor in graph.get_operation_by_name(gives).outputs]
                if isinstance(gives, str)
                else gives
            )
            return [graph.get_tensor_by_name(name).get_shape() for name in names]
        except (KeyError, ValueError):
            return []

    def _import(self, graph_def: Any, input_map: Mapping[str, Any]) -> List[Any]:
        """What TensorFlow makes of each node, in order."""
        wanted = [node.name for node in graph_def.node]
        try:
            made = tensorflow().v1.import_graph_def(
                graph_def, input_map=input_map or None, return_elements=wanted, name=""
            )
            return list(made)
        except (ValueError, TypeError) as error:
            raise NpuError(
                "INTERNAL", "partitioned graph", f"TensorFlow does not take it: {_first_line(error)}."
            ) from error


def _clean(node: Any, *, named: bool = True) -> None:
    """Everything runs on this machine's CPU, as the adapter places it, so nothing may ask for another place."""
    if named and "shared_name" in node.attr:
        name_state(node, node.name)
    node.device = ""
    for name in ("_class", "_output_shapes"):
        if name in node.attr:
            del node.attr[name]


def _graph_options(config: Any) -> bytes:
    if config is None:
        return b""
    only = type(config)()
    only.graph_options.CopyFrom(config.graph_options)
    return only.SerializeToString(deterministic=True)


def _inlines(config: Any) -> bool:
    """Whether Grappler puts the operators of functions in the place of their calls."""
    rewrite = None if config is None else config.graph_options.rewrite_options
    return rewrite is None or not (rewrite.disable_meta_optimizer or rewrite.function_optimization == rewrite.OFF)


def _data(ends: Sequence[WiredInput]) -> int:
    """How many data inputs there are; control inputs follow them."""
    return next((position for position, end in enumerate(ends) if end.slot < 0), len(ends))


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".")
