"""A round: a tunnel comes up, is proved, carries each kind of traffic, and leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.base import Measurement
from culvert.measurements.rtt.rtt import Rtt
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.tunnel.initiation import Initiation
from culvert.measurements.udp.udp import Udp
from culvert.proof.alive import survivors
from culvert.proof.judge import judge_outcome
from culvert.proof.limits import GENERATOR, RECEIVER
from culvert.run.trials.paths import open_session
from culvert.run.trials.stage import before
from culvert.runid import new_run_id
from culvert.topology.graph import Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.contract import smallest_topology
from culvert.vpns.contract.observe import node_state
from tests.labs.host import left_of
from tests.quiet import ATTEMPTS, busy

from .tunnels import bring_up, driver

ROUNDS = 10
READABLE = (
    "no clear text",
    "each packet looks encrypted",
    "packets have nothing in common",
    "payload looks encrypted",
)
LINK = LinkSpec(rate_bps=30_000_000_000)
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
OF_THE_MACHINE = (GENERATOR, RECEIVER)
"""How fast it is today is not asked."""
TRAFFIC: Mapping[str, tuple[type[Measurement[Any]], Mapping[str, Any]]] = {
    "tcp": (Tcp, {"duration": "200ms", "warmup": "0s"}),
    "udp": (Udp, {"duration": "200ms", "packet_size": 512, "rate": "5000/s"}),
    "rtt": (Rtt, {"probes": 20}),
}


def faults_of_rounds(word: str, topology: Topology | None = None) -> list[str]:
    """Of as many rounds as it takes to find one with a fault, ten at most. ``topology`` None: the
    smallest."""
    for number in range(ROUNDS):
        faults = faults_of_round(word, topology)
        if faults:
            return [f"round {number}: {each}" for each in faults]
    return []


def faults_of_round(word: str, topology: Topology | None = None) -> list[str]:
    """What went wrong from nothing to nothing, in words."""
    vpn, run_id = driver(word), new_run_id()
    lab = NetnsLab(run_id, LabSpec(topology or smallest_topology(vpn), LINK))
    with ExitStack() as stack:
        stack.enter_context(lab)
        session = open_session(stack, lab, vpn, lab.path)
        was = {node: node_state(node) for node in lab.nodes.values()}
        try:
            faults = list(_life(session))
        finally:
            vpn.stop(lab)
        for node, state in was.items():
            left = node_state(node).left_since(state)
            faults += [f"node {node.name} after stop(): {each}" for each in left]
    return faults + [f"after the lab: {trace}" for trace in left_of(run_id)]


def _life(session: Session) -> Iterator[str]:
    vpn, lab = session.vpn, session.lab
    bring_up(vpn, lab)
    yield from _doubts(vpn, "up", before(session))
    for kind, (measurement, parameters) in TRAFFIC.items():
        yield from _doubts(vpn, kind, _measured(session, measurement(), parameters))
    if vpn.no_initiation:
        return
    vpn.leave(session.source)
    yield from _doubts(vpn, "initiation", _measured(session, Initiation(), {"cycles": 1}))
    yield from _doubts(vpn, "up again", before(session))


def _measured(
    session: Session, measurement: Measurement[Any], parameters: Mapping[str, Any]
) -> list[Check]:
    # In so short a load of a starved guest, no figure may be complete.
    for _ in range(ATTEMPTS):
        outcome = measurement.run(session, measurement.Parameters.model_validate(parameters))
        if measurement.headline in {metric.name for metric in outcome.metrics}:
            break
    else:
        assert busy(), f"no {measurement.headline}"
    return [*survivors(session.vpn), *judge_outcome(session, outcome)]


def _doubts(vpn: Vpn, phase: str, checks: Sequence[Check]) -> Iterator[str]:
    """Checks that failed; of a tunnel that protects nothing its clear text must be noticed."""
    failed = [check for check in checks if not check.passed and check.name not in OF_THE_MACHINE]
    if not (vpn.variant.encrypts or vpn.variant.integrity_only or vpn.outer_flow is None):
        noticed = [check for check in failed if check.name.startswith(READABLE)]
        failed = [check for check in failed if check not in noticed]
        if not noticed:
            yield f"{phase}: nobody noticed that it is readable"
    yield from (f"{phase}: {check.name}: {check.detail}" for check in failed)
