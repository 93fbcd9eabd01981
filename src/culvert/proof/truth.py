"""What a figure must be on a path of known links, and whether it is.

::

    0 ······· least ──── right ──── value ──── most ······ bound ······ impossible

A measurement declares its truths (``Measurement.truths``). Without a VPN the figure lies between
``least`` and ``most`` if instrument and machine measure right: calibration shows that. No figure
exceeds ``bound``, with any VPN: a trial with such a figure is invalid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from culvert.journal.marks import FILLED_SHARE
from culvert.proof.underlay import HISTOGRAM_PRECISION
from culvert.results import Metric
from culvert.trial.check import Check

POSSIBLE = "figures are possible"
SHORT = 0.02
"""A rate may be this share below its truth: gaps of a sender, and the wire's own margin."""
LATE_SHARE, LATE_NS = 0.01, 200_000
"""A time may be longer than its truth by this share and this time: a wake-up at each end."""
NS_PER = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Truth:
    """Of one metric, in its unit. ``labels`` select some of its values; ``because`` says in a few
    words what fixes it."""

    metric: str
    value: float | None
    least: float = -math.inf
    most: float = math.inf
    because: str = ""
    bound: float = math.inf
    labels: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, metric: Metric) -> bool:
        """Whether the metric is one that it is about."""
        return metric.name == self.metric and self.labels.items() <= dict(metric.labels).items()


def rate(metric: str, value: float, because: str, *, bound: float = math.inf) -> Truth:
    """At most the value, at least 2 % less."""
    return Truth(metric, value, (1 - SHORT) * value, value, because, bound)


def time(metric: str, unit: str, least_ns: float, because: str, *, longer_ns: float = 0.0) -> Truth:
    """At least ``least_ns``, as far as a histogram distinguishes it; ``longer_ns`` is what the
    method adds at most."""
    per = NS_PER[unit]
    least = least_ns * (1 - HISTOGRAM_PRECISION) / per
    most_ns = least_ns * (1 + LATE_SHARE) + LATE_NS + longer_ns
    return Truth(metric, least_ns / per, least, most_ns / per, because)


def exactly(metric: str, value: float, because: str) -> Truth:
    """The value and no other."""
    return Truth(metric, value, value, value, because)


@dataclass(frozen=True)
class Judged:
    """A truth and a figure."""

    metric: str
    unit: str
    labels: Mapping[str, str]
    value: float | None
    least: float | None
    most: float | None
    measured: float
    because: str

    @classmethod
    def of(cls, truth: Truth, metric: Metric) -> Self:
        """An end that is infinite is None: evidence is JSON."""
        return cls(
            metric=metric.name,
            unit=metric.unit,
            labels=dict(metric.labels),
            value=truth.value,
            least=truth.least if math.isfinite(truth.least) else None,
            most=truth.most if math.isfinite(truth.most) else None,
            measured=float(metric.value),
            because=truth.because,
        )

    @property
    def right(self) -> bool:
        """Whether the figure is within the margins of its truth."""
        low, high = self._ends
        return low <= self.measured <= high

    @property
    def impossible(self) -> bool:
        """Whether it is beyond the nearer margin, where even a disturbed machine has no figure: a
        rate above its truth, a time below."""
        if self.value is None:
            return False
        low, high = self._ends
        below, above = self.value - low, high - self.value
        if below == above:
            return False  # a count, which may be missed on either side
        return self.measured > high if above < below else self.measured < low

    @property
    def _ends(self) -> tuple[float, float]:
        low = -math.inf if self.least is None else self.least
        return low, math.inf if self.most is None else self.most

    @property
    def filled_share(self) -> float | None:
        """Of a rate, the share of what the path carries; None of anything else."""
        if not self.value or self.least is None or self.most is None:
            return None
        is_rate = self.most - self.value < self.value - self.least
        return self.measured / self.value if is_rate else None


def judge_truths(truths: Sequence[Truth], metrics: Sequence[Metric]) -> list[Check]:
    """One check of all figures with a truth, which records them; it fails for a figure that no
    VPN can have. No check without a truth."""
    pairs = [(truth, metric) for truth in truths for metric in metrics if truth.is_of(metric)]
    if not pairs:
        return []
    beyond = [
        f"{metric.name} is {metric.value:.6g} {metric.unit}, at most {truth.bound:.6g} is possible"
        for truth, metric in pairs
        if metric.value > truth.bound
    ]
    judged = [Judged.of(truth, metric) for truth, metric in pairs if truth.value is not None]
    figures: dict[str, Any] = {"truths": [asdict(one) for one in judged]} if judged else {}
    possible = f"no bound of the path is exceeded ({len(pairs)} figures)"
    filled = [share for one in judged if (share := one.filled_share) is not None]
    if filled:
        figures[FILLED_SHARE] = min(filled)
        possible += f"; the baseline reaches {min(filled):.0%} of what the path carries"
    remedy = "traffic bypassed the link, or the instrument counts wrongly: report this"
    return [Check(POSSIBLE, not beyond, "; ".join(beyond) or possible, remedy, figures)]


def judged_in(evidence: Mapping[str, Any]) -> list[Judged]:
    """Those that a trial's evidence records."""
    return [
        Judged(**one)
        for check in evidence.get("checks", ())
        if check["name"].startswith(POSSIBLE)
        for one in check["figures"].get("truths", ())
    ]
