"""Options that say what kind of run it is, and on which device."""

from __future__ import annotations

from npu_reference.options.declaration import Facet, both, declare
from npu_reference.options.domains import Anything, ConfigObject, Integer

__all__ = ["OPTIONS"]

_TOPIC = "Basic"

OPTIONS = (
    declare(
        "graph_run_mode",
        _TOPIC,
        "Training (1) or online inference (0).",
        **both(Integer(0, 1), "i", 1),
        readings=("G15",),
    ),
    declare(
        "session_device_id",
        _TOPIC,
        "Logical device that runs this session; without it, ASCEND_DEVICE_ID decides.",
        **both(Integer(0), "i"),
        readings=("T13", "T14"),
        requirements=("env.ASCEND_DEVICE_ID",),
    ),
    declare(
        "distribute",
        _TOPIC,
        "Strategy of a training with parameter servers and workers.",
        runconfig=Facet(ConfigObject("ParameterServerStrategy", foreign=True), "o", applies="T"),
    ),
    declare(
        "deterministic",
        _TOPIC,
        "Whether an operator gives the same result each time, at the cost of speed.",
        runconfig=Facet(Integer(0, 1), "i", 0),
        readings=("T23",),
    ),
    declare(
        "distribute_config",
        _TOPIC,
        "Listed as not supported.",
        session=Facet(Anything(), "s", applies="T", status="unsupported"),
        readings=("A34",),
    ),
    declare(
        "device_type",
        _TOPIC,
        "Listed as not supported.",
        session=Facet(Anything(), "s", status="unsupported"),
        readings=("A34",),
    ),
)
