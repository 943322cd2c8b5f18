"""Ranks and groups by the names of HCCL; docs/npu_bridge.md says what each answers."""

from __future__ import annotations

from npu_reference.runtime.ranks import create_group, destroy_group
from npu_reference.runtime.ranks import group_rank_of as get_group_rank_from_world_rank
from npu_reference.runtime.ranks import local_rank_id as get_local_rank_id
from npu_reference.runtime.ranks import local_rank_size as get_local_rank_size
from npu_reference.runtime.ranks import rank_id as get_rank_id
from npu_reference.runtime.ranks import rank_size as get_rank_size
from npu_reference.runtime.ranks import world_rank_of as get_world_rank_from_group_rank
from npu_reference.surface import attribute_of

__all__ = [
    "create_group",
    "destroy_group",
    "get_group_rank_from_world_rank",
    "get_local_rank_id",
    "get_local_rank_size",
    "get_rank_id",
    "get_rank_size",
    "get_world_rank_from_group_rank",
]

__getattr__ = attribute_of(__name__)
