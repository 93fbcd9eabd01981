"""A pod, the VPN below or a node that is interrupted or goes away in a trial."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from culvert.labs.kubernetes.pods.node import PodNode
from culvert.labs.namespace.places import run_directory
from culvert.machine import cgroup
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.results import Status
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from tests.labs.host import left_of
from tests.run.pods.embedded.running import (
    MARKS,
    NOTHING,
    WIREGUARD,
    executed,
    over,
    pods,
)
from tests.trial.interruptions import hold

pytestmark = MARKS


def groups_of(name: str) -> list[Path]:
    """The control groups of that name."""
    return [each.path / name for each in cgroup.hierarchies() if (each.path / name).is_dir()]


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def test_a_pod_that_goes_away_is_named_and_none_is_left(clusters: EmbeddedClusters) -> None:
    core = over(clusters, WIREGUARD).workspace.api.core

    class Deleted(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            assert isinstance(session.target, PodNode)
            where = session.target.where
            core.delete_namespaced_pod(where.pod, where.namespace, grace_period_seconds=0)
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 2000, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, Deleted(), parameters)
    assert found.status is Status.FAILED
    assert "-b" in found.reason
    assert found.remedy
    assert pods(over(clusters, WIREGUARD)) == []


@pytest.mark.parametrize("what", ["was stopped (SIGSTOP)", "had another queue (pfifo)"])
@pytest.mark.parametrize("node", ["a", "b"])
def test_a_vpn_below_it_that_is_interrupted_in_a_trial_gives_no_figure(
    clusters: EmbeddedClusters, node: str, what: str
) -> None:
    below = over(clusters, WIREGUARD).over
    assert below is not None
    process, device = below.vpn.processes[node][0], below.vpn.interface(below.lab.nodes[node])

    def interrupt() -> None:
        if "stopped" in what:
            os.kill(process.pid, signal.SIGSTOP)
            hold(0.2)
            os.kill(process.pid, signal.SIGCONT)
        else:
            run = below.lab.nodes[node].run
            # Its queue: a device that is down loses the routes of the cluster.
            run(["tc", "qdisc", "add", "dev", device, "root", "pfifo"])
            hold(0.2)
            run(["tc", "qdisc", "del", "dev", device, "root"])

    class Interrupted(Tcp):
        def run(self, session: Session, parameters: TcpParameters) -> Outcome:
            timer = threading.Timer(0.5, interrupt)
            timer.start()
            try:
                return super().run(session, parameters)
            finally:
                timer.join()

    parameters = TcpParameters.model_validate({"duration": "1500ms", "warmup": "200ms"})
    found = executed(clusters, WIREGUARD, Interrupted(), parameters)
    assert found.status is Status.INVALID, found.reason
    assert f"on node {node} {what}" in found.reason


def test_a_vpn_that_ends_in_a_trial_is_named(clusters: EmbeddedClusters) -> None:
    """The last one over WireGuard: the cluster is replaced."""
    under = over(clusters, WIREGUARD)
    vpn = under.over.vpn

    class Ended(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            vpn.processes["a"][0].stop(grace_s=0)
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, Ended(), parameters)
    assert found.status is Status.FAILED
    assert vpn.id in found.reason
    assert "on node a" in found.reason


def test_a_node_that_goes_away_in_a_trial_is_named_and_nothing_is_left(
    clusters: EmbeddedClusters,
) -> None:
    under = over(clusters, NOTHING)
    cluster, run_id = under.over.cluster, under.over.lab.run_id
    assert cluster is not None
    names = [node.group for node in cluster.nodes.values()]
    assert all(groups_of(name) for name in names)
    first_process = cluster.nodes["b"].pid

    class Gone(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            os.kill(first_process, signal.SIGKILL)  # all others of the node end too
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, NOTHING, Gone(), parameters)
    assert found.status is Status.FAILED
    assert "on node b" in found.reason
    assert found.remedy
    assert pods(under) == []
    clusters.close()
    assert not any(groups_of(name) for name in names)
    assert not run_directory(run_id).exists()
    assert not [path for path in mounts() if run_id in path]
    assert left_of(run_id) == []
