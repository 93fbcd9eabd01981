"""A measurement, drivers and a study for tests of the runner, without any lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

from culvert.errors import CulvertError
from culvert.journal.journal import Journal
from culvert.journal.record import RunHead, TrialRecord
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.underlay.underlay import Underlay
from culvert.plan.plan import Plan
from culvert.results import Metric, Status
from culvert.run.output.progress import Progress, ProgressStep
from culvert.run.pods.cluster import Clusters
from culvert.run.runner import Runner
from culvert.runid import new_run_id
from culvert.study.catalogue import Catalogue
from culvert.study.study import Study
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns import registry
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import Missing, Variant

KINDS = ("good", "absent", "refuses", "buggy", "stupid")


class Fake(NoVpn):
    """Each variant goes wrong in a way of its own, or not."""

    name = "fake"
    summary = "for tests"
    variants: ClassVar[tuple[Variant, ...]] = tuple(Variant(kind, kind) for kind in KINDS)

    def missing(self, host: Host) -> list[Missing]:
        if self.variant.name == "stupid":
            raise LookupError("no such\nthing")
        if self.variant.name == "absent":
            return [Missing.to_install("program fake", "fake")]
        return []


class Count(Measurement[BaseParameters]):
    """Gives 1, 2, 3 ..."""

    kind: ClassVar[str] = "count"
    summary: ClassVar[str] = "for tests"
    headline: ClassVar[str] = "count"
    Parameters = BaseParameters

    @classmethod
    def estimate_s(cls, parameters: BaseParameters) -> float:
        return 2.0

    def run(self, session: Session, parameters: BaseParameters) -> Outcome:
        raise NotImplementedError


class Recorder(Progress):
    """Progress that remembers; ``before`` is called with each step before its trial."""

    def __init__(self, before: Callable[[ProgressStep], None] = lambda step: None) -> None:
        self.steps: list[ProgressStep] = []
        self.records: list[TrialRecord] = []
        self.headlines: list[Metric | None] = []
        self._before = before

    def begin(self, step: ProgressStep) -> None:
        self.steps.append(step)
        self._before(step)

    def note(self, text: str) -> None:
        raise AssertionError(f"no step before a trial is expected: {text}")

    def end(self, step: ProgressStep, record: TrialRecord, headline: Metric | None) -> None:
        self.records.append(record)
        self.headlines.append(headline)


class Unopened(NetnsLab):
    """A lab on this machine that cannot be opened."""

    def open(self) -> None:
        raise CulvertError("the lab", "is not opened in this test", "open another one")


REGISTRY = registry.Registry({"none": NoVpn, "fake": Fake}, {})
CATALOGUE = Catalogue(
    cast("dict[str, Any]", {"count": Count, Underlay.kind: Underlay}),
    lambda word: str(REGISTRY.parse(word)),
)


def study(*vpns: str, plan: str = "blocks = 2") -> Study:
    """A study of these VPNs beside the baseline."""
    words = ", ".join(f'"{vpn}"' for vpn in ("none", *vpns))
    text = f'name = "s"\nvpns = [{words}]\n[[measurement]]\nkind = "count"\n[plan]\n{plan}\n'
    return Study.parse(text, CATALOGUE)


def head(of: Study) -> RunHead:
    return RunHead.of(of, lab="netns", culvert_version="0", environment={})


def runner(
    of: Study,
    journal: Journal,
    progress: Recorder,
    *,
    plan: Plan | None = None,
    make_lab: Callable[..., Lab] | None = None,
    real_links: bool = False,
    clusters: Clusters | None = None,
    refused: Mapping[str, CulvertError] | None = None,
) -> Runner:
    """A runner whose labs cannot be opened, unless ``make_lab`` makes others."""
    return Runner(
        of,
        plan or Plan.of(of),
        journal,
        CATALOGUE,
        cast("dict[str, type[Measurement[Any]]]", {"count": Count, Underlay.kind: Underlay}),
        make_lab=make_lab or (lambda spec: Unopened(new_run_id(), spec)),
        clusters=clusters,
        cores=[(0,), (1,)],
        progress=progress,
        real_links=real_links,
        refused=refused or {},
    )


def made(directory: Path, of: Study) -> Journal:
    return Journal.create(directory, head(of))


def statuses(journal: Journal) -> list[str]:
    return [str(Status(status)) for status in journal.trials()["status"]]
