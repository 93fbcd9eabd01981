"""The contract of a measurement: a method that yields metrics.

A measurement gets a Session (a tunnel that is up, a probe on either node, the secrets that mark our
packets) and parameters of its own type. What it times, it times inside ``session.watch()``, so that
CPU, drops and the proof cover exactly the packets that it counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from culvert.journal.record import Histogram, Metric, Series
from culvert.proof.check import Check
from culvert.proof.traffic import InnerTraffic
from culvert.trial.session import Session
from culvert.trial.watch import Watched


class BaseParameters(BaseModel):
    """Base of every measurement's parameters: a key that nobody knows is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


P = TypeVar("P", bound=BaseParameters)


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


class Measurement(ABC, Generic[P]):
    """One method."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    headline: ClassVar[str]
    """The metric that progress shows and that the stopping rule looks at."""
    metrics: ClassVar[Mapping[str, str]] = {}
    """Name and unit of each metric that an outcome may hold, so that claims can be checked before
    anything runs; those of the CPU go without saying. Empty: not declared, not checked."""
    Parameters: ClassVar[type[BaseParameters]]
    drives_tunnel: ClassVar[bool] = False
    """True if it brings the tunnel up and down itself (initiation)."""
    of_the_link: ClassVar[bool] = False
    """True if it measures the link itself: no firewall, NAT or block is in its way."""

    @classmethod
    @abstractmethod
    def estimate_s(cls, parameters: P) -> float:
        """Seconds of measuring that one trial takes."""

    @abstractmethod
    def run(self, session: Session, parameters: P) -> Outcome:
        """Measure once."""
