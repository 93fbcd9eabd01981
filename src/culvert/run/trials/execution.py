"""One trial, in several attempts if hosts are lost: what does not need them is measured without
them.

::

    attempt ── a host was lost ── attempt without it, on the paths not yet measured ── ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from culvert import tools
from culvert.errors import CulvertError, NotPossible, VpnError, some
from culvert.journal.record import Part
from culvert.measurements.base import Measurement
from culvert.results import Metric, Status
from culvert.run.trials.attempt import Around, Attempt, Work
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.paths import labelled, together
from culvert.run.trials.requirements import laid_out
from culvert.run.trials.stage import Stage
from culvert.study.builds import BuildTable
from culvert.topology.graph import Path, Topology
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.vpns.base import Vpn

MOST_NAMED = 5
"""Paths that a reason names."""


@dataclass(frozen=True)
class Earlier:
    """What is known before a trial: parts of it that were measured, and nodes that are lost."""

    parts: Sequence[Part] = ()
    lost: Mapping[str, CulvertError] = field(default_factory=dict)

    @property
    def metrics(self) -> list[Metric]:
        return [metric for part in self.parts for metric in part.metrics]

    def has(self, path: Path) -> bool:
        return any(str(path) in part.paths for part in self.parts)


NOTHING = Earlier()


class Execution:
    """Executes one cell once."""

    def __init__(
        self,
        vpn: Vpn[Any],
        spec: LabSpec,
        measurement: Measurement[Any],
        parameters: BaseModel,
        stage: Stage,
        earlier: Earlier = NOTHING,
        around: Around = nullcontext,
    ) -> None:
        self._vpn = vpn
        self._spec = spec
        self._work = Work(measurement, parameters, stage, around)
        self._earlier = earlier
        self._lost = dict(earlier.lost)
        self._attempts: list[Attempt] = []

    def execute(self) -> TrialFinding:
        """Run the trial; errors of lab, VPN and probe become the finding's status."""
        try:
            work = self._work
            spec = laid_out(self._vpn, self._spec, work.measurement, work.parameters)
        except CulvertError as error:
            return TrialFinding.of_error(error)
        self._spec = spec
        return self._found(self._try(spec))

    def _try(self, spec: LabSpec) -> tuple[Path, ...]:
        """Attempts, until no more paths can be measured; returns those that were not."""
        several = len(spec.topology.paths) > 1
        left = tuple(path for path in spec.topology.paths if not self._earlier.has(path))
        vpn = self._vpn
        while paths := self._possible(spec.topology, left):
            reduced = spec.only(paths, without=self._lost.keys())
            attempt = Attempt(vpn, reduced, self._work, several=several)
            attempt.run()
            self._attempts.append(attempt)
            self._lost |= attempt.lost
            measured = {one.path for one in attempt.measured}
            left = tuple(path for path in left if path not in measured)
            if not attempt.lost:
                break
            vpn = type(vpn)(vpn.variant, vpn.chosen)
        return left

    def _possible(self, topology: Topology, left: Sequence[Path]) -> tuple[Path, ...]:
        """Those of the paths that need no lost node."""
        if self._lost and self._work.measurement.joins_members:
            return ()
        possible = topology.paths_without(self._lost.keys())
        return tuple(path for path in left if path in possible)

    def _found(self, left: Sequence[Path]) -> TrialFinding:
        outcomes = self._outcomes()
        if self._failed_by_itself:
            finding = self._attempts[-1].finding
            if self._lost and finding.status is not Status.UNSUPPORTED:
                self._add_losses(finding)
        elif not left:
            finding = self._counted(together(outcomes, self._earlier.metrics))
            if finding.up_s is not None:
                finding.outcome.metrics.append(Metric("tunnel_up_s", "s", finding.up_s))
            return finding
        elif outcomes or self._earlier.parts or not self._attempts:
            finding = self._without(left)
        else:
            finding = self._attempts[-1].finding
        if self._lost and outcomes:
            finding.part = self._counted(labelled(outcomes))
            finding.part.evidence.part = tuple(map(str, outcomes))
        return finding

    def _outcomes(self) -> dict[Path, Outcome]:
        """Of the paths that were measured and proved, in the order of measuring."""
        measured = [one for attempt in self._attempts for one in attempt.measured]
        return {one.path: one.outcome for one in measured if one.outcome is not None}

    @property
    def _failed_by_itself(self) -> bool:
        """Whether the last attempt failed although no host was lost: while it measured, or later,
        when the VPN or the lab was taken down."""
        last = self._attempts[-1:]
        return any(not one.lost and one.finding.status is not Status.OK for one in last)

    def _without(self, left: Sequence[Path]) -> TrialFinding:
        """Of the paths that were not measured, because of lost hosts alone."""
        impossible = all(isinstance(error, NotPossible) for error in self._lost.values())
        finding = TrialFinding(Status.UNSUPPORTED if impossible else Status.FAILED)
        finding.lost = dict(self._lost)
        finding.reason = f"paths that were not measured: {some(left, MOST_NAMED)}"
        if len(left) < len(self._spec.topology.paths):
            finding.reason += "; figures of the others are kept by path"
        finding.evidence.missing_paths = tuple(map(str, left))
        self._add_losses(finding)
        return finding

    def _add_losses(self, finding: TrialFinding) -> None:
        """The hosts that were lost come first; a resumed run repeats the trial."""
        errors = list(self._lost.values())
        finding.reason = "; ".join(dict.fromkeys([*map(str, errors), finding.reason]))
        remedies = [*(error.remedy for error in errors), finding.remedy]
        finding.remedy = "; ".join(dict.fromkeys(filter(None, remedies)))
        finding.evidence.host_lost = True

    def _counted(self, outcome: Outcome) -> TrialFinding:
        """Of the paths that were measured and proved."""
        base = [attempt for attempt in self._attempts if attempt.measured][-1].finding
        finding = TrialFinding(Status.OK, version=base.version, up_s=base.up_s)
        finding.evidence = replace(base.evidence, checks=[], host_lost=False)
        finding.measuring_s = sum(attempt.finding.measuring_s for attempt in self._attempts)
        for attempt in self._attempts:
            for one in attempt.measured:
                finding.absorb(one.finding)
        finding.counts(outcome, [mark for attempt in self._attempts for mark in attempt.marks])
        return finding


_COMMIT_DIGITS = 12


def of_build(build: BuildTable, execution: Execution, vpn: str) -> TrialFinding:
    """The trial with the build's programs; its version begins with the commit.

    Failed if the VPN used none of them: it would measure what is installed.
    """
    with tools.preferring(build.directory) as preferred:
        finding = execution.execute()
    if not preferred.used and finding.status is Status.OK:
        unused = VpnError(
            vpn,
            f"it runs no program from {build.directory}",
            "give the directory that has the VPN's programs, under the names that it looks for",
        )
        return TrialFinding.of_error(unused)
    finding.version = f"{build.commit[:_COMMIT_DIGITS]} {finding.version}".strip()
    return finding
