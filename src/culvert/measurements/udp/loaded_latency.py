"""Round trips beside a load of some per cent of the PDR: the metrics, declared and measured."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.measurements.rtt.load import RttUnderUdp
from culvert.metrics import Better, MetricSpec, family
from culvert.results import Histogram, Metric

LOADS = (10, 50, 90)
"""Percentages of the PDR at which latency is measured."""


def _at_load(load: int) -> tuple[MetricSpec, ...]:
    """Metrics of the round trips at a percentage of the PDR."""
    at = f"at {load}\u00a0% of the PDR"
    return (
        MetricSpec(
            f"rtt_p50_at_pdr_{load}_us",
            "us",
            f"Round trip {at}, median",
            Better.LESS,
            drawn=True,
        ),
        *family(
            f"rtt_{{}}_at_pdr_{load}_us", "us", f"Round trip {at}", ("p90", "p99"), Better.LESS
        ),
        MetricSpec(f"probe_loss_at_pdr_{load}_ratio", "1", f"Share lost {at}", Better.LESS),
    )


LATENCY_METRICS = tuple(spec for load in LOADS for spec in _at_load(load))


@dataclass(frozen=True)
class LoadedLatency:
    """``load`` is a percentage of the PDR."""

    load: int
    under: RttUnderUdp

    def metrics(self) -> list[Metric]:
        """Percentiles where there are any, and the share lost."""
        rtt = self.under.rtt
        lost = rtt.lost / max(rtt.sent, 1)
        found = [Metric(f"probe_loss_at_pdr_{self.load}_ratio", "1", lost)]
        for name in ("p50", "p90", "p99"):
            value = getattr(rtt, f"{name}_ns")
            if value is not None:
                found.append(Metric(f"rtt_{name}_at_pdr_{self.load}_us", "us", value / 1e3))
        return found

    def histograms(self) -> list[Histogram]:
        """All round trips; empty if none came back."""
        histogram = self.under.rtt.histogram
        return [Histogram(f"rtt_at_pdr_{self.load}_ns", "ns", histogram)] if histogram else []
