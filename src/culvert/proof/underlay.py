"""Asked and delivered: whether a link did to packets what the condition asks of it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.labs.impairment import Bursts, OneWay
from culvert.labs.jitter import Distribution
from culvert.proof.check import Check

SIGMAS = 3.89
"""Of a normal distribution 99.99 % lie within: one false alarm in 10,000 checks."""
DELAY_TOLERANCE_NS = 1_000_000
DELAY_TOLERANCE = 0.02
RATE_TOLERANCE = 0.02
REMEDY = "the link does not do what was asked: end what else runs here, or ask for less"


@dataclass(frozen=True)
class Delivered:
    """What a stream of wire-sized packets met in one direction.

    ``sent`` packets went out, ``lost`` did not arrive; delays in ns from socket to socket, None if
    nothing arrived; ``rate_bps`` of Ethernet frames, None where no rate was asked for.
    """

    sent: int
    lost: int
    duplicates: int
    reordered: int
    delay_min_ns: int | None
    delay_p50_ns: int | None
    rate_bps: float | None = None

    @property
    def loss(self) -> float:
        """Share of the packets."""
        return self.lost / self.sent if self.sent else 0.0


def asked_loss(one_way: OneWay) -> float | None:
    """Share of packets that the direction loses in the long run; None for a list of packets."""
    match one_way.loss:
        case Bursts() as bursts:
            leaving = bursts.to_bad + bursts.to_good
            bad = bursts.to_bad / leaving if leaving else 0.0
            return (1 - bad) * bursts.loss_in_good + bad * bursts.loss_in_bad
        case tuple():
            return None
        case share:
            return share


def loss_interval(one_way: OneWay, packets: int) -> tuple[float, float]:
    """Where the share of lost packets must lie, of so many.

    The variance of a mean of correlated losses is that of independent ones times
    (1 + r) / (1 - r), r being the correlation of neighbours.
    """
    share = asked_loss(one_way)
    if share is None:
        return 0.0, 1.0
    inflation = 1.0
    if isinstance(one_way.loss, Bursts):
        memory = 1 - one_way.loss.to_bad - one_way.loss.to_good
        inflation = (1 + memory) / max(1 - memory, 1e-9)
    deviation = math.sqrt(share * (1 - share) * max(inflation, 1.0) / max(packets, 1))
    # A single packet more or less is never a disagreement where any loss is asked for.
    margin = SIGMAS * deviation + (1 / max(packets, 1) if share else 0.0)
    return max(share - margin, 0.0), min(share + margin, 1.0)


def delay_bounds_ns(one_way: OneWay, transmission_ns: int) -> tuple[int, int]:
    """Where the median delay must lie; ``transmission_ns`` is what the rate adds to a packet."""
    low, high = one_way.delay_ns, one_way.delay_ns + transmission_ns
    if one_way.jitter is not None:
        spread = one_way.jitter.spread_ns
        # Pareto only ever adds; the median of the others is the delay itself.
        if one_way.jitter.distribution is not Distribution.PARETO:
            low -= spread // 4
        high += spread
    slack = DELAY_TOLERANCE_NS + round(DELAY_TOLERANCE * high)
    return max(low - 1000, 0), high + slack


def judge_direction(
    name: str, one_way: OneWay, delivered: Delivered, *, rate_bps: int | None, packet_bytes: int
) -> list[Check]:
    """Checks of one direction; ``packet_bytes`` is the length of the frames that were sent."""
    checks = [_loss(name, one_way, delivered)]
    transmission_ns = 8 * packet_bytes * 10**9 // rate_bps if rate_bps else 0
    checks.append(_delay(name, one_way, delivered, transmission_ns))
    if not (one_way.reorder or (one_way.jitter and one_way.jitter.reorders)):
        checks.append(_none(name, "reordered", delivered.reordered))
    if not one_way.duplicate:
        checks.append(_none(name, "duplicated", delivered.duplicates))
    if rate_bps is not None and delivered.rate_bps is not None:
        # What is lost has taken its time on the link all the same.
        arriving_bps = rate_bps * (1 - (asked_loss(one_way) or 0.0))
        checks.append(_rate(name, arriving_bps, delivered.rate_bps))
    return checks


def _loss(name: str, one_way: OneWay, delivered: Delivered) -> Check:
    low, high = loss_interval(one_way, delivered.sent)
    asked = asked_loss(one_way)
    wanted = "packets of a list" if asked is None else f"{asked:.2%}"
    return Check(
        f"the underlay loses what was asked, {name}",
        delivered.sent > 0 and low <= delivered.loss <= high,
        f"asked {wanted}, delivered {delivered.loss:.2%} ({delivered.lost} of {delivered.sent} "
        f"packets; {low:.2%} to {high:.2%} agree)",
        REMEDY,
        {"asked": asked, "delivered": delivered.loss, "low": low, "high": high},
    )


def _delay(name: str, one_way: OneWay, delivered: Delivered, transmission_ns: int) -> Check:
    low, high = delay_bounds_ns(one_way, transmission_ns)
    found = delivered.delay_p50_ns
    told = "nothing arrived" if found is None else f"{found / 1e6:.3f} ms"
    return Check(
        f"the underlay delays as asked, {name}",
        found is not None and low <= found <= high,
        f"asked {one_way.delay_ns / 1e6:g} ms, delivered {told} in the median "
        f"({low / 1e6:.3f} to {high / 1e6:.3f} ms agree)",
        REMEDY,
        {"asked_ns": one_way.delay_ns, "delivered_ns": found, "low_ns": low, "high_ns": high},
    )


def _none(name: str, what: str, count: int) -> Check:
    return Check(
        f"no packet is {what}, {name}",
        count == 0,
        f"{count} packets were {what}, none was asked for",
        REMEDY,
    )


def _rate(name: str, asked_bps: float, delivered_bps: float) -> Check:
    return Check(
        f"the underlay's rate is as asked, {name}",
        abs(delivered_bps / asked_bps - 1) <= RATE_TOLERANCE,
        f"asked {asked_bps / 1e6:g} Mbit/s, delivered {delivered_bps / 1e6:.3f} Mbit/s of frames",
        REMEDY,
        {"asked_bps": asked_bps, "delivered_bps": delivered_bps},
    )
