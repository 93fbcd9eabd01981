"""The declaration of a metric. Reports, comparisons, claims and the documentation derive from it.

A measurement declares its metrics in its own file::

    metrics = (
        MetricSpec("outage_ms", "ms", "Time without an answer", Better.LESS, Weight.MAIN),
        MetricSpec("lost_packets", "packets", "Requests without an answer", Better.LESS),
    )
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """How a VPN's trial is compared with the baseline's of the same block."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class HeadlineColumn:
    """How the headline shows a metric of one measurement, and how a sentence on a VPN puts it."""

    title: str
    key: str = ""
    """A short name for other columns to refer to; without one, ``measurement.metric``."""
    place: int = 100
    """Columns are sorted by place, then by measurement and metric."""
    effect: Effect = Effect.RATIO
    """How a VPN is compared with the baseline of the same block."""
    superlative: str = ""
    """The title of the winner's card, "Highest TCP goodput"; empty: no card."""
    sentence: str = ""
    """What a VPN does, {} for the figure: "carries {} of TCP"; empty: not in the sentence. The
    figure is the effect against the baseline for a time or a cost, else the value."""
    unchanged: str = ""
    """The sentence if the interval of a difference includes 0, {} for the interval."""
    absolute: bool = False
    """Only the absolute value is shown: a link without a VPN has no value to compare with."""
    unless: str = ""
    """Key of a column whose sentence makes this one superfluous."""
    smallest: str = ""
    """A parameter: of several cells, the one where it is least is shown. Empty: the one with most
    trials."""
    largest: str = ""
    """A parameter: of the cells that most VPNs have, the one where it is largest is shown."""
    common: str = ""
    """A parameter without which VPNs are not under one load (a flood offers each what it takes): a
    cell without a value for it is no column, nor is one of data that do not state it."""


class Better(StrEnum):
    """The better direction of a metric."""

    MORE = "more is better"
    LESS = "less is better"
    NEITHER = "neither is better"
    """For metrics that do not describe the VPN: of the instrument, the link or the machine."""


class Weight(StrEnum):
    """Where a metric is shown by default."""

    MAIN = "main"
    """The single metric of a measurement that progress shows and the stopping rule uses."""
    KEY = "key"
    """Compared by ``culvert compare``, like the main one. Keep them few: each additional metric
    reduces the power of all tests."""
    DETAIL = "detail"
    """In the tables and the export."""


@dataclass(frozen=True)
class MetricSpec:
    """One metric.

    ``unit`` is that of the journal ("bit/s", "us", "1" for a ratio), ``title`` a few words for a
    table or an axis. ``drawn``: the report draws it next to the main one, if the measurement
    has no figures of its own. ``column`` puts it into the report's headline.

    ``ways`` is how often the value contains a crossing of the path at the least: 2 for a round
    trip. A smaller value than the links' delay makes the trial invalid. ``of_packets``: not where
    a proxy ends connections on the near node. ``offered``: a rate that is requested, or that a
    sender offers. Any other rate in bits or packets is carried, and the links bound it.
    """

    name: str
    unit: str
    title: str
    better: Better = Better.NEITHER
    weight: Weight = Weight.DETAIL
    drawn: bool = False
    column: HeadlineColumn | None = None
    ways: int = 0
    of_packets: bool = False
    offered: bool = False

    def __post_init__(self) -> None:
        if self.column is not None and self.better is Better.NEITHER:
            raise ValueError(f"{self.name} is a column of the headline: declare which is better")
        if self.ways and self.unit not in ("us", "ms", "s"):
            raise ValueError(f"{self.name} contains crossings of the path, so its unit is a time")

    @property
    def compared(self) -> bool:
        """Whether ``culvert compare`` compares it without a request for it."""
        return self.weight is not Weight.DETAIL and self.better is not Better.NEITHER


_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p90": "90\u00a0%",
    "p99": "99\u00a0%",
    "p99_9": "99.9\u00a0%",
    "p99_99": "99.99\u00a0%",
    "max": "greatest",
}


def family(
    name: str,
    unit: str,
    title: str,
    statistics: Iterable[str],
    better: Better = Better.NEITHER,
    *,
    ways: int = 0,
    of_packets: bool = False,
) -> tuple[MetricSpec, ...]:
    """One metric per statistic: ``family("jitter_{}_us", "us", "Jitter", ("p50", "max"))``.

    Statistics are ``min``, ``mean``, ``max`` and percentiles such as ``p50`` and ``p99_9``.
    """
    return tuple(
        MetricSpec(
            name.format(one),
            unit,
            f"{title}, {_STATISTICS[one]}",
            better,
            ways=ways,
            of_packets=of_packets,
        )
        for one in statistics
    )
