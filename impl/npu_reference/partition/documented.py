"""Policy "documented": the adapter's result wherever it can run and agrees with the documents, else the least change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npu_reference.catalog import OpList
from npu_reference.partition import adapter
from npu_reference.partition.settings import Settings

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["plan"]


def plan(graph: Graph, settings: Settings, op_list: OpList, flavour: str) -> adapter.Plan:
    return adapter.plan(graph, settings, op_list, flavour)
