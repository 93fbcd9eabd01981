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

from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import Duration
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.results import Accounted
from culvert.proof.capture import judge_silence
from culvert.results import Metric
from culvert.trial.accounting import EVERYBODY
from culvert.trial.accounts import add_surroundings
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
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

    def run(self, session: Session, parameters: IdleCostParameters) -> Outcome:
        time.sleep(parameters.settle_s)  # a parameter of the study
        with session.watch(sample_one_in=1) as watched:
            time.sleep(parameters.duration_s)  # a parameter of the study
        ends = [
            _Idle(session, name, used, watched.seconds) for name, used in watched.accounted.items()
        ]
        others = [
            _Idle(session, name, used, watched.seconds) for name, used in watched.others.items()
        ]
        link, *_ = ends
        outcome = Outcome(
            metrics=[
                Metric("observed_s", "s", watched.seconds),
                *link.of_the_link({}),
                *_of_processes(ends, {}),
                *(metric for idle in (*ends, *others) for metric in idle.metrics()),
            ],
            watched=[],
            doubts=[
                check
                for name, node in watched.nodes.items()
                for check in judge_silence(session.vpn, node.captured, f"towards {name}")
            ],
        )
        add_surroundings(session, outcome, watched.accounted)
        return outcome


class _Idle:
    """One node's use in ``seconds``."""

    def __init__(self, session: Session, name: str, used: Accounted, seconds: float) -> None:
        node = session.lab.nodes[name]
        self._labels = {"node": name, "role": str(node.role)}
        self._hours = seconds / HOUR_S
        self._device = used.device(node.underlay.device)
        self._processes = [each for each in used.processes if each.label not in EVERYBODY]

    def metrics(self) -> list[Metric]:
        """With the node's labels; without processes only those of the link."""
        return [*self.of_the_link(self._labels), *_of_processes([self], self._labels)]

    def of_the_link(self, labels: Mapping[str, str]) -> list[Metric]:
        """Both directions, in frames."""
        device = self._device
        if device is None:
            return []
        frames, frame_bytes = (
            device.rx_packets + device.tx_packets,
            device.rx_bytes + device.tx_bytes,
        )
        return [
            Metric("idle_bytes_per_hour", "bytes/h", frame_bytes / self._hours, labels),
            Metric("idle_packets_per_hour", "packets/h", frames / self._hours, labels),
        ]

    @property
    def runs(self) -> bool:
        """Whether it has processes of the VPN."""
        return bool(self._processes)

    @property
    def wakeups_per_hour(self) -> float:
        """A thread that waits for a timer or a packet gives up its CPU voluntarily, once each
        time."""
        return sum(process.voluntary or 0 for process in self._processes) / self._hours

    @property
    def cpu_s_per_hour(self) -> float:
        """By the scheduler's clock."""
        return sum(process.run_ns or 0 for process in self._processes) / 1e9 / self._hours


def _of_processes(nodes: Sequence[_Idle], labels: Mapping[str, str]) -> list[Metric]:
    """The sum over nodes; none if the VPN has no process there (in the kernel)."""
    if not any(node.runs for node in nodes):
        return []
    wakeups = sum(node.wakeups_per_hour for node in nodes)
    cpu_s = sum(node.cpu_s_per_hour for node in nodes)
    return [
        Metric("wakeups_per_hour", "1/h", wakeups, dict(labels)),
        Metric("idle_cpu_s_per_hour", "s/h", cpu_s, dict(labels)),
    ]
