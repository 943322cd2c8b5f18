"""The one way in: a graph and options give a partition."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Union

from npu_reference.catalog import OpList
from npu_reference.collection import no_collection
from npu_reference.errors import NpuError
from npu_reference.options import Resolution
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.building.answer import answer, host_nodes
from npu_reference.partition.model import HostNode, Partition
from npu_reference.partition.policies import adapter, documented
from npu_reference.partition.policies.adapter import AdapterPlan
from npu_reference.partition.policies.given_order import in_given_order
from npu_reference.partition.reasons import MEANINGS, ONLY_MIXED, REMEDIES, Reason

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["FLAVOURS", "POLICIES", "partition"]

POLICIES = ("documented", "adapter")
FLAVOURS = ("tf1", "tf2")


def partition(
    graph: Graph,
    options: Union[Resolution, PartitionSettings, Mapping[str, Any]],
    *,
    policy: str = "documented",
    flavour: str = "tf1",
    op_list: Optional[OpList] = None,
    shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
) -> Partition:
    """Divide a graph, as a session.run sees it, into GEOPs and host operators.

    Args:
        graph: pruned to its targets, with _Arg and _Retval nodes where it is fed and fetched (`close_over`).
        options: resolved options. With policy "adapter" a mapping is taken as a raw parameter map, and read as the
            adapter's own pass reads it, wrong kinds and all.
        policy: "adapter" gives exactly the adapter's own result; "documented" gives the same wherever that can run
            and agrees with the documents, and names each difference in `notes`.
        flavour: "tf1" or "tf2": which build of the adapter is followed where they merge differently.
        op_list: the operators the device has; the catalogue's without one.
        shapes: of tensors by `node` or `node:slot`, None for an unknown size; may be empty. Bytes of borders are then
            those that follow from these and from what the graph states (`infer_shapes`). Without it, only shapes the
            graph itself states count, and nothing is searched for.

    Raises:
        NpuError: the first error of `options`; OPTION_CONFLICT, OPTION_SYNTAX; RANGE_UNSUPPORTED, RANGE_SCOPE;
            REF_BORDER and ADAPTER_ABORT (policy "adapter" only, with the adapter's words); USAGE for an unknown
            policy or flavour.
    """
    if policy not in POLICIES:
        raise NpuError("USAGE", "policy", f"{policy!r} is no policy.", f"Choose one of {', '.join(POLICIES)}.")
    if flavour not in FLAVOURS:
        raise NpuError("USAGE", "flavour", f"{flavour!r} is no flavour.", f"Choose one of {', '.join(FLAVOURS)}.")
    settings = _settings(options, policy)
    planner = adapter.plan if policy == "adapter" else documented.plan
    with no_collection():
        operators = OpList.built_in() if op_list is None else op_list  # an empty list is a list
        found = answer(in_given_order(planner(graph, settings, operators, flavour), graph), policy, shapes)
        if any(one.remedy.startswith(ONLY_MIXED) for one in found.host):
            full = partial(planner, graph, settings._replace(mix=False), operators, flavour)
            found.host = tuple(_promised(found.host, full))
        return found


def _promised(host: Sequence[HostNode], full: Callable[[], AdapterPlan]) -> Iterator[HostNode]:
    """Host operators; of those that full offload would keep there, too, none is told that it is the remedy."""
    kept: Dict[str, Reason] = {}
    why = ""
    try:
        kept = {one.node: one.reason for one in host_nodes(full())}
    except NpuError as error:
        why = f"the graph is refused with {error.code}."
    for one in host:
        reason = kept.get(one.node)
        if reason is not None:
            why = f"it would stay on the host, too. {reason.value}: {MEANINGS[reason]}"
        if one.remedy.startswith(ONLY_MIXED) and (reason or (not kept and why)):
            other = "none" if reason and REMEDIES[reason].startswith("None") else one.remedy[len(ONLY_MIXED) : -1]
            one = one._replace(remedy=f"{other[0].upper()}{other[1:]}: without mix_compile_mode {why}")
        yield one


def _settings(options: Union[Resolution, PartitionSettings, Mapping[str, Any]], policy: str) -> PartitionSettings:
    if isinstance(options, PartitionSettings):
        return options
    if isinstance(options, Resolution):
        return options.raise_first().typed.partition
    if policy != "adapter":
        raise NpuError("USAGE", "options", "a raw parameter map is for policy 'adapter' only.", "Resolve it first.")
    from npu_reference.options.adapter_reading import settings_of_adapter

    return settings_of_adapter(options)
