"""Each effect of a run (a dump, a profile, a loop) has a case under each condition, or a stated reason why not.

Faults hide where two features meet: steps that overflowed were once applied when a dump stood beside loss scaling.
EFFECTS says which facts of a case show an effect, and CONDITIONS which parameters put a case under a condition. A pair
that no case shows fails, so that a new effect or condition needs cases or a reason.
"""

from __future__ import annotations

import itertools
import json
import re

import pytest

from fixtures.programs import company_grid as program
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

RUNS = [case for case in corpus().cases.values() if case.method == "run"]

#: Effect -> a pattern of the facts that show it; of `observe` an aspect stands as `aspect:NAME`.
EFFECTS = {
    "values": r"fetch |aspect:fetches|printed |aspect:output",
    "where operators are": r"run \S+ (host|device) |aspect:run_placement",
    "the device": r"on device|aspect:on_device",
    "copies": r"run \S+ copy|aspect:transfers",
    "a dump": r"dump .* (holds|is fetch)|aspect:dump(_bits|_values)?:?",
    "steps of a dump": r"dump \S+ step \S+$|aspect:dump_steps",
    "the device of a dump": r"dump \S+ of device|aspect:dump_devices",
    "an exception dump": r"exception_dump .*(input|output)|aspect:exception_dump",
    "a profile": r"profile run (in|collects)",
    "refused shapes": r"shapes refused",
    "bounds of variables": r"variables bounded",
    "a loop": r"run \S+ iterations [2-9]|looped",
    "a loss scale": r"scaled",
    "state": r"(fetch|dump .*|printed .*) ?state/|kept",
}

#: Condition -> whether a case is under it, of its parameters as text and its editions.
CONDITIONS = {
    "the legacy edition": lambda case, text: "legacy" in case.editions,
    "the current edition": lambda case, text: "current" in case.editions,
    "NPURunConfig": lambda case, text: case.params.get("surface") == "runconfig" or "estimator" in case.needs
    or "estimator_training" in text,
    "mixed computing": lambda case, text: '"mix_compile_mode": true' in text,
    "full offload": lambda case, text: '"mix_compile_mode": true' not in text or "sessions.py" in text,
    "online inference": lambda case, text: '"graph_run_mode": 0' in text,
    "training": lambda case, text: '"graph_run_mode": 0' not in text,
    "another device": lambda case, text: re.search(r'"(session_device_id|ASCEND_DEVICE_ID)": "?[1-9]', text) is not None
    or "estimator_devices" in text,
    "unrelated options": lambda case, text: re.search(
        r"hcom_parallel|op_debug_level|op_wait_timeout|enable_scope_fusion|stream_sync_timeout|deterministic", text
    ) is not None,
    "a second session": lambda case, text: (
        re.search(r"company_sessions|overflowing_steps|estimator_dev", text) is not None
    ),
    "a second step": lambda case, text: case.params.get("steps", 1) > 1 or "_s" in text,
    "a relative path": lambda case, text: re.search(r'"(dump_path|output)": ?"[a-z]|"out/"', text) is not None,
    "an absolute path": lambda case, text: re.search(r'"(dump_path|output)": ?"/|"/third/"', text) is not None,
    "functions, branches or loops in the graph": lambda case, text: re.search(
        r"loop/after|side/after|call/after|called|functions", text
    ) is not None,
    "float16": lambda case, text: re.search(r"force_fp16|mix_precision|half/", text) is not None,
    "a dump beside": lambda case, text: '"enable_dump": true' in text,
    "a profile beside": lambda case, text: "profiling_options" in text,
    "a failure beside": lambda case, text: case.params.get("may_fail") is True or '"take", 9' in text,
    "ranges or profiles of shapes": lambda case, text: "dynamic_" in text,
}  # fmt: skip

#: Scripts whose arguments do not say what they do: what stands for it in the tables.
SCRIPTS = {
    "overflowing_steps.py": [
        "scaled",
        "looped",
        '"session_device_id": 1',
        '"mix_compile_mode": true',
        "hcom_parallel",
        "kept",
        '"enable_dump": true',
        "profiling_options",
        '"output": "/prof"',
        "functions",
    ],
    "estimator_training.py": ["looped"],
    "overflow_step.py": ["scaled", "looped"],
    "company_sessions.py": ["kept"],
    "device_loop.py": ["looped"],
    "dumped_loops.py": ["looped", '"enable_dump": true', '"dump_path": "out"', "called"],
    "split_strategy.py": ["looped", '"enable_dump": true'],
}

_NO_LOOP = "iterations_per_loop is of training in full offload (A42, T19)"

#: (effect, condition) -> why nothing asks for it.
ABSENT = {
    ("a loop", "online inference"): _NO_LOOP,
    ("a loop", "ranges or profiles of shapes"): _NO_LOOP,
    ("a loss scale", "online inference"): "a loss is scaled in training",
    ("a loss scale", "NPURunConfig"): "the optimizer that scales is the script's, in an Estimator as in a session",
    ("a loss scale", "a failure beside"): "an overflow is what fails",
    ("a loss scale", "ranges or profiles of shapes"): "the flag has no shape",
    ("bounds of variables", "NPURunConfig"): "document 003 has no such option for NPURunConfig in effect",
}


def _shown(case):
    """What a case looks at, one text a fact or aspect."""
    expect = case.expect
    told = [*expect.contains, *(fact for way in expect.any_of for fact in way), *expect.forbid]
    told += [f"aspect:{aspect}:{pattern}" for aspect, pattern in expect.observe]
    told += [fact for facts in expect.golden.values() for fact in facts]
    told += ["fetch values"] if expect.values else []
    text = json.dumps(case.params, default=repr)
    if expect.rejected is not None and "INPUT_SHAPE" in expect.rejected[0]:
        told.append("shapes refused")
    if "dynamic_" in text and any("fails" in fact for fact in told):
        told.append("shapes refused")
    if "variable_memory_max_size" in text and (expect.rejected or any("fails" in fact for fact in told)):
        told.append("variables bounded")
    for name, more in SCRIPTS.items():
        if name in text:
            told += more
    return told


def _conditions(case):
    text = json.dumps(case.params, default=repr)
    for name, more in SCRIPTS.items():
        if name in text:
            text += " ".join(more)
    text = text.replace("\\", "")
    return {name for name, holds in CONDITIONS.items() if holds(case, text)}


def _pairs():
    found = set()
    for case in RUNS:
        told = _shown(case)
        effects = [name for name, pattern in EFFECTS.items() if any(re.search(pattern, one) for one in told)]
        found.update(itertools.product(effects, _conditions(case)))
    return found


@pytest.mark.parametrize("effect", EFFECTS)
def test_every_effect_of_a_run_is_seen_under_every_condition_or_has_a_reason_why_not(effect):
    seen = _pairs()
    missing = [one for one in CONDITIONS if (effect, one) not in seen and (effect, one) not in ABSENT]
    assert not missing, f"{effect} is not seen under {missing}"
    assert not [one for one in CONDITIONS if (effect, one) in seen and (effect, one) in ABSENT], "a reason too many"


def test_the_rows_of_the_grid_are_told_apart():
    assert len(set(program.ROWS)) == len(program.ROWS)
