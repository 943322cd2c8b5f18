"""A session's configuration for the way of TensorFlow 1 under TensorFlow 2."""

from __future__ import annotations

from typing import Any

from npu_reference.surface import attribute_of

__all__ = ["SessionConfigBuilder"]


class SessionConfigBuilder:
    """A ConfigProto, the one given or a new one, that makes its session an NPU session.

    Attributes:
        session_config: the ConfigProto.
        parameter_map: the options of NpuOptimizer in it.
    """

    def __init__(self, config: Any = None) -> None:
        from npu_bridge._session_config import npu_entry, switch_rewrites_off
        from npu_bridge._tensorflow import v1

        given = isinstance(config, v1.ConfigProto)
        self.session_config = config if given else v1.ConfigProto(allow_soft_placement=True)
        self.parameter_map = npu_entry(self.session_config).parameter_map
        switch_rewrites_off(self.session_config)


__getattr__ = attribute_of(__name__)
