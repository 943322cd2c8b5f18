"""Joins the reports of all shards of a run into the report that one machine would have written."""

from __future__ import annotations

import datetime
import os
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.judging import known_failures
from npu_conformance.judging.records import Record, Report, blocked, final_verdict
from npu_conformance.library import sharding
from npu_conformance.library.library import Library
from npu_conformance.library.selection import select
from npu_conformance.report import junit, results, verify
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["join"]

#: What of the header every shard must say alike: they are parts of one run of one backend.
_ALIKE = ("suite", "backend", "platform", "sandbox", "known_failures")
#: What of the selection says which part a shard is.
_OF_LAWS = ("laws", "law_seed", "thorough")
_OF_A_PART = ("shard", "cases", *_OF_LAWS)

_REMEDY = "Give the folders of all shards of one run, each once."


class _Part(NamedTuple):
    folder: str
    shard: sharding.Shard
    judged: verify.Again

    @property
    def header(self) -> Mapping[str, Any]:
        return self.judged.read.header


def join(library: Library, folders: Sequence[str], out: str) -> Report:
    """The report of the whole, judged again from the answers of every part; their evidence is copied.

    Args:
        folders: of the shards' reports, in any order.
        out: a folder to which evidence (tensors, answers about laws) goes; the caller writes the report there.
    Raises:
        NpuError: OUTPUT, when a shard is missing, twice there, of another run, or does not hold.
    """
    parts = [_part(library, folder) for folder in folders]
    _check_whole(parts)
    _check_alike(parts)
    selection = {name: value for name, value in parts[0].header["selection"].items() if name not in _OF_A_PART}
    lawful = _with_laws(parts)
    if lawful is not None:
        told = lawful.header["selection"]
        selection.update({name: told[name] for name in _OF_LAWS if name in told})
    records = _in_order(library, selection, parts)
    for part in parts:
        _copy_evidence(part.folder, out)
    known = parts[0].judged.known
    day = max((str(part.header["day"]) for part in parts), default="") if known else ""
    when = datetime.datetime.strptime(day, "%Y-%m-%d").date() if day else None
    told, errors = known_failures.apply(known, records, when)
    header = {**parts[0].header, "selection": selection, "instances": len(told)}
    if day:
        header["day"] = day
    return Report(header, tuple(told), tuple(errors), final_verdict(told, errors))


def _part(library: Library, folder: str) -> _Part:
    text = results.read(folder, answers=False).header.get("selection", {}).get("shard")
    if not isinstance(text, str):
        raise NpuError("OUTPUT", folder, "is the report of no shard", "A shard is made by run --shard I/N.")
    shard = sharding.parse(text)
    if not os.path.isdir(folder):
        raise NpuError("OUTPUT", folder, "is no folder of a report", _REMEDY)
    judged = verify.again(library, folder)
    if judged.verification.faults:
        remedy = f"npu-conformance verify {folder} says all that is wrong."
        raise NpuError("OUTPUT", folder, f"does not hold: {shorten(judged.verification.faults[0], 300)}", remedy)
    return _Part(folder, shard, judged)


def _check_whole(parts: Sequence[_Part]) -> None:
    """All shards of one division, each once."""
    count = parts[0].shard.parts
    seen: Dict[int, str] = {}
    for part in parts:
        if part.shard.parts != count:
            reason = f"is shard {part.shard}, and {parts[0].folder} is shard {parts[0].shard}"
            raise NpuError("OUTPUT", part.folder, reason, _REMEDY)
        if part.shard.number in seen:
            raise NpuError("OUTPUT", part.folder, f"is shard {part.shard}, as is {seen[part.shard.number]}", _REMEDY)
        seen[part.shard.number] = part.folder
    missing = [str(number) for number in range(1, count + 1) if number not in seen]
    if missing:
        words = f"shard {missing[0]}/{count} is" if len(missing) == 1 else f"shards {', '.join(missing[:20])} are"
        raise NpuError("OUTPUT", "npu-conformance join", f"{words} missing of {count}", _REMEDY)


def _check_alike(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for name in _ALIKE:
            ours, theirs = first.header.get(name), part.header.get(name)
            if theirs != ours:
                where = _differing(ours, theirs, name)
                raise NpuError("OUTPUT", part.folder, f"is of another run than {first.folder}: {where}", _REMEDY)
        selected, others = ({k: v for k, v in one.header["selection"].items() if k not in _OF_A_PART}
                        for one in (first, part))  # fmt: skip
        if selected != others:
            where = _differing(selected, others, "selection")
            raise NpuError("OUTPUT", part.folder, f"is of another run than {first.folder}: {where}", _REMEDY)


def _differing(one: Any, other: Any, path: str) -> str:
    """Where two values of headers differ first, and how."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            if one.get(name) != other.get(name):
                return _differing(one.get(name), other.get(name), f"{path}.{name}")
    return f"{path} is {shorten(str(other), 80)}, there {shorten(str(one), 80)}"


def _with_laws(parts: Sequence[_Part]) -> Optional[_Part]:
    """The part that asked about laws: of one division one has them."""
    found = [part for part in parts if part.header["selection"].get("laws")]
    if len(found) > 1:
        raise NpuError("OUTPUT", found[1].folder, f"has laws, as has {found[0].folder}", _REMEDY)
    return found[0] if found else None


def _in_order(library: Library, selection: Mapping[str, Any], parts: Sequence[_Part]) -> List[Record]:
    """The records of all parts in the order of the whole selection; each must be there once."""
    wanted = select(
        library,
        areas=selection["areas"],
        editions=selection["editions"],
        keyword=selection["keyword"],
        more=asking.instances() if selection.get("laws") else (),
        only=selection.get("instances"),
    )
    found: Dict[str, Tuple[Record, str]] = {}
    for part in parts:
        times = junit.seconds(part.folder)
        for record in part.judged.records:
            name = record.instance.id
            if name in found:
                raise NpuError("OUTPUT", part.folder, f"judges {name}, as does {found[name][1]}", _OTHER_TIMES)
            found[name] = (record._replace(seconds=times.get(name, 0.0)), part.folder)
    lacking = [one.id for one in wanted if one.id not in found]
    if lacking:
        reason = f"no shard judges {lacking[0]}" + (f" and {len(lacking) - 1} more" if len(lacking) > 1 else "")
        raise NpuError("OUTPUT", "npu-conformance join", reason, _OTHER_TIMES)
    return blocked([found[one.id][0] for one in wanted])


_OTHER_TIMES = "Divide again, with the same --shard-times for every shard, or for none."


def _copy_evidence(folder: str, out: str) -> None:
    """Tensors by their digests, and what laws left; all of it was judged again."""
    for name in sorted(os.listdir(folder)):
        if results.is_of_laws(name):
            shutil.copyfile(os.path.join(folder, name), os.path.join(out, name))
    tensors = os.path.join(folder, "tensors")
    if os.path.isdir(tensors):
        os.makedirs(os.path.join(out, "tensors"), exist_ok=True)
        for name in sorted(os.listdir(tensors)):
            shutil.copyfile(os.path.join(tensors, name), os.path.join(out, "tensors", name))
