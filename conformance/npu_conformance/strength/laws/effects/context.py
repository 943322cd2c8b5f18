"""Devices, variables, programs and graphs around what is asked."""

from __future__ import annotations

import json
import re
from typing import Mapping, Tuple

from npu_conformance.strength.laws.effects import answers, changes
from npu_conformance.strength.laws.effects.applicable import (
    OF_PROFILES,
    OF_TUNING,
    accepted,
    all_of,
    compiles,
    gives,
    lacks,
    one_program,
    tabled,
    tells_time,
    unlike,
)
from npu_conformance.strength.laws.effects.request import HERE, EffectCondition, EffectQuestion

__all__ = ["CONDITIONS"]

#: Files that lie in the folder of a program, and are nobody's: some called as files of the samples are, which no option
#: names.
_OF_NOBODY: Mapping[str, str] = {
    "kernel_meta/notes.txt": "{}\n",
    "fusion_result.txt": "{}\n",
    "op_precision.ini": "MatMulV2=high_precision\n",
    "fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}),
    "test0.cfg": "op_debug_config = ccec_g,dump_cce\n",
    "tuning_config.cfg": json.dumps({"tune_ops_name": ["nowhere"]}),
    "ops_info.json": json.dumps({"black-list": {"to-add": ["MatMulV2"]}}),
}


def _of_any_ranks(one: EffectQuestion) -> bool:
    """Whether a step of two devices is one of more: of a script it is said, of `every_collective` by an operator."""
    graph = str(one.params.get("graph", "every_collective"))
    return one.params.get("ranks") == 2 and "every_collective" not in graph


CONDITIONS: Tuple[EffectCondition, ...] = (
    EffectCondition(
        "the third device",
        ("session.session_device_id.effect", "session.session_device_id.over_env"),
        all_of(tabled, lacks("ASCEND_DEVICE_ID"), unlike("session_device_id", "local_rank_id", said="ran_on")),
        changes.of_both(
            changes.giving(changes.on_both(session_device_id=3)), changes.setting({"ASCEND_DEVICE_ID": "5"})
        ),
        answers.same,
        ("device",),
    ),
    EffectCondition(
        "a launched rank",
        ("T51",),
        all_of(
            lambda one: "ranks" not in one.params,
            lacks("RANK_ID", "RANK_SIZE", "DEVICE_ID"),
            unlike("local_rank_id", said=r"ran_on|\bdevice \d"),
        ),
        changes.setting({"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "3", "JOB_ID": "10087"}),
        answers.same,
    ),
    EffectCondition(
        "eight devices for two",
        ("session.is_tailing_optimization.distributed_only", "runconfig.hcom_parallel.true"),
        _of_any_ranks,
        lambda params: {**params, "ranks": 8},
        answers.same,
        ("device",),
    ),
    EffectCondition(
        "a work path in the environment",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.debug_dir.priority", "files.fusion_result.path_env"),
        lacks("ASCEND_WORK_PATH"),
        changes.setting({"ASCEND_WORK_PATH": f"/{HERE}/a"}, {f"/{HERE}/a/": ""}),
        answers.renamed(lambda name: re.sub(rf"\A{HERE}/a/(FE/\d+/?)?", "", name)),
        moves=True,
    ),
    EffectCondition(
        "a cache path in the environment",
        ("runconfig.op_compiler_cache_dir.priority",),
        all_of(gives("op_compiler_cache_dir"), lacks("ASCEND_CACHE_PATH")),
        changes.setting({"ASCEND_CACHE_PATH": f"/{HERE}/c"}),
        answers.same,
        moves=True,
    ),
    EffectCondition(
        "another home",
        ("runconfig.op_compiler_cache_dir.priority", "session.op_compiler_cache_dir.default"),
        all_of(one_program, lacks("HOME")),
        changes.setting({"HOME": f"/{HERE}/h"}),
        answers.without(rf"\A{HERE}/h/"),
        moves=True,
    ),
    EffectCondition(
        "a path of collections",  # oom is refused beside it
        ("env.NPU_COLLECT_PATH.uses", "D31"),
        all_of(compiles, lacks("NPU_COLLECT_PATH"), unlike("op_debug_config", said="kernel_meta")),
        changes.setting({"NPU_COLLECT_PATH": f"/{HERE}/n"}),
        answers.without(rf"(\A|/)kernel_meta/|\A{HERE}/n(/|\Z)"),
    ),
    EffectCondition(
        "a folder with files of others",
        ("C15", "D30", "runconfig.fusion_switch_file.default", "runconfig.op_debug_config.default"),
        lambda one: True,
        lambda params: {**params, "files": {**_OF_NOBODY, **params.get("files", {})}},
        answers.renamed(lambda name: None if name in _OF_NOBODY else name),
        seldom=True,
    ),
    EffectCondition(
        "an earlier program",
        ("files.fusion_result.keys", "session.op_compiler_cache_mode.disable"),
        all_of(compiles, accepted, tabled, unlike(said="size")),
        changes.after_another,
        answers.without_first,
        ("before",),
        dear=True,
        fully="program",
        shading=True,
    ),
    EffectCondition(
        "a killed program",
        ("runconfig.export_compile_stat.1", "D26"),
        all_of(compiles, unlike(said=r"\bleft|fusion_result|\bin \S|contents|repository")),
        lambda params: {**params, "turns": [{**one, "ends": "killed"} for one in params.get("turns") or [{}]]},
        answers.same,
    ),
    EffectCondition(
        "another model before",
        ("runconfig.external_weight.sharing", "D18"),
        # An operator list of the case may lack the other model's operators.
        all_of(compiles, lambda one: not {"models", "op_list"} & one.params.keys(),
             unlike(said=r"fusion_result|filler|reused none compiled none")),
        changes.with_other_first,
        answers.without_other_model,
        ("graph", "names"),
        dear=True,
        fully="model",
        shading=True,
    ),
    EffectCondition(
        "steps before",  # what the device is to do wrong may be of an operator that is on the host without them
        ("session.session_device_id.per_session",),
        all_of(tells_time, accepted, lambda one: not ("mix_compile_mode" in one.options and "faults" in one.params)),
        changes.after_steps,
        changes.from_last_step,
        ("before",),
        dear=True,
        fully="steps",
        shading=True,
    ),
    EffectCondition(
        "a variable, a text, a loop and a call in the graph",
        ("mixed.default.full_offload", "M2", "M4"),
        all_of(lambda one: bool(one.params.get("fetches")) and not one.params.get("models"),
             unlike("external_weight", "variable_memory_max_size", "graph_memory_max_size", said="constant|weight")),
        changes.targeted,
        answers.same,
        ("graph",),
        graph=changes.with_own_flow,
        seldom=True,
        spared=changes.is_refused,  # its mark without mixed computing
    ),
    EffectCondition(
        "a name scope around the graph",
        ("files.customize_dtypes.name_with_slash", "in_out_pair.names_no_port"),
        all_of(lambda one: one.instance.case.method != "run" and not one.params.get("models"), accepted,
             changes.names_no_operator,
             unlike("in_out_pair", "input_shape", "dynamic_dims", "enable_scope_fusion_passes", *OF_TUNING,
                     *OF_PROFILES, said=r"Scope\w+Pass|profile|passes:")),
        changes.named_in_scope,
        changes.out_of_scope,
        ("names",),
        graph=changes.scoped,
    ),
)  # fmt: skip
