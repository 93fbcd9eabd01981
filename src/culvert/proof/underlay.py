"""Asked and delivered: whether a link did to packets what the condition asks of it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.topology.link.impairment import LONGEST_DELAY_NS, Bursts, OneWay
from culvert.topology.link.jitter import SIGMAS
from culvert.trial.check import Check

ETHERNET_HEADER = 14
CLOCK_NS = 1_000
"""What the clocks of a machine may be apart."""
HISTOGRAM_PRECISION = 0.001
"""Delays come from a histogram of three digits."""
DELAY_TOLERANCE_NS = 1_000_000
DELAY_TOLERANCE = 0.02
RATE_TOLERANCE = 0.02
REMEDY = "the link does not do what was asked: end what else runs here, or ask for less"


@dataclass(frozen=True)
class Delivered:
    """What a stream of wire-sized packets met in one direction.

    ``sent`` packets of ``packet_bytes`` (of the IP packet) went out in ``seconds``, ``lost`` did
    not arrive, of them ``longest_run`` in a row; delays in ns from socket to socket, None if
    nothing arrived; ``rate_bps`` of Ethernet frames when ``offered_bps`` were sent, None where no
    rate was asked for. ``oversize_arrived`` counts those that arrived of a few that an MTU black
    hole should have swallowed, None without one. ``bursty`` if the sender, too late for its
    schedule, made packets wait for each other in front of the rate.
    """

    sent: int
    lost: int
    duplicates: int
    reordered: int
    delay_min_ns: int | None
    delay_p50_ns: int | None
    packet_bytes: int = 1500
    seconds: float = 1.0
    delay_p99_ns: int | None = None
    loss_runs: int = 0
    longest_run: int = 0
    rate_bps: float | None = None
    offered_bps: float = math.inf
    oversize_arrived: int | None = None
    bursty: bool = False

    @property
    def loss(self) -> float:
        """Share of the packets."""
        return self.lost / self.sent if self.sent else 0.0

    @property
    def mean_run(self) -> float | None:
        """Packets lost in a row, on the average; None if none was lost."""
        return self.lost / self.loss_runs if self.loss_runs else None


def asked_loss(one_way: OneWay) -> float | None:
    """Share of packets that the direction loses in the long run.

    None where it depends on when or on which they are: for a list of packets, and in a blackout.
    """
    if one_way.drop_udp:
        return 1.0
    if one_way.blackout is not None:
        return None
    match one_way.loss:
        case Bursts() as bursts:
            leaving = bursts.to_bad + bursts.to_good
            bad = bursts.to_bad / leaving if leaving else 0.0
            return (1 - bad) * bursts.loss_in_good + bad * bursts.loss_in_bad
        case tuple():
            return None
        case share:
            return share


def asked_run(one_way: OneWay) -> float | None:
    """Packets that are lost in a row, on the average; None where that is not known."""
    match one_way.loss:
        case Bursts(loss_in_good=0.0, loss_in_bad=1.0, to_good=to_good):
            return 1 / to_good if to_good else None
        case float() as share if 0 < share < 1:
            return 1 / (1 - share)
        case _:
            return None


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
    # A single packet more or less is never a disagreement where chance decides.
    margin = SIGMAS * deviation + (1 / max(packets, 1) if 0 < share < 1 else 0.0)
    return max(share - margin, 0.0), min(share + margin, 1.0)


def delay_bounds_ns(
    one_way: OneWay, transmission_ns: int, packets: int, seconds: float
) -> tuple[int, int]:
    """Where the median delay of so many packets in ``seconds`` must lie.

    ``transmission_ns`` is what the rate adds to each.
    """
    low, high = one_way.delay_ns, one_way.delay_ns + transmission_ns
    jitter = one_way.jitter
    if jitter is not None:
        draws = packets
        if jitter.hold_ns:
            draws = min(packets, round(seconds * 1e9 / jitter.hold_ns))
        least, most = jitter.median_within_ns(draws)
        low += least
        # Where order is kept, a packet waits for those before it that got more.
        high += most if jitter.reorders else jitter.longest_ns
    if one_way.trace is not None or one_way.blackout is not None:
        high = LONGEST_DELAY_NS  # a packet waits for its moment
    slack = DELAY_TOLERANCE_NS + round(DELAY_TOLERANCE * high)
    return max(round(low * (1 - HISTOGRAM_PRECISION)) - CLOCK_NS, 0), high + slack


def least_delay_ns(one_way: OneWay) -> int:
    """What no packet's delay may be below."""
    if one_way.reorder:
        return 0
    least = one_way.delay_ns + (one_way.jitter.least_ns if one_way.jitter else 0)
    return max(round(least * (1 - HISTOGRAM_PRECISION)) - CLOCK_NS, 0)


def judge_direction(
    name: str, one_way: OneWay, delivered: Delivered, *, rate_bps: int | None
) -> list[Check]:
    """Checks of one direction, whose link has that rate."""
    checks = [_loss(name, one_way, delivered)]
    if delivered.oversize_arrived is not None:
        checks.append(_swallowed(name, one_way, delivered.oversize_arrived))
    if one_way.drop_udp:
        return checks
    frame_bits = 8 * (delivered.packet_bytes + ETHERNET_HEADER)
    transmission_ns = frame_bits * 10**9 // rate_bps if rate_bps else 0
    checks.append(_delay(name, one_way, delivered, transmission_ns))
    if not (one_way.reorder or (one_way.jitter and one_way.jitter.reorders)):
        checks.append(_none(name, "reordered", delivered.reordered))
    if not one_way.duplicate:
        checks.append(_none(name, "duplicated", delivered.duplicates))
    loss = asked_loss(one_way)
    if rate_bps is not None and delivered.rate_bps is not None and loss is not None:
        # What is lost has taken its time on the link all the same.
        checks.append(_rate(name, rate_bps, 1 - loss, delivered.rate_bps, delivered.offered_bps))
    return checks


def _swallowed(name: str, one_way: OneWay, arrived: int) -> Check:
    return Check(
        f"the underlay swallows long packets, {name}",
        arrived == 0,
        f"asked to drop {one_way.drop_size_and_above} bytes and above, {arrived} such arrived",
        REMEDY,
    )


def _loss(name: str, one_way: OneWay, delivered: Delivered) -> Check:
    low, high = loss_interval(one_way, delivered.sent)
    asked = asked_loss(one_way)
    wanted = "what depends on the moment" if asked is None else f"{asked:.2%}"
    return Check(
        f"the underlay loses what was asked, {name}",
        delivered.sent > 0 and low <= delivered.loss <= high,
        f"asked {wanted}, delivered {delivered.loss:.2%} ({delivered.lost} of {delivered.sent} "
        f"packets; {low:.2%} to {high:.2%} agree)",
        REMEDY,
        {"asked": asked, "delivered": delivered.loss, "low": low, "high": high},
    )


def _delay(name: str, one_way: OneWay, delivered: Delivered, transmission_ns: int) -> Check:
    arrived = delivered.sent - delivered.lost
    low, high = delay_bounds_ns(one_way, transmission_ns, arrived, delivered.seconds)
    dark = one_way.blackout is not None and not arrived
    floor = least_delay_ns(one_way)
    middle, least = delivered.delay_p50_ns, delivered.delay_min_ns
    told = "nothing arrived" if middle is None else f"{middle / 1e6:.3f} ms"
    return Check(
        f"the underlay delays as asked, {name}",
        dark
        or (
            middle is not None
            and least is not None
            and low <= middle
            # of a burst only the first packet finds the link idle
            and (least if delivered.bursty else middle) <= high
            and least >= floor
        ),
        f"asked {one_way.delay_ns / 1e6:g} ms, delivered {told} in the median "
        f"({low / 1e6:.3f} to {high / 1e6:.3f} ms agree)"
        + ("" if least is None else f", {least / 1e6:.3f} ms at least"),
        REMEDY,
        {
            "asked_ns": one_way.delay_ns,
            "delivered_ns": middle,
            "low_ns": low,
            "high_ns": high,
            "least_ns": least,
            "floor_ns": floor,
        },
    )


def _none(name: str, what: str, count: int) -> Check:
    return Check(
        f"no packet is {what}, {name}",
        count == 0,
        f"{count} packets were {what}, none was asked for",
        REMEDY,
    )


def _rate(
    name: str, asked_bps: float, passing: float, delivered_bps: float, offered_bps: float
) -> Check:
    """Never above the rate, and not below it or what was offered, less what was to be lost."""
    low = (1 - RATE_TOLERANCE) * min(asked_bps, offered_bps) * passing
    high = (1 + RATE_TOLERANCE) * asked_bps * passing
    return Check(
        f"the underlay's rate is as asked, {name}",
        low <= delivered_bps <= high,
        f"asked {asked_bps / 1e6:g} Mbit/s, delivered {delivered_bps / 1e6:.3f} Mbit/s of frames"
        + (f" of {offered_bps / 1e6:.3f} offered" if math.isfinite(offered_bps) else ""),
        REMEDY,
        {"asked_bps": asked_bps, "delivered_bps": delivered_bps, "low_bps": low, "high_bps": high},
    )
