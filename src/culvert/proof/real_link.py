"""A real link beside what a condition requests: measured, not made. Pure.

What a condition does not request is only reported. What it requests and a measurement of some
seconds cannot show (reordering, a trace ...) no real link is known to have.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from culvert.proof.underlay import (
    DELAY_TOLERANCE,
    DELAY_TOLERANCE_NS,
    RATE_TOLERANCE,
    loss_interval,
    requested_loss,
)
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.trial.check import Check

REMEDY = (
    "request what the link has, measure this condition in the lab netns, or "
    "let the hosts make it with --allow-impairment"
)
_MTU_REMEDY = "set the MTU of both hosts' devices, or leave mtu out of the study"
_SHOWN = frozenset({"rate_bps", "delay_ns", "loss", "queue_bytes", "queue_packets"})
"""Fields of a direction that the measurement shows, and the queue, which matters under load."""


@dataclass(frozen=True)
class FoundWay:
    """One direction: ``rate_bps`` of Ethernet frames that arrived while more was offered, None if
    nothing did; ``sent`` and ``lost`` packets of a stream below that rate."""

    rate_bps: float | None
    sent: int
    lost: int

    @property
    def loss(self) -> float:
        """Share of packets lost."""
        return self.lost / self.sent if self.sent else 1.0


@dataclass(frozen=True)
class FoundLink:
    """A link as measured; round trips in ns, None if nothing came back; ``mtu`` is the largest IP
    packet in bytes that crossed whole in both directions."""

    mtu: int | None
    rtt_min_ns: int | None
    rtt_p50_ns: int | None
    there: FoundWay
    back: FoundWay


def judge_real_link(
    names: tuple[str, str], requested: LinkSpec, found: FoundLink, *, impaired: bool = False
) -> list[Check]:
    """A check for each condition that is requested; ``names`` are those of both directions.
    ``impaired``: the link's ends make what is requested."""
    impairment = requested.impairment
    checks = [_mtu(requested.mtu, found.mtu)] if requested.mtu_requested else []
    ways = ((impairment.a_to_b, found.there), (impairment.b_to_a, found.back))
    for name, (one_way, way) in zip(names, ways, strict=True):
        rate_bps = one_way.rate_on(requested.rate_bps)
        if rate_bps is not None:
            checks.append(_rate(name, rate_bps, way.rate_bps))
        checks += _loss(name, one_way, way)
        checks += [_unknown(name, key, impaired=impaired) for key in _unverifiable(one_way)]
    delay_ns = impairment.a_to_b.delay_ns + impairment.b_to_a.delay_ns
    if delay_ns:
        checks.append(_round_trip(delay_ns, found.rtt_p50_ns))
    return checks


def _mtu(requested: int, found: int | None) -> Check:
    return Check(
        "the link has the requested MTU",
        found == requested,
        f"requested {requested} bytes, found {found if found is not None else 'none that crosses'}",
        _MTU_REMEDY,
        {"requested": requested, "delivered": found},
    )


def _rate(name: str, requested_bps: float, found_bps: float | None) -> Check:
    passed = found_bps is not None and abs(found_bps / requested_bps - 1) <= RATE_TOLERANCE
    shown = "nothing arrived" if found_bps is None else f"found {found_bps / 1e6:.3f} Mbit/s"
    return Check(
        f"the link has the requested rate, {name}",
        passed,
        f"requested {requested_bps / 1e6:g} Mbit/s, {shown} of frames",
        REMEDY,
        {"asked_bps": requested_bps, "delivered_bps": found_bps},
    )


def _loss(name: str, one_way: OneWay, way: FoundWay) -> list[Check]:
    requested = requested_loss(one_way)
    if not requested:
        return []
    low, high = loss_interval(one_way, way.sent)
    return [
        Check(
            f"the link has the requested loss, {name}",
            low <= way.loss <= high,
            f"requested {requested:.2%}, found {way.loss:.2%} ({way.lost} of {way.sent} packets)",
            REMEDY,
            {"requested": requested, "delivered": way.loss},
        )
    ]


def _round_trip(requested_ns: int, found_ns: int | None) -> Check:
    """Both directions' delays together, which needs one clock only."""
    slack_ns = DELAY_TOLERANCE_NS + DELAY_TOLERANCE * requested_ns
    shown = "nothing came back" if found_ns is None else f"found {found_ns / 1e6:.3f} ms"
    return Check(
        "the link has the requested round trip",
        found_ns is not None and abs(found_ns - requested_ns) <= slack_ns,
        f"requested {requested_ns / 1e6:g} ms of delay in both directions together, {shown}",
        REMEDY,
        {"asked_ns": requested_ns, "delivered_ns": found_ns},
    )


def _unknown(name: str, key: str, *, impaired: bool) -> Check:
    made = "made by the hosts' netem, not measured"
    return Check(
        f"the link has the requested {key.replace('_', ' ')}, {name}",
        passed=impaired,
        detail=made if impaired else "requested, but a real link cannot be shown to have it",
        remedy=REMEDY,
    )


def _unverifiable(one_way: OneWay) -> list[str]:
    default = OneWay()
    return [
        field.name
        for field in fields(OneWay)
        if field.name not in _SHOWN and getattr(one_way, field.name) != getattr(default, field.name)
    ]
