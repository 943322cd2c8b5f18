"""What every operator of one graph gets: gray operators follow their producers, loops run to a fixed point."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.catalog import Catalog, Descriptor
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.graphs.signature import count_args
from npu_reference.graphs.wiring import Wiring
from npu_reference.options.files.customize_dtypes import CustomDtypes, Dtypes
from npu_reference.precision.explain import Told, told
from npu_reference.precision.kernel import KernelChoice, Question, choose
from npu_reference.precision.lists import UNLISTED, Colour, Lists, matches
from npu_reference.precision.modes import KEEP, MIX, Mode
from npu_reference.precision.operators import (
    CALLS,
    CONSTANTS,
    FOLLOWERS,
    FUSED_IF,
    SOURCES,
    STORERS,
    TRANSPARENT,
    UNTYPED,
    rewritten,
)

__all__ = ["Decided", "Policy", "Walk"]

_KEEP_DTYPE = "_keep_dtype"
_NO_KERNEL = ("local", "rts", "hccl")
_AI_CORE = ("cube", "vector")


class Policy(NamedTuple):
    """What holds for every graph of one assignment."""

    catalog: Catalog
    mode: Mode
    lists: Lists
    custom: Optional[CustomDtypes]


class Decided(NamedTuple):
    """One operator's answer."""

    kernel: str
    engine: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    list: Optional[str]
    modes: Tuple[str, ...]
    why: str


class Walk:
    """Decides the operators of one graph.

    Args:
        graph: the graph, or a function's body.
        member: by node the number of its GEOP, -1 on the host. A tensor from the host, or of another GEOP, has the
            graph's dtype.
        prefix: what stands before a node's name in answers and errors.
        idle: names of reductions over no axis, which hand on what they read.
    """

    def __init__(
        self, graph: Graph, member: Sequence[int], policy: Policy, prefix: str = "", idle: FrozenSet[str] = frozenset()
    ) -> None:
        self.graph = graph
        self.idle = frozenset(node.id for node in graph.nodes if idle and prefix + node.name in idle)
        self.member = member
        self.policy = policy
        self.prefix = prefix
        self.wiring = Wiring(graph)
        self.decided: List[Optional[Decided]] = [None] * len(graph.nodes)
        self.steps = 0  # how many operators were decided, repetitions in loops included
        self._names: Dict[Tuple[Any, ...], Tuple[str, ...]] = {}
        self._source = self._sources()
        self._memo: Dict[Any, Tuple[KernelChoice, Told]] = {}
        self._voiced: Dict[Tuple[str, str, int], Tuple[bool, ...]] = {}
        self._fused: Dict[str, Descriptor] = {}
        self._colours: Dict[Tuple[str, bool], Colour] = {}
        self._bars: Optional[Dict[int, str]] = None
        self._halves: Dict[Tuple[str, Tuple[str, ...]], bool] = {}
        #: By node the error of an operator that no kernel computes as demanded; it is decided as the graph has it.
        self.refused: Dict[int, NpuError] = {}

    def run(self) -> Walk:
        """Decide all. Each operator once, and again where a loop brought it another dtype."""
        place = [0] * len(self.graph.nodes)
        for k, node in enumerate(self.wiring.order):
            place[node] = k
        again: List[int] = []
        queued = set()
        for node in self.wiring.order:
            if self.member[node] >= 0:
                self.decided[node] = self._decide(node)
                for consumer in self.wiring.consumers[node]:
                    if place[consumer] <= place[node] and self.member[consumer] >= 0 and consumer not in queued:
                        queued.add(consumer)
                        heappush(again, place[consumer])
        while again:
            node = self.wiring.order[heappop(again)]
            queued.discard(node)
            before, after = self.decided[node], self._decide(node)
            self.decided[node] = after
            if before is not None and before.outputs == after.outputs:
                continue
            for consumer in self.wiring.consumers[node]:
                if self.member[consumer] >= 0 and consumer not in queued:
                    queued.add(consumer)
                    heappush(again, place[consumer])
        return self

    # Tensors

    def graph_outputs(self, node: int) -> Tuple[str, ...]:
        """Dtype names of a node's outputs in the graph, those of references by their base."""
        return self._named(self.graph.output_dtypes(node))

    def graph_inputs(self, node: int) -> Tuple[str, ...]:
        """Dtype names of a node's inputs in the graph, those of references by their base."""
        return self._named(self.graph.input_dtypes(node))

    def _named(self, dtypes: Tuple[Any, ...]) -> Tuple[str, ...]:
        found = self._names.get(dtypes)
        if found is None:
            found = self._names[dtypes] = tuple(dtype.base.name for dtype in dtypes)
        return found

    def arriving(self, source: int, slot: int, node: int) -> str:
        """The dtype in which a tensor reaches `node`: as computed inside a GEOP, the graph's across its border."""
        decided = self.decided[source]
        if decided is not None and self.member[source] == self.member[node]:
            return decided.outputs[slot]
        return self.graph_outputs(source)[slot]

    def _sources(self) -> List[bool]:
        """Whether a node is where tensors begin, or hands on only what does."""
        source = [False] * len(self.graph.nodes)
        nodes, inputs = self.graph.nodes, self.wiring.inputs
        for node in self.wiring.order:
            op = nodes[node].op
            if op in SOURCES:
                source[node] = True
            elif op in TRANSPARENT:
                source[node] = all(source[src] or self.member[src] != self.member[node] for src, _ in inputs[node])
            elif node in self.idle:
                src = inputs[node][0][0]
                source[node] = source[src] or self.member[src] != self.member[node]
        return source

    def is_source(self, producer: int, node: int) -> bool:
        """Whether what `producer` gives `node` begins there: feeds, variables, constants, tensors of the host (P2)."""
        return self._source[producer] or self.member[producer] != self.member[node]

    # Operators

    def _decide(self, node: int) -> Decided:
        self.steps += 1
        one = self.graph.nodes[node]
        descriptor = self.policy.catalog.get(one.op)
        inputs, outputs = self.graph_inputs(node), self.graph_outputs(node)
        if node in self.idle:
            reached = self.arriving(*self.wiring.inputs[node][0], node)
            return Decided("", "local", (reached, *inputs[1:]), (reached,), None, (), "it reduces over no axis")
        if one.op in CALLS or (descriptor is None and one.op in self.graph.functions):
            return Decided("", "local", inputs, outputs, None, (), "a call keeps the dtypes of the function")
        if descriptor is None:
            return Decided("", "unset", inputs, outputs, None, (), "the operator library does not know it")
        if descriptor.engine in _NO_KERNEL:
            return self._without_kernel(node, descriptor, inputs, outputs)
        self.refused.pop(node, None)
        try:
            return self._with_kernel(node, rewritten(descriptor, len(inputs)), inputs, outputs)
        except NpuError as error:
            self.refused[node] = error
            return Decided("", "unset", inputs, outputs, None, (), error.reason)

    def _without_kernel(
        self, node: int, descriptor: Descriptor, inputs: Tuple[str, ...], outputs: Tuple[str, ...]
    ) -> Decided:
        op = descriptor.tf_op
        if op in FOLLOWERS or op in UNTYPED:
            reads = self.wiring.inputs[node]
            reached = tuple(
                self.arriving(src, slot, node) if _is_float(dtype) else dtype
                for dtype, (src, slot) in zip(inputs, reads)
            )
            if op in UNTYPED:
                return Decided(
                    descriptor.ge_op, descriptor.engine, reached, outputs, None, (), "no dtype is asked of its input"
                )
            given = tuple(reached[min(k, len(reached) - 1)] if _is_float(d) else d for k, d in enumerate(outputs))
            why = f"hands on what reaches it ({descriptor.engine})"
            return Decided(descriptor.ge_op, descriptor.engine, reached, given, None, (), why)
        why = "keeps the graph's dtype: the mode is about operators with a kernel"
        if op in SOURCES:
            why = "variables, constants and inputs keep their dtype"
        return Decided(descriptor.ge_op, descriptor.engine, inputs, outputs, None, (), why)

    def _with_kernel(
        self, node: int, descriptor: Descriptor, inputs: Tuple[str, ...], outputs: Tuple[str, ...]
    ) -> Decided:
        """The kernel after graph fusion where there is one; a pass leaves an operator alone whose kernel the AI Core
        would not have for its dtypes."""
        if not self._is_fused(node, descriptor):
            return self._of_kernel(node, descriptor, False, inputs, outputs)
        try:
            after = self._of_kernel(node, self._after_fusion(descriptor), True, inputs, outputs)
        except NpuError as error:
            if error.code != "PRECISION_NO_KERNEL":
                raise
            return self._of_kernel(node, descriptor, False, inputs, outputs)
        if after.engine in _AI_CORE:
            return after
        before = self._of_kernel(node, descriptor, False, inputs, outputs)
        return before if before.engine in _AI_CORE else before._replace(why=after.why)

    def kernel(self, node: int, descriptor: Descriptor) -> str:
        """The kernel's name of an operator that has one."""
        return (self._after_fusion(descriptor) if self._is_fused(node, descriptor) else descriptor).ge_op

    def kept(self, node: int) -> bool:
        """Whether keep_dtype_scope holds an operator."""
        one = self.graph.nodes[node]
        return one.has_attr(_KEEP_DTYPE) and one.attr(_KEEP_DTYPE) not in (0, False, None)

    def _of_kernel(
        self, node: int, descriptor: Descriptor, fused: bool, inputs: Tuple[str, ...], outputs: Tuple[str, ...]
    ) -> Decided:
        policy, one, kernel = self.policy, self.graph.nodes[node], descriptor.ge_op
        colour = self._colour(descriptor, fused)
        keep = self.kept(node)
        custom = self._custom(one.name, kernel)
        lowered, followed, barred = False, "", ""
        undecided = policy.mode.rule == MIX and colour.list == "graylist" and not keep
        if undecided and ("float32" in inputs or "float32" in outputs):
            lowered, followed = self._follows(node, descriptor, inputs)
            barred = self._barred(node, descriptor, inputs)
        last = self._last(node)
        key = (one.op, inputs, outputs, fused, last, lowered, keep, custom, barred)
        found = self._memo.get(key)
        if found is None:
            question = self._question(
                node, descriptor, kernel, colour, inputs, outputs, last, lowered, keep, custom, barred
            )
            mode = policy.mode
            if one.op in STORERS and not keep:
                mode = Mode(mode.name, KEEP, False)
            choice = choose(question, mode, f"{self.prefix}{one.name} ({one.op})")
            found = self._memo[key] = (choice, told(question, choice, policy.mode, colour))
        choice, words = found
        modes = descriptor.impl_modes if choice.engine in _AI_CORE else ()
        listed = colour.list if descriptor.columns else None
        return Decided(kernel, choice.engine, choice.inputs, choice.outputs, listed, modes, words.sentence(followed))

    def _after_fusion(self, descriptor: Descriptor) -> Descriptor:
        found = self._fused.get(descriptor.tf_op)
        if found is None:
            found = self._fused[descriptor.tf_op] = descriptor.after_fusion()
        return found

    def _colour(self, descriptor: Descriptor, fused: bool) -> Colour:
        key = (descriptor.tf_op, fused)
        found = self._colours.get(key)
        if found is None:
            flag = UNLISTED if descriptor.flag is None and descriptor.columns else descriptor.flag
            found = self.policy.lists.colour(descriptor.ge_op, flag)
            self._colours[key] = found
        return found

    def is_gray(self, descriptor: Descriptor) -> bool:
        """Whether an operator, as it is before fusion, follows its producers in mixed precision."""
        return self._colour(descriptor, False).list == "graylist"

    def _question(
        self,
        node: int,
        descriptor: Descriptor,
        kernel: str,
        colour: Colour,
        inputs: Tuple[str, ...],
        outputs: Tuple[str, ...],
        last: Tuple[int, ...],
        lowered: bool,
        keep: bool,
        custom: Optional[Dtypes],
        barred: str,
    ) -> Question:
        op_def, attrs = self.graph.op_def(node), self.graph.nodes[node].proto.attr
        takes_in = _spread(op_def, op_def.inputs, descriptor.takes_in, len(inputs), attrs)
        takes_out = _spread(op_def, op_def.outputs, descriptor.takes_out, len(outputs), attrs)
        return Question(
            descriptor, kernel, colour.list, inputs, outputs, takes_in, takes_out, last, lowered, keep, custom, barred
        )

    def _is_fused(self, node: int, descriptor: Descriptor) -> bool:
        """Whether graph fusion applies: the inputs that become attributes are constants."""
        fused, needed = descriptor.fused, FUSED_IF.get(descriptor.tf_op)
        if fused is None or (needed is not None and not self.graph.nodes[node].attr(needed, True)):
            return False
        if not fused.drops:
            return True
        reads, nodes = self.wiring.inputs[node], self.graph.nodes
        args = self.graph.op_def(node).inputs
        for k in fused.drops:
            # behind a list an argument is counted from the end: every kernel that drops one has a single list at most
            place = k - len(args) if any(arg.is_list for arg in args[:k]) else k
            if not -len(reads) <= place < len(reads) or nodes[reads[place][0]].op not in CONSTANTS:
                return False
        return True

    def _last(self, node: int) -> Tuple[int, ...]:
        return tuple(k for k, (src, _) in enumerate(self.wiring.inputs[node]) if self._source[src])

    def _custom(self, name: str, kernel: str) -> Optional[Dtypes]:
        custom = self.policy.custom
        if custom is None:
            return None
        if self.prefix + name in custom.by_name:
            return custom.by_name[self.prefix + name]
        for listed, dtypes in custom.by_type.items():
            if matches(listed, kernel, self.policy.catalog):
                return dtypes
        return None

    # Gray operators

    def _barred(self, node: int, descriptor: Descriptor, inputs: Tuple[str, ...]) -> str:
        """P32: for a gray operator with a tensor that its kernel has in float16 alone, the producer that may not be
        lowered, or "": there is none. Other kernels take what arrives."""
        if not self._half_alone(node, descriptor, inputs):
            return ""
        if self._bars is None:
            self._bars = self._spread_bars()
        return self._bars.get(node, "")

    def _half_alone(self, node: int, descriptor: Descriptor, inputs: Tuple[str, ...]) -> bool:
        key = (descriptor.ge_op, inputs)
        found = self._halves.get(key)
        if found is None:
            op_def, attrs = self.graph.op_def(node), self.graph.nodes[node].proto.attr
            takes = _spread(op_def, op_def.inputs, descriptor.takes_in, len(inputs), attrs)
            found = self._halves[key] = any(
                dtype == "float32"
                and position >= 0
                and all(column.inputs[position : position + 1] != ("float32",) for column in descriptor.columns)
                for dtype, position in zip(inputs, takes)
            )
        return found

    def _spread_bars(self) -> Dict[int, str]:
        """From blocklisted operators through gray ones to what they feed. Lists alone decide it, no dtype does, so that
        it is the same in whatever order a loop is decided; O(V + E)."""
        nodes = self.graph.nodes
        waiting = deque(k for k in self.wiring.order if self.member[k] >= 0 and self._passes_on(k) == "blocklist")
        bars = {node: nodes[node].name for node in waiting}
        while waiting:
            node = waiting.popleft()
            for consumer in self.wiring.consumers[node]:
                if consumer in bars or self.is_source(node, consumer) or not self._hears(consumer, node):
                    continue
                bars[consumer] = bars[node]
                waiting.append(consumer)
        return bars

    def _passes_on(self, node: int) -> str:
        """What an operator does with a bar: "blocklist" raises one, "graylist" hands one on, "" knows none."""
        one = self.graph.nodes[node]
        descriptor = self.policy.catalog.get(one.op)
        if descriptor is None or one.op in CALLS:
            return ""
        if one.op in FOLLOWERS or one.op in TRANSPARENT or node in self.idle:
            return "graylist"
        if descriptor.engine in _NO_KERNEL:
            return ""
        fused = self._is_fused(node, descriptor)
        formed = self._after_fusion(descriptor) if fused else descriptor
        colour = self._colour(formed, fused).list if formed.columns else None
        if colour == "graylist" and (self.kept(node) or self._updates_variable(node)):
            return ""
        return colour or ""

    def _hears(self, node: int, producer: int) -> bool:
        """Whether an operator hands on a producer's bar: it reads float32 from it that its kernel has in float16."""
        if self._passes_on(node) != "graylist":
            return False
        one, inputs = self.graph.nodes[node], self.graph_inputs(node)
        voices: Tuple[bool, ...] = (True,) * len(inputs)
        if one.op not in FOLLOWERS and one.op not in TRANSPARENT and node not in self.idle:
            descriptor = self.policy.catalog.get(one.op)
            assert descriptor is not None  # it is gray
            formed = self._after_fusion(descriptor) if self._is_fused(node, descriptor) else descriptor
            voices = self._voices(node, formed, len(inputs))
        reads = self.wiring.inputs[node]
        return any(src == producer and inputs[k] == "float32" and voices[k] for k, (src, _) in enumerate(reads))

    def _follows(self, node: int, descriptor: Descriptor, inputs: Tuple[str, ...]) -> Tuple[bool, str]:
        """P1: lowered only if every producer of a float32 tensor gives it in float16; P2: not without a producer.

        A tensor that the kernel takes in float32 alone, such as the statistics of a batch norm, has no say: it loses
        nothing.
        """
        if self._updates_variable(node):
            return False, "it updates a variable, which stays at its own dtype"
        follows = unheard = ""
        nodes = self.graph.nodes
        voices = self._voices(node, descriptor, len(inputs))
        for k, (src, slot) in enumerate(self.wiring.inputs[node]):
            if inputs[k] != "float32" or self.is_source(src, node):  # P3
                continue
            if not voices[k]:
                unheard = "its kernel has float32 alone"
                continue
            given = self._given(src, slot)
            if given != "float16":
                return False, f"its producer {nodes[src].name} gives {given}"
            follows = follows or f"its producer {nodes[src].name} gives float16"
        return bool(follows), follows or unheard or "it has no producer to follow"

    def _voices(self, node: int, descriptor: Descriptor, count: int) -> Tuple[bool, ...]:
        """For every input whether some kernel column has it in float16."""
        key = (descriptor.tf_op, descriptor.ge_op, count)
        found = self._voiced.get(key)
        if found is None:
            op_def, attrs = self.graph.op_def(node), self.graph.nodes[node].proto.attr
            takes = _spread(op_def, op_def.inputs, descriptor.takes_in, count, attrs)
            found = tuple(
                any(
                    position < len(column.inputs) and column.inputs[position] == "float16"
                    for column in descriptor.columns
                )
                if position >= 0
                else False
                for position in takes
            )
            if sum(arg.is_list for arg in op_def.inputs) < 2:  # several lists: their lengths differ from node to node
                self._voiced[key] = found
        return found

    def _given(self, src: int, slot: int) -> str:
        """What a producer gives; before a Cast up to float32 that is not blocklisted, what is fed to the Cast."""
        decided = self.decided[src]
        if decided is None:  # the back edge of a loop, at the start (P4)
            return "float32"
        cast_up = decided.kernel == "Cast" and decided.inputs[0] == "float16" and decided.list != "blocklist"
        return "float16" if cast_up else decided.outputs[slot]

    def _updates_variable(self, node: int) -> bool:
        dtypes = self.graph.input_dtypes(node)
        op_def = self.graph.op_def(node)
        if any(arg.is_ref for arg in op_def.inputs):
            return True
        return bool(dtypes) and dtypes[0].name == "resource" and not op_def.outputs


def _is_float(dtype: str) -> bool:
    return dtype in ("float32", "float16", "bfloat16")


def _spread(op_def: Any, args: Any, takes: Tuple[int, ...], total: int, attrs: Any) -> Tuple[int, ...]:
    """Position in a column by tensor; a list argument gives all its tensors its own position."""
    if not takes:
        return tuple(range(total))
    lists = sum(arg.is_list for arg in args)
    spread: List[int] = []
    for arg, position in zip(args, takes):
        if not arg.is_list:
            spread.append(position)
        else:
            count = total - len(args) + 1 if lists == 1 else count_args(op_def, (arg,), attrs)
            spread.extend([position] * count)
    return tuple((*spread, *[-1] * total)[:total])
