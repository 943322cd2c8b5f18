"""Mutants of in_out_pair: each breaks one ``in_out_pair.*`` requirement."""

from __future__ import annotations

from typing import Any, Callable, List, Set

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import (
    Answer,
    Params,
    ReferenceBackend,
    everything_on_host,
    script_text,
    to_device,
    to_host,
    with_pairs,
    with_values,
    without_notes,
)
from npu_reference.errors import NpuError

__all__: List[str] = []


def _flag(params: Params) -> Any:
    value = params["values"].get("in_out_pair_flag")
    return value.get("value") if isinstance(value, dict) else value


def _has_pair(params: Params) -> bool:
    return "in_out_pair" in params["values"]


def _named(params: Params) -> Set[str]:
    names: Set[str] = set()

    def collect(entries: List[List[List[str]]]) -> List[Any]:
        names.update(name for entry in entries for part in entry for name in part)
        return entries

    with_pairs(params, collect)
    return names


def _on_device(answer: Answer) -> Set[str]:
    return {name for geop in answer["geops"] for name in geop["nodes"]}


def _on_host(answer: Answer) -> Set[str]:
    return {entry["node"] for entry in answer["host"]}


# What a range holds


@mutant("range-without-its-middle", "in_out_pair.range_all")
class RangeWithoutItsMiddle(ReferenceBackend):
    """Takes the named operators alone for the range, and nothing between them."""

    def partition(self, params: Params) -> Answer:
        def single(entries: List[List[List[str]]]) -> List[Any]:
            return [[[name], [name]] for entry in entries for part in entry for name in part]

        return super().partition(with_pairs(params, single))


@mutant("range-without-its-ends", "in_out_pair.inclusive")
class RangeWithoutItsEnds(ReferenceBackend):
    """Leaves the named first and last operators out of the range."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        named = _named(params)
        if _flag(params) is False:
            return to_device(answer, named & _on_host(answer))
        return to_host(answer, named)


@mutant("range-and-one-more", "in_out_pair.flag_true.device")
class RangeAndOneMore(ReferenceBackend):
    """Offloads the operators that read the range's results as well."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        if not _has_pair(params) or _flag(params) is False:
            return answer
        graph, inside = self.graph(params), _on_device(answer)
        readers = [node.name for node in graph.nodes if any(name.split(":")[0] in inside for name in node.inputs)]
        return to_device(answer, set(readers) & _on_host(answer))


@mutant("range-added-to-the-rule", "in_out_pair.flag_true.outside_host")
class RangeAddedToTheRule(ReferenceBackend):
    """Offloads what the built-in rule offloads beside an offloaded range."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        if _flag(params) is False:
            return answer
        rule = super().partition(with_values(params, in_out_pair=None, in_out_pair_flag=None))
        return to_device(answer, _on_device(rule) & _on_host(answer))


@mutant("retained-range-offloaded", "in_out_pair.flag_false.host")
class RetainedRangeOffloaded(ReferenceBackend):
    """Offloads a range that the flag False keeps on the host."""

    def partition(self, params: Params) -> Answer:
        if _flag(params) is False:
            params = with_values(params, in_out_pair=None, in_out_pair_flag=None)
        return super().partition(params)


@mutant("retained-range-keeps-all", "in_out_pair.flag_false.outside_device")
class RetainedRangeKeepsAll(ReferenceBackend):
    """Keeps the whole graph on the host when a range of it is to stay there."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return everything_on_host(answer) if _has_pair(params) and _flag(params) is False else answer


@mutant("retained-range-keeps-one-more", "in_out_pair.mirror_equivalence")
class RetainedRangeKeepsOneMore(ReferenceBackend):
    """Keeps the operators that read a retained range's results on the host as well."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        if not _has_pair(params) or _flag(params) is not False:
            return answer
        graph, named = self.graph(params), _named(params)
        readers = [node.name for node in graph.nodes if any(name.split(":")[0] in named for name in node.inputs)]
        return to_host(answer, set(readers) - named)


@mutant("first-in-only", "in_out_pair.multi_in")
class FirstInOnly(ReferenceBackend):
    """Uses the first in_node of an entry alone."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_pairs(params, lambda entries: [[ins[:1], outs] for ins, outs in entries]))


@mutant("first-out-only", "in_out_pair.multi_out")
class FirstOutOnly(ReferenceBackend):
    """Uses the first out_node of an entry alone."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_pairs(params, lambda entries: [[ins, outs[:1]] for ins, outs in entries]))


@mutant("first-entry-only", "in_out_pair.multi_entry")
class FirstEntryOnly(ReferenceBackend):
    """Uses the first entry alone, without a word on the others."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_pairs(params, lambda entries: entries[:1]))


@mutant("constants-stay-outside", "in_out_pair.const_in_nodes")
class ConstantsStayOutside(ReferenceBackend):
    """Leaves a constant out of the offloaded range that lists it."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        graph = self.graph(params)
        listed = [name for name in _named(params) if name in graph.index]
        return to_host(answer, [name for name in listed if graph.nodes[graph.index[name]].op == "Const"])


@mutant("constants-pulled-in", "in_out_pair.const_must_be_listed")
class ConstantsPulledIn(ReferenceBackend):
    """Takes constants that the range reads for part of it, listed or not."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        if not _has_pair(params) or _flag(params) is False:
            return answer
        graph, inside = self.graph(params), _on_device(answer)
        read = {name.split(":")[0] for node in graph.nodes if node.name in inside for name in node.inputs}
        return to_device(answer, [node.name for node in graph.nodes if node.op == "Const" and node.name in read])


@mutant("argument-names-unknown", "in_out_pair.arg_nodes")
class ArgumentNamesUnknown(ReferenceBackend):
    """Does not know the generated names of fed arguments."""

    def partition(self, params: Params) -> Answer:
        return super().partition(_renamed(params, lambda name: "?" if name.startswith("_arg_") else name))


@mutant("listed-twice-refused", "in_out_pair.duplicate_names")
class ListedTwiceRefused(ReferenceBackend):
    """Refuses a name or an entry that is listed twice."""

    def partition(self, params: Params) -> Answer:
        text = params["values"].get("in_out_pair")
        names = text.split("'")[1::2] if isinstance(text, str) else []
        if len(set(names)) < len(names):
            raise NpuError("OPTION_SYNTAX", "in_out_pair", "lists a name twice.")
        return super().partition(params)


# Names


def _renamed(params: Params, change: Callable[[str], str]) -> Params:
    return with_pairs(
        params, lambda entries: [[[change(name) for name in part] for part in entry] for entry in entries]
    )


@mutant("names-with-ports", "in_out_pair.names_no_port")
class NamesWithPorts(ReferenceBackend):
    """Reads the name of a tensor as that of its operator."""

    def partition(self, params: Params) -> Answer:
        return super().partition(_renamed(params, lambda name: name.split(":")[0]))


@mutant("prefixes-match", "in_out_pair.truncated_names_not_prefixes")
class PrefixesMatch(ReferenceBackend):
    """Takes a name that no operator has for the first operator whose name begins with it."""

    def partition(self, params: Params) -> Answer:
        names = [node.name for node in self.graph(params).nodes]

        def whole(name: str) -> str:
            found = [other for other in names if other.startswith(name)]
            return found[0] if found and name not in names else name

        return super().partition(_renamed(params, whole))


@mutant("unknown-names-untold", "in_out_pair.unknown_node")
class UnknownNamesUntold(ReferenceBackend):
    """Says nothing of names that are not in the graph."""

    def partition(self, params: Params) -> Answer:
        return without_notes(super().partition(params), "RANGE_UNKNOWN_NODE")


@mutant("no-path-untold", "in_out_pair.no_path")
class NoPathUntold(ReferenceBackend):
    """Says nothing of operators that no path joins."""

    def partition(self, params: Params) -> Answer:
        return without_notes(super().partition(params), "RANGE_NO_PATH")


@mutant("unsupported-in-range-skipped", "in_out_pair.range_unsupported_op")
class UnsupportedInRangeSkipped(ReferenceBackend):
    """Falls back to the built-in rule when a range cannot be offloaded whole."""

    def partition(self, params: Params) -> Answer:
        try:
            return super().partition(params)
        except NpuError as error:
            if error.code != "RANGE_UNSUPPORTED":
                raise
            return super().partition(with_values(params, in_out_pair=None))


# The flag


@mutant("flag-default-false", "in_out_pair.session.default_true")
class FlagDefaultFalse(ReferenceBackend):
    """Has False as the default of in_out_pair_flag."""

    def options(self, params: Params) -> Answer:
        answer = super().options(params)
        flag = answer["effective"].get("in_out_pair_flag")
        if flag and flag["origin"] == "default":
            flag["value"] = False
        return answer

    def partition(self, params: Params) -> Answer:
        if _has_pair(params) and "in_out_pair_flag" not in params["values"]:
            params = with_values(params, in_out_pair_flag=False)
        return super().partition(params)


@mutant("flag-true-reads-false", "in_out_pair.session.true")
class FlagTrueReadsFalse(ReferenceBackend):
    """Reads an explicit True of in_out_pair_flag as False."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_values(params, in_out_pair_flag=False) if _flag(params) is True else params)


@mutant("flag-false-reads-true", "in_out_pair.session.false")
class FlagFalseReadsTrue(ReferenceBackend):
    """Reads False of in_out_pair_flag as True where one operator leads to one other."""

    def partition(self, params: Params) -> Answer:
        if _flag(params) is False and len(_named(params)) == 2:
            params = with_values(params, in_out_pair_flag=True)
        return super().partition(params)


@mutant("flag-alone-retains", "in_out_pair.session.flag_alone")
class FlagAloneRetains(ReferenceBackend):
    """Keeps everything on the host when the flag is False and there is no in_out_pair."""

    def partition(self, params: Params) -> Answer:
        answer = super().partition(params)
        return everything_on_host(answer) if _flag(params) is False and not _has_pair(params) else answer


@mutant("flag-in-any-field", "in_out_pair.flag.field")
class FlagInAnyField(ReferenceBackend):
    """Reads in_out_pair_flag from whatever field it stands in."""

    def options(self, params: Params) -> Answer:
        flag = params["values"].get("in_out_pair_flag")
        if isinstance(flag, dict):
            params = with_values(params, in_out_pair_flag=flag["value"] not in (0, False, "", "False"))
        return super().options(params)


# The value


@mutant("pair-of-any-text", "in_out_pair.value_format")
class PairOfAnyText(ReferenceBackend):
    """Ignores an in_out_pair that is not a list."""

    def options(self, params: Params) -> Answer:
        text = params["values"].get("in_out_pair")
        return super().options(with_values(params, in_out_pair=None) if _is_no_list(text) else params)


def _is_no_list(text: Any) -> bool:
    return isinstance(text, str) and not text.strip().startswith("[")


@mutant("pair-in-any-field", "in_out_pair.value_format")
class PairInAnyField(ReferenceBackend):
    """Ignores an in_out_pair that stands in another field than .s."""

    def options(self, params: Params) -> Answer:
        given = isinstance(params["values"].get("in_out_pair"), str)
        return super().options(params if given else with_values(params, in_out_pair=None))


@mutant("pair-unread", "in_out_pair.grammar")
class PairUnread(ReferenceBackend):
    """Accepts any text of in_out_pair."""

    def options(self, params: Params) -> Answer:
        try:
            return super().options(params)
        except NpuError as error:
            if error.code != "OPTION_SYNTAX":
                raise
            return super().options(with_values(params, in_out_pair=None))


@mutant("pair-single-quotes-only", "in_out_pair.grammar")
class PairSingleQuotesOnly(ReferenceBackend):
    """Refuses names in double quotes."""

    def options(self, params: Params) -> Answer:
        if '"' in str(params["values"].get("in_out_pair", "")):
            raise NpuError("OPTION_SYNTAX", "in_out_pair", "has double quotes.")
        return super().options(params)


@mutant("pair-of-one-entry-only", "in_out_pair.multi_entry")
class PairOfOneEntryOnly(ReferenceBackend):
    """Refuses an in_out_pair of several entries."""

    def options(self, params: Params) -> Answer:
        def single(entries: List[List[List[str]]]) -> List[Any]:
            if len(entries) > 1:
                raise NpuError("OPTION_SYNTAX", "in_out_pair", "has several entries.")
            return entries

        with_pairs(params, single)
        return super().options(params)


@mutant("pair-brackets-mended", "in_out_pair.grammar")
class PairBracketsMended(ReferenceBackend):
    """Adds the brackets that an in_out_pair lacks at its end."""

    def options(self, params: Params) -> Answer:
        text = params["values"].get("in_out_pair")
        if isinstance(text, str):
            params = with_values(params, in_out_pair=text + "]" * max(0, text.count("[") - text.count("]")))
        return super().options(params)


@mutant("pair-without-mixed", "in_out_pair.needs_mix")
class PairWithoutMixed(ReferenceBackend):
    """Accepts in_out_pair without mixed computing."""

    def options(self, params: Params) -> Answer:
        try:
            return super().options(params)
        except NpuError as error:
            if error.code != "OPTION_CONFLICT" or "in_out_pair" not in error.subject:
                raise
            return super().options(with_values(params, in_out_pair=None))


@mutant("pair-in-training-untold", "in_out_pair.session.inference_only")
class PairInTrainingUntold(ReferenceBackend):
    """Says nothing of in_out_pair in training."""

    def options(self, params: Params) -> Answer:
        answer = super().options(params)
        kept = [warning for warning in answer["warnings"] if warning["option"] != "in_out_pair"]
        return {**answer, "warnings": kept}


# The examples


@mutant("ten-in-nodes-at-most", "in_out_pair.yolo_true_example")
class TenInNodesAtMost(ReferenceBackend):
    """Uses the first ten in_nodes of an entry."""

    def partition(self, params: Params) -> Answer:
        return super().partition(with_pairs(params, lambda entries: [[ins[:10], outs] for ins, outs in entries]))


@mutant("retained-out-nodes-cut", "in_out_pair.yolo_false_example")
class RetainedOutNodesCut(ReferenceBackend):
    """Uses the first two out_nodes of a retained range."""

    def partition(self, params: Params) -> Answer:
        if _flag(params) is False:
            params = with_pairs(params, lambda entries: [[ins, outs[:2]] for ins, outs in entries])
        return super().partition(params)


@mutant("import-prefix-dropped", "in_out_pair.session.example_true")
class ImportPrefixDropped(ReferenceBackend):
    """Drops the scope import/ from the names of an offloaded range."""

    def partition(self, params: Params) -> Answer:
        if _flag(params) is not False:
            params = _renamed(params, lambda name: name[len("import/") :] if name.startswith("import/") else name)
        return super().partition(params)


@mutant("import-prefix-dropped-when-retained", "in_out_pair.session.example_false")
class ImportPrefixDroppedWhenRetained(ReferenceBackend):
    """Drops the scope import/ from the names of a retained range."""

    def partition(self, params: Params) -> Answer:
        if _flag(params) is False:
            params = _renamed(params, lambda name: name[len("import/") :] if name.startswith("import/") else name)
        return super().partition(params)


@mutant("lists-of-its-own", "in_out_pair.session.undefined_lists")
class ListsOfItsOwn(ReferenceBackend):
    """Refuses a script that makes the lists of in_out_pair itself."""

    def run(self, params: Params) -> Answer:
        if "all_graph_iop = []" in script_text(params):
            raise NpuError("RUN_FAILED", "all_graph_iop", "is made by the adapter.")
        return super().run(params)
