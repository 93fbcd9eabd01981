"""Requested and delivered: whether a link treats packets as the condition requests. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from culvert.topology.link.impairment import LONGEST_DELAY_NS, Bursts, OneWay
from culvert.topology.link.jitter import SIGMAS
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.check import Check

CLOCK_NS = 1_000
"""Largest difference between clocks of one machine."""
HISTOGRAM_PRECISION = 0.001
"""Delays come from a histogram of three digits."""
DELAY_TOLERANCE_NS = 1_000_000
DELAY_TOLERANCE = 0.02
RATE_TOLERANCE = 0.02
REMEDY = "the link does not deliver the requested values: stop other programs here, or request less"


@dataclass(frozen=True)
class Delivered:
    """What happened to a stream of wire-sized packets in one direction.

    ``sent`` packets of ``packet_bytes`` (of the IP packet) were sent in ``seconds``, ``lost`` did
    not arrive. Delays are in ns from socket to socket, None if
    nothing arrived. ``rate_bps`` is of Ethernet frames while ``offered_bps`` were sent, None if no
    rate was requested. ``oversize_arrived`` counts arrived packets that an MTU black hole should
    have dropped, None without one. ``held`` are the packets that an emulator's queue held of more,
    None if this was not measured. ``bursty``: the sender was late and sent bursts, so that packets
    queued for the rate.
    """

    sent: int
    lost: int
    duplicates: int
    reordered: int
    delay_min_ns: int | None
    delay_p50_ns: int | None
    packet_bytes: int = 1500
    seconds: float = 1.0
    rate_bps: float | None = None
    offered_bps: float = math.inf
    oversize_arrived: int | None = None
    fragments_arrived: int | None = None
    held: int | None = None
    bursty: bool = False

    @property
    def loss(self) -> float:
        """Share of packets lost."""
        return self.lost / self.sent if self.sent else 0.0


def requested_loss(one_way: OneWay) -> float | None:
    """Expected share of packets that the direction loses.

    None where it depends on time or on single packets: for a list of packets, and in a blackout.
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


def requested_run(one_way: OneWay) -> float | None:
    """Expected number of packets lost in a row; None if unknown."""
    match one_way.loss:
        case Bursts(loss_in_good=0.0, loss_in_bad=1.0, to_good=to_good):
            return 1 / to_good if to_good else None
        case float() as share if 0 < share < 1:
            return 1 / (1 - share)
        case _:
            return None


def loss_interval(one_way: OneWay, packets: int) -> tuple[float, float]:
    """The interval in which the share of lost packets must lie, for this number of packets.

    The variance of a mean of correlated losses is that of independent ones times
    (1 + r) / (1 - r), r being the correlation of neighbours.
    """
    share = requested_loss(one_way)
    if share is None:
        return 0.0, 1.0
    inflation = 1.0
    if isinstance(one_way.loss, Bursts):
        memory = 1 - one_way.loss.to_bad - one_way.loss.to_good
        inflation = (1 + memory) / max(1 - memory, 1e-9)
    deviation = math.sqrt(share * (1 - share) * max(inflation, 1.0) / max(packets, 1))
    # With random loss, a difference of one packet is never a disagreement.
    margin = SIGMAS * deviation + (1 / max(packets, 1) if 0 < share < 1 else 0.0)
    return max(share - margin, 0.0), min(share + margin, 1.0)


def delay_bounds_ns(
    one_way: OneWay, transmission_ns: int, packets: int, seconds: float
) -> tuple[int, int]:
    """The interval in which the median delay of this number of packets in ``seconds`` must lie.

    ``transmission_ns`` is the transmission time of each packet at the rate.
    """
    low, high = one_way.delay_ns, one_way.delay_ns + transmission_ns
    jitter = one_way.jitter
    if jitter is not None:
        draws = packets
        if jitter.hold_ns:
            draws = min(packets, round(seconds * 1e9 / jitter.hold_ns))
        least, most = jitter.median_within_ns(draws)
        low += least
        # Where order is kept, a packet waits for earlier ones with a longer delay.
        high += most if jitter.reorders else jitter.longest_ns
    if one_way.trace is not None or one_way.blackout is not None:
        high = LONGEST_DELAY_NS  # a packet waits for its transmission slot
    slack = DELAY_TOLERANCE_NS + round(DELAY_TOLERANCE * high)
    return max(round(low * (1 - HISTOGRAM_PRECISION)) - CLOCK_NS, 0), high + slack


def least_delay_ns(one_way: OneWay) -> int:
    """Lower bound of every packet's delay."""
    if one_way.reorder:
        return 0
    least = one_way.delay_ns + (one_way.jitter.least_ns if one_way.jitter else 0)
    return max(round(least * (1 - HISTOGRAM_PRECISION)) - CLOCK_NS, 0)


def judge_direction(
    name: str, one_way: OneWay, delivered: Delivered, *, rate_bps: int | None
) -> list[Check]:
    """Checks of one direction of a link with that rate."""
    checks = [_loss(name, one_way, delivered)]
    if delivered.oversize_arrived is not None:
        checks.append(_swallowed(name, one_way, delivered.oversize_arrived))
    if delivered.fragments_arrived is not None:
        checks.append(_none(name, "in fragments", delivered.fragments_arrived))
    if one_way.drop_udp:
        return checks
    if delivered.held is not None and one_way.limit_packets is not None:
        checks.append(_held(name, one_way.limit_packets, delivered.held))
    frame_bits = 8 * (delivered.packet_bytes + ETHERNET_HEADER)
    transmission_ns = frame_bits * 10**9 // rate_bps if rate_bps else 0
    checks.append(_delay(name, one_way, delivered, transmission_ns))
    if not (one_way.reorder or (one_way.jitter and one_way.jitter.reorders)):
        checks.append(_none(name, "reordered", delivered.reordered))
    if not one_way.duplicate:
        checks.append(_none(name, "duplicated", delivered.duplicates))
    loss = requested_loss(one_way)
    if rate_bps is not None and delivered.rate_bps is not None and loss is not None:
        # Lost packets have used the link's rate as well.
        checks.append(_rate(name, rate_bps, 1 - loss, delivered.rate_bps, delivered.offered_bps))
    return checks


def _swallowed(name: str, one_way: OneWay, arrived: int) -> Check:
    return Check(
        f"the underlay drops long packets, {name}",
        arrived == 0,
        f"requested to drop {one_way.drop_size_and_above} bytes and above, {arrived} such arrived",
        REMEDY,
    )


def _held(name: str, requested: int, held: int) -> Check:
    return Check(
        f"the underlay holds as many packets as requested, {name}",
        abs(held - requested) <= RATE_TOLERANCE * requested,
        f"requested {requested} packets, {held} passed of more that were sent within the delay",
        REMEDY,
        {"requested": requested, "held": held},
    )


def _loss(name: str, one_way: OneWay, delivered: Delivered) -> Check:
    low, high = loss_interval(one_way, delivered.sent)
    requested = requested_loss(one_way)
    wanted = "a loss that varies with time" if requested is None else f"{requested:.2%}"
    return Check(
        f"the underlay has the requested loss, {name}",
        delivered.sent > 0 and low <= delivered.loss <= high,
        f"requested {wanted}, delivered {delivered.loss:.2%} ({delivered.lost} of {delivered.sent} "
        f"packets; {low:.2%} to {high:.2%} pass)",
        REMEDY,
        {"requested": requested, "delivered": delivered.loss, "low": low, "high": high},
    )


def _delay(name: str, one_way: OneWay, delivered: Delivered, transmission_ns: int) -> Check:
    arrived = delivered.sent - delivered.lost
    low, high = delay_bounds_ns(one_way, transmission_ns, arrived, delivered.seconds)
    dark = one_way.blackout is not None and not arrived
    floor = least_delay_ns(one_way)
    middle, least = delivered.delay_p50_ns, delivered.delay_min_ns
    median = "nothing arrived" if middle is None else f"{middle / 1e6:.3f} ms"
    return Check(
        f"the underlay has the requested delay, {name}",
        dark
        or (
            middle is not None
            and least is not None
            and low <= middle
            # of a burst only the first packet finds the link idle
            and (least if delivered.bursty else middle) <= high
            and least >= floor
        ),
        f"requested {one_way.delay_ns / 1e6:g} ms, delivered a median of {median} "
        f"({low / 1e6:.3f} to {high / 1e6:.3f} ms pass)"
        + ("" if least is None else f", minimum {least / 1e6:.3f} ms"),
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
        f"{count} packets were {what}, none was requested",
        REMEDY,
    )


def _rate(
    name: str, requested_bps: float, passing: float, delivered_bps: float, offered_bps: float
) -> Check:
    """At most the rate; at least the rate or the offered rate, less the requested loss."""
    low = (1 - RATE_TOLERANCE) * min(requested_bps, offered_bps) * passing
    high = (1 + RATE_TOLERANCE) * requested_bps * passing
    return Check(
        f"the underlay has the requested rate, {name}",
        low <= delivered_bps <= high,
        f"requested {requested_bps / 1e6:g} Mbit/s, "
        f"delivered {delivered_bps / 1e6:.3f} Mbit/s of frames"
        + (f" of {offered_bps / 1e6:.3f} offered" if math.isfinite(offered_bps) else ""),
        REMEDY,
        {
            "asked_bps": requested_bps,
            "delivered_bps": delivered_bps,
            "low_bps": low,
            "high_bps": high,
        },
    )
