"""What a link does to packets beside carrying them, each direction on its own. Pure.

The words and units are those of ``culvert-wire`` (crates/wire/README.md), which has all of it;
netem has a part (``culvert.labs.netem``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from culvert.errors import UsageError

LONGEST_DELAY_NS = 60_000_000_000
"""A delay beyond a minute is a mistake in the unit."""


class Distribution(StrEnum):
    """How jitter is spread: evenly from -spread to +spread; normal with that standard deviation;
    Pareto (Lomax, shape 3), which only ever adds, with that mean."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    PARETO = "pareto"


@dataclass(frozen=True)
class Jitter:
    """What is added to the delay. Order is kept unless ``reorders``."""

    spread_ns: int
    distribution: Distribution = Distribution.UNIFORM
    reorders: bool = False


@dataclass(frozen=True)
class Bursts:
    """Loss in bursts (Gilbert 1960, Elliott 1963): probabilities for each packet."""

    to_bad: float
    to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0


@dataclass(frozen=True)
class OneWay:
    """One direction. Shares are from 0 to 1, of the packets; ``rate_bps`` None is the link's.

    ``loss`` is a share (each packet on its own), bursts, or the numbers of the packets that are
    lost, from 0. ``queue_bytes`` None is the link kind's default.
    """

    rate_bps: int | None = None
    queue_bytes: int | None = None
    delay_ns: int = 0
    jitter: Jitter | None = None
    loss: float | Bursts | tuple[int, ...] = 0.0
    reorder: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0
    per_super_packet: bool = False
    """Decide about super-packets as a whole, as netem does with offloads on: an artefact that
    exists to be shown, never a condition to measure VPNs in."""

    def check(self) -> None:
        """Raise UsageError for what no link can do."""
        shares = {"reorder": self.reorder, "duplicate": self.duplicate, "corrupt": self.corrupt}
        if isinstance(self.loss, Bursts):
            shares |= {f"loss.{name}": share for name, share in vars(self.loss).items()}
        elif not isinstance(self.loss, tuple):
            shares["loss"] = self.loss
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name} {share}", "is not a share from 0 to 1", "write 0.01")
        spread_ns = self.jitter.spread_ns if self.jitter else 0
        for name, duration_ns in (("delay", self.delay_ns), ("jitter", spread_ns)):
            if not 0 <= duration_ns <= LONGEST_DELAY_NS:
                raise UsageError(
                    f"{name} {duration_ns} ns", "is not from 0 to 60 s", "check its unit"
                )
        if self.reorder and not self.delay_ns:
            raise UsageError(
                "reordering", "there is no delay that a packet could skip", "add a delay"
            )

    def conditions(self, rate_bps: int | None) -> dict[str, Any]:
        """What ``culvert-wire`` is to be told, on a link of this rate."""
        own_rate = self.rate_bps if self.rate_bps is not None else rate_bps
        asked: dict[str, Any] = {
            "delay_ns": self.delay_ns,
            "reorder": self.reorder,
            "duplicate": self.duplicate,
            "corrupt": self.corrupt,
            "per_super_packet": self.per_super_packet,
        }
        if own_rate is not None:
            asked["rate_bps"] = own_rate
        if self.queue_bytes is not None:
            asked["queue"] = {"bytes": self.queue_bytes}
        if self.jitter is not None:
            asked["jitter"] = {
                "distribution": str(self.jitter.distribution),
                "spread_ns": self.jitter.spread_ns,
            }
            asked["jitter_reorders"] = self.jitter.reorders
        match self.loss:
            case Bursts():
                asked["loss"] = {"gilbert_elliott": vars(self.loss)}
            case tuple():
                asked["loss"] = {"packets": list(self.loss)}
            case share:
                asked["loss"] = {"probability": share}
        return asked


@dataclass(frozen=True)
class Impairment:
    """Both directions of a link; on a routed lab, of the cable between a and the router."""

    a_to_b: OneWay = field(default_factory=OneWay)
    b_to_a: OneWay = field(default_factory=OneWay)

    @classmethod
    def both(cls, one_way: OneWay) -> Impairment:
        """The same in each direction: a delay counts twice in the round trip."""
        return cls(one_way, one_way)

    def check(self) -> None:
        """Raise UsageError for what no link can do."""
        self.a_to_b.check()
        self.b_to_a.check()

    def __bool__(self) -> bool:
        """True if anything is asked for."""
        return self != CLEAN


CLEAN = Impairment()
