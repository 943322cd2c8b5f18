"""Judges a results folder again from its raw observations, and says what in it is not what comes out."""

from __future__ import annotations

import datetime
import hashlib
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import npu_reference
from npu_conformance.files import output, reading
from npu_conformance.judging import judge, known_failures
from npu_conformance.judging import records as records_
from npu_conformance.library import sharding, twins
from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.library.selection import select
from npu_conformance.observing import tensors
from npu_conformance.protocol import client, outcomes, requests, schema
from npu_conformance.report import remake, results
from npu_conformance.running import lanes
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["Again", "Verification", "again", "verify", "answer"]

_DECIDED_AT_RUN = ("unstable", "not-run", "harness-error")  # what one observation cannot show again


class Verification(NamedTuple):
    """What judging again gives. ``faults``: every way in which the folder contradicts it."""

    verdict: str
    stated: str
    records: int
    faults: Tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.faults


def answer(found: Verification) -> Dict[str, Any]:
    """What ``verify --format json`` prints."""
    return {
        "schema": schema.header("verify"),
        "holds": found.holds,
        "verdict": found.verdict,
        "stated": found.stated,
        "records": found.records,
        "faults": list(found.faults),
    }


def verify(library: Library, folder: str) -> Verification:
    """Judges again with the cases and goldens at hand.

    Raises:
        NpuError: OUTPUT when there is no complete results.jsonl.
    """
    return again(library, folder).verification


class Again(NamedTuple):
    """A folder judged again. records: before known failures were told apart, in the order of the selection."""

    verification: Verification
    read: results.Read
    records: Tuple[records_.Record, ...]
    known: Tuple[known_failures.Entry, ...]


def again(library: Library, folder: str) -> Again:
    """As :func:`verify`, with what was judged."""
    read = results.read(folder)
    faults: List[str] = []
    suite = read.header.get("suite", {})
    if suite.get("library") != library.digest:
        faults.append("judged by other cases, goldens or requirements than those at hand")
    instances = _instances(library, read, faults)
    claims = _claims(read, faults)
    lawful = _lawful(library, read, claims, instances, faults)
    rejudged = []
    for record in read.records:
        instance = instances.get(record["id"])
        if instance is not None and instance.id in lawful:
            rejudged.append(lawful[instance.id])
        elif instance is not None and claims is not None:
            rejudged.append(_again(instance, record, claims, read.folder, faults))
    if [record["id"] for record in read.records if record["id"] in instances] != list(instances):
        faults.append("the records are not in the order of the selection")
    known = _known(read.header, faults)
    before = records_.blocked(rejudged)
    # Expiry was decided on the day of the run: its errors stand in the footer, and only make a verdict worse.
    day, late = _day(read.header, known, faults)
    records, errors = known_failures.apply(known, before, day)
    errors = [*errors, *late]
    by_id = {one.instance.id: one for one in records}
    for stated in _stated(read, instances):
        if stated["id"] in by_id:
            faults += _record_faults(by_id[stated["id"]], stated)
    verdict = records_.final_verdict(records, errors)
    report = records_.Report(_header(library, read, known), tuple(records), tuple(errors), verdict)
    faults += _frame_faults(read, report)
    if os.path.isdir(folder):
        faults += remake.faults(library, read, report)
    found = Verification(verdict, str(read.footer.get("verdict")), len(read.records), tuple(faults))
    return Again(found, read, tuple(before), tuple(known))


def _instances(library: Library, read: results.Read, faults: List[str]) -> Mapping[str, Instance]:
    """The instances the run had to have, by id; missing, unknown and repeated records are faults."""
    selection = read.header.get("selection", {})
    try:
        wanted = select(
            library,
            areas=selection.get("areas", ()),
            editions=selection.get("editions", ()),
            keyword=selection.get("keyword", ""),
            more=asking.instances() if selection.get("laws") else (),
            only=selection.get("instances"),
        )
        if "cases" in selection:  # a shard by recorded times, which are not at hand
            cases = set(selection["cases"])
            wanted = [one for one in wanted if one.case.id in cases or one.case.topic == "laws"]
        elif "shard" in selection:
            wanted = sharding.share(wanted, sharding.parse(selection["shard"]))
    except (NpuError, TypeError, AttributeError) as error:
        faults.append(f"its selection cannot be understood: {error}")
        wanted = library.instances()
    found = {instance.id: instance for instance in wanted}
    seen = set()
    for record in read.records:
        if record["id"] not in found:
            faults.append(f"{record['id']}: is no instance of this selection")
        elif record["id"] in seen:
            faults.append(f"{record['id']}: has two records")
        seen.add(record["id"])
    faults.extend(f"{name}: has no record" for name in found if name not in seen)
    return found


def _lawful(
    library: Library,
    read: results.Read,
    claims: Optional[judge.Claims],
    instances: Mapping[str, Instance],
    faults: List[str],
) -> Mapping[str, records_.Record]:
    """The records of laws as the answers that were kept are judged now, by instance id."""
    chosen = tuple(instance for instance in instances.values() if instance.case.topic == "laws")
    if not chosen or claims is None:
        return {}
    selection = read.header.get("selection", {})
    usable = any(judge.applicable(instance, claims) is None for instance in chosen)
    try:
        seed, third = asking.drawn_by(selection.get("law_seed", 0), selection.get("thorough", True) is True)
        plan = asking.Plan(int(selection.get("laws", 0)), seed, chosen, read.folder, library, third)
        answers = asking.load(read.folder) if usable else []
        if usable and not asking.whole(plan, answers):
            raise ValueError(f"it does not hold {plan.graphs} graphs")
        return {record.instance.id: record for record in asking.records(plan, claims, answers)}
    except Exception as error:  # noqa: BLE001  whatever the file or the selection holds, it is a fault of the folder
        faults.append(f"{asking.FILE} cannot be judged: {shorten(str(error), 200)}")
        return {}


def _claims(read: results.Read, faults: List[str]) -> Optional[judge.Claims]:
    try:
        return judge.Claims.of(read.header["backend"])
    except (KeyError, TypeError, AttributeError):
        faults.append("the header does not say what the backend claims")
        return None


def _known(header: Mapping[str, Any], faults: List[str]) -> List[known_failures.Entry]:
    found = []
    for entry in header.get("known_failures", []):
        try:
            expires = datetime.datetime.strptime(entry["expires"], "%Y-%m-%d").date()
            told = known_failures.Entry(
                entry["id"], entry["outcome"], entry["signature"], entry["reason"], expires,
                entry.get("issue", ""), entry.get("owner", ""),
            )  # fmt: skip
            if not all(isinstance(one, str) for one in (*told[:4], *told[5:])):
                raise TypeError("what ought to be a text is none")
            found.append(told)
        except (KeyError, TypeError, ValueError, AttributeError):
            faults.append(f"a known failure of the header cannot be read: {shorten(repr(entry), 200)}")
    return found


def _day(
    header: Mapping[str, Any], known: Sequence[known_failures.Entry], faults: List[str]
) -> Tuple[datetime.date, Tuple[str, ...]]:
    """The day by which known failures expired or not. Without any, none is needed."""
    if not known:
        if "day" in header:
            faults.append("the header has a day, though no failures are known")
        return datetime.date.min, ()
    try:
        return datetime.datetime.strptime(str(header["day"]), "%Y-%m-%d").date(), ()
    except (KeyError, ValueError):
        faults.append("the header does not say on which day failures were known")
        return datetime.date.max, ()


def _stated(read: results.Read, instances: Mapping[str, Instance]) -> Sequence[Mapping[str, Any]]:
    return [record for record in read.records if record["id"] in instances]


def _again(
    instance: Instance, record: Mapping[str, Any], claims: judge.Claims, folder: str, faults: List[str]
) -> records_.Record:
    """The record as its raw observation is judged now."""
    lacking = judge.applicable(instance, claims)
    if lacking is not None:
        return lanes.plain(instance, "unsupported", f"the backend does not claim {lacking}")
    first = str(record.get("first_attempt", ""))
    if record["status"] in _DECIDED_AT_RUN and not first:
        return lanes.plain(instance, record["status"], str(record.get("detail")))
    try:
        outcome = outcomes.outcome_of(record.get("observation"))
        if outcome is None:
            raise ValueError("holds no observation")
        _check_files(outcome, folder)
        twin = twins.make(instance.twin, instance.case.params["graph"]) if instance.twin else None
        result = judge.judge(instance, requests.read_back(outcome, twin), folder, claims)
        if first:
            # What the first attempt answered is not kept: how it differed stands as it was stated.
            differences = tuple(judge.Difference(*map(str, one)) for one in record.get("differences", ()))
            result = lanes.unstable(instance, first, differences, result)
        return records_.Record(instance, result, outcome, first, "", 0.0)
    except Exception as error:  # noqa: BLE001  whatever an observation holds, it is a fault of the folder
        faults.append(f"{instance.id}: its observation cannot be judged: {shorten(str(error), 200)}")
        return lanes.plain(instance, "harness-error", str(error))


def _check_files(outcome: client.Outcome, folder: str) -> None:
    """Tensors kept beside the results carry their digest as name, and lie inside the folder."""
    if not isinstance(outcome, client.Answered):
        return
    for name, tensor in outcome.ok.get("fetches", {}).items():
        if "file" not in tensor:
            continue
        path = tensor["file"]
        if os.path.dirname(path) != "tensors":
            raise ValueError(f"the tensor {name} lies outside the folder")
        try:
            content = reading.content(os.path.join(folder, path), tensors.ANSWER_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"the tensor {name} cannot be read: {reason}") from None
        if os.path.basename(path) != f"{hashlib.sha256(content).hexdigest()}.bin":
            raise ValueError(f"the tensor {name} was changed")


def _record_faults(record: records_.Record, stated: Mapping[str, Any]) -> List[str]:
    """The fields of a record that are not those of what its observation is judged to be."""
    made = results.record_json(record)
    faults = []
    for name in sorted({*made, *stated}):
        if name in made and name in stated and output.dumps(made[name]) == output.dumps(stated[name]):
            continue
        if name == "status":
            now = f"{record.result.status}: {record.result.detail}"
            faults.append(f"{record.instance.id}: stated {stated['status']}, judged again {now}")
        elif name == "facts":
            faults.append(f"{record.instance.id}: the facts stated are not those of the observation")
        else:
            faults.append(f"{record.instance.id}: {shorten(name)} is not what comes out")
    return faults


def _header(library: Library, read: results.Read, known: Sequence[known_failures.Entry]) -> Mapping[str, Any]:
    """The header as it ought to be; what only the run could know stands as stated."""
    stated = read.header
    first = schema.header("results", results.FIRST)
    header = {
        "kind": "header",
        "schema": first if stated.get("schema") == first else schema.header("results"),
        # Another commit may judge again: what decides, the library, is compared.
        "suite": {"version": _version(stated), "library": library.digest},
        "backend": stated.get("backend"),
        "platform": stated.get("platform"),
        "selection": stated.get("selection"),
        "instances": len(read.records),
        "known_failures": [entry.to_json() for entry in known],
    }
    if known:
        header["day"] = stated.get("day")
    if "sandbox" in stated:
        header["sandbox"] = stated["sandbox"]
    return header


def _version(stated: Mapping[str, Any]) -> str:
    suite = stated.get("suite")
    version = suite.get("version") if isinstance(suite, dict) else None
    return version if isinstance(version, str) else npu_reference.__version__


def _frame_faults(read: results.Read, report: records_.Report) -> List[str]:
    """What is wrong with the header and the footer."""
    footer = results.footer(report, {})
    if "files" in read.footer:
        footer["files"] = read.footer["files"]  # judged with the files
    faults = []
    for where, made, stated in (("header", report.header, read.header), ("footer", footer, read.footer)):
        for name in sorted({*made, *stated}):
            if name in made and name in stated and output.dumps(made[name]) == output.dumps(stated[name]):
                continue
            if name == "verdict":
                faults.append(f"the verdict stated is {stated.get(name)!r}, judged again it is {report.verdict!r}")
            elif name == "counts":
                faults.append("the counts stated are not those of the records")
            else:
                faults.append(f"the {where}'s {shorten(name)} is not what comes out")
    declared = schema.load("results")
    for line in (read.header, read.footer):
        fault = schema.fault(line, declared["lines"][line["kind"]], declared, line["kind"])
        faults += [shorten(fault, 300)] if fault else []
    return faults
