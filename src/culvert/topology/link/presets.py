"""Impairments by name: the papers' conditions, and common access links.

A preset is a condition to compare VPNs in, not a model of every link of its kind. Where a source
gives a round trip, each direction takes half of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape

MS = 1_000_000
MBIT = 1_000_000
WIFI_HOLD_MS = 100
"""Duration of a disturbance of radio: our choice. With a separate value for each packet, a dense
stream would always wait for its slowest packet."""


def _line(down_bps: int, up_bps: int, round_trip_ms: int) -> Impairment:
    """A subscriber's line: node a is at home. The queue holds 100 ms: our choice."""

    def one_way(rate_bps: int) -> OneWay:
        queue = max(rate_bps // 80, 32 * 1514)
        return OneWay(rate_bps=rate_bps, queue_bytes=queue, delay_ns=round_trip_ms * MS // 2)

    return Impairment(a_to_b=one_way(up_bps), b_to_a=one_way(down_bps))


PRESETS: Mapping[str, Impairment] = {
    # kjorveziroski2024, section 4: loss 1, 5, 10 %; delay 50, 250, 350 ms, which its script induced
    # in one direction: the study has that, these have both.
    **{f"loss-{percent}": Impairment.both(OneWay(loss=percent / 100)) for percent in (1, 5, 10)},
    **{
        f"delay-{delay_ms}ms": Impairment.both(OneWay(delay_ns=delay_ms * MS))
        for delay_ms in (50, 250, 350)
    },
    # dekker2020: all its links.
    "1gbit": Impairment.both(OneWay(rate_bps=1000 * MBIT)),
    # osswald2020: its link.
    "10gbit": Impairment.both(OneWay(rate_bps=10_000 * MBIT)),
    # WebPageTest's connectivity profiles (connectivity.ini): DSL, LTE.
    "dsl": _line(1_500_000, 384_000, 50),
    "lte": _line(12 * MBIT, 12 * MBIT, 70),
    # Pei et al., WiFi can be the weakest link of round trip network latency in the wild, INFOCOM
    # 2016: more than half of the packets above 20 ms, a tenth above 100 ms. The Pareto
    # distribution, held for 100 ms each, is our fit to these two figures: the hop adds 32 ms to
    # half of the round trips and 100 ms to a tenth.
    "wifi": Impairment.both(
        OneWay(jitter=Jitter(24 * MS, JitterShape.PARETO, hold_ns=WIFI_HOLD_MS * MS))
    ),
    # RFC 2488, section 2: geostationary, at the edge of its coverage: round trip 558 ms.
    "satellite": Impairment.both(OneWay(delay_ns=279 * MS)),
    # Verizon's service level for transatlantic latency: at most 90 ms between London and New York.
    "transatlantic": Impairment.both(OneWay(delay_ns=45 * MS)),
}
