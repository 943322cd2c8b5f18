"""Judges a results folder again from its raw observations, and says what in it is not what comes out."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import output
from npu_conformance.judging import judge, known_failures
from npu_conformance.judging import records as records_
from npu_conformance.library import twins
from npu_conformance.library.library import Instance, Library
from npu_conformance.library.selection import select
from npu_conformance.protocol import client, outcomes, requests, schema
from npu_conformance.report import results
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError

__all__ = ["Verification", "verify", "answer"]

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
    read = results.read(folder)
    faults: List[str] = []
    suite = read.header.get("suite", {})
    if suite.get("library") != library.digest:
        faults.append("judged by other cases, goldens or requirements than those at hand")
    instances = _instances(library, read, faults)
    claims = _claims(read, faults)
    lawful = _lawful(read, claims, instances, faults)
    rejudged = []
    for record in read.records:
        instance = instances.get(record["id"])
        if instance is not None and instance.id in lawful:
            rejudged.append(lawful[instance.id])
        elif instance is not None and claims is not None:
            rejudged.append(_again(instance, record, claims, read.folder, faults))
    known = _known(read.header, faults)
    before = records_.blocked(rejudged)
    # Expiry was decided on the day of the run: its errors stand in the footer, and only make a verdict worse.
    records, _ = known_failures.apply(known, before, datetime.date.min)
    for one, stated in zip(records, _stated(read, instances)):
        if one.result.status != stated["status"]:
            now = f"{one.result.status}: {one.result.detail}"
            faults.append(f"{one.instance.id}: stated {stated['status']}, judged again {now}")
    verdict = records_.final_verdict(records, tuple(read.footer.get("errors", ())))
    faults += _footer_faults(read, records, verdict)
    return Verification(verdict, str(read.footer.get("verdict")), len(read.records), tuple(faults))


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
        )
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
    plan = asking.Plan(selection.get("laws", 0), selection.get("law_seed", 0), chosen, read.folder)
    usable = any(judge.applicable(instance, claims) is None for instance in chosen)
    try:
        answers = asking.load(read.folder) if usable else []
        if usable and [asked.number for asked in answers] != list(range(plan.graphs)):
            raise ValueError(f"it does not hold {plan.graphs} graphs")
        return {record.instance.id: record for record in asking.records(plan, claims, answers)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        faults.append(f"{asking.FILE} cannot be judged: {error}")
        return {}


def _claims(read: results.Read, faults: List[str]) -> Optional[judge.Claims]:
    try:
        return judge.Claims.of(read.header["backend"])
    except (KeyError, TypeError):
        faults.append("the header does not say what the backend claims")
        return None


def _known(header: Mapping[str, Any], faults: List[str]) -> List[known_failures.Entry]:
    found = []
    for entry in header.get("known_failures", []):
        try:
            expires = datetime.datetime.strptime(entry["expires"], "%Y-%m-%d").date()
            found.append(
                known_failures.Entry(
                    entry["id"], entry["outcome"], entry["signature"], entry["reason"], expires,
                    entry.get("issue", ""), entry.get("owner", ""),
                )
            )  # fmt: skip
        except (KeyError, TypeError, ValueError):
            faults.append(f"a known failure of the header cannot be read: {entry!r}")
    return found


def _stated(read: results.Read, instances: Mapping[str, Instance]) -> Sequence[Mapping[str, Any]]:
    return [record for record in read.records if record["id"] in instances]


def _again(
    instance: Instance, record: Mapping[str, Any], claims: judge.Claims, folder: str, faults: List[str]
) -> records_.Record:
    """The record as its raw observation is judged now."""
    result = _result(instance, record, claims, folder, faults)
    return records_.Record(instance, result, None, "", "", 0.0)


def _result(
    instance: Instance, record: Mapping[str, Any], claims: judge.Claims, folder: str, faults: List[str]
) -> judge.Result:
    lacking = judge.applicable(instance, claims)
    if lacking is not None:
        return judge.Result("unsupported", lacking, (), (), "")
    if record["status"] in _DECIDED_AT_RUN:
        return judge.Result(record["status"], "as stated", (), (), str(record.get("signature", "")))
    try:
        outcome = outcomes.outcome_of(record.get("observation"))
        if outcome is None:
            raise ValueError("holds no observation")
        _check_files(outcome, folder)
        twin = twins.make(instance.twin, instance.case.params["graph"]) if instance.twin else None
        result = judge.judge(instance, requests.read_back(outcome, twin), folder)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        faults.append(f"{instance.id}: its observation cannot be judged: {error}")
        return judge.Result("harness-error", str(error), (), (), "")
    if list(result.facts) != record.get("facts"):
        faults.append(f"{instance.id}: the facts stated are not those of the observation")
    return result


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
            with open(os.path.join(folder, path), "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
        except OSError as error:
            raise ValueError(f"the tensor {name} cannot be read: {error.strerror}") from None
        if os.path.basename(path) != f"{digest}.bin":
            raise ValueError(f"the tensor {name} was changed")


def _footer_faults(read: results.Read, records: Sequence[records_.Record], verdict: str) -> List[str]:
    faults = []
    if read.footer.get("verdict") != verdict:
        faults.append(f"the verdict stated is {read.footer.get('verdict')!r}, judged again it is {verdict!r}")
    if read.footer.get("counts") != records_.counts(records):
        faults.append("the counts stated are not those of the records")
    path = os.path.join(read.folder, "statement.json")
    if os.path.exists(path):
        faults += _statement_faults(path, read, verdict)
    return faults


def _statement_faults(path: str, read: results.Read, verdict: str) -> List[str]:
    try:
        with open(path, encoding="ascii") as stream:
            statement = json.load(stream)
        with open(os.path.join(read.folder, output.MARK), "rb") as stream_:
            digest = hashlib.sha256(stream_.read()).hexdigest()
    except (OSError, ValueError) as error:
        return [f"statement.json cannot be read: {error}"]
    faults = []
    if not isinstance(statement, dict) or statement.get("results_sha256") != digest:
        faults.append("statement.json is about another results.jsonl")
    elif statement.get("verdict") != verdict:
        faults.append("statement.json states another verdict")
    return faults
