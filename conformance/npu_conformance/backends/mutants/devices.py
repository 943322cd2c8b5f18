"""Mutants of several devices: sessions on the wrong one, ranks that exchange nothing, or something else."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List

from npu_conformance.backends.mutants.edits import Answer, Params, altered, with_values

__all__: List[str] = []

Run = Callable[[Params], Answer]


def _on(device: Callable[[int], int]) -> Callable[[Run, Params], Answer]:
    """Runs everything on another device."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        trace = [
            {**record, "device": device(record["device"])} if "device" in record else record
            for record in answer.get("trace", [])
        ]
        return {**answer, "trace": trace} if trace else answer

    return fault


def _of_ranks(change: Callable[[int, Dict[str, Any]], Dict[str, Any]]) -> Callable[[Run, Params], Answer]:
    """Answers something else for ranks."""

    def fault(run: Run, params: Params) -> Answer:
        answer = run(params)
        if "ranks" not in answer:
            return answer
        told = [{"ok": change(rank, one["ok"])} if "ok" in one else one for rank, one in enumerate(answer["ranks"])]
        return {**answer, "ranks": told}

    return fault


def _saying(pattern: str, instead: str, only: int = -1) -> Callable[[Run, Params], Answer]:
    def change(rank: int, answer: Dict[str, Any]) -> Dict[str, Any]:
        if only not in (-1, rank):
            return answer
        return {**answer, "output": re.sub(pattern, instead, answer.get("output", ""))}

    return _of_ranks(change)


def _environment_first(run: Run, params: Params) -> Answer:
    device = params.get("env", {}).get("ASCEND_DEVICE_ID")
    return run(params if device is None else with_values(params, session_device_id=None))


def _without_environment(run: Run, params: Params) -> Answer:
    env = {name: value for name, value in params.get("env", {}).items() if name != "ASCEND_DEVICE_ID"}
    return run({**params, "env": env})


def _any_device(run: Run, params: Params) -> Answer:
    device = params.get("values", {}).get("session_device_id")
    return run(with_values(params, session_device_id=0) if isinstance(device, int) and device > 7 else params)


def _one_part(rank: int, answer: Dict[str, Any]) -> Dict[str, Any]:
    def joined(one: Dict[str, Any]) -> Dict[str, Any]:
        return {**one, "part": 0} if "part" in one else one

    trace = [
        {**record, "collectives": [joined(one) for one in record.get("collectives", [])]}
        for record in answer.get("trace", [])
    ]
    return {**answer, "trace": trace}


_SESSION, _CONFIG = "session.session_device_id", "runconfig.session_device_id"
for _name, _requirement, _sentence, _fault in (
    ("session.all_on_one", f"{_SESSION}.effect", "Runs every session on device 0.", _on(lambda device: 0)),
    ("session.all_on_last", f"{_SESSION}.per_session", "Runs every session on the last device.", _on(lambda device: 7)),
    ("session.environment_first", f"{_SESSION}.over_env", "Lets the environment go first.", _environment_first),
    ("session.any_device", f"{_SESSION}.per_session", "Takes a device that is not there.", _any_device),
    ("runconfig.all_on_one", f"{_CONFIG}.effect", "Runs every Estimator on device 0.", _on(lambda device: 0)),
    ("runconfig.environment_first", f"{_CONFIG}.over_env", "Lets the environment go first.", _environment_first),
    ("environment_unread", "env.ASCEND_DEVICE_ID.lower", "Does not look at the environment.", _without_environment),
    (
        "ranks.alone", "api.set_split_strategy", "Averages gradients over its own rank alone.",
        _saying("(joined batch: )True", r"\g<1>False"),
    ),
    ("ranks.one_part", "api.set_split_strategy", "Communicates all gradients together.", _of_ranks(_one_part)),
    ("ranks.all_main", "session.local_rank_id.source", "Tells every process that it is the main one.",
     _saying("local rank: 1", "local rank: 0")),
    ("ranks.own_tensor", "api.get_local_rank_id", "Sums over its own rank alone.",
     _saying(r"sum: \[10, 12, 14, 16\]", "sum: [0, 1, 2, 3]")),
    ("data.each_reads", "session.local_rank_id.others_receive", "Lets every process read its data set.",
     _saying("(process read: )0", r"\g<1>6")),
    ("data.none_sent", "session.local_device_list.pair", "Sends the other device nothing.",
     _saying("given: some", "given: none", only=1)),
    ("data.own_elements", "session.local_rank_id.main_dedup", "Gives each device elements of its own data set.",
     _saying("(main process: )True", r"\g<1>False", only=1)),
    ("data.main_reads_twice", "session.local_rank_id.main_dedup", "Reads the data set once for each device.",
     _saying("(process read: )6", r"\g<1>12", only=0)),
    ("data.each_estimator_reads", "runconfig.local_rank_id.shared_preproc", "Lets every process read its data set.",
     _saying("(process read: )0", r"\g<1>6")),
    ("data.estimator_keeps", "runconfig.local_rank_id.main", "Gives the other device nothing.",
     _saying("given: some", "given: none", only=1)),
    ("data.estimator_own_elements", "runconfig.local_device_list.pair", "Sends elements of another data set.",
     _saying("(main process: )True", r"\g<1>False", only=1)),
    ("lost.unquantized", "runconfig.hccl_timeout.purpose", "Waits for a rank as long as the option says.",
     _saying("(after 544 s: )True", r"\g<1>False")),
):  # fmt: skip
    altered(f"devices.{_name}", _requirement, _sentence, "run", _fault)
