"""The parameters of a case: what a backend is asked with."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping

from npu_conformance.files import resources
from npu_conformance.library.operator_flags import with_flags
from npu_conformance.library.reading.fields import Fields
from npu_conformance.observing import tensors, timeline
from npu_conformance.observing.values import unwrapped

__all__ = ["Params", "needed_by"]

_VARIANT = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
#: What may be done to files between the turns of ``compile``.
DAMAGES = ("cut", "empty", "flip")


class Params:
    """Reads ``[case.params]``: checks shapes, resolves fixtures below a folder, keeps tensors as bytes."""

    _METHOD_KEYS = {
        "options": {"surface", "values", "env", "files"},
        "partition": {"graph", "surface", "values", "op_list", "policy", "flavour", "feeds", "fetches"},
        "precision": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches",
        },
        "timeline": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches", "shapes",
            "variants", "faults", "concurrent", "ranks", "device",
        },
        "compile": {
            "graph", "surface", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches", "shapes", "device",
            "models", "turns", "faults",
        },
        "library": {"ops_info"},
        "run": {
            "graph", "script", "args", "surface", "values", "env", "files", "op_list", "feeds", "fetches", "init",
            "steps", "device_precision", "faults", "device", "may_fail", "ranks",
        },
    }  # fmt: skip

    def __init__(self, fields: Fields, fixtures: str) -> None:
        self.fields, self.fixtures = fields, fixtures

    def read(self, table: Mapping[str, Any], method: str) -> Dict[str, Any]:
        fields = self.fields
        fields.no_unknown(table, self._METHOD_KEYS[method], "params")
        found: Dict[str, Any] = {
            "surface": fields.choice(table, "surface", ("session", "runconfig"), "session"),
            "values": fields.table(table, "values", "params."),
        }
        if "env" in table:
            found["env"] = fields.table(table, "env", "params.")
            if not all(isinstance(value, str) for value in found["env"].values()):
                raise fields.fail("params.env", "values are texts")
        if "files" in table:
            found["files"] = {
                name: self._content(name, entry) for name, entry in fields.table(table, "files", "params.").items()
            }
        for key, choices in (
            ("policy", ("documented", "adapter")),
            ("flavour", ("tf1", "tf2")),
            ("device_precision", ("on", "off")),
        ):
            if key in table:
                found[key] = fields.choice(table, key, choices, None)
        if "op_list" in table:
            found["op_list"] = self._op_list(table["op_list"])
        if "ops_info" in table:
            found["ops_info"] = self._ops_info(table["ops_info"])
        if "ops_info" in self._METHOD_KEYS[method] and method != "library" and _is_mixed_precision(found["values"]):
            # The lists of mixed precision are the hardware's: a question that depends on them gives them.
            given = table.get("ops_info", {})
            if not (isinstance(given, dict) and "fixture" in given):  # a file as a document prints it stays so
                found["ops_info"] = with_flags(found.get("ops_info", "{}"))
        self._subject(table, method, found)
        self._feeds(table, method, found)
        for key in ("fetches", "init", "args"):
            if key in table:
                found[key] = list(fields.texts(table, key, "params."))
        for key, most in (("steps", 10000), ("concurrent", 1000), ("ranks", 1024)):
            if key in table:
                if type(table[key]) is not int or not 1 <= table[key] <= most:
                    raise fields.fail(f"params.{key}", f"must be an integer from 1 to {most}")
                found[key] = table[key]
        self._of_timeline(table, found)
        if method == "run" and found.get("ranks", 0) and (found["ranks"] > 16 or "script" not in found):
            raise fields.fail("params.ranks", "of run is an integer from 1 to 16, and a script is given")
        if method == "compile":
            self._of_compile(table, found)
        if "may_fail" in table:
            if table["may_fail"] is not True:
                raise fields.fail("params.may_fail", "is true, or left out")
            found["may_fail"] = True
        return found

    def _of_timeline(self, table: Mapping[str, Any], found: Dict[str, Any]) -> None:
        fields = self.fields
        if "device" in table:
            found["device"] = fields.text(table, "device", required=True)
        if "shapes" in table:
            found["shapes"] = self._shapes(fields.table(table, "shapes", "params."), "params.shapes")
        if "variants" in table:
            variants = fields.table(table, "variants", "params.")
            for name, values in variants.items():
                if not _VARIANT.match(name) or name == timeline.BASE or not isinstance(values, dict):
                    raise fields.fail(
                        f"params.variants.{name}",
                        f"is a table of values; its name is of a-z 0-9 . _ -, not {timeline.BASE}",
                    )
            found["variants"] = dict(variants)
        if "faults" in table:
            faults = table["faults"]
            known = isinstance(faults, list) and all(
                isinstance(fault, dict) and isinstance(fault.get("kind"), str) for fault in faults
            )
            if not known or not faults:
                raise fields.fail("params.faults", 'is a list of tables such as { kind = "hang", node = "add" }')
            found["faults"] = [dict(fault) for fault in faults]

    def _of_compile(self, table: Mapping[str, Any], found: Dict[str, Any]) -> None:
        fields = self.fields
        for key in ("models", "turns"):
            if key not in table:
                continue
            entries = table[key]
            if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
                raise fields.fail(f"params.{key}", "is a list of tables")
            found[key] = [dict(entry) for entry in entries]
        found.update(
            {"models": [self._model(number, entry) for number, entry in enumerate(found["models"])]}
            if "models" in found
            else {}
        )
        for number, turn in enumerate(found.get("turns", [])):
            self._turn(f"params.turns[{number}]", turn)

    def _shapes(self, table: Mapping[str, Any], where: str) -> Dict[str, Any]:
        for name, shape in table.items():
            if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
                raise self.fields.fail(f"{where}.{name}", "is a list of sizes")
        return dict(table)

    def _model(self, number: int, entry: Mapping[str, Any]) -> Dict[str, Any]:
        where = f"params.models[{number}]"
        self.fields.no_unknown(entry, {"graph", "feeds", "fetches", "shapes"}, where)
        model: Dict[str, Any] = {"graph": self._fixture(entry.get("graph"), f"models[{number}].graph")}
        for key in ("feeds", "fetches"):
            model[key] = list(self.fields.texts(entry, key, where + "."))
        if "shapes" in entry:
            model["shapes"] = self._shapes(entry["shapes"], f"{where}.shapes")
        return model

    def _turn(self, where: str, turn: Dict[str, Any]) -> None:
        fields = self.fields
        fields.no_unknown(turn, {"values", "env", "files", "age_seconds", "damage", "ends"}, where)
        if "files" in turn:
            table = fields.table(turn, "files", where + ".")
            turn["files"] = {name: self._content(name, entry) for name, entry in table.items()}
        if turn.get("ends", "normal") not in ("normal", "killed"):
            raise fields.fail(f"{where}.ends", "is normal or killed")
        if type(turn.get("age_seconds", 0)) is not int or turn.get("age_seconds", 0) < 0:
            raise fields.fail(f"{where}.age_seconds", "is a number of seconds")
        for damage in turn.get("damage", []):
            if not isinstance(damage, dict) or set(damage) != {"files", "how"} or damage["how"] not in DAMAGES:
                raise fields.fail(f"{where}.damage", f'is {{ files = PATTERN, how = "{"|".join(DAMAGES)}" }}')

    def _subject(self, table: Mapping[str, Any], method: str, found: Dict[str, Any]) -> None:
        given = [key for key in ("graph", "script") if key in table]
        if method in ("options", "library"):
            return
        if len(given) != 1:
            raise self.fields.fail("params", "needs either a graph or a script" if method == "run" else "needs a graph")
        found[given[0]] = self._fixture(table[given[0]], given[0])

    def _feeds(self, table: Mapping[str, Any], method: str, found: Dict[str, Any]) -> None:
        if "feeds" not in table:
            return
        if method != "run":
            found["feeds"] = list(self.fields.texts(table, "feeds", "params."))
            return
        feeds = self.fields.table(table, "feeds", "params.")
        found["feeds"] = {
            name: tensors.from_case(entry, f"{self.fields.where}: params.feeds.{name}") for name, entry in feeds.items()
        }

    def _op_list(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        return self._fixture(value, "op_list")

    def _ops_info(self, value: Any) -> str:
        """The text of an operator information file; a table stands for its JSON."""
        if isinstance(value, dict) and set(value) == {"fixture"}:
            with open(self._fixture(value["fixture"], "ops_info"), encoding="utf-8") as stream:
                return stream.read()
        if isinstance(value, dict):
            return json.dumps(value, indent=2) + "\n"
        if not isinstance(value, str) or not value:
            raise self.fields.fail("params.ops_info", "is a text, a table or { fixture = path }")
        return value

    def _content(self, name: str, entry: Any) -> Any:
        if isinstance(entry, str):
            return entry
        if isinstance(entry, dict) and set(entry) == {"bytes"} and type(entry["bytes"]) is int and entry["bytes"] >= 0:
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"link"} and isinstance(entry["link"], str):
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"access"} and entry["access"] in ("r", "w", ""):
            return dict(entry)
        if isinstance(entry, dict) and set(entry) == {"fixture"}:
            with open(self._fixture(entry["fixture"], f"files.{name}"), encoding="utf-8") as stream:
                return stream.read()
        raise self.fields.fail(f"params.files.{name}", 'is a text, { fixture = path } or { access = "r" }')

    def _fixture(self, value: Any, key: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.fields.fail(f"params.{key}", "must be a path below fixtures/")
        return resources.fixture(value, where=f"{self.fields.where}: params.{key}", root=self.fixtures)


def needed_by(params: Mapping[str, Any]) -> List[str]:
    """Features without which a backend cannot understand these parameters."""
    needed = [key for key in ("op_list", "ops_info", "faults", "concurrent", "ranks") if key in params]
    needed += ["device_precision"] if params.get("device_precision") == "on" else []
    needed += ["may_fail"] if params.get("may_fail") else []
    needed += [f"policy.{params['policy']}"] if params.get("policy", "documented") != "documented" else []
    needed += [f"flavour.{params['flavour']}"] if "flavour" in params else []
    return needed


def _is_mixed_precision(values: Mapping[str, Any]) -> bool:
    for name in ("precision_mode", "precision_mode_v2"):
        value = unwrapped(values.get(name))
        if isinstance(value, str) and "mix" in value:
            return True
    return False
