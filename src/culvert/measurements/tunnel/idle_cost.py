"""``idle_cost``: what a tunnel costs that carries nothing.

::

    tunnel up ── settle ──── watch ──── end
                          └── duration: bytes, packets, wake-ups, CPU time; given per hour

All figures are counted in ``duration`` and scaled to an hour; ``observed_s`` states what was
watched. An event that comes less often than that is missed, or counted too high.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.labs.node import Node
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import Duration
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.results import Accounted, ProcessUse
from culvert.proof.capture import judge_silence
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric
from culvert.trial.accounting import cpu_s, of_the_vpn
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.surroundings import add_surroundings
from culvert.units import DurationS

HOUR_S = 3600
_LESS = Better.LESS


class IdleCostParameters(BaseParameters):
    """Parameters of the silence."""

    settle_s: Annotated[DurationS, Field(ge=0, le=3600)] = Field(15.0, alias="settle")
    """Time without traffic before the watch: keepalives and the ends of timers that earlier packets
    have set do not count."""
    duration_s: Annotated[Duration, Field(ge=0.1, le=86400)] = 60.0
    """Time of the watch."""


class IdleCost(Measurement[IdleCostParameters]):
    """Nothing is sent; both ends, and the servers, are watched."""

    kind: ClassVar[str] = "idle_cost"
    title: ClassVar[str] = "Cost of an idle tunnel"
    summary: ClassVar[str] = "bytes, packets, wake-ups and CPU time per hour without traffic"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("idle_bytes_per_hour", "bytes/h", "Bytes on the link", _LESS, Weight.MAIN),
        MetricSpec("idle_packets_per_hour", "packets/h", "Packets on the link", _LESS),
        MetricSpec("wakeups_per_hour", "1/h", "Wake-ups of the VPN", _LESS, Weight.KEY),
        MetricSpec("idle_cpu_s_per_hour", "s/h", "CPU time of the VPN", _LESS, Weight.KEY),
        MetricSpec("observed_s", "s", "Duration of the watch"),
    )
    Parameters = IdleCostParameters

    @classmethod
    def estimate_s(cls, parameters: IdleCostParameters) -> float:
        return parameters.settle_s + parameters.duration_s

    @classmethod
    def truths(cls, known: KnownPath, parameters: IdleCostParameters) -> Sequence[Truth]:
        del parameters
        if not known.bare:
            return []
        words = "nothing is sent"
        names = ("idle_bytes_per_hour", "idle_packets_per_hour")
        return [exactly(name, 0.0, words) for name in names]

    def run(self, session: Session, parameters: IdleCostParameters) -> Outcome:
        time.sleep(parameters.settle_s)  # a parameter of the study
        with session.watch(sample_one_in=1) as watched:
            time.sleep(parameters.duration_s)  # a parameter of the study
        hours, accounted, source = watched.seconds / HOUR_S, watched.accounted, session.source
        ends = [process for used in accounted.values() for process in of_the_vpn(used)]
        metrics = [
            Metric("observed_s", "s", watched.seconds),
            *_of_the_link(source, accounted[source.name], hours, {}),
            *_of_processes(ends, hours, {}),
        ]
        for name, used in {**accounted, **watched.others}.items():
            node = session.lab.nodes[name]
            labels = {"node": node.name, "role": str(node.role)}
            metrics += _of_the_link(node, used, hours, labels)
            metrics += _of_processes(of_the_vpn(used), hours, labels)
        outcome = Outcome(
            metrics=metrics,
            watched=[],
            doubts=[
                check
                for name, end in watched.nodes.items()
                for check in judge_silence(
                    session.vpn,
                    end.captured,
                    f"towards {name}",
                    corruption=session.link.impairment.corrupts,
                    duplication=session.link.impairment.duplicates,
                )
            ],
        )
        add_surroundings(outcome, accounted, shared_kernel=session.lab.shared_kernel)
        return outcome


def _of_the_link(
    node: Node, used: Accounted, hours: float, labels: Mapping[str, str]
) -> list[Metric]:
    """Both directions, in frames."""
    device = used.device(node.underlay.device)
    if device is None:
        return []
    frames, frame_bytes = device.rx_packets + device.tx_packets, device.rx_bytes + device.tx_bytes
    return [
        Metric("idle_bytes_per_hour", "bytes/h", frame_bytes / hours, labels),
        Metric("idle_packets_per_hour", "packets/h", frames / hours, labels),
    ]


def _of_processes(
    processes: Sequence[ProcessUse], hours: float, labels: Mapping[str, str]
) -> list[Metric]:
    """None if the VPN has no process there (in the kernel). A thread that waits for a timer or a
    packet gives up its CPU voluntarily, once each time."""
    if not processes:
        return []
    wakeups = sum(process.voluntary or 0 for process in processes)
    return [
        Metric("wakeups_per_hour", "1/h", wakeups / hours, labels),
        Metric("idle_cpu_s_per_hour", "s/h", cpu_s(processes) / hours, labels),
    ]
