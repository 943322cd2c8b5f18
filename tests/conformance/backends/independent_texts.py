"""What the texts and files of options say, by the documents alone: one small reader a grammar.

A reader takes the text and what is known beside it, and returns its meaning in the form of docs/write-a-case.md.
Nothing of the suite or the reference is imported.
"""

import ast
import json
import posixpath
import re


class Refused(Exception):
    """A value that cannot be."""

    def __init__(self, code, subject, message):
        super().__init__(message)
        self.body = {"code": code, "subject": subject, "message": message}


class Bad(Exception):
    """A text that does not follow its grammar."""


def number(text, low=0, high=None):
    """A number in plain digits: what Python reads besides (1_000, +5) is no number of the documents."""
    if not re.fullmatch("[0-9]+", text.strip(), re.A):
        raise Bad(f"{text!r} is no number")
    value = int(text)
    if value < low or (high is not None and value > high):
        raise Bad(f"{value} is out of range")
    return value


def names(text, edition=""):
    found = [one.strip() for one in text.split(",")]
    if not all(found):
        raise Bad("an entry is empty")
    return found


def numbers(text, edition=""):
    return [number(one) for one in text.split(",")]


def product(text, edition=""):
    """`26*1024*1024`: at most 256 GB."""
    value = 1
    for factor in text.split("*"):
        value *= number(factor)
    if value > 256 << 30:
        raise Bad("more than 256 GB")
    return value


#: Engine names of either document, with the most they may have.
ENGINES = {"legacy": {"DNN_VM_TF": 13, "DNN_V100": 3}, "current": {"DNN_VM_AICPU": 32, "AIcoreEngine": 32}}


def streams(text, edition):
    own = ENGINES[edition]
    others = dict(zip(ENGINES["legacy" if edition == "current" else "current"], own))
    found = dict.fromkeys(own, 1)
    seen = set()
    for item in text.split(","):
        name, colon, count = item.partition(":")
        name = others.get(name.strip(), name.strip())
        if not colon or name not in own or name in seen:
            raise Bad(f"{item!r} is no engine with its number")
        seen.add(name)
        found[name] = number(count, 1, own[name])
    return found


def input_shape(text, edition=""):
    found = {}
    for item in text.split(";"):
        name, colon, dims = item.rpartition(":")
        sizes = [one.strip() for one in dims.split(",")]
        if not colon or not name.strip() or name.strip() in found:
            raise Bad(f"{item!r} has no name of its own")
        sizes = [-1 if one == "-1" else number(one) for one in sizes]
        if 0 in sizes and len(sizes) > 1:
            raise Bad("0 stands for a scalar, alone")
        found[name.strip()] = [] if sizes == [0] else sizes
    return found


def dynamic_dims(text, edition=""):
    profiles = []
    for item in text.split(";"):
        profile = [number(one, 1) for one in item.split(",")]
        if profile not in profiles:
            profiles.append(profile)
    if len(profiles) < 2:
        raise Bad("there must be more than one profile")
    if len({len(one) for one in profiles}) > 1:
        raise Bad("profiles have different numbers of sizes")
    return profiles


def dump_step(text, edition=""):
    found = []
    for item in text.split("|"):
        first, dash, last = item.partition("-")
        if item != item.strip():
            raise Bad("a blank")
        found.append([number(first), number(last if dash else first)])
        if found[-1][0] > found[-1][1]:
            raise Bad("a range that falls")
    return found


def shape_range(text, edition=""):
    found = {}
    for group in text.split(";"):
        name, colon, shapes = group.strip().partition(":")
        if name not in ("getnext", "data") or not colon or name in found:
            raise Bad("a group is getnext or data, each once")
        found[name] = []
        rest = shapes
        while True:
            match = re.match(r"(\s*)\[([^\[\]]*)\]\s*", rest)
            if not match or (match.group(1) and not match.group(2).strip()):
                raise Bad("no shape, or a blank before []")
            found[name].append(
                [_dim(one.strip()) for one in match.group(2).split(",")] if match.group(2).strip() else []
            )
            rest = rest[match.end() :]
            if not rest:
                break
            if not rest.startswith(","):
                raise Bad("shapes are separated by commas")
            rest = rest[1:]
    return found


def _dim(text):
    if text == "-1":
        return text
    low, tilde, high = text.partition("~")
    if not tilde:
        return str(number(low))
    low, high = number(low, 1), number(high, 1)
    if low > high:
        raise Bad("a range that falls")
    return f"{low}~{high}"


def in_out_pair(text, edition=""):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Bad("no list of Python") from None
    for entry in value if type(value) is list and value else [None]:
        if type(entry) is not list or len(entry) != 2:
            raise Bad("an entry is [names, names]")
        for side in entry:
            if type(side) is not list or not side or not all(type(one) is str and one for one in side):
                raise Bad("names are a list of texts")
    return value


METRICS = ("ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio")


def profiling(text, edition=""):
    value = strict_json(text)
    if type(value) is not dict:
        raise Bad("no JSON object")
    for key, one in value.items():
        if type(one) is not str:
            raise Bad(f"{key} is no text")
    if value.get("training_trace", "on") != "on":
        raise Bad("training_trace, where it is given, is on")
    if value.get("aic_metrics", METRICS[0]) not in METRICS:
        raise Bad("no such aic_metrics")
    if "training_trace" in value and not (value.get("fp_point") is not None and value.get("bp_point") is not None):
        raise Bad("training_trace needs fp_point and bp_point")
    for key in ("task_trace", "aicpu"):
        if key in value and value[key] not in ("on", "off"):
            value[key] = "off"  # 002: any other value counts as off
    return {"aic_metrics": "PipeUtilization", **value}


# -- files ------------------------------------------------------------------------------------------------------------


def strict_json(text, comments=False):
    def once(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    if comments:
        text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda match: match.group(1) or "", text)
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Bad(str(error)) from None


def _keys(value, allowed, what):
    if type(value) is not dict or not set(value) <= set(allowed):
        raise Bad(f"{what} is an object of {', '.join(allowed)}")


def fusion_switch(text, edition=""):
    value = strict_json(text, comments=True)
    if type(value) is not dict or type(value.get("Switch")) is not dict:
        raise Bad("no Switch")
    switch = value["Switch"]
    for section in ("GraphFusion", "UBFusion"):
        for name, state in _object(switch.get(section, {})).items():
            if state not in ("on", "off") or type(state) is not str:
                raise Bad(f"{name} is neither on nor off")
    return {section: switch[section] for section in ("GraphFusion", "UBFusion") if section in switch}


def _object(value):
    if type(value) is not dict:
        raise Bad("no object")
    return value


def _words(value):
    if type(value) is not list or not all(type(one) is str and one for one in value):
        raise Bad("no list of texts")
    return value


def mixlist(text, edition=""):
    value = strict_json(text, comments=True)
    _keys(value, ("black-list", "white-list"), "the file")
    for moves in value.values():
        _keys(moves, ("to-add", "to-remove"), "a list")
        for words in moves.values():
            _words(words)
    return value


MODES = {
    "legacy": ("high_precision", "high_performance"),
    "current": ("high_precision", "high_performance", "support_out_of_bound_index", "keep_fp16", "super_performance"),
}


def op_precision(text, edition):
    found = {"ByOpType": {}, "ByNodeName": {}}
    section = "ByOpType"
    for line in _lines(text):
        if line.startswith("["):
            section = line.strip("[]")
            if section not in found:
                raise Bad(f"no section {section}")
            continue
        name, _, mode = (part.strip() for part in line.partition("="))
        if not name or mode not in MODES[edition]:
            raise Bad(f"{line!r} gives no operator a mode")
        found[section][name] = mode
    return found


def _lines(text):
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and line[0] not in "#;"]


DTYPES = r"[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*"


def customize_dtypes(text, edition=""):
    found = {"name": {}, "OpType": {}}
    for line in _lines(text):
        match = re.fullmatch(rf"(.+?):InputDtype:\s*({DTYPES})?\s*,?\s*OutputDtype:\s*({DTYPES})?\s*", line)
        if not match or not (match.group(2) or match.group(3)) or len(re.findall("InputDtype", line)) != 1:
            raise Bad(f"{line!r} is no operator with its dtypes")
        subject, kind = match.group(1), "name"
        if subject.startswith("OpType::"):
            subject, kind = subject[len("OpType::") :], "OpType"
        elif subject.endswith(":"):
            subject = subject[:-1]
        else:
            raise Bad("a name ends in ::")
        if not subject or ":" in subject:
            raise Bad("no name")
        found[kind][subject] = {
            side: [one.strip() for one in (match.group(place) or "").split(",") if one.strip()]
            for side, place in (("InputDtype", 2), ("OutputDtype", 3))
        }
    return found


DEBUG = ("oom", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag")


def op_debug(text, edition=""):
    found = {}
    for line in _lines(text):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or key not in ("op_debug_config", "op_debug_list") or key in found:
            raise Bad(f"{line!r} is no op_debug_config and no op_debug_list")
        found[key] = names(value)
    if not set(found.get("op_debug_config", ["?"])) <= set(DEBUG):
        raise Bad("an option that does not exist")
    if {"ccec_O0", "oom"} <= set(found["op_debug_config"]):
        raise Bad("ccec_O0 and oom cannot be enabled at the same time")
    if "op_debug_list" in found:
        split = {"name": [], "OpType": []}
        for one in found["op_debug_list"]:
            kind, colons, rest = one.partition("::")
            if colons and (kind.lower() != "optype" or not rest):
                raise Bad(f"{one!r} is no operator type")
            split["OpType" if colons else "name"].append(rest if colons else one)
        found["op_debug_list"] = {key: value for key, value in split.items() if value}
    return found


def aoe_config(text, edition=""):
    value = strict_json(text)
    _keys(value, ("tune_ops_name", "tune_ops_type", "tune_optimization_level", "feature"), "the file")
    for key in ("tune_ops_name", "tune_ops_type", "feature"):
        _words(value.get(key, []))
    if value.get("tune_optimization_level", "O2") not in ("O1", "O2"):
        raise Bad("tune_optimization_level is O1 or O2")
    if not set(value.get("feature", [])) <= {"deeper_opat", "nonhomo_split"}:
        raise Bad("no such feature")
    return {"tune_optimization_level": "O2", **value}


def op_cache(text):
    """The two numbers of op_cache.ini, or None where it takes no effect."""
    section, found = None, {}
    for line in _lines(text):
        if line.startswith("["):
            section = line
        elif section == "[op_compiler_cache]":
            key, _, value = (part.strip() for part in line.partition("="))
            found[key] = value
    return cache_limits(found.get("max_op_cache_size"), found.get("remain_cache_size_ratio"))


def cache_limits(size, ratio):
    try:
        limit = -1 if size == "-1" else number(size or "", 1)
        return limit, number(ratio or "", 1, 100)
    except Bad:
        return None


class Disk:
    """The files a request tells of; without any, nothing is known of a path."""

    def __init__(self, files):
        self.known = files is not None
        self.files = {posixpath.normpath(name): body for name, body in (files or {}).items()}
        self.folders = {posixpath.normpath(name) for name in files or () if name.endswith("/")}
        for name in self.files:
            parent = posixpath.dirname(name)
            while parent and parent not in self.folders:
                self.folders.add(parent)
                parent = posixpath.dirname(parent) if parent != "/" else ""

    def folder(self, option, path):
        """Hold a directory that must have been made before, and be readable and writable."""
        path = posixpath.normpath(path)
        body = self.files.get(path)
        if self.known and (path not in self.folders or (isinstance(body, dict) and body.get("access") != "rw")):
            raise Refused("OPTION_FILE", option, f"{path} is no directory that can be read and written")

    def text(self, option, path):
        """The text of a file; None where nothing is known."""
        path = posixpath.normpath(path)
        if not self.known:
            return None
        body = self.files.get(path)
        if path in self.folders or not isinstance(body, str):
            raise Refused("OPTION_FILE", option, f"{path} is no file that can be read")
        return body
