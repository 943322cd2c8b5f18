"""Lawful backends that read, refuse or tell options otherwise, where the documents leave that open.

The helpers at the top are those of the other lists beside this one.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from faulty.answered import told_value
from faulty.asked import edited, facets, in_inference, is_about, plain, value_of, with_env
from faulty.making import REFERENCE, Answer, Ask, Params, broken

from npu_reference.errors import NpuError
from npu_reference.options.domains import Choice, Integer

__all__ = [
    "GRAPH_METHODS",
    "METHODS",
    "claims_less",
    "errors_of",
    "every",
    "ignores",
    "lawful",
    "refuses",
    "takes_default",
    "told_warning",
    "warned",
]

Values = Dict[str, Any]
Change = Callable[[Values], Values]
#: What of the values is left out because of an error: the names.
Which = Callable[[NpuError, Params, Values], Iterable[str]]
#: The option, file or node that is refused, or nothing.
Find = Callable[[Params, Values], Optional[str]]

GRAPH_METHODS = ("partition", "precision", "timeline", "compile", "run")
METHODS = ("options", *GRAPH_METHODS)


def lawful(area: str, name: str, sentence: str, fault: Callable[[Ask, Params], Answer], *methods: str) -> None:
    """Registers a backend that answers by `fault`, in every method that takes options unless some are named.

    Policy `adapter` asks for what one adapter does, not for what the documents say; it is answered as ever.
    """

    def answer(ask: Ask, params: Params) -> Answer:
        if params.get("policy") == "adapter":
            return dict(ask(params))
        return dict(fault(ask, params))

    answer.__name__ = name
    broken(area, sentence, *(methods or METHODS))(answer)


def every(params: Params, change: Change) -> Dict[str, Any]:
    """The request with its values changed, those of every variant and turn as they hold together."""
    base = dict(params.get("values") or {})
    shown = change(dict(base))
    found: Dict[str, Any] = {**params, "values": shown}
    if params.get("variants"):
        found["variants"] = {
            name: _difference(shown, change(_present({**base, **own}))) for name, own in params["variants"].items()
        }
    if params.get("turns"):
        merged, turns = base, []
        for turn in params["turns"]:
            merged = _present({**merged, **(turn.get("values") or {})})
            wanted = change(dict(merged))
            turns.append({**turn, "values": _difference(shown, wanted)})
            shown = wanted
        found["turns"] = turns
    return found


def _present(values: Mapping[str, Any]) -> Values:
    return {name: value for name, value in values.items() if value is not None}


def _difference(before: Values, after: Values) -> Values:
    """What has to be laid over values to make others of them."""
    found = {name: value for name, value in after.items() if name not in before or before[name] != value}
    found.update({name: None for name in before if name not in after})
    return found


@functools.lru_cache(maxsize=1 << 13)
def _resolved(request: str) -> Tuple[Tuple[NpuError, ...], Tuple[Tuple[str, str], ...]]:
    try:
        found = REFERENCE.resolve(json.loads(request))
    except NpuError as error:
        return (error,), ()
    return tuple(found.errors), tuple((one.option, one.code) for one in found.warnings)


def _resolution(params: Params, values: Values) -> Tuple[Tuple[NpuError, ...], Tuple[Tuple[str, str], ...]]:
    files = {
        name: text
        for name, text in (params.get("files") or {}).items()
        if isinstance(text, str) or (isinstance(text, dict) and "access" in text)
    }
    asked = {"surface": params["surface"], "edition": params["edition"], "values": values, "files": files}
    return _resolved(json.dumps({**asked, "env": dict(params.get("env") or {})}, sort_keys=True))


def errors_of(params: Params, values: Values) -> Tuple[NpuError, ...]:
    """All that the reference refuses of these values."""
    return _resolution(params, values)[0]


def warned(params: Params, values: Values) -> Tuple[Tuple[str, str], ...]:
    """Option and code of each warning that the reference gives of these values."""
    return _resolution(params, values)[1]


def told_warning(answer: Answer, option: str, code: str) -> None:
    """One more warning, unless it is there."""
    one = {"option": option, "code": code}
    if one not in answer["warnings"]:
        answer["warnings"] = [*answer["warnings"], one]


def ignores(
    area: str, name: str, sentence: str, which: Which, code: str = "no_effect", told_as_given: bool = False
) -> None:
    """Registers a backend that leaves values out, with a warning, which the reference refuses.

    With `told_as_given` they are told as they were given: nothing asks for what they would say.
    """

    def fault(ask: Ask, params: Params) -> Answer:
        gone: Dict[str, Any] = {}

        def change(values: Values) -> Values:
            names = {one for error in errors_of(params, values) for one in which(error, params, values)} & set(values)
            gone.update({one: plain(values[one]) for one in values if one in names})
            return {one: value for one, value in values.items() if one not in names}

        answer = ask(every(params, change))
        if "effective" in answer:
            for one, value in gone.items():
                told_warning(answer, one, code)
                if told_as_given:
                    answer["effective"][one] = {"value": value, "origin": "given"}
        return answer

    lawful(area, name, sentence, fault)


def refuses(area: str, name: str, sentence: str, code: str, find: Find, methods: Sequence[str] = METHODS) -> None:
    """Registers a backend that refuses what the reference takes, in the request, a variant or a turn."""

    def refusal(params: Params, values: Values) -> Optional[NpuError]:
        if errors_of(params, values):
            return None  # it is refused as it is
        subject = find(params, values)
        return NpuError(code, subject, "this is not supported here") if subject else None

    def fault(ask: Ask, params: Params) -> Answer:
        base = dict(params.get("values") or {})
        turns = list(params.get("turns") or [])
        if len(turns) > 1:
            return _refused_turns(ask, params, refusal)
        if turns:
            base = _present({**base, **(turns[0].get("values") or {})})
        answer = ask(params)
        error = refusal(params, base)
        if error is not None:
            raise error
        for variant, own in (params.get("variants") or {}).items():
            error = refusal(params, _present({**base, **own}))
            if error is not None:
                answer["variants"][variant] = {"rejected": error.to_json()}
        return answer

    lawful(area, name, sentence, fault, *methods)


def _refused_turns(ask: Ask, params: Params, refusal: Callable[[Params, Values], Optional[NpuError]]) -> Answer:
    """The turns of a request, of which some are refused: these are asked with a value that the reference refuses."""
    merged, turns, errors = dict(params.get("values") or {}), [], {}
    for place, turn in enumerate(params["turns"]):
        own = dict(turn.get("values") or {})
        merged = _present({**merged, **own})
        error = refusal(params, merged)
        if error is not None:
            errors[place] = error
        turns.append({**turn, "values": {**own, "graph_run_mode": "none" if error else merged.get("graph_run_mode")}})
    if not errors:
        return dict(ask(params))
    answer = ask({**params, "turns": turns})
    for place, error in errors.items():
        answer["turns"][place] = {**answer["turns"][place], "rejected": error.to_json()}
    return answer


def takes_default(
    area: str,
    name: str,
    sentence: str,
    chosen: Mapping[str, Any],
    when: Callable[[Params, Values], bool],
) -> None:
    """Registers a backend with defaults of its own, by option, for those that are not given where `when` holds."""

    def fault(ask: Ask, params: Params) -> Answer:
        def added(values: Values) -> Values:
            if not when(params, values):
                return {}
            known, told = facets(params), {"values": values}
            return {one: value for one, value in chosen.items() if one in known and value_of(told, one) is None}

        def change(values: Values) -> Values:
            return {**values, **added(values)}

        answer = ask(every(params, change))
        if "effective" in answer:
            own = added(dict(params["values"]))
            for one in own:
                if one in answer["effective"]:
                    answer["effective"][one]["origin"] = "default"
            answer["warnings"] = [warning for warning in answer["warnings"] if warning["option"] not in own]
            answer["notes"] = [note for note in answer.get("notes", []) if note["option"] not in own]
        return answer

    lawful(area, name, sentence, fault)


def claims_less(
    area: str, name: str, sentence: str, features: Sequence[str], change: Callable[[Answer], Any], *methods: str
) -> None:
    """Registers a backend that does not claim some features, nor answers what they stand for."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if "capabilities" in answer:
            told = answer["capabilities"]
            told["features"] = [one for one in told["features"] if one not in features]
        else:
            change(answer)
        return answer

    lawful(area, name, sentence, fault, "hello", *methods)


def _tells(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """Registers a backend that tells of options otherwise."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        change(answer, params)
        return answer

    lawful("options", name, sentence, fault, "options")


def _warned_find(*codes: str, beside: Callable[[Params, str], bool] = lambda params, option: True) -> Find:
    """The first option of which the reference warns by one of these codes."""

    def find(params: Params, values: Values) -> Optional[str]:
        found = (option for option, code in warned(params, values) if code in codes and beside(params, option))
        return next(found, None)

    return find


# What lies outside of the documented values


#: The documents say "must" of what these take, so nothing is made of other values.
_BINDING = ("graph_max_parallel_model_num", "precision_mode")


def _domain(params: Params, name: str) -> Any:
    found = facets(params).get(name)
    return found.domain if found is not None else None


def _is_listed(domain: Any) -> bool:
    """Whether an option's values are listed one by one."""
    if isinstance(domain, Choice):
        return True
    if not isinstance(domain, Integer) or domain.low is None or domain.high is None:
        return False
    return domain.high - domain.low < 6


def _is_bound(name: str, values: Values) -> bool:
    """Whether the documents say "must" or "cannot" of an option beside these values."""
    told = {"values": values}
    if name == "iterations_per_loop":
        return value_of(told, "mix_compile_mode") is True
    both = value_of(told, "precision_mode") is not None and value_of(told, "precision_mode_v2") is not None
    return both and name in ("precision_mode", "precision_mode_v2")


def _unlisted(error: NpuError, params: Params, values: Values) -> List[str]:
    listed = error.code == "OPTION_VALUE" and _is_listed(_domain(params, error.subject))
    return [error.subject] if listed and not _is_bound(error.subject, values) else []


ignores(
    "options",
    "an_unlisted_value_is_ignored_with_a_warning",
    "003 L13 'Values are as follows': no document says what another value does",
    _unlisted,
)


def _far(error: NpuError, params: Params, values: Values) -> List[str]:
    domain = _domain(params, error.subject)
    ranged = isinstance(domain, Integer) and not _is_listed(domain)
    bound = error.subject in _BINDING or _is_bound(error.subject, values)
    return [error.subject] if error.code == "OPTION_VALUE" and ranged and not bound else []


ignores(
    "options",
    "a_number_outside_its_range_is_ignored_with_a_warning",
    "003 L896 'the value range is (0, 17340]': no document says what a number outside of a range does",
    _far,
)


def _mistyped(error: NpuError, params: Params, values: Values) -> List[str]:
    bound = error.subject in _BINDING or _is_bound(error.subject, values)
    return [error.subject] if error.code == "OPTION_TYPE" and not bound else []


ignores(
    "options",
    "a_value_of_another_type_is_ignored_with_a_warning",
    "002 L24 parameter_map[...].b: no document says what a value in another field or of another type does",
    _mistyped,
)


def _is_adjusted(params: Params, option: str) -> bool:
    return option == "input_fusion_size"


refuses(
    "options",
    "an_input_fusion_size_outside_its_range_is_refused",
    "003 L93 'the minimum value is 0 byte, the maximum value is 33554432 bytes': it does not say that others are moved",
    "OPTION_VALUE",
    _warned_find("adjusted", beside=_is_adjusted),
)


def _nearer_timeout(params: Params, values: Values) -> Values:
    told = plain(values.get("hccl_timeout"))
    if not is_about(params, edition="current") or not isinstance(told, int) or isinstance(told, bool):
        return values
    nearest = 68 if told < 1 else min(told, 17340)
    if nearest == told:
        return values
    return {**values, "hccl_timeout": edited(values["hccl_timeout"], lambda value: nearest)}


def _moved_timeout(ask: Ask, params: Params) -> Answer:
    found = every(params, lambda values: _nearer_timeout(params, values))
    answer = ask(found)
    if "effective" in answer and found["values"] != dict(params["values"]):
        told_warning(answer, "hccl_timeout", "adjusted")
    return answer


lawful(
    "options",
    "an_hccl_timeout_outside_its_range_is_brought_to_the_nearer_end",
    "003 L896 'the value range is (0, 17340]', L898 'smaller than 68, 68s is used': no word of an error",
    _moved_timeout,
)


# Names


#: Arguments of TensorFlow's own RunConfig, which samples of 000 and 004 give.
_OF_TENSORFLOW = (
    "model_dir", "session_config", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
    "save_checkpoints_secs", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
    "train_distribute", "eval_distribute", "device_fn", "protocol",
)  # fmt: skip


def _of_run_config(params: Params, option: str) -> bool:
    return is_about(params, "runconfig") and option not in _OF_TENSORFLOW


refuses(
    "options",
    "run_config_refuses_an_argument_that_it_does_not_have",
    "003 lists the options of NPURunConfig and says nothing of others: Python refuses an unknown keyword",
    "OPTION_VALUE",
    _warned_find("unknown", "not_on_surface", "not_in_edition", beside=_of_run_config),
)


def _of_session(params: Params, option: str) -> bool:
    return is_about(params, "session")


refuses(
    "options",
    "a_session_refuses_a_key_that_no_document_has",
    "002 L5 calls keys that it does not list reserved or for other products: it does not say that they are taken",
    "OPTION_VALUE",
    _warned_find("unknown", beside=_of_session),
)


refuses(
    "options",
    "an_option_that_is_not_supported_is_refused",
    "003 L429 'Not supported in the current version', 002 L150: what becomes of one that is given is not said",
    "OPTION_VALUE",
    _warned_find("unsupported", "removed"),
)


# Warnings


def _silent(answer: Answer, params: Params) -> None:
    answer["warnings"] = []


_tells("nothing_is_warned_of", "no document says of any option that a message warns of it", _silent)


def _warns_of_all(answer: Answer, params: Params) -> None:
    for name, value in params["values"].items():
        if plain(value) is not None and name in answer["effective"]:
            told_warning(answer, name, "advice")


_tells(
    "every_option_that_is_given_is_warned_of",
    "no document says that a message stays away where an option is set",
    _warns_of_all,
)


def _warns_of_notes(answer: Answer, params: Params) -> None:
    for note in list(answer.get("notes", [])):
        told_warning(answer, note["option"], "advice")


_tells(
    "what_the_documents_only_advise_is_warned_of",
    "003 L598 'you are advised to set this option to False', L349 'is recommended': no word of a message, nor of none",
    _warns_of_notes,
)

_OTHER_CODES = {
    "unknown": "no_effect",
    "reserved": "undocumented",
    "not_on_surface": "unknown",
    "not_in_edition": "unknown",
    "unsupported": "no_effect",
    "removed": "unknown",
    "deprecated": "advice",
    "experimental": "advice",
    "no_effect": "overridden",
    "part_ignored": "no_effect",
    "undocumented": "advice",
    "adjusted": "overridden",
    "overridden": "no_effect",
    "incomplete": "advice",
    "advice": "incomplete",
    "environment": "no_effect",
    "file_ineffective": "part_ignored",
    "inference_only": "advice",
    "training_only": "advice",
}


def _recoded(answer: Answer, params: Params) -> None:
    answer["warnings"] = [{**one, "code": _OTHER_CODES.get(one["code"], one["code"])} for one in answer["warnings"]]


_tells("warnings_have_other_codes", "the documents have no codes of warnings", _recoded)


def _warned_elsewhere(answer: Answer, params: Params) -> None:
    answer["warnings"] = list(reversed(answer["warnings"]))
    answer["effective"] = dict(reversed(list(answer["effective"].items())))
    answer["notes"] = list(reversed(answer.get("notes", [])))


_tells(
    "options_and_warnings_come_in_another_order",
    "003 and 002 are tables of options whose order means nothing",
    _warned_elsewhere,
)


# How values are told


def _without_origin(answer: Answer, params: Params) -> None:
    answer["effective"] = {name: {"value": one["value"]} for name, one in answer["effective"].items()}


_tells("where_a_value_comes_from_is_not_told", "no document has the word for where a value comes from", _without_origin)


def _without_unset(answer: Answer, params: Params) -> None:
    answer["effective"] = {name: one for name, one in answer["effective"].items() if one["value"] is not None}


_tells(
    "an_option_without_a_value_is_left_out",
    "003 L1010 'this option is left empty by default': how that is told is not said",
    _without_unset,
)


def _only_values(answer: Answer) -> None:
    for key in ("meaning", "directives", "notes"):
        answer.pop(key, None)


claims_less(
    "options",
    "meaning_directives_and_advice_are_not_claimed",
    "the documents say what options do, not that anything tells it",
    ("meaning", "directives", "advice"),
    _only_values,
    "options",
)


def _current_directories(answer: Answer) -> List[str]:
    return [name for name, one in answer["effective"].items() if one["value"] == "." and one["origin"] == "default"]


def _dot_slash(answer: Answer, params: Params) -> None:
    for name in _current_directories(answer):
        told_value(answer, name, "./")


_tells(
    "the_current_directory_is_told_with_a_slash",
    "003 L288 'the default storage path (current script execution path)' is a place, not a text",
    _dot_slash,
)


def _no_directory(answer: Answer, params: Params) -> None:
    for name in _current_directories(answer):
        told_value(answer, name, None)


_tells(
    "the_current_directory_is_told_as_no_value",
    "003 L288, L759 'by default, the files are generated in the current directory': that needs no value",
    _no_directory,
)


def _unexpanded(answer: Answer, params: Params) -> None:
    home, told = params.get("env", {}).get("HOME"), answer["effective"].get("op_compiler_cache_dir")
    if home and told and told["value"] == home.rstrip("/") + "/atc_data" and told["origin"] != "given":
        told_value(answer, "op_compiler_cache_dir", "$HOME/atc_data", "default")


_tells(
    "the_default_cache_directory_is_told_as_the_documents_write_it",
    "003 L853 'the default path ($HOME/atc_data)', 002 L564",
    _unexpanded,
)


def _numbers(answer: Answer, params: Params) -> None:
    for name in ("graph_memory_max_size", "variable_memory_max_size"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str) and told.isdigit():
            told_value(answer, name, int(told))


_tells(
    "memory_sizes_are_told_as_numbers",
    "002 L221 'unit: byte': the size is a number, str() of it is how the sample writes it",
    _numbers,
)


def _normal_lists(answer: Answer, params: Params) -> None:
    for name in ("optypelist_for_implmode", "enable_scope_fusion_passes", "auto_tune_mode", "stream_max_parallel_num"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str):
            parts = [part.strip() for part in told.split(",")]
            told_value(answer, name, ",".join(sorted(dict.fromkeys(parts))))
    for name in ("dynamic_inputs_shape_range", "in_out_pair"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str):
            told_value(answer, name, re.sub(r"\s+", "", told))


_tells(
    "lists_are_told_without_blanks_and_in_the_order_of_names",
    "003 L635 'separate the names by commas', L1070: blanks and the order of such lists mean nothing",
    _normal_lists,
)


def _expanded_steps(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("dump_step", {}).get("value")
    if not isinstance(told, str) or not re.match(r"\d{1,4}(-\d{1,4})?(\|\d{1,4}(-\d{1,4})?)*\Z", told):
        return
    steps = set()
    for part in told.split("|"):
        low, _, high = part.partition("-")
        steps |= set(range(int(low), int(high or low) + 1))
    told_value(answer, "dump_step", "|".join(str(step) for step in sorted(steps)))


_tells(
    "dumped_steps_are_told_one_by_one",
    "002 L126: '|' separates iterations, '-' means a range of them; both name the same iterations",
    _expanded_steps,
)


# Defaults


def _is_current(params: Params, values: Values) -> bool:
    return is_about(params, edition="current")


takes_default(
    "options",
    "gradients_are_not_updated_in_parallel_by_default",
    "003 L593 gives hcom_parallel no default; its example is none",
    {"hcom_parallel": False},
    _is_current,
)


def _disabled(answer: Answer, params: Params) -> None:
    for name, value in (("op_debug_level", 0), ("variable_format_optimize", False)):
        told = answer["effective"].get(name)
        if told is not None and told["value"] is None:
            told_value(answer, name, value)


_tells(
    "what_is_left_empty_is_told_as_disabled",
    "003 L1010, L1050 'left empty by default, indicating that the configuration is disabled', 0 and False being that",
    _disabled,
)


def _fast_kernels(params: Params, values: Values) -> bool:
    return is_about(params, edition="current") and value_of({"values": values}, "op_precision_mode") is None


takes_default(
    "options",
    "kernels_are_fast_by_default",
    "003 L1061 'high_performance (default)' beside L1063 'left empty by default'",
    {"op_select_implmode": "high_performance"},
    _fast_kernels,
)


def _is_legacy(params: Params, values: Values) -> bool:
    return is_about(params, edition="legacy")


takes_default(
    "options",
    "timeouts_of_the_older_documents_have_defaults",
    "002 L803, L813 give hccl_timeout and op_wait_timeout no default",
    {"hccl_timeout": 1836, "op_wait_timeout": 120},
    _is_legacy,
)

takes_default(
    "options",
    "an_operator_runs_two_minutes_at_most_by_default",
    "003 L920 gives op_execute_timeout no default",
    {"op_execute_timeout": 124},
    _is_current,
)


def _first_device(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("session_device_id")
    if told is not None and told["value"] is None:
        told_value(answer, "session_device_id", 0, "default")


_tells(
    "the_first_device_is_the_default",
    "003 L24, 002 L661 give session_device_id no default where ASCEND_DEVICE_ID is not set either",
    _first_device,
)


def _one_iteration(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("iterations_per_loop")
    if told is not None and told["value"] is None:
        told_value(answer, "iterations_per_loop", 1, "default")


_tells(
    "a_session_of_the_older_documents_has_one_iteration_a_loop",
    "002 L41 gives iterations_per_loop no default",
    _one_iteration,
)


# Values that real adapters take and no document lists


def _is_no_path(params: Params, option: str) -> bool:
    domain = _domain(params, option)
    return value_of(params, option) != "None" and type(domain).__name__ != "Path"


refuses(
    "options",
    "a_value_that_no_document_lists_is_refused",
    "003 L1091 'possible values are', L654: the documents list values, and say nothing of what adapters take besides",
    "OPTION_VALUE",
    _warned_find("undocumented", beside=_is_no_path),
)


def _digits(params: Params, values: Values) -> Values:
    """Numbers as the texts of digits that these options take."""
    if not is_about(params, "runconfig"):
        return values
    known, found = facets(params), dict(values)
    for name, value in values.items():
        domain = known[name].domain if name in known else None
        number = isinstance(value, int) and not isinstance(value, bool)
        if number and isinstance(domain, Choice) and str(value) in domain.words:
            found[name] = str(value)
    return found


def _takes_numbers(ask: Ask, params: Params) -> Answer:
    return ask(every(params, lambda values: _digits(params, values)))


lawful(
    "options",
    "a_number_will_do_for_a_text_of_digits",
    '003 L120 ac_parallel_enable="1", L755 aoe_mode="2": that a number is refused is not said',
    _takes_numbers,
)


def _bits(params: Params, values: Values) -> Values:
    """Truth values as 0 and 1, where an option takes these."""
    if not is_about(params, "runconfig"):
        return values
    known, found = facets(params), dict(values)
    for name, value in values.items():
        domain = known[name].domain if name in known else None
        if isinstance(value, bool) and isinstance(domain, Integer) and _is_listed(domain):
            found[name] = int(value)
    return found


def _takes_bits(ask: Ask, params: Params) -> Answer:
    return ask(every(params, lambda values: _bits(params, values)))


lawful(
    "options",
    "a_truth_value_will_do_for_0_and_1",
    "003 L52 '0 (default)', '1': in Python True is the number 1, and no document refuses it",
    _takes_bits,
)


# Scenarios

#: Document 001 sets these without graph_run_mode, which is training.
_IN_ANY_MODE = ("in_out_pair", "in_out_pair_flag")


def _scenario_ignored(ask: Ask, params: Params) -> Answer:
    gone: Dict[str, None] = {}

    def change(values: Values) -> Values:
        if errors_of(params, values):
            return values  # what excludes each other does so in any scenario
        out = {
            option
            for option, code in warned(params, values)
            if code in ("training_only", "inference_only") and option in values and option not in _IN_ANY_MODE
        }
        out -= {"profiling_options"}  # a part of it is meant
        gone.update(dict.fromkeys(name for name in values if name in out))
        return {name: value for name, value in values.items() if name not in out}

    answer = ask(every(params, change))
    if "effective" in answer:
        for name in gone:
            told_warning(answer, name, "training_only" if in_inference(params) else "inference_only")
    return answer


lawful(
    "options",
    "an_option_has_no_effect_outside_of_its_scenario",
    "002 L13 'usage scenario', 003 L327 'applies only to online inference scenarios': elsewhere it is open",
    _scenario_ignored,
)


def _trains(params: Params, values: Values) -> Optional[str]:
    found = (option for option, code in warned(params, values) if code == "training_only" and option in values)
    return next((option for option in found if option != "profiling_options"), None)


refuses(
    "options",
    "an_option_of_training_is_refused_in_inference",
    "002 L13 'usage scenario: training': no word of what it does in online inference",
    "OPTION_CONFLICT",
    _trains,
)


def _forced_half(params: Params, values: Values) -> Optional[str]:
    told = ("precision_mode", "inference_only") in warned(params, values)
    return "precision_mode" if told and is_about(params, "runconfig") else None


refuses(
    "options",
    "run_config_refuses_force_fp16_in_training",
    "003 L327 'this parameter applies only to online inference scenarios'",
    "OPTION_CONFLICT",
    _forced_half,
)


# One option beside another


def _no_cluster(ask: Ask, params: Params) -> Answer:
    if "RANK_TABLE_FILE" in (params.get("env") or {}):
        return ask(params)
    return ask(with_env(params, lambda env: {name: text for name, text in env.items() if name != "RANK_SIZE"}))


lawful(
    "options",
    "RANK_SIZE_alone_makes_no_cluster",
    "003 L932 'in the cluster training scenario': the documents name no variable that makes one",
    _no_cluster,
    "options",
    "partition",
    "precision",
)


def _types_alone(error: NpuError, params: Params, values: Values) -> List[str]:
    alone = error.code == "OPTION_CONFLICT" and error.subject == "optypelist_for_implmode"
    return [error.subject] if alone else []


ignores(
    "options",
    "a_list_of_types_without_an_implementation_mode_is_taken",
    "003 L1072 'use this option in conjunction with op_select_implmode': no word of an error where it is alone",
    _types_alone,
    "incomplete",
    told_as_given=True,
)


def _mixlist_alone(error: NpuError, params: Params, values: Values) -> List[str]:
    alone = error.code == "OPTION_CONFLICT" and error.subject == "modify_mixlist"
    return [error.subject] if alone else []


ignores(
    "options",
    "a_mixlist_without_mixed_precision_is_taken_without_effect",
    "003 L386 'when mixed precision is enabled, you can use this option': no word of an error where it is not",
    _mixlist_alone,
    told_as_given=True,
)

_PROFILES = ("input_shape", "dynamic_dims", "dynamic_node_type")


def _takes_profiles(ask: Ask, params: Params) -> Answer:
    def mixed(values: Values) -> bool:
        profiles = any(value_of({"values": values}, name) is not None for name in ("input_shape", "dynamic_dims"))
        return is_about(params, "session") and profiles and value_of({"values": values}, "mix_compile_mode") is True

    def profiles_left_out(values: Values) -> Values:
        return {name: value for name, value in values.items() if not mixed(values) or name not in _PROFILES}

    if "graph" in params or not mixed(dict(params.get("values") or {})):
        return ask(every(params, profiles_left_out)) if "graph" in params else ask(params)
    errors = errors_of(params, dict(params["values"]))
    if not all(error.subject in _PROFILES and "mix_compile_mode is True" in error.reason for error in errors):
        return ask(params)  # it is refused for something else
    try:
        answer = ask(every(params, lambda values: {**values, "mix_compile_mode": False}))
    except NpuError:  # what needs mixed computing
        answer = ask(every(params, profiles_left_out))
    told_value(answer, "mix_compile_mode", True)
    return answer


lawful(
    "options",
    "profiles_are_taken_beside_mixed_computing",
    "002 L371 to L416 say nothing of mixed computing, 000 nothing of profiles",
    _takes_profiles,
)


def _generalised(error: NpuError, params: Params, values: Values) -> List[str]:
    dynamic = error.code == "OPTION_CONFLICT" and error.subject == "compile_dynamic_mode"
    return ["dynamic_input", "dynamic_graph_execute_mode", "dynamic_inputs_shape_range", *_PROFILES] if dynamic else []


ignores(
    "options",
    "compile_dynamic_mode_goes_before_other_ways_of_dynamic_shapes",
    "003 L125 'generalize all input shapes to -1': it says nothing of dynamic_input or dynamic_dims beside it",
    _generalised,
    "overridden",
    told_as_given=True,
)


def _profiles_given(params: Params, values: Values) -> bool:
    told = {"values": values}
    both = value_of(told, "input_shape") is not None and value_of(told, "dynamic_dims") is not None
    return is_about(params, "session") and in_inference(told) and both


takes_default(
    "options",
    "inputs_of_a_data_set_are_dynamic_by_default",
    "002 L406 gives dynamic_node_type no default, and does not say that it must be given",
    {"dynamic_node_type": 0},
    _profiles_given,
)


def _unknown_part(params: Params, values: Values) -> Optional[str]:
    names = ("optypelist_for_implmode", "enable_scope_fusion_passes")
    return next((option for option, code in warned(params, values) if code == "part_ignored" and option in names), None)


refuses(
    "options",
    "a_list_with_a_name_that_is_not_supported_is_refused",
    "003 L1070 'currently, Pooling, SoftmaxV2, LRN, and ROIAlign operators are supported', L635 'registered pattern'",
    "OPTION_VALUE",
    _unknown_part,
)

#: Document 003 calls these empty by default.
_MAY_BE_EMPTY = ("op_debug_level", "op_select_implmode", "optypelist_for_implmode", "variable_format_optimize")


def _empty(params: Params, values: Values) -> Optional[str]:
    known = facets(params)
    return next(
        (
            name
            for name, value in values.items()
            if plain(value) == "" and name in known and known[name].field == "s" and name not in _MAY_BE_EMPTY
        ),
        None,
    )


refuses(
    "options",
    "an_empty_text_is_refused",
    "the documents list the values of an option, or the form of its text; they do not say that an empty one is none",
    "OPTION_VALUE",
    _empty,
)


def _bad_variable(params: Params, values: Values) -> Optional[str]:
    return next((option for option, code in warned(params, values) if code == "environment"), None)


refuses(
    "options",
    "a_variable_with_a_value_that_cannot_be_is_refused",
    "003 L904, L834 name variables and do not say what a value does that cannot be",
    "OPTION_VALUE",
    _bad_variable,
)

_VARIABLES = ("AOE_MODE", "ASCEND_DEVICE_ID")


def _ignores_variables(ask: Ask, params: Params) -> Answer:
    errors = errors_of(params, dict(params.get("values") or {})) if params.get("env") else ()
    bad = [error.subject for error in errors if error.code == "OPTION_VALUE" and error.subject in _VARIABLES]
    if not bad:
        return ask(params)
    answer = ask(with_env(params, lambda env: {name: text for name, text in env.items() if name not in bad}))
    if "effective" in answer:
        for name in bad:
            told_warning(answer, name, "environment")
    return answer


lawful(
    "options",
    "a_variable_with_a_value_that_cannot_be_is_ignored_with_a_warning",
    "003 L24, L751 name ASCEND_DEVICE_ID and AOE_MODE and do not say what a value does that cannot be",
    _ignores_variables,
)


def _without_rank(params: Params, values: Values) -> Optional[str]:
    told = ("local_device_list", "incomplete") in warned(params, values)
    return "local_device_list" if told else None


refuses(
    "options",
    "devices_without_a_local_rank_are_refused",
    "003 L880 'used in conjunction with local_rank_id', 002 L651",
    "OPTION_CONFLICT",
    _without_rank,
)


def _unchecked_on_the_host(error: NpuError, params: Params, values: Values) -> List[str]:
    on_host = value_of({"values": values}, "use_off_line") is False and error.subject != "use_off_line"
    return [error.subject] if on_host and error.code in ("OPTION_TYPE", "OPTION_VALUE", "OPTION_SYNTAX") else []


ignores(
    "options",
    "nothing_else_is_checked_where_training_runs_on_the_host",
    "002 L20 'False: training runs on the CPU of the host': no word of what becomes of the options of the device",
    _unchecked_on_the_host,
)


def _off_line_with_others(params: Params, values: Values) -> Optional[str]:
    told = {"values": values}
    mixed = value_of(told, "use_off_line") is False and value_of(told, "mix_compile_mode") is True
    return "use_off_line" if mixed else None


refuses(
    "options",
    "mixed_computing_without_the_device_is_refused",
    "002 L17, L193: no document says what mix_compile_mode does beside use_off_line False",
    "OPTION_CONFLICT",
    _off_line_with_others,
)
