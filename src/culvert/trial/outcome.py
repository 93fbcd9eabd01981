"""What a measurement hands back to the trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from culvert.journal.record import Histogram, Metric, Series
from culvert.trial.check import Check, Withheld
from culvert.trial.traffic import InnerTraffic
from culvert.trial.watch import Watched


@dataclass
class Outcome:
    """What a measurement found.

    ``goodput_bytes`` is what the application received while ``watched`` lasted (None where there is
    no such figure); ``traffic`` what went into the tunnel and came out (None where a packet count
    says nothing); ``doubts`` are checks of the measurement's own.
    """

    metrics: list[Metric]
    watched: list[Watched]
    traffic: InnerTraffic | None = None
    goodput_bytes: int | None = None
    series: list[Series] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    doubts: list[Check] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
