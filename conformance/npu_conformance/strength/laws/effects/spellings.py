"""How what is given is written, and what a program is to leave besides."""

from __future__ import annotations

import json
import re
from typing import Tuple

from npu_conformance.strength.laws.effects import answers, changes
from npu_conformance.strength.laws.effects.applicable import (
    CACHE,
    OF_CACHE,
    OF_KERNELS,
    OF_PROFILES,
    OF_TUNING,
    accepted,
    all_of,
    compiles,
    gives,
    has_surface,
    in_003,
    lacks,
    one_program,
    tabled,
    unlike,
)
from npu_conformance.strength.laws.effects.request import HERE, MIXED, EffectCondition

__all__ = ["CONDITIONS"]

_WANTED = json.dumps({"output": f"/{HERE}", "task_trace": "on", "aicpu": "on"})
_PROFILE = {"profiling_mode": True, "profiling_options": _WANTED}
_PROFILED = {"session": _PROFILE, "runconfig": changes.of_other_surface(_PROFILE, "session")}
_DUMP = {"enable_dump": True, "dump_path": f"/{HERE}", "dump_mode": "all"}
_DUMPED = {"session": _DUMP, "runconfig": changes.of_other_surface(_DUMP, "session")}
_TRACED = r"training_trace|forward|backward|updates|augmentation|aggregation"

CONDITIONS: Tuple[EffectCondition, ...] = (
    *(
        EffectCondition(
            name,  # with what is document 003's alone nothing can be laid beside it
            ("runconfig.mix_compile_mode.session_equivalence", "precision.g.session_same", "G16"),
            all_of(accepted, has_surface(surface), changes.on_both_surfaces, lacks("AOE_MODE"), unlike(said=said)),
            changes.on_other_surface,
            answers.same,
            ("results", "weights", "tuning"),
            fully="surface",
            hiding=True,
            spared=lambda *answers: True,  # a session has 002's table, or an NPURunConfig's of 003
        )
        for name, surface, said in (
            ("by NPURunConfig", "session", "fusion_result"),
            ("by a session", "runconfig", "fusion_result|exception_dump|moved"),  # by the defaults of 003
        )
    ),
    EffectCondition(
        "by the environment",
        ("env.AOE_MODE.fallback", "env.ASCEND_DEVICE_ID.lower", "T14"),
        all_of(accepted, in_003, changes.once, lacks(*changes.VARIABLES.values())),
        changes.by_environment,
        answers.same,
        ("results", "weights", "tuning", "device"),
    ),
    EffectCondition(
        "names of every kind of character",
        ("session.op_compiler_cache_dir.charset", "runconfig.op_compiler_cache_dir.charset", "B1"),
        all_of(accepted, gives(*changes.DIRECTORIES, *changes.FILES, *changes.OUTPUTS)),
        changes.elsewhere,
        answers.renamed(lambda name: re.sub(r"\A(Named_by-00[23]\.[^/]+)/", "", name)),
    ),
    EffectCondition(
        "relative names",
        ("runconfig.work_path.relative", "session.profiling_options.output.relative", "D8"),
        lambda one: not one.options.isdisjoint((*changes.DIRECTORIES, *changes.FILES, *changes.OUTPUTS))
        or not one.env.isdisjoint(changes.OF_DIRECTORIES),
        changes.relative,
        answers.same,
        dear=True,
    ),
    EffectCondition(
        "slashes at the end",
        ("session.profiling_options.output.dest", "session.op_compiler_cache_dir.exists"),
        all_of(accepted, gives(*changes.DIRECTORIES, *changes.OUTPUTS)),
        lambda params: changes.everywhere(params, changes.DIRECTORIES, lambda path: f"{path.rstrip('/')}/"),
        answers.same,
    ),
    EffectCondition(
        "a cache of its own",
        ("session.op_compiler_cache_mode.enable", "session.op_compiler_cache_dir.created"),
        all_of(tabled, one_program, unlike(*OF_CACHE, "op_debug_level", "op_debug_config", said=CACHE)),
        changes.giving(changes.on_both(op_compiler_cache_mode="enable", op_compiler_cache_dir=f"/{HERE}")),
        answers.OWN,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "kernel files of level 4",  # no cache beside it
        ("session.op_debug_level.4.files", "session.debug_dir.contents"),
        all_of(compiles, tabled, unlike(*OF_KERNELS, *OF_CACHE, said=rf"{CACHE}|kernel_meta|reused|cached|kernels:")),
        changes.giving(changes.on_both(op_debug_level=4, debug_dir=f"/{HERE}")),
        answers.OWN,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "no cache",
        ("session.op_compiler_cache_mode.disable",),
        all_of(compiles, tabled, unlike(*OF_CACHE, said=rf"{CACHE}|reused|cached|kernels:")),
        changes.giving(changes.on_both(op_compiler_cache_mode="disable")),
        answers.same,
        ("kernels",),
        roughly=True,
    ),
    EffectCondition(
        "a directory for files of debugging",
        ("session.debug_dir.contents",),
        all_of(tabled, unlike(*OF_KERNELS, said="kernel_meta")),
        changes.giving(changes.on_both(debug_dir=f"/{HERE}")),
        answers.OWN,
        moves=True,
    ),
    EffectCondition(
        "fusion results at once",
        ("runconfig.export_compile_stat.2",),
        all_of(in_003, unlike("export_compile_stat", said="fusion_result")),
        changes.giving(changes.on_both(export_compile_stat=2)),
        answers.without(r"(\A|/)fusion_result\.json\Z"),
        ("results",),
        roughly=True,
    ),
    EffectCondition(
        "no fusion results",
        ("runconfig.export_compile_stat.0",),
        all_of(compiles, in_003, unlike("export_compile_stat", said="fusion_result")),
        changes.giving(changes.on_both(export_compile_stat=0)),
        answers.same,
        ("results",),
        roughly=True,
    ),
    EffectCondition(
        "weights in files",
        ("runconfig.external_weight.true_all_const", "runconfig.external_weight.numerics"),
        all_of(in_003, unlike("external_weight", said="constant|weight")),
        changes.giving(changes.on_both(external_weight=True)),
        answers.without(r"(\A|/)tmp_weight_"),
        ("weights",),
        roughly=True,
    ),
    EffectCondition(
        "a profile",
        ("session.profiling_mode.true", "session.profiling_options.output.dest"),
        all_of(tabled, lambda one: one.instance.case.method != "run",
             unlike(*OF_PROFILES, "iterations_per_loop", said="profile")),
        changes.giving(_PROFILED, {f"/{HERE}/": ""}),
        answers.OWN,
    ),
    EffectCondition(
        "tuning",  # of what is compiled afterwards
        ("runconfig.aoe_mode.2", "runconfig.work_path.contents", "T26"),
        all_of(in_003, one_program, lacks("AOE_MODE"), unlike(*OF_TUNING, said="tun|speed|repository")),
        changes.giving(changes.on_both(aoe_mode="2", work_path=f"/{HERE}"), {f"/{HERE}/": ""}),
        answers.OWN,
        ("tuning",),
        roughly=True,
    ),
    EffectCondition(
        "dumps",
        ("session.enable_dump.true", "session.dump_path.precreated"),
        all_of(tabled, unlike("enable_dump", "dump_config", "dump_path")),
        changes.giving(_DUMPED, {f"/{HERE}/": ""}),
        answers.OWN,
    ),
    EffectCondition(
        "online inference",  # with the precision of training; what documents list for training alone is left out
        ("session.graph_run_mode.0", "A6", "A28"),
        all_of(tabled, lacks("AOE_MODE"), unlike("graph_run_mode", *changes.OF_TRAINING, *OF_TUNING, said=_TRACED)),
        changes.in_inference,
        answers.same,
        ("mode", "run mode"),
        fully="mode",
        shading=True,
    ),
    EffectCondition(
        MIXED,  # of what the device computes anyway; a graph in pieces has copies of its own
        ("session.mix_compile_mode.true",),
        all_of(tabled, unlike("mix_compile_mode", "use_off_line", "iterations_per_loop", "input_shape", "dynamic_dims",
                              said=r"\bmoved")),
        changes.giving(changes.on_both(mix_compile_mode=True)),
        answers.same,
        ("mixed", "run mode", "before"),
        fully="mixed",
        shading=True,
        spared=changes.is_divided,  # how many GEOPs there are is a choice
    ),
)  # fmt: skip
