"""Trials between pods: the paths of a cluster, which Culvert does not bring up.

::

    cluster ── pods ── first packet ── canary ── measure ── canary ── pods removed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from culvert.errors import CulvertError
from culvert.labs.base import Lab
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.measurements.base import Measurement
from culvert.proof.alive import ends_in_silence, still_carries
from culvert.proof.cluster.observer import watching
from culvert.proof.cluster.seen import Seen
from culvert.proof.interference import left_alone
from culvert.results import Metric
from culvert.run.pods import prove
from culvert.run.pods.accounts import Programs, accounting
from culvert.run.pods.cluster import Clusters, Under
from culvert.run.pods.possible import between_pods
from culvert.run.pods.prove import LoadCaptures, Watch
from culvert.run.pods.session import ClusterNetwork, PodSession, first_packet, open_session
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import PathProof, Stage
from culvert.topology.graph import Path
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.outside import LONG_RUN
from culvert.trial.session import MaxSizes, Session
from culvert.vpns.base import Vpn

SAMPLE_ONE_IN = 16
"""Of the packets beside a measurement that sends as fast as the path carries, so many are captured.
All are searched for the canary."""
NOT_LOOKED_AT = "not examined: this needs --prove"


def execute(
    vpn: Vpn,
    spec: LabSpec,
    measurement: Measurement[Any],
    parameters: BaseModel,
    clusters: Clusters,
    max_sizes: MaxSizes | None = None,
) -> TrialFinding:
    """One trial in the cluster that ``clusters`` has for the VPN and these links."""
    try:
        clusters.require(vpn, spec, measurement, parameters)
        under = clusters.under(vpn, spec)
    except CulvertError as error:
        return TrialFinding.of_error(error)
    pods = Pods(vpn, under, max_sizes or MaxSizes())
    network = ClusterNetwork(vpn)
    return Execution(network, between_pods(spec), measurement, parameters, pods).execute()


class Pods(Stage):
    """Pods of one cluster; the VPN below it is up."""

    brings_up = False

    def __init__(self, vpn: Vpn, under: Under, max_sizes: MaxSizes) -> None:
        self._vpn = vpn
        self._under = under
        self._max_sizes = max_sizes
        self.observed = under.encrypted is not None

    def lab(self, spec: LabSpec) -> KubernetesLab:
        return self._under.lab(spec)

    def version(self, vpn: Vpn, lab: Lab[Any]) -> str:
        del vpn, lab
        return self._under.version

    def facts(self, vpn: Vpn, lab: Lab[Any]) -> Mapping[str, str]:
        del vpn
        assert isinstance(lab, KubernetesLab)
        return {
            **self._vpn.variant.facts,
            **self._under.facts,
            "placement": str(lab.placement),
            **({} if self.observed else {"encryption": NOT_LOOKED_AT}),
        }

    def session(
        self, stack: ExitStack, lab: Lab[Any], vpn: Vpn[Any], path: Path, *, busy: Set[str]
    ) -> PodSession:
        del path, busy  # the only one
        assert isinstance(lab, KubernetesLab)
        assert isinstance(vpn, ClusterNetwork)
        session = open_session(stack, lab, vpn)
        return replace(session, max_sizes=self._max_sizes)

    def proof(
        self, session: Session[Any], measurement: Measurement[Any], parameters: BaseModel
    ) -> PathProof:
        assert isinstance(session, PodSession)
        one_in = SAMPLE_ONE_IN if measurement.saturates else 1
        return PodProof(session, self._under, one_in, measurement.marked_run(parameters))


class PodProof(PathProof):
    """Marked packets before and after; beside the measurement the devices of the nodes."""

    def __init__(
        self, session: PodSession, under: Under, sample_one_in: int, marked_run: int
    ) -> None:
        self._session = session
        self._under = under
        self._observers = under.observers.on(session.lab) if under.encrypted is not None else []
        self._watch = Watch((), None)
        self._seen: list[Seen] = []
        self._alone: list[Check] = []
        self._programs = Programs()
        self._first_s = 0.0
        self._beside = LoadCaptures(
            self._seen, session.lab.placement, sample_one_in, bool(marked_run)
        )
        self._marked_run = marked_run or LONG_RUN

    def before(self) -> list[Check]:
        self._first_s = first_packet(self._session) - self._session.lab.begun_s
        if self._under.encrypted is None:
            return [prove.carries(self._session)]
        proof = prove.prove(self._session, self._observers)
        self._watch = proof.watch
        return prove.checks_of(proof.verdict, encrypted=self._under.encrypted)

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        watch = self._watch
        with (
            self._under.watching() as self._alone,
            accounting(self._under, self._observers) as self._programs,
            watching(
                watch.observers,
                self._session.canary,
                self._seen,
                watch.among,
                sample_one_in=self._beside.sample_one_in,
                marked_run=self._marked_run,
            ),
        ):
            yield

    def leaks(self) -> list[Check]:
        clear = self._beside.nothing_clear
        return [clear] if self._under.encrypted and not clear.passed else []

    def after(self, outcome: Outcome) -> list[Check]:
        return [
            *(self._beside.checks if self._under.encrypted else []),
            *self._alone,
            *left_alone(outcome),
            *outcome.doubts,
            *ends_in_silence(self._session, outcome),
        ]

    def last(self) -> list[Check]:
        carries, encrypted = still_carries(self._session), self._under.encrypted
        if encrypted is None or not carries.passed:
            return [carries]
        again = prove.prove(self._session, self._observers, prove.AFTERWARDS).verdict
        return [carries, *prove.checks_of(again, encrypted=encrypted)]

    def add_accounts(self, outcome: Outcome) -> None:
        """Of the pods' start, and of the programs on the cluster's nodes."""
        outcome.metrics += [
            *self._programs.metrics(),
            Metric("pod_first_packet_s", "s", self._first_s),
            *(
                Metric("pod_running_s", "s", seconds, {"node": name})
                for name, seconds in self._session.lab.started_s.items()
            ),
        ]
        outcome.withheld += self._programs.withheld()
