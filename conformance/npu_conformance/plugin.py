"""Lets pytest run the cases (``--npu-backend SPEC``) and check a user's golden graphs; idle where neither is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest

if TYPE_CHECKING:
    from npu_conformance.judging.records import Record

__all__ = ["CaseFile", "CaseItem", "golden_graph"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("npu-conformance", "conformance of an Ascend TensorFlow adapter")
    group.addoption(
        "--npu-backend", metavar="SPEC", help="collect the conformance cases below the arguments and judge this backend"
    )
    group.addoption("--npu-edition", choices=["legacy", "current"], help="only this edition; default both")
    group.addoption("--npu-known-failures", metavar="FILE", help="TOML of known failures")
    group.addoption("--npu-timeout-factor", type=float, default=1.0, metavar="F", help="multiplies every time limit")
    group.addoption(
        "--npu-golden-update", action="store_true", help="record the graphs given to golden_graph instead of checking"
    )


@pytest.fixture
def golden_graph(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that fails the test when the partition of a model has moved since it was recorded.

    ``golden_graph("model.pb")`` compares with the record beside the model; ``golden_graph("model.pb",
    {"mix_compile_mode": True}, feeds=["x:0"], fetches=["y:0"])`` also demands that it was recorded so. Paths are
    relative to the folder of the test. ``pytest --npu-golden-update`` records.
    """
    from npu_conformance.models.golden.fixture import Checker

    return Checker(str(request.node.path.parent), bool(request.config.getoption("--npu-golden-update")))


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--npu-backend", None):
        return
    from npu_conformance import backends
    from npu_reference.errors import NpuError

    try:
        backends.check(config.getoption("--npu-backend"))
        config.pluginmanager.register(_Session(config), "npu-conformance-session")
    except NpuError as error:
        raise pytest.UsageError(str(error)) from None


class _Session:
    """One backend worker of this pytest process, started by the first case it runs."""

    def __init__(self, config: pytest.Config) -> None:
        from npu_conformance.judging import known_failures
        from npu_conformance.library import library

        self.library = library.load()
        self.spec = config.getoption("--npu-backend")
        self.edition = config.getoption("--npu-edition")
        self.factor = config.getoption("--npu-timeout-factor")
        path = config.getoption("--npu-known-failures")
        self.known = known_failures.load(path, self.library.instances()) if path else []
        self._lane: Optional[Any] = None
        self._by_file: Dict[Tuple[str, str], List[Any]] = {}
        for instance in self.library.instances():
            self._by_file.setdefault((instance.case.area, instance.case.topic), []).append(instance)

    def of_file(self, area: str, topic: str) -> Sequence[Any]:
        """The instances of one case file."""
        return self._by_file.get((area, topic), ())

    def pytest_collect_file(self, file_path: Any, parent: pytest.Collector) -> Optional[pytest.Collector]:
        import os

        from npu_conformance.files import resources

        folder = resources.cases() + os.sep
        if file_path.suffix != ".toml" or not str(file_path).startswith(folder):
            return None
        collector: pytest.Collector = CaseFile.from_parent(parent, path=file_path, cases=self)
        return collector

    def pytest_unconfigure(self) -> None:
        if self._lane is not None:
            self._lane.worker.close()

    def record(self, instance: Any) -> Record:
        """Asks the backend, with known failures applied."""
        from npu_conformance.judging import judge, known_failures
        from npu_conformance.protocol import client
        from npu_conformance.running import lanes

        if self._lane is None:
            worker = client.Client(self.spec, factor=self.factor)
            self._lane = lanes.Lane(worker, judge.Claims.of(worker.hello()), self.library.fixtures)
        records, errors = known_failures.apply(self.known, [self._lane.record(instance)])
        if errors and records[0].known:
            result = records[0].result._replace(status="fail", detail=errors[0])
            return records[0]._replace(result=result)
        return records[0]


class CaseFile(pytest.File):
    """One case file."""

    def __init__(self, *, cases: _Session, **more: Any) -> None:
        super().__init__(**more)
        self.cases = cases

    def collect(self) -> Iterator[pytest.Item]:
        for instance in self.cases.of_file(self.path.parent.name, self.path.stem):
            if self.cases.edition in (None, instance.edition):
                yield CaseItem.from_parent(self, name=instance.id, instance=instance)


class CaseItem(pytest.Item):
    """One instance of a case."""

    def __init__(self, *, instance: Any, **more: Any) -> None:
        super().__init__(**more)
        self.instance = instance

    def runtest(self) -> None:
        cases: _Session = self.parent.cases  # type: ignore[union-attr]
        record = cases.record(self.instance)
        if record.result.status == "unsupported":
            pytest.skip(record.result.detail)
        if record.result.status == "xfail":
            pytest.xfail(record.result.detail)
        if record.result.status != "pass":
            raise _NotPassed(record)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        from npu_reference.errors import NpuError

        if isinstance(excinfo.value, _NotPassed):
            return excinfo.value.text()
        if isinstance(excinfo.value, NpuError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Any:
        return self.path, None, self.name


class _NotPassed(Exception):
    """A case that did not pass."""

    def __init__(self, record: Record) -> None:
        super().__init__(record.result.status)
        self.record = record

    def text(self) -> str:
        case, result = self.record.instance.case, self.record.result
        lines = [case.title, f"{result.status}: {result.detail}"]
        lines += [f"  {difference.kind}: {difference.fact}" for difference in result.differences]
        lines.append(f"requirements: {', '.join(case.requirements)}")
        return "\n".join(lines)
