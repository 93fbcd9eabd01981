"""One trial between pods: start them, prove the path if wanted, measure, prove again, remove them.

::

    cluster ── pods ── first packet ── canary ── measure ── canary ── pods removed
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pydantic import BaseModel

from culvert.errors import CulvertError, LabError
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.measurements.base import Measurement
from culvert.proof.alive import ends_in_silence, still_carries
from culvert.proof.cluster.observer import Observer, watching
from culvert.proof.cluster.seen import Seen
from culvert.proof.interference import left_alone
from culvert.results import Metric, Status
from culvert.run.pods import prove
from culvert.run.pods.accounts import accounting
from culvert.run.pods.cluster import Clusters, Under
from culvert.run.pods.possible import between_pods
from culvert.run.pods.prove import Beside, Watch
from culvert.run.pods.session import PodSession, open_session
from culvert.run.trials.finding import TrialFinding
from culvert.topology.drawing import as_json
from culvert.topology.spec import LabSpec
from culvert.trial.accounts import add_accounts
from culvert.trial.outcome import Outcome
from culvert.vpns.base import Vpn

FIRST_PACKET_S = 30.0
SAMPLE_ONE_IN = 16
"""Of the packets beside a measurement that sends as fast as the path carries: a look at all of them
would take processor time from it."""
NOT_LOOKED_AT = "not looked at: --prove does"


class PodExecution:
    """Executes one cell once, in the cluster that ``clusters`` has for it."""

    def __init__(
        self,
        vpn: Vpn,
        spec: LabSpec,
        measurement: Measurement[Any],
        parameters: BaseModel,
        clusters: Clusters,
        known_max_size: dict[str, int],
    ) -> None:
        self._vpn = vpn
        self._spec = spec
        self._measurement = measurement
        self._parameters = parameters
        self._clusters = clusters
        self._known_max_size = known_max_size

    def execute(self) -> TrialFinding:
        """Run the trial; errors of cluster, pods and probe become the finding's status."""
        finding = TrialFinding(Status.FAILED)
        with finding.of_errors():
            self._clusters.require(self._vpn, self._spec, self._measurement, self._parameters)
            under = self._clusters.under(self._vpn, self._spec)
            finding.version = under.version
            self._in(under, finding)
        return finding

    def _in(self, under: Under, finding: TrialFinding) -> None:
        lab = KubernetesLab(
            under.workspace,
            between_pods(self._spec),
            under.wishes,
            shared_kernel=under.shared_kernel,
        )
        with ExitStack() as stack:
            begun = time.monotonic()
            stack.enter_context(lab)
            session = open_session(stack, lab, self._vpn, self._known_max_size)
            try:
                first_s = first_packet(session) - begun
                finding.evidence.underlay = {
                    node.name: dict(node.facts()) for node in lab.nodes.values()
                }
                finding.evidence.topology = as_json(lab.spec.topology)
                finding.evidence.observed = under.encrypted is not None
                finding.evidence.vpn = {
                    **self._vpn.variant.facts, **under.facts, "placement": str(lab.placement),
                    **({"encryption": NOT_LOOKED_AT} if under.encrypted is None else {}),
                }  # fmt: skip
                seen_by = [] if under.encrypted is None else under.observers.on(lab)
                outcome = self._measure(session, lab, under, seen_by, finding)
            except CulvertError as error:
                cause = under.broken() or lab.broken()
                if cause is None:
                    raise
                raise LabError(
                    cause.what, f"{cause.why}; noticed as: {error}", cause.remedy
                ) from error
            if outcome is None:
                return
            outcome.metrics += [
                Metric("pod_first_packet_s", "s", first_s),
                *(
                    Metric("pod_running_s", "s", seconds, {"node": name})
                    for name, seconds in lab.started_s.items()
                ),
            ]
            finding.counts(outcome)

    def _measure(
        self,
        session: PodSession,
        lab: KubernetesLab,
        under: Under,
        observers: Sequence[Observer],
        finding: TrialFinding,
    ) -> Outcome | None:
        """The outcome with its common metrics; None if a proof failed."""
        encrypted, measurement = under.encrypted, self._measurement
        if encrypted is None:
            watch = Watch((), None)
            before = [prove.carries(session)]
        else:
            proof = prove.prove(session, lab, observers)
            watch, before = proof.watch, prove.checks_of(proof.verdict, encrypted=encrypted)
        if not finding.proved(before):
            return None
        measuring, seen = time.monotonic(), list[Seen]()
        sample_one_in = SAMPLE_ONE_IN if measurement.saturates else 1
        beside = Beside(seen, lab.placement, sample_one_in, measurement.marks_packets)
        try:
            with (
                under.watching() as alone,
                accounting(under, observers) as programs,
                watching(
                    watch.observers,
                    session.canary,
                    seen,
                    watch.among,
                    sample_one_in=sample_one_in,
                ),
            ):
                outcome = measurement.run(session, self._parameters)
        except CulvertError:
            # What was clear counts for more than the failure that it came with.
            if encrypted and not beside.nothing_clear.passed:
                finding.proved([beside.nothing_clear])
                return None
            raise
        finding.measuring_s += time.monotonic() - measuring
        clear = beside.checks if encrypted else []
        after = [
            *clear,
            *alone,
            *left_alone(session, outcome),
            *outcome.doubts,
            *ends_in_silence(session, outcome),
        ]
        if not finding.proved(after):
            return None
        if not finding.proved([still_carries(session)]):
            return None
        if encrypted is not None:
            again = prove.prove(session, lab, observers, prove.AFTERWARDS).verdict
            if not finding.proved(prove.checks_of(again, encrypted=encrypted)):
                return None
        outcome.metrics += programs.metrics()
        outcome.withheld += programs.withheld()
        for each in outcome.watched:
            add_accounts(
                outcome, each.accounted, shared_kernel=lab.shared_kernel, attributable=False
            )
        return outcome


def first_packet(session: PodSession) -> float:
    """Wait until the path carries a packet there and back; the time (monotonic) when it did."""
    to = session.inner(session.target)
    echo = session.b.begin("echo", bind=to, token=session.token, idle_s=FIRST_PACKET_S + 15)
    session.a.call(
        "first_answer",
        FIRST_PACKET_S + 5,
        to=to,
        port=echo.port(),
        interval_us=5000,
        deadline_s=FIRST_PACKET_S,
        **session.marks,
    )
    now = time.monotonic()
    echo.stop()
    return now
