"""Lawful backends with other fusion passes, findings of tuning and profiles, of which documents say little."""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set

from faulty.answered import decoded, encoded
from faulty.asked import named_by, ops_of, plain, text_of
from faulty.making import Answer, Files, Params

from lawful.kinds import broken, changed
from lawful.timeline import kernels_of, runs_of, steps_of

#: Fusion passes of the reference that no document names.
_UNNAMED = (
    "TbeConvBnreduceFusionPass",
    "TbeConv2DBackpropElemwiseFusionPass",
    "TbeConvElemwiseFusionPass",
    "TbeMatmulElemwiseFusionPass",
    "TbeEltwiseFusionPass",
    "TbeReduceElemwiseFusionPass",
)

# Fusion


def _vendors_name(name: str) -> str:
    return name.replace("Tbe", "Vendor").replace("FusionPass", "Joining")


def _names_swapped(text: str) -> str:
    """A switch file as the reference reads it: by its names, where the vendor's stand; its own ones mean nothing."""
    for name in _UNNAMED:
        text = text.replace(f'"{name}"', f'"Unknown{name}"').replace(f'"{_vendors_name(name)}"', f'"{name}"')
    return text


def _with_switches(params: Params, change: Callable[[str], str]) -> Dict[str, Any]:
    """The request with the text of every file that fusion_switch_file names, in any turn or variant, changed."""
    named = set(named_by(params, "fusion_switch_file"))

    def edit(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: change(text) if name in named and isinstance(text, str) else text for name, text in files.items()}

    found: Dict[str, Any] = {**params, "files": edit(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [{**one, "files": edit(one["files"])} if one.get("files") else one for one in params["turns"]]
    return found


def given_files(params: Params) -> Iterator[Dict[str, Any]]:
    """For every turn, the files that the request has given so far, by path below the folder."""
    so_far = {name.lstrip("/"): text for name, text in params.get("files", {}).items()}
    for one in params.get("turns") or [{}]:
        so_far.update((name.lstrip("/"), text) for name, text in (one.get("files") or {}).items())
        yield dict(so_far)


def as_given(answer: Answer, params: Params) -> None:
    """Files that the request gave are told as they were given."""
    for turn, files in zip(answer.get("turns", ()), given_files(params)):
        for key in ("files", "left"):
            for name, text in files.items():
                if name in turn.get(key, {}) and isinstance(text, str) and "b64" in turn[key][name]:
                    turn[key][name] = encoded(text)


def _passes_renamed(told: Dict[str, Any]) -> None:
    for one in told.get("fusion") or ():
        if one["name"] in _UNNAMED:
            one["name"] = _vendors_name(one["name"])
    for key in ("files", "left"):
        for name, file in (told.get(key) or {}).items():
            if "b64" in file and name.endswith(".json"):
                text = decoded(file)
                for one in _UNNAMED:
                    text = text.replace(one, _vendors_name(one))
                told[key][name] = encoded(text)


@broken(
    "timing",
    "003 L498 speaks of built-in patterns, and no document lists those of a device; these are named by none",
    "timeline",
    "compile",
)
def fusion_passes_that_no_document_names_are_called_otherwise(ask: Any, params: Params) -> Answer:
    answer = dict(ask(_with_switches(params, _names_swapped)))
    for told in [*steps_of(answer), *answer.get("turns", ())]:
        _passes_renamed(told)
    as_given(answer, params)
    return answer


_SWITCHES = "vendor_lawful_switches.cfg"


def _switched_off(text: str) -> str:
    """A switch file in which the passes that no document names are off."""
    try:
        found = json.loads(text)
        section = found["Switch"].setdefault("UBFusion", {})
        section.update({name: "off" for name in _UNNAMED if section.get(name, "on") == "on"})
    except (ValueError, KeyError, AttributeError, TypeError):
        return text
    return json.dumps(found)


def _without_passes(params: Params) -> Dict[str, Any]:
    found = _with_switches(params, _switched_off)

    def filled(values: Mapping[str, Any]) -> Dict[str, Any]:
        return {**values, "fusion_switch_file": _SWITCHES}

    found["files"] = {**found.get("files", {}), _SWITCHES: _switched_off('{"Switch": {}}')}
    if plain(params["values"].get("fusion_switch_file")) is None:
        found["values"] = filled(params["values"])
    if "variants" in params:
        found["variants"] = {
            name: filled(values) if _takes_away(values) else values for name, values in params["variants"].items()
        }
    if params.get("turns"):
        found["turns"] = [
            {**one, "values": filled(one["values"])} if _takes_away(one.get("values") or {}) else one
            for one in found["turns"]
        ]
    return found


def _takes_away(values: Mapping[str, Any]) -> bool:
    return "fusion_switch_file" in values and values["fusion_switch_file"] is None


@broken(
    "timing",
    "003 L498 enables built-in patterns by default; which patterns there are beside the named ones is not said",
    "timeline",
    "compile",
)
def a_compiler_has_no_fusion_passes_but_those_that_documents_name(ask: Any, params: Params) -> Answer:
    answer = dict(ask(_without_passes(params)))
    for turn in answer.get("turns", ()):
        for key in ("files", "left"):
            turn.get(key, {}).pop(_SWITCHES, None)
    as_given(answer, params)
    return answer


# Tuning

_TUNING = re.compile(r"(^|/)aoe_(config|result_[a-z]+|bank)\.json\Z")


def _other_findings(files: Files, theirs: Set[str]) -> Files:
    found: Files = {}
    for path, file in files.items():
        name = posixpath.basename(path)
        if not _TUNING.search(path) or path in theirs:
            found[path] = file
            continue
        word = {"aoe_config.json": "tuning_request.cfg", "aoe_bank.json": "repository.bin"}.get(name, "report.csv")
        text = "request" if word.endswith("cfg") else f"device,kernel,gain\n{len(str(file))},all,1\n"
        found[posixpath.join(posixpath.dirname(path), "aoe", word)] = encoded(text)
    return found


def _findings(answer: Answer, params: Params) -> None:
    for step in steps_of(answer):
        if step.get("files"):
            step["files"] = _other_findings(step["files"], set())
    for turn, files in zip(answer.get("turns", ()), given_files(params)):
        for key in ("files", "left"):
            if key in turn:
                turn[key] = _other_findings(turn[key], set(files))


changed(
    "timing",
    "tuning_leaves_files_of_other_names_and_forms",
    "003 L759: work_path stores the configuration and tuning result files; no document says what they are called",
    _findings,
    "timeline",
    "compile",
)


def _wanted(params: Params, values: Mapping[str, Any]) -> Any:
    """Names and types of the operators that are tuned; None for all of them."""
    text = text_of({**params, "values": {**params["values"], **values}}, "aoe_config_file")
    found = [re.search(rf'"{key}"\s*:\s*\[([^\]]*)\]', text) for key in ("tune_ops_name", "tune_ops_type")]
    if not any(found):
        return None
    return [set(re.findall(r'"([^"]*)"', one.group(1))) if one else set() for one in found]


def _all_tuned(answer: Answer, params: Params) -> None:
    told = [("", answer["base"]), *answer.get("variants", {}).items()]
    for name, step in told:
        values = {**params["values"], **params.get("variants", {}).get(name, {})}
        if "rejected" in step or "tuned" not in step or plain(values.get("aoe_mode")) != "2":
            continue
        wanted, ops = _wanted(params, values), ops_of(params)
        for task in kernels_of(step):
            nodes = [one for one in task.get("nodes") or () if one in ops]
            types = {ops[one].op for one in nodes} | {str(task.get("name"))}
            chosen = wanted is None or set(nodes) & wanted[0] or types & wanted[1]
            if nodes and chosen and task["engine"] != "aicpu" and task["nodes"] not in step["tuned"]:
                step["tuned"].append(task["nodes"])


changed(
    "timing",
    "kernels_of_the_vector_unit_are_tuned_as_well",
    "003 L745: 2 is operator tuning, L783 has Add and Mul as an example; which kernels gain by it is not said",
    _all_tuned,
    "timeline",
)


# Profiles

_PROFILE = re.compile(r"^(?:(?P<where>.*)/)?(?P<tree>PROF_[^/]+)/(?P<path>.+)\Z")


def profiles(
    name: str, sentence: str, change: Callable[[Dict[str, Any]], Dict[str, Any]], area: str = "timing"
) -> None:
    """Registers a backend whose profiles are others; `change` gets the files of one tree, by path in it.

    A path of the answer that begins with `/` lies beside the tree instead of in it.
    """

    def edit(answer: Answer, params: Params) -> None:
        for told in [*steps_of(answer), *runs_of(answer)]:
            if told.get("files"):
                told["files"] = _profiled(told["files"], change)

    changed(area, name, sentence, edit, "timeline", "run")


def _profiled(files: Files, change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Files:
    trees: Dict[str, Dict[str, Any]] = {}
    found: Files = {}
    for path, file in files.items():
        match = _PROFILE.match(path)
        if match is None:
            found[path] = file
        else:
            place = posixpath.join(match.group("where") or "", match.group("tree"))
            trees.setdefault(place, {})[match.group("path")] = file
    for place, tree in trees.items():
        for path, file in change(tree).items():
            beside = posixpath.join(posixpath.dirname(place), path[1:])
            found[beside if path.startswith("/") else posixpath.join(place, path)] = file
    return found


def table_of(path: str) -> Optional[str]:
    """What a table of the reference is called; None for another file."""
    found = re.match(r"mindstudio_profiler_output/([a-z_]+?)_[0-9]+\.csv\Z", path)
    return found.group(1) if found else None


def rows_of(file: Mapping[str, Any]) -> List[List[str]]:
    return list(csv.reader(io.StringIO(decoded(file))))


def table(rows: List[List[str]]) -> Dict[str, str]:
    """A table as a file."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return encoded(stream.getvalue())
