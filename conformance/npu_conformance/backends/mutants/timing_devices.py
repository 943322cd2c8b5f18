"""Mutants of several devices: collectives, the device of a session, and who reads the data."""

from __future__ import annotations

from typing import Any, List

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, with_values
from npu_conformance.backends.mutants.timing_edits import Edit, given, has, hearing, scaled, telling

__all__: List[str] = []

# ---------------------------------------------------------------------------------------------------------------------
# Collectives

for _surface in ("runconfig", "session"):
    hearing(
        f"allreduce-{_surface}-apart",
        f"{_surface}.hcom_parallel.true",
        f"Keeps collectives apart from computing although hcom_parallel of surface {_surface} is True.",
        given(_surface, "hcom_parallel", True),
        hcom_parallel=False,
    )
    hearing(
        f"allreduce-{_surface}-beside",
        f"{_surface}.hcom_parallel.false",
        f"Runs collectives beside computing although hcom_parallel of surface {_surface} is False.",
        given(_surface, "hcom_parallel", False),
        hcom_parallel=True,
    )
hearing(
    "tail-never",
    "runconfig.is_tailing_optimization.effect",
    "Takes no notice of NPURunConfig's is_tailing_optimization.",
    given("runconfig", "is_tailing_optimization", True),
    is_tailing_optimization=False,
)
hearing(
    "tail-always",
    "runconfig.is_tailing_optimization.values",
    "Optimises the tail unless is_tailing_optimization is True.",
    lambda params: params["surface"] == "runconfig" and not has("is_tailing_optimization", True)(params),
    is_tailing_optimization=True,
)
hearing(
    "legacy-tail-never",
    "session.is_tailing_optimization.true",
    "Takes no notice of a session's is_tailing_optimization.",
    given("session", "is_tailing_optimization", True),
    is_tailing_optimization=False,
)
hearing(
    "legacy-tail-always",
    "session.is_tailing_optimization.false",
    "Optimises the tail of a session although is_tailing_optimization is False.",
    given("session", "is_tailing_optimization", False),
    is_tailing_optimization=True,
)
telling(
    "legacy-tail-of-one-device",
    "session.is_tailing_optimization.distributed_only",
    "Orders the step of one device otherwise for is_tailing_optimization.",
    scaled(1.1),
    lambda params: given("session", "is_tailing_optimization", True)(params) and params.get("ranks", 1) == 1,
)
hearing(
    "collectives-wait-by-default",
    "runconfig.hccl_timeout.purpose",
    "Waits for a lost rank as long as by default, whatever hccl_timeout says.",
    given("runconfig", "hccl_timeout"),
    hccl_timeout=None,
)
hearing(
    "collectives-wait-a-step-less-by-default",
    "runconfig.hccl_timeout.default",
    "Waits for a lost rank for 1768 seconds where no hccl_timeout is given.",
    lambda params: params["surface"] == "runconfig" and not has("hccl_timeout")(params),
    hccl_timeout=1800,
)
hearing(
    "legacy-collectives-wait-in-steps",
    "session.hccl_timeout.unit",
    "Takes a session's hccl_timeout for minutes.",
    given("session", "hccl_timeout"),
    hccl_timeout=lambda seconds: seconds * 60,
)

hearing(
    "collectives-wait-to-the-second",
    "runconfig.hccl_timeout.quantize",
    "Waits 68 seconds longer than the whole steps in hccl_timeout.",
    given("runconfig", "hccl_timeout"),
    hccl_timeout=lambda seconds: min(seconds + 68, 17340),
)


@mutant("collectives-wait-by-the-environment", "runconfig.hccl_timeout.over_env")
class CollectivesWaitByTheEnvironment(ReferenceBackend):
    """Lets HCCL_EXEC_TIMEOUT beat hccl_timeout."""

    def step(self, params: Params) -> Answer:
        named = "HCCL_EXEC_TIMEOUT" in params.get("env", {})
        return super().step(with_values(params, hccl_timeout=None) if named else params)


@mutant("collectives-wait-without-the-environment", "env.HCCL_EXEC_TIMEOUT.fallback")
class CollectivesWaitWithoutTheEnvironment(ReferenceBackend):
    """Takes no notice of HCCL_EXEC_TIMEOUT."""

    def step(self, params: Params) -> Answer:
        rest = {name: value for name, value in params.get("env", {}).items() if name != "HCCL_EXEC_TIMEOUT"}
        return super().step({**params, "env": rest})


# ---------------------------------------------------------------------------------------------------------------------
# Devices and data


def _on_device(number: int) -> Edit:
    def edit(step: Answer, params: Params) -> None:
        step["device"] = number

    return edit


def _of_the_environment(step: Answer, params: Params) -> None:
    step["device"] = int(params.get("env", {}).get("ASCEND_DEVICE_ID", step["device"]))


def _data(**changes: Any) -> Edit:
    """Changes what is said of the dataset, where there is one."""

    def edit(step: Answer, params: Params) -> None:
        if "dataset" in step:
            step["dataset"].update(changes)

    return edit


_reads_itself, _reads_nothing, _sends_nothing = _data(reads=1, receives=0), _data(reads=0, receives=1), _data(sent=[])


for _surface in ("runconfig", "session"):
    telling(
        f"device-{_surface}-always-0",
        f"{_surface}.session_device_id.effect",
        f"Runs everything on device 0, whatever session_device_id of surface {_surface} says.",
        _on_device(0),
        given(_surface, "session_device_id"),
    )
    telling(
        f"device-{_surface}-of-the-environment",
        f"{_surface}.session_device_id.over_env",
        f"Lets ASCEND_DEVICE_ID beat session_device_id of surface {_surface}.",
        _of_the_environment,
        given(_surface, "session_device_id"),
    )
telling(
    "device-not-of-the-environment",
    "env.ASCEND_DEVICE_ID.lower",
    "Takes no notice of ASCEND_DEVICE_ID.",
    _on_device(0),
    lambda params: not has("session_device_id")(params),
)


@mutant("device-of-the-first-session", "session.session_device_id.per_session")
class DeviceOfTheFirstSession(ReferenceBackend):
    """Runs every session on the device of the first one."""

    def timeline(self, params: Params) -> Answer:
        answer = super().timeline(params)
        for step in answer["variants"].values():
            if "device" in step and "device" in answer["base"]:
                step["device"] = answer["base"]["device"]
        return answer


for _name, _requirement, _fault, _edit, _when in (
    (
        "data-sent-to-nobody", "runconfig.local_rank_id.main",
        "Keeps the data in the main process.", _sends_nothing, given("runconfig", "local_rank_id", 0),
    ),
    (
        "data-read-by-all", "runconfig.local_rank_id.shared_preproc",
        "Reads a dataset in every process.", _reads_itself, given("runconfig", "local_rank_id", 1),
    ),
    (
        "data-not-sent-to-those-listed", "runconfig.local_device_list.pair",
        "Takes no notice of NPURunConfig's local_device_list.", _sends_nothing, given("runconfig", "local_device_list"),
    ),
    (
        "data-read-nowhere", "runconfig.local_rank_id.main",
        "Waits for a main process where local_rank_id names none.", _reads_nothing,
        lambda params: params["surface"] == "runconfig" and not has("local_rank_id")(params),
    ),
    (
        "legacy-data-read-twice", "session.local_rank_id.main_dedup",
        "Lets a session's other processes read the data once more.", _reads_itself,
        given("session", "local_rank_id", 1),
    ),
    (
        "legacy-data-not-received", "session.local_rank_id.others_receive",
        "Lets a session's other processes read a dataset of their own.", _reads_itself,
        given("session", "local_rank_id", 1),
    ),
    (
        "legacy-data-not-sent-to-those-listed", "session.local_device_list.pair",
        "Takes no notice of a session's local_device_list.", _sends_nothing, given("session", "local_device_list"),
    ),
    (
        "legacy-data-read-nowhere", "session.local_rank_id.main_dedup",
        "Waits for a main process where a session's local_rank_id names none.", _reads_nothing,
        lambda params: params["surface"] == "session" and not has("local_rank_id")(params),
    ),
):  # fmt: skip
    telling(_name, _requirement, _fault, _edit, _when)
