"""Option values that make no difference to what cases of `partition` and `precision` ask, one by one.

What an option is about stands once in a table, with the requirement that says so, and for which of the two methods
that makes no difference; its values are those that it is declared to have where it is documented, its default aside.
What documents relate to a question, or are silent about, is left out, with the reason. :mod:`dealing` lays as many of
them beside a question as leave each other alone.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from npu_conformance.strength.laws import relations

__all__ = ["IDLE", "LEFT_OUT", "Given", "Idle", "beside", "beside_of", "given", "laid", "rows"]

_Place = Tuple[str, str]
_BOTH = ("partition", "precision")
_PLACED, _TYPED = _BOTH[:1], _BOTH[1:]

#: Where a document lists options: none lists those of NPURunConfig's earlier age.
_PLACES: Tuple[_Place, ...] = (("session", "legacy"), ("session", "current"), ("runconfig", "current"))


class Given(NamedTuple):
    """What is laid beside a question as one.

    Attributes:
        name: as reports show it.
        group: the row of the table; of one row one value is laid.
        places: the surfaces, with the edition, that have it.
    """

    name: str
    group: str
    methods: Tuple[str, ...]
    places: FrozenSet[_Place]
    values: Mapping[str, Any]
    env: Mapping[str, str]
    files: Mapping[str, Any]


class Idle(NamedTuple):
    """An option or variable that makes no difference to some methods.

    Attributes:
        source: the requirement or reading that says what it is about.
        several: what is given instead of its declared values: values, variables and files at once.
        places: where; none for all places where a document lists it.
    """

    name: str
    source: str
    methods: Tuple[str, ...] = _BOTH
    several: Tuple[Mapping[str, Mapping[str, Any]], ...] = ()
    places: Tuple[_Place, ...] = ()


def _numbers(name: str, *values: Any) -> Tuple[Mapping[str, Mapping[str, Any]], ...]:
    return tuple({"values": {name: value}} for value in values)


def _variable(name: str, *values: str) -> Tuple[Mapping[str, Mapping[str, Any]], ...]:
    """A variable with one of these values; of a path there is the directory."""
    return tuple({"env": {name: one}, "files": {f"{one}/": ""} if one[0] == "/" else {}} for one in values)


def _file(name: str, *texts: str) -> Tuple[Mapping[str, Mapping[str, Any]], ...]:
    """An option that names a file with one of these texts."""
    paths = [f"/idle/{name}_{number}.cfg" for number in range(len(texts))]
    return tuple({"values": {name: path}, "files": {path: text}} for path, text in zip(paths, texts))


def _object(name: str, kind: str, **arguments: Any) -> Mapping[str, Any]:
    return {name: {"class": kind, "arguments": arguments}}


_FOLDER = {"/idle/out/": ""}
_PROFILE = json.dumps({"output": "/idle/out", "task_trace": "on", "aicpu": "on"})
_METRICS = json.dumps({"output": "/idle/out", "task_trace": "on", "aic_metrics": "PipeUtilization"})
_SESSIONS, _RUNCONFIG = _PLACES[:2], _PLACES[2:]

IDLE: Tuple[Idle, ...] = (
    Idle("deterministic", "runconfig.deterministic.1"),
    Idle("session_device_id", "session.session_device_id.effect", several=_numbers("session_device_id", 1, 3)),
    Idle(
        "local_rank_id", "session.local_rank_id.main_dedup",
        several=({"values": {"local_rank_id": 0, "local_device_list": "0,1"}},),
    ),
    # memory and shapes
    Idle(
        "memory_config", "runconfig.memory_config.class",
        several=({"values": _object("memory_config", "MemoryConfig")},),
    ),
    Idle("external_weight", "runconfig.external_weight.numerics"),
    Idle(
        "input_fusion_size", "runconfig.input_fusion_size.le_fused",
        several=_numbers("input_fusion_size", 0, 25600, 33554432),
    ),
    Idle(
        "graph_memory_max_size", "session.graph_memory_max_size.meaning",
        several=_numbers("graph_memory_max_size", str(20 * 1024**3), "16 * 1024 * 1024 * 1024"),
        places=_PLACES[:1],
    ),
    Idle(
        "variable_memory_max_size", "session.variable_memory_max_size.meaning",
        several=_numbers("variable_memory_max_size", str(4 * 1024**3)), places=_PLACES[:1],
    ),
    Idle("ac_parallel_enable", "runconfig.ac_parallel_enable.1"),
    Idle("compile_dynamic_mode", "runconfig.compile_dynamic_mode.true", _PLACED),
    Idle(
        "dynamic_graph_execute_mode", "session.dynamic_graph_execute_mode.only_when_dynamic",
        several=_numbers("dynamic_graph_execute_mode", "lazy_recompile", "dynamic_execute"),
    ),
    Idle("jit_compile", "runconfig.jit_compile.auto.static"),
    # precision, of which where operators are computed does not ask
    Idle("precision_mode", "precision.s.allow_mix", _PLACED),
    Idle("precision_mode_v2", "precision.v2.mixed_float16", _PLACED),
    Idle(
        "modify_mixlist", "precision.mixlist.context", _PLACED,
        tuple(
            {"values": {"precision_mode": "allow_mix_precision", **one["values"]}, "files": one["files"]}
            for one in _file("modify_mixlist", '{"black-list": {"to-add": ["MatMulV2", "Relu"]}}')
        ),
    ),
    Idle(
        "customize_dtypes", "precision.customize.override", _PLACED,
        _file("customize_dtypes", "OpType::Relu:InputDtype:float16,OutputDtype:float16\n"), _RUNCONFIG,
    ),
    Idle(
        "op_precision_mode", "session.op_precision_mode.effect", _PLACED,
        _file("op_precision_mode", "MatMulV2=high_precision\n"),
    ),
    Idle("op_select_implmode", "session.op_select_implmode.high_precision", _PLACED),
    Idle(
        "optypelist_for_implmode", "session.optypelist_for_implmode.applies_to_list", _PLACED,
        ({"values": {"op_select_implmode": "high_performance", "optypelist_for_implmode": "Pooling,SoftmaxV2"}},),
    ),
    # performance
    Idle("hcom_parallel", "session.hcom_parallel.true"),
    Idle("is_tailing_optimization", "session.is_tailing_optimization.true"),
    Idle(
        "stream_max_parallel_num", "session.stream_max_parallel_num.effect",
        several=_numbers("stream_max_parallel_num", "DNN_VM_TF:10,DNN_V100:2"), places=_PLACES[:1],
    ),
    Idle(
        "stream_max_parallel_num in the later edition", "runconfig.stream_max_parallel_num.effect",
        several=_numbers("stream_max_parallel_num", "DNN_VM_AICPU:10,AIcoreEngine:1"), places=_PLACES[1:],
    ),
    Idle(
        "fusion_switch_file", "session.fusion_switch_file.selective_off", _BOTH,
        _file("fusion_switch_file", '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}'),
    ),
    Idle("buffer_optimize", "session.buffer_optimize.off"),
    Idle("enable_small_channel", "session.enable_small_channel.threshold"),
    Idle("variable_format_optimize", "session.variable_format_optimize.numerics"),
    Idle(
        "graph_max_parallel_model_num", "runconfig.graph_max_parallel_model_num.effect",
        several=_numbers("graph_max_parallel_model_num", 4),
    ),
    Idle(
        "enable_scope_fusion_passes", "session.enable_scope_fusion_passes.grammar",  # no graph has such scopes
        several=_numbers("enable_scope_fusion_passes", "ScopeClipBoxesPass", "ScopeLayerNormPass,ScopeClipBoxesPass"),
    ),
    # compilation, and what is written down
    Idle("op_compiler_cache_mode", "session.op_compiler_cache_mode.enable"),
    Idle(
        "op_compiler_cache_dir", "session.op_compiler_cache_dir.created",
        several=({"values": {"op_compiler_cache_mode": "enable", "op_compiler_cache_dir": "idle/cache"}},),
    ),
    Idle("op_debug_level", "session.op_debug_level.1.files"),
    Idle(
        "op_debug_config", "runconfig.op_debug_config.ccec_g",
        several=_file("op_debug_config", "op_debug_config = ccec_g\n", "op_debug_config = oom\n"), places=_RUNCONFIG,
    ),
    Idle("debug_dir", "session.debug_dir.contents", several=_numbers("debug_dir", "idle/debug")),
    Idle("export_compile_stat", "runconfig.export_compile_stat.0"),
    Idle(
        "enable_dump", "session.enable_dump.true",
        several=tuple(
            {"values": {"enable_dump": True, "dump_path": "/idle/out", "dump_mode": mode}, "files": _FOLDER}
            for mode in ("input", "output", "all")
        ),
        places=_SESSIONS,
    ),
    Idle(
        "dump_config", "runconfig.dump_config.class",
        several=(
            {"values": _object("dump_config", "DumpConfig", enable_dump=True, dump_path="/idle/out"), "files": _FOLDER},
        ),
    ),
    Idle("quant_dumpable", "runconfig.quant_dumpable.needs_dump"),
    Idle("enable_exception_dump", "session.enable_exception_dump.0"),
    Idle(
        "profiling_mode", "session.profiling_mode.true",
        several=tuple(
            {"values": {"profiling_mode": True, "profiling_options": text}, "files": _FOLDER}
            for text in (_PROFILE, _METRICS)
        ),
        places=_SESSIONS,
    ),
    Idle(
        "profiling_config", "runconfig.profiling_config.class",
        several=(
            {
                "values": _object(
                    "profiling_config", "ProfilingConfig", enable_profiling=True, profiling_options=_PROFILE
                ),
                "files": _FOLDER,
            },
        ),
    ),
    Idle(
        "auto_tune_mode", "session.auto_tune_mode.effect", several=_numbers("auto_tune_mode", "GA", "RL,GA"),
        places=_PLACES[:1],
    ),
    Idle(
        "aoe_mode", "runconfig.aoe_mode.2",
        several=tuple(
            {"values": {"aoe_mode": mode, "work_path": "/idle/out"}, "files": _FOLDER} for mode in ("1", "2")
        ),
        places=_RUNCONFIG,
    ),
    # timeouts
    Idle(
        "hccl_timeout", "session.hccl_timeout.unit", several=_numbers("hccl_timeout", 136, 1800),
    ),
    Idle("op_wait_timeout", "session.op_wait_timeout.unit", several=_numbers("op_wait_timeout", 77, 3600)),
    Idle(
        "op_execute_timeout", "runconfig.op_execute_timeout.effect", several=_numbers("op_execute_timeout", 90),
        places=_RUNCONFIG,
    ),
    Idle(
        "stream_sync_timeout", "runconfig.stream_sync_timeout.effect", several=_numbers("stream_sync_timeout", 2000000),
    ),
    Idle("event_sync_timeout", "runconfig.event_sync_timeout.effect", several=_numbers("event_sync_timeout", 60000)),
    # variables
    Idle("ASCEND_DEVICE_ID", "env.ASCEND_DEVICE_ID.lower", several=_variable("ASCEND_DEVICE_ID", "2")),
    Idle("ASCEND_WORK_PATH", "env.ASCEND_WORK_PATH.uses", several=_variable("ASCEND_WORK_PATH", "/idle/work")),
    Idle("ASCEND_CACHE_PATH", "env.ASCEND_CACHE_PATH.subdir", several=_variable("ASCEND_CACHE_PATH", "/idle/kernels")),
    Idle(
        "ASCEND_MAX_OP_CACHE_SIZE", "env.ASCEND_MAX_OP_CACHE_SIZE.effect",
        several=_variable("ASCEND_MAX_OP_CACHE_SIZE", "-1", "200"),
    ),
    Idle(
        "ASCEND_REMAIN_CACHE_SIZE_RATIO", "env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect",
        several=_variable("ASCEND_REMAIN_CACHE_SIZE_RATIO", "90"),
    ),
    Idle("HCCL_EXEC_TIMEOUT", "env.HCCL_EXEC_TIMEOUT.fallback", several=_variable("HCCL_EXEC_TIMEOUT", "600")),
    Idle("NPU_COLLECT_PATH", "env.NPU_COLLECT_PATH.uses", several=_variable("NPU_COLLECT_PATH", "/idle/collect")),
    Idle("HOME", "env.HOME.default_cache", several=_variable("HOME", "/idle/home")),
    Idle("AOE_MODE", "env.AOE_MODE.fallback", several=_variable("AOE_MODE", "2"), places=_RUNCONFIG),
)  # fmt: skip

#: What documents relate to where operators are, or to their dtypes, or are silent about.
LEFT_OUT: Mapping[str, str] = {
    "graph_run_mode": "a condition of its own: what is given beside it may be of one mode",
    "mix_compile_mode": "decides where operators are",
    "use_off_line": "decides where operators are",
    "in_out_pair": "decides where operators are",
    "in_out_pair_flag": "decides where operators are",
    "variable_placement": "decides where variables are",
    "iterations_per_loop": "is refused beside mixed computing, and needs preprocessing on the device",
    "enable_data_pre_proc": "decides where data are read",
    "input_shape": "names inputs of the graph",
    "dynamic_dims": "is of inputs that input_shape names",
    "dynamic_node_type": "is of inputs that input_shape names",
    "dynamic_input": "keeps the operators outside of its ranges on the host",
    "dynamic_inputs_shape_range": "means nothing without dynamic_input",
    "distribute": "a strategy builds the graph anew",
    "distribute_config": "no document says what it does",
    "device_type": "no document says what it does",
    "enable_reduce_precision": "no document says what it does",
    "enable_dump_debug": "dumps of overflow: no document says what it does beside dumps",
    "dump_debug_mode": "dumps of overflow: no document says what it does beside dumps",
    "experimental_config": "no document says what it holds",
    "aoe_config_file": "means nothing without tuning",
    "work_path": "given with aoe_mode",
    "dump_path": "given with enable_dump",
    "dump_mode": "given with enable_dump",
    "dump_step": "given with enable_dump, of which it leaves out steps",
    "profiling_options": "given with profiling_mode",
    "local_device_list": "given with local_rank_id",
}


# -- what there is ----------------------------------------------------------------------------------------------------


def rows() -> List[Idle]:
    """The rows of the table, and behind them one for every other option that is declared with a list of values.

    No document relates an option to where operators are before somebody says so: such an option is left out above.
    """
    from npu_reference.options.table import OPTIONS

    known = {row.name.partition(" ")[0] for row in IDLE} | set(LEFT_OUT)
    found = list(IDLE)
    for name, option in OPTIONS.items():
        surfaces = [place[0] for place in _PLACES if _listed(name, place) and _is_a_list(option.facets[place].domain)]
        if name not in known and surfaces:
            found.append(Idle(name, f"{surfaces[0]}.{name}.domain"))
    return found


@functools.lru_cache(maxsize=1)
def given() -> Mapping[str, Given]:
    """Everything that may be laid, by name."""
    found: Dict[str, Given] = {}
    for row in rows():
        for one in _of(row):
            found[one.name] = one
    return found


def _of(row: Idle) -> List[Given]:
    if not row.several:
        return _declared(row)
    found = []
    for parts in row.several:
        values, env, files = (parts.get(part, {}) for part in ("values", "env", "files"))
        places = [place for place in row.places or _PLACES if all(_listed(name, place) for name in values)]
        told = ", ".join(f"{name}={_shown(name, value)}" for name, value in [*values.items(), *env.items()])
        found.append(Given(f"beside {told}", row.name, row.methods, frozenset(places), values, env, files))
    return found


def _shown(name: str, value: Any) -> str:
    """A value in a word: of texts of options in JSON, and of objects, whether there is one."""
    text = value["class"] if isinstance(value, dict) else value
    text = text if isinstance(text, str) else json.dumps(text)
    return "…" if text.startswith("{") else text


def _facet(name: str, place: _Place) -> Any:
    from npu_reference.options.table import OPTIONS

    return OPTIONS[name].facet(*place)


def _listed(name: str, place: _Place) -> bool:
    """Whether a document lists an option there as one that has an effect."""
    facet = _facet(name, place)
    return facet is not None and facet.listed and facet.status in ("active", "deprecated", "experimental")


def _declared(row: Idle) -> List[Given]:
    """Every value that an option is declared to have somewhere, where that is not its default."""
    places: Dict[str, Tuple[Any, Set[_Place]]] = {}
    for place in row.places or _PLACES:
        if _listed(row.name, place):
            facet = _facet(row.name, place)
            for value in _values_of(facet.domain):
                if value != facet.default:
                    places.setdefault(_shown(row.name, value), (value, set()))[1].add(place)
    return [
        Given(f"beside {row.name}={text}", row.name, row.methods, frozenset(of), {row.name: value}, {}, {})
        for text, (value, of) in places.items()
    ]


def _is_a_list(domain: Any) -> bool:
    from npu_reference.options.domains import Choice, Integer

    return isinstance(domain, Choice) or (isinstance(domain, Integer) and None not in (domain.low, domain.high))


def _values_of(domain: Any) -> Sequence[Any]:
    from npu_reference.options.domains import Boolean, Choice, Integer

    if isinstance(domain, Boolean):
        return (False, True)
    if isinstance(domain, Choice):
        return domain.words
    assert isinstance(domain, Integer) and domain.low is not None and domain.high is not None, "a table has its values"
    return range(domain.low, domain.high + 1)


# -- what may stand beside what ---------------------------------------------------------------------------------------


class _Names(NamedTuple):
    """What is given somewhere, and what documents relate to it: sets of names as numbers, a bit for each."""

    given: int
    bears: int

    def alone(self, other: _Names) -> bool:
        """Whether no document relates one to the other, and neither gives what the other gives."""
        return not (self.given & other.given or (self.bears & other.given and other.bears & self.given))

    def joined(self, other: _Names) -> _Names:
        return _Names(self.given | other.given, self.bears | other.bears)


_BITS: Dict[str, int] = {}


def _mask(names: Iterable[str]) -> int:
    return sum(1 << _BITS.setdefault(name, len(_BITS)) for name in names)


def _bears(surface: str, values: Mapping[str, Any]) -> FrozenSet[str]:
    """What may be refused beside these: which of several values takes effect makes no difference here, either."""
    return frozenset(relations.conflicting(surface).names(values))


@functools.lru_cache(maxsize=None)
def _names_of(name: str, surface: str) -> _Names:
    one = given()[name]
    values = {**one.values, **one.env}
    return _Names(_mask(values), _mask(_bears(surface, values)))


@functools.lru_cache(maxsize=None)
def _at(method: str, place: _Place) -> Tuple[str, ...]:
    return tuple(one.name for one in given().values() if method in one.methods and place in one.places)


def beside(method: str, place: _Place, asked: Mapping[str, Any]) -> Tuple[str, ...]:
    """The names of what may be laid beside a question that gives these options and variables; each by itself."""
    return _beside(method, place, frozenset(asked), _bears(place[0], asked))


@functools.lru_cache(maxsize=None)
def _beside(method: str, place: _Place, asked: FrozenSet[str], bears: FrozenSet[str]) -> Tuple[str, ...]:
    names = _Names(_mask(asked), _mask(bears))
    return tuple(name for name in _at(method, place) if _names_of(name, place[0]).alone(names))


def laid(names: Sequence[str], surface: str) -> List[str]:
    """Of what may be laid all that may stand together, the first ones first: none is refused beside another."""
    chosen: List[str] = []
    together = _Names(0, 0)
    for name in names:
        one = _names_of(name, surface)
        if one.alone(together):
            chosen.append(name)
            together = together.joined(one)
    return chosen


def beside_of(names: Sequence[str], params: Mapping[str, Any]) -> Dict[str, Any]:
    """The parameters with what is laid beside them; what the surface they are on does not have is not."""
    found = dict(params)
    for one in (given()[name] for name in names):
        if (params["surface"], params["edition"]) in one.places:
            for part, more in (("values", one.values), ("env", one.env), ("files", one.files)):
                if more:
                    found[part] = {**more, **found.get(part, {})}
    return found
