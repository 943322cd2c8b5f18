"""Hypothesis strategies of option values inside and outside every domain, made from the option table."""

from __future__ import annotations

from typing import Dict, List

from hypothesis import strategies as st

from fixtures.programs.option_tables.files import FILES as TABLE
from npu_reference.options import OPTIONS
from npu_reference.options.declaration import Facet
from npu_reference.options.domains import Anything, Boolean, Choice, ConfigObject, Integer, Path, Text
from npu_reference.options.files import (
    aoe_config,
    customize_dtypes,
    fusion_passes,
    fusion_switch,
    mixlist,
    op_cache,
    op_debug,
)
from npu_reference.options.files import op_precision as precision_ini
from npu_reference.options.grammars import dump_step, in_out_pair, lists, profiling, shapes

NAMES = st.from_regex(r"[A-Za-z0-9.][A-Za-z0-9_./\-]{0,12}", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
NONE = st.just(())
SIZES = st.integers(1, 10**6)


def _some(items, least=1, most=4):
    return st.lists(items, min_size=least, max_size=most, unique=True).map(tuple)


RANGES = st.lists(st.builds(in_out_pair.Range, _some(st.text("ab'\"\\/ \n\t", min_size=1)), _some(NAMES)), min_size=1)
SPANS = st.tuples(st.integers(0, 10**9), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))
STEPS = st.lists(SPANS, min_size=1, max_size=5).map(lambda spans: dump_step.Steps(tuple(spans)))
DIMS = st.one_of(
    SIZES.map(lambda n: shapes.Dim(n, n)),
    st.tuples(SIZES, SIZES).map(lambda two: shapes.Dim(min(two), max(two))),
    st.just(shapes.Dim(1, None)),
)
SHAPES = st.lists(st.lists(DIMS, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)
SHAPE_RANGES = st.one_of(
    st.builds(shapes.Ranges, SHAPES, st.none() | SHAPES, notes=NONE),
    st.builds(shapes.Ranges, st.none(), SHAPES, notes=NONE),
)
INPUT_SHAPES = st.dictionaries(NAMES, st.lists(st.just(-1) | SIZES, max_size=3).map(tuple), min_size=1, max_size=3).map(
    lambda inputs: shapes.InputShape(tuple(inputs.items()))
)
PROFILES = (
    st.integers(1, 3)
    .flatmap(
        lambda n: st.lists(st.lists(SIZES, min_size=n, max_size=n).map(tuple), min_size=2, max_size=4, unique=True)
    )
    .map(lambda found: shapes.Profiles(tuple(found)))
)

MIXLISTS = st.builds(
    mixlist.Mixlist,
    _some(WORDS, 0),
    _some(WORDS.map(lambda w: "B" + w), 0),
    _some(WORDS, 0),
    _some(WORDS.map(lambda w: "W" + w), 0),
    notes=NONE,
)
PASSES = st.sampled_from(sorted(fusion_passes.DOCUMENTED))
SWITCHES = st.builds(
    fusion_switch.FusionSwitch,
    st.dictionaries(PASSES, st.booleans()),
    st.dictionaries(PASSES, st.booleans()),
    notes=NONE,
)
MODES = st.dictionaries(NAMES, st.sampled_from(precision_ini.MODES["current"]), max_size=4)
PRECISIONS = st.builds(precision_ini.OpPrecision, MODES, MODES, notes=NONE)
_DTYPE_ROWS = st.lists(st.sampled_from(sorted(customize_dtypes.DTYPES)), min_size=1, max_size=3).map(tuple)
DTYPES = st.builds(customize_dtypes.Dtypes, _DTYPE_ROWS, _DTYPE_ROWS)
CUSTOM = st.builds(
    customize_dtypes.CustomDtypes, st.dictionaries(NAMES, DTYPES), st.dictionaries(WORDS, DTYPES), notes=NONE
)
DEBUGS = st.builds(
    op_debug.OpDebug,
    _some(st.sampled_from(["oom", "dump_cce", "dump_loc", "ccec_g", "check_flag"])),
    _some(NAMES, 0),
    _some(WORDS, 0),
    notes=NONE,
)
AOES = st.builds(
    aoe_config.AoeConfig,
    _some(NAMES, 0),
    _some(WORDS, 0),
    st.sampled_from(["O1", "O2"]),
    _some(st.sampled_from(["deeper_opat", "nonhomo_split"]), 0),
    notes=NONE,
)
LIMITS = st.builds(op_cache.CacheLimits, st.just(-1) | SIZES, st.integers(1, 100))

#: Texts of each option that has a grammar.
TEXTS: Dict[str, st.SearchStrategy] = {
    "in_out_pair": RANGES.map(in_out_pair.write),
    "dump_step": STEPS.map(dump_step.write),
    "input_shape": INPUT_SHAPES.map(shapes.write_input_shape),
    "dynamic_dims": PROFILES.map(shapes.write_dynamic_dims),
    "dynamic_inputs_shape_range": SHAPE_RANGES.map(shapes.write_shape_range),
    "graph_memory_max_size": st.integers(0, 26 * 1024**3).map(str),
    "variable_memory_max_size": st.integers(0, 5 * 1024**3).map(str),
    "optypelist_for_implmode": _some(st.sampled_from(lists.IMPLMODE_TYPES)).map(",".join),
    "auto_tune_mode": _some(st.sampled_from(lists.ALGORITHMS)).map(",".join),
    "enable_scope_fusion_passes": _some(WORDS).map(",".join),
    "local_device_list": _some(st.integers(0, 7).map(str)).map(",".join),
    "stream_max_parallel_num": st.sampled_from(["DNN_VM_TF:2,DNN_V100:3", "DNN_VM_AICPU:3", "AIcoreEngine:1"]),
    "profiling_options": st.sampled_from([profiling.EXAMPLE, "{}", '{"task_trace":"on","aicpu":"x"}']),
}

#: A content of each option's file, from the tables of the documents.
SAMPLES: Dict[str, str] = {row.option: row.accepts[0] for row in reversed(TABLE) if row.accepts}

#: Contents of each option's file.
FILES: Dict[str, st.SearchStrategy] = {
    **{name: st.just(text) for name, text in SAMPLES.items()},
    "modify_mixlist": MIXLISTS.map(mixlist.write),
    "fusion_switch_file": SWITCHES.map(fusion_switch.write),
    "op_precision_mode": st.just("AvgPoolV2=high_precision\n"),
    "customize_dtypes": CUSTOM.map(customize_dtypes.write),
    "op_debug_config": DEBUGS.map(op_debug.write),
    "aoe_config_file": AOES.map(aoe_config.write),
}

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def inside(name: str, facet: Facet) -> st.SearchStrategy:
    """Values that the option accepts, its rules and files aside."""
    domain = facet.domain
    if isinstance(domain, Boolean):
        return st.booleans()
    if isinstance(domain, Integer):
        low = -(2**63) if domain.low is None else domain.low
        high = 2**63 - 1 if domain.high is None else domain.high
        return st.integers(low, high)
    if isinstance(domain, Choice):
        return st.sampled_from(domain.words)
    if isinstance(domain, Path):
        return st.just(f"/given/{name}")
    if isinstance(domain, Text):
        return TEXTS[name]
    if isinstance(domain, ConfigObject):
        return st.just({})
    assert isinstance(domain, Anything)
    return ANYTHING


def outside(facet: Facet) -> st.SearchStrategy:
    """Values that the option refuses: of another type, or of the right type and outside its domain."""
    wrong: List[st.SearchStrategy] = [st.floats(), st.lists(st.integers(), max_size=2)]
    if "b" not in (facet.field, facet.earlier):
        wrong.append(st.booleans())
    if "i" not in (facet.field, facet.earlier):
        wrong.append(st.integers())
    if facet.field != "s":
        wrong.append(st.text(min_size=1).filter(lambda text: text != "None"))
    domain = facet.domain
    if isinstance(domain, Integer):
        wrong.append(st.sampled_from([-(2**63) - 1, 2**63, 10**300]))
        if domain.low is not None:
            wrong.append(st.integers(max_value=domain.low - 1).filter(lambda n: n not in domain.special))
        if domain.high is not None:
            wrong.append(st.integers(min_value=domain.high + 1))
    if isinstance(domain, Choice):
        wrong.append(st.text(min_size=1).filter(lambda word: word not in (*domain.words, *domain.also, "None")))
    if isinstance(domain, Path):
        wrong.extend([st.just("a\0b"), st.just("x" * 5000), st.just("/tmp/\ud800")])
    return st.one_of(wrong)


#: Statuses of options whose value is not looked at.
UNSEEN = ("unsupported", "removed", "ignored", "idle")


def names_on(surface: str, edition: str) -> List[str]:
    return [name for name, option in OPTIONS.items() if (surface, edition) in option.facets]


def configurations(surface: str, edition: str) -> st.SearchStrategy:
    """Values of several options, each inside its domain."""
    return st.fixed_dictionaries(
        {}, optional={name: inside(name, OPTIONS[name].facets[surface, edition]) for name in names_on(surface, edition)}
    )


PLACES = [("session", "legacy"), ("session", "current"), ("runconfig", "legacy"), ("runconfig", "current")]
