"""The result that a measurement returns to the trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from culvert.journal.marks import Mark
from culvert.labs.process import Process
from culvert.results import Histogram, Metric, Series
from culvert.trial.check import Check, Withheld
from culvert.trial.traffic import InnerTraffic
from culvert.trial.watch import Watched


@dataclass
class Outcome:
    """The result of a measurement.

    ``goodput_bytes`` are the bytes that the application received during ``watched`` (None if there
    is no such figure); ``traffic`` is the traffic into the tunnel and out of it (None if packet
    counts cannot be used); ``doubts`` are the measurement's own checks.
    """

    metrics: list[Metric]
    watched: list[Watched]
    traffic: InnerTraffic | None = None
    goodput_bytes: int | None = None
    series: list[Series] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    doubts: list[Check] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    halted: tuple[Process, ...] = ()
    """Processes that the measurement itself has stopped and continued."""
