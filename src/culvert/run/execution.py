"""One trial from nothing to a record: lab, tunnel, proof, measurement, proof, and all of it gone.

::

    missing? ── lab ── prepare, listen, connect ── canary ── measure ── judge ── take down
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from culvert.errors import CulvertError, NotPossible, VpnError
from culvert.journal.record import Metric, Status
from culvert.labs.base import Lab
from culvert.measurements.base import Measurement
from culvert.probe.client import Probe
from culvert.proof.canary import send_canary
from culvert.proof.datapath import judge_data_path
from culvert.proof.judge import judge_outcome
from culvert.run.traps import refuse_without_effect, traps
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check, Evidence
from culvert.trial.cpu import cpu_metrics
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.facts import log_tail

LabFactory = Callable[[LabSpec], Lab]


@dataclass
class Finding:
    """What came of a trial, before it is written down."""

    status: Status
    version: str = ""
    reason: str = ""
    remedy: str = ""
    measuring_s: float = 0.0
    evidence: Evidence = field(default_factory=Evidence)
    outcome: Outcome = field(default_factory=lambda: Outcome([], []))
    up_s: float | None = None
    """Seconds from the start of the responder to a tunnel that is up."""


class Execution:
    """Executes one cell once."""

    def __init__(
        self,
        vpn: Vpn,
        spec: LabSpec,
        measurement: Measurement[Any],
        parameters: BaseModel,
        make_lab: LabFactory,
        known_max_size: dict[str, int],
    ) -> None:
        self._vpn = vpn
        self._spec = spec
        if measurement.of_the_link:
            self._spec = replace(spec, firewall=None, nat={}, block_udp=False)
        self._measurement = measurement
        self._parameters = parameters
        self._make_lab = make_lab
        self._known_max_size = known_max_size

    def execute(self) -> Finding:
        """Run it; errors of lab, VPN and probe become the finding's status."""
        finding = Finding(Status.FAILED)
        missing = self._vpn.missing()
        if missing:
            return Finding(
                Status.UNSUPPORTED,
                reason=f"missing: {', '.join(each.what for each in missing)}",
                remedy="; ".join(dict.fromkeys(each.remedy for each in missing)),
            )
        try:
            finding.version = self._vpn.version()
            self._on_lab(finding)
        except NotPossible as error:
            finding.status = Status.UNSUPPORTED
            finding.reason, finding.remedy = str(error), error.remedy
        except CulvertError as error:
            finding.status = Status.FAILED
            finding.reason, finding.remedy = str(error), error.remedy
        return finding

    def _on_lab(self, finding: Finding) -> None:
        with ExitStack() as stack:
            lab = self._make_lab(self._spec)
            stack.enter_context(lab)
            stack.callback(self._vpn.stop, lab)
            probes = {node.name: stack.enter_context(Probe(node)) for node in (lab.a, lab.b)}
            session = Session(
                lab,
                self._vpn,
                probes["a"],
                probes["b"],
                self._spec.link,
                known_max_size=self._known_max_size,
            )
            try:
                self._measure(session, finding)
            except CulvertError as error:
                cause = self._cause(error)
                raise type(cause)(cause.what, _beside(cause.why, lab), cause.remedy) from error
            if finding.status is Status.INVALID:
                self._blame_the_dead(finding)
                finding.reason = _beside(finding.reason, lab)

    def _measure(self, session: Session, finding: Finding) -> None:
        vpn, lab = self._vpn, session.lab
        finding.evidence.underlay = {node.name: dict(node.facts()) for node in (lab.a, lab.b)}
        finding.evidence.vpn = dict(vpn.variant.facts)
        refuse_without_effect(vpn, lab)
        begun = time.monotonic()
        vpn.prepare(lab)
        vpn.listen(lab.b)
        if not self._measurement.drives_tunnel:
            vpn.connect(lab.a)
            finding.up_s = time.monotonic() - begun
            finding.evidence.vpn |= traps(vpn, lab)
            if not self._proved(finding, before(session)):
                return
        measuring = time.monotonic()
        finding.outcome = self._measurement.run(session, self._parameters)
        finding.measuring_s = time.monotonic() - measuring
        if not self._proved(finding, survivors(vpn)):
            return
        if not self._proved(finding, judge_outcome(vpn, lab, self._spec.link, finding.outcome)):
            return
        if self._measurement.drives_tunnel:
            finding.evidence.vpn |= traps(vpn, lab)
            if not self._proved(finding, before(session)):
                return
        finding.status = Status.OK
        finding.outcome.metrics += self._common_metrics(lab, finding)

    def _cause(self, error: CulvertError) -> CulvertError:
        """If a process of the VPN has died, that is why, whatever was noticed first."""
        dead = next((check for check in survivors(self._vpn) if not check.passed), None)
        if dead is None or isinstance(error, VpnError):
            return error
        return VpnError(self._vpn.id, f"{dead.detail}; noticed as: {error}", dead.remedy)

    def _blame_the_dead(self, finding: Finding) -> None:
        """A proof that failed because the VPN had died is a failure of the VPN."""
        dead = next((check for check in survivors(self._vpn) if not check.passed), None)
        if dead is not None:
            finding.status = Status.FAILED
            finding.reason = f"{dead.detail}; noticed as: {finding.reason}"
            finding.remedy = dead.remedy

    def _proved(self, finding: Finding, checks: list[Check]) -> bool:
        finding.evidence.checks += checks
        failure = finding.evidence.first_failure
        if failure is None:
            return True
        finding.status = Status.INVALID
        finding.reason = f"{failure.name}: {failure.detail}"
        finding.remedy = failure.remedy
        return False

    def _common_metrics(self, lab: Lab, finding: Finding) -> list[Metric]:
        metrics = []
        for watched in finding.outcome.watched:
            metrics += cpu_metrics(
                watched.accounted,
                goodput_bytes=finding.outcome.goodput_bytes,
                shared_kernel=lab.shared_kernel,
                attributable=self._vpn.cpu_attributable,
            )
        if finding.up_s is not None:
            metrics.append(Metric("tunnel_up_s", "s", finding.up_s))
        return metrics


def _beside(reason: str, lab: Lab) -> str:
    """What the lab itself has kept from passing, as long as it can tell, and a reason: it may end
    with many lines of a log."""
    with suppress(CulvertError):
        return "; ".join((*lab.obstacles(), reason))
    return reason


def before(session: Session) -> list[Check]:
    """What is asked of a tunnel before its numbers are wanted."""
    return [judge_data_path(session.vpn, session.lab), *send_canary(session)]


def survivors(vpn: Vpn) -> list[Check]:
    """A process that has died by the end makes the whole trial doubtful."""
    return [
        Check(
            "the VPN's processes lived",
            passed=False,
            detail=f"{process.name} on node {name} ended (exit code {process.returncode()})"
            + log_tail(process),
            remedy="see what its log complains about; try it by hand with 'culvert up'",
        )
        for name, processes in vpn.processes.items()
        for process in processes
        if not process.alive()
    ]
