"""One trial: build the lab, bring the VPN up, prove, measure, prove again, and remove
everything.

::

    missing? ── lab ── prepare, listen, connect ── canary ── measure ── judge ── take down
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from culvert import tools
from culvert.errors import CulvertError, VpnError
from culvert.journal.marks import Mark
from culvert.labs.base import Lab
from culvert.labs.together import at_once
from culvert.measurements.base import Measurement
from culvert.probe.results import Accounted
from culvert.proof.alive import ProcessFailure
from culvert.proof.delay import delays_are_possible
from culvert.proof.known import KnownPath
from culvert.proof.truth import judge_truths
from culvert.results import Metric, Status
from culvert.run import neighbours
from culvert.run.trials.causes import cause_of_trouble, naming_the_cause
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.paths import together
from culvert.run.trials.requirements import instrument_of, laid_out, require_machines
from culvert.run.trials.stage import Stage
from culvert.run.trials.traps import footprint, steer_tunnels, traps
from culvert.study.builds import BuildTable
from culvert.topology.drawing import as_json
from culvert.topology.graph import Path, Role
from culvert.topology.spec import LabSpec
from culvert.trial.accounts import NONE, add_accounts
from culvert.trial.check import Check, Crossing
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.surroundings import add_surroundings
from culvert.vpns.base import Vpn
from culvert.vpns.lifecycle import bring_up, serve_all

_REMEDY = (
    "let its packets pass: a lower MTU or MSS inside the tunnel (the measurement mtu finds the "
    "largest size), another transport; or leave the condition out"
)
MOST_DESCRIBED = 3
"""Paths whose ends are described in a trial's evidence."""


Around = Callable[[], AbstractContextManager[None]]
"""What observes the timed part of a measurement."""


@dataclass
class OnePath:
    """What was found on one path: the outcome, None if a proof failed; or an error."""

    path: Path
    finding: TrialFinding = field(default_factory=lambda: TrialFinding(Status.FAILED))
    outcome: Outcome | None = None
    error: CulvertError | None = None


class Execution:
    """Executes one cell once: its measurement on a lab of the stage, the timed part inside
    ``around``."""

    def __init__(
        self,
        vpn: Vpn[Any],
        spec: LabSpec,
        measurement: Measurement[Any],
        parameters: BaseModel,
        stage: Stage,
        around: Around = nullcontext,
    ) -> None:
        self._vpn = vpn
        self._spec = spec
        self._measurement = measurement
        self._parameters = parameters
        self._stage = stage
        self._around = around
        self._outcomes: dict[Path, Outcome] = {}
        """Of the paths that were measured and proved."""
        self._marks: list[Mark] = []

    def execute(self) -> TrialFinding:
        """Run the trial; errors of lab, VPN and probe become the finding's status."""
        finding = TrialFinding(Status.FAILED)
        with finding.of_errors():
            spec = laid_out(self._vpn, self._spec, self._measurement, self._parameters)
            lab = self._stage.lab(spec)
            requested, instrument = spec.processors, instrument_of(self._parameters)
            require_machines(
                self._vpn,
                lab.hosts,
                aes=requested.aes,
                turbo=requested.turbo,
                instrument=instrument,
            )
            finding.version = self._stage.version(self._vpn, lab)
            self._on_lab(lab, finding)
        if finding.status is Status.OK:
            finding.counts(together(self._outcomes), self._marks)
            if finding.up_s is not None:
                finding.outcome.metrics.append(Metric("tunnel_up_s", "s", finding.up_s))
        return finding

    def _on_lab(self, lab: Lab[Any], finding: TrialFinding) -> None:
        with ExitStack() as stack:
            stack.enter_context(lab)
            stack.callback(self._vpn.stop, lab)
            try:
                self._measure(lab, finding)
            except CulvertError as error:
                raise error.because(_with_obstacles(error.why, lab)) from error
            if finding.status is not Status.OK:
                finding.reason = _with_obstacles(finding.reason, lab)

    def _measure(self, lab: Lab[Any], finding: TrialFinding) -> None:
        vpn, paths = self._vpn, lab.spec.topology.paths
        ends = dict.fromkeys(
            name for path in paths[:MOST_DESCRIBED] for name in (path.source, path.target)
        )
        finding.evidence.underlay = {name: dict(lab.nodes[name].facts()) for name in ends}
        _note_machines(finding, lab, "before")
        finding.evidence.topology = as_json(lab.spec.topology)
        finding.evidence.vpn = dict(self._stage.facts(vpn, lab))
        finding.evidence.observed = self._stage.observed
        vpn.prepare(lab)
        finding.evidence.vpn |= lab.choices
        lab.admit(footprint(vpn, lab))
        begun = time.monotonic()
        with naming_the_cause(vpn, lab):
            if self._measurement.joins_members:
                serve_all(vpn)
            else:
                bring_up(vpn, but=paths[0] if self._measurement.drives_tunnel else None)
                steer_tunnels(vpn, lab)
        if self._stage.brings_up and not self._measurement.drives_tunnel:
            finding.up_s = time.monotonic() - begun
            finding.evidence.vpn |= traps(vpn, lab)
        if (disturbed := lab.disturbed()) is not None:
            raise disturbed
        other_runs: set[str] = set()
        for in_this_round in self._rounds(lab):
            other_runs |= neighbours.others()
            tried = self._at_once(lab, in_this_round)
            other_runs |= neighbours.others()
            self._marks = neighbours.marks(other_runs)
            finding.measuring_s += max(one.finding.measuring_s for one in tried)
            for one in tried:
                finding.absorb(one.finding)
            for one in tried:
                if one.error is not None:
                    raise one.error
                if one.outcome is None:
                    return
                self._outcomes[one.path] = one.outcome
        _note_machines(finding, lab, "after")
        finding.status = Status.OK

    def _rounds(self, lab: Lab[Any]) -> Sequence[Sequence[Path]]:
        """Paths of a round are measured at the same time, unless the measurement starts and stops
        tunnels, which paths may share."""
        if self._measurement.drives_tunnel or self._measurement.joins_members:
            return [[path] for path in lab.spec.topology.paths]
        return lab.rounds

    def _at_once(self, lab: Lab[Any], paths: Sequence[Path]) -> list[OnePath]:
        ends = {name for path in paths for name in (path.source, path.target)}
        if self._measurement.drives_many:
            ends |= {node.name for node in lab.of_role(Role.CLIENT)}
        return at_once(lambda path: self._one_path(lab, path, ends), paths)

    def _one_path(self, lab: Lab[Any], path: Path, busy: Set[str]) -> OnePath:
        """With what it found so far if there is an error."""
        found = OnePath(path)
        try:
            with ExitStack() as stack:
                with naming_the_cause(self._vpn, lab):
                    session = self._stage.session(stack, lab, self._vpn, path, busy=busy)
                with naming_the_cause(self._vpn, lab, session.probes):
                    found.outcome = self._on_path(session, found.finding)
                if found.outcome is None:
                    self._attribute(found.finding, session)
        except CulvertError as error:
            found.error = error
        return found

    def _on_path(self, session: Session, finding: TrialFinding) -> Outcome | None:
        """The outcome with its common metrics; None if a proof failed."""
        proof = self._stage.proof(session, self._measurement, self._parameters)
        if not self._proved(finding, session, proof.before()):
            return None
        measuring = time.monotonic()
        try:
            with proof.meanwhile(), self._around(), self._accounting(session) as accounted:
                outcome = self._measurement.run(session, self._parameters)
        except CulvertError:
            if self._proved(finding, session, proof.leaks()):
                raise
            return None
        finding.measuring_s += time.monotonic() - measuring
        truths = self._measurement.truths(KnownPath.of(session), self._parameters)
        if accounted:
            shared_kernel = session.lab.shared_kernel
            add_surroundings(outcome, accounted, shared_kernel=shared_kernel)
        after = [
            *proof.after(outcome),
            *delays_are_possible(session, self._measurement.metrics, outcome),
            *judge_truths(truths, outcome.metrics),
        ]
        if not self._proved(finding, session, after):
            return None
        if session.route is None:  # no path, so nothing to prove about its packets
            return outcome
        if self._measurement.drives_tunnel:
            finding.evidence.vpn |= traps(self._vpn, session.lab)
        if not self._proved(finding, session, proof.last()):
            return None
        proof.add_accounts(outcome)
        for watched in outcome.watched:
            add_accounts(session, outcome, watched.accounted, watched.others)
        return outcome

    def _accounting(self, session: Session) -> AbstractContextManager[Mapping[str, Accounted]]:
        """Of both ends, if the measurement has none of its own."""
        return nullcontext(NONE) if self._measurement.accounts else session.account()

    def _attribute(self, finding: TrialFinding, session: Session) -> None:
        """A proof that failed because something had died, or was stopped, is a failure of that. So
        is traffic that did not come through a link that drops it: the measuring found that."""
        first = finding.evidence.first_failure
        cause = cause_of_trouble(self._vpn, session.lab, session.probes)
        if cause is None:
            if isinstance(first, Crossing) and (first.of_the_vpn or session.lab.obstacles()):
                remedy = first.remedy if first.of_the_vpn else _REMEDY
                finding.fails(VpnError(self._vpn.id, first.failure, remedy))
            return
        noticed = "" if isinstance(first, ProcessFailure) else f"; noticed as: {finding.reason}"
        finding.fails(cause.because(f"{cause.why}{noticed}"))

    def _proved(self, finding: TrialFinding, session: Session, checks: list[Check]) -> bool:
        if len(session.lab.spec.topology.paths) > 1:
            checks = [replace(check, name=f"{check.name} ({session.path})") for check in checks]
        return finding.proved(checks)


def _note_machines(finding: TrialFinding, lab: Lab[Any], when: str) -> None:
    """Offsets of the clocks of nodes that are other machines, their load, temperatures and stolen
    time."""
    for name, facts in finding.evidence.underlay.items():
        if clock := lab.nodes[name].clock():
            facts[f"clock {when}"] = dict(clock)
        if surroundings := lab.nodes[name].surroundings():
            facts[f"surroundings {when}"] = dict(surroundings)


def _with_obstacles(reason: str, lab: Lab[Any]) -> str:
    """The reason, preceded by the packets that the lab itself has blocked, if it can report them:
    the reason may end with many lines of a log."""
    with suppress(CulvertError):
        return "; ".join((*lab.obstacles(), reason))
    return reason


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
