"""Options for debugging the system itself, which may change."""

from __future__ import annotations

from npu_reference.options.declaration import Facet, declare
from npu_reference.options.domains import ConfigObject

__all__ = ["OPTIONS"]

OPTIONS = (
    declare(
        "experimental_config",
        "Experiment",
        "Further settings for debugging.",
        runconfig=Facet(ConfigObject("ExperimentalConfig"), "o", status="experimental"),
        requirements=("runconfig.experiment.",),
    ),
)
