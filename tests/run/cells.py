"""Cells for tests: short measurements on fresh labs."""

from __future__ import annotations

from typing import Any

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.base import Measurement
from culvert.measurements.rtt.rtt import Rtt
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.tcp.transactions import TcpCrr
from culvert.measurements.tunnel.initiation import Initiation
from culvert.measurements.udp.udp import Udp
from culvert.metrics import EVERY_TRIAL
from culvert.results import Metric, Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import LabFactory, Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.base import Vpn

SHORT: dict[str, tuple[type[Measurement[Any]], dict[str, Any]]] = {
    "tcp": (Tcp, {"duration": "600ms", "warmup": "200ms"}),
    "tcp_down": (Tcp, {"duration": "600ms", "warmup": "200ms", "direction": "down"}),
    "udp": (Udp, {"duration": "500ms", "packet_size": "max"}),
    "udp64": (Udp, {"duration": "500ms", "packet_size": 64}),
    # Of a rate that the wire forwards in time on a busy machine.
    "udp_slow": (Udp, {"duration": "500ms", "packet_size": "max", "rate": "50Mbit/s"}),
    # Of a rate that a busy machine keeps: half of the probes may be late, no more.
    "rtt": (Rtt, {"rate": "200/s", "probes": 60}),
    # For a guest on a busy machine, whose sender is often late.
    "rtt_slow": (Rtt, {"rate": "100/s", "probes": 60}),
    "icmp": (Rtt, {"rate": "200/s", "probes": 60, "protocol": "icmp"}),
    "tcp_crr": (TcpCrr, {"duration": "1s"}),
    "initiation": (Initiation, {"cycles": 2}),
}


def vpn(word: str) -> Vpn:
    """A driver's instance."""
    return registry.create(registry.parse(word))


def in_namespaces(spec: LabSpec) -> Lab:
    """A lab on this machine."""
    return NetnsLab(new_run_id(), spec)


def execute(contestant: Vpn, kind: str, spec: LabSpec | None = None) -> TrialFinding:
    """One trial, short."""
    measurement, parameters = SHORT[kind]
    return measure(contestant, measurement(), parameters, spec)


def measure(
    contestant: Vpn,
    measurement: Measurement[Any],
    parameters: dict[str, Any],
    spec: LabSpec | None = None,
    make_lab: LabFactory = in_namespaces,
) -> TrialFinding:
    """One trial on a lab of its own. Its metrics are those that the measurement declares; other
    programs' CPU time is among them, wherever a trial is ok."""
    finding = Execution(
        contestant,
        spec or LabSpec(link=LinkSpec()),
        measurement,
        measurement.Parameters.model_validate(parameters),
        Tunnels(make_lab),
    ).execute()
    declared = {spec.name: spec.unit for spec in (*EVERY_TRIAL, *measurement.metrics)}
    for metric in finding.outcome.metrics:
        assert declared.get(metric.name) == metric.unit, metric.name
    if finding.status is Status.OK and make_lab is in_namespaces:
        assert "cpu_other_processes_s" in {metric.name for metric in finding.outcome.metrics}
    return finding


def by_node(finding: TrialFinding, name: str) -> dict[str, float]:
    """A metric that has a label for the node."""
    return {
        metric.labels["node"]: metric.value
        for metric in finding.outcome.metrics
        if metric.name == name and "node" in metric.labels
    }


def value(finding: TrialFinding, name: str) -> float:
    """A metric without labels."""
    found: list[Metric] = [m for m in finding.outcome.metrics if m.name == name and not m.labels]
    names = sorted({m.name for m in finding.outcome.metrics})
    assert len(found) == 1, f"{name} in {names}: {finding.status}: {finding.reason}"
    return found[0].value
