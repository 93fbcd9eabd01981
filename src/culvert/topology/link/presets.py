"""Impairments by name: the papers' conditions, and common access links.

A preset is a condition to compare VPNs in, not a model of every link of its kind. Where a source
gives a round trip, each direction takes half of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape

MS = 1_000_000
MBIT = 1_000_000
WIFI_HOLD_MS = 100
"""Duration of a disturbance of radio: our choice. With a separate value for each packet, a dense
stream would always wait for its slowest packet."""


@dataclass(frozen=True)
class Preset:
    """An impairment with the source of its figures."""

    impairment: Impairment
    summary: str
    source: str


def _line(down_bps: int, up_bps: int, round_trip_ms: int) -> Impairment:
    """A subscriber's line: node a is at home. The queue holds 100 ms: our choice."""

    def one_way(rate_bps: int) -> OneWay:
        queue = max(rate_bps // 80, 32 * 1514)
        return OneWay(rate_bps=rate_bps, queue_bytes=queue, delay_ns=round_trip_ms * MS // 2)

    return Impairment(a_to_b=one_way(up_bps), b_to_a=one_way(down_bps))


_PAPERS = "kjorveziroski2024, section 4 (loss 1, 5, 10 %; delay 50, 250, 350 ms, induced with tc)"
_WEBPAGETEST = "WebPageTest's connectivity profiles (connectivity.ini)"

PRESETS: Mapping[str, Preset] = {
    **{
        f"loss-{percent}": Preset(
            Impairment.both(OneWay(loss=percent / 100)),
            f"{percent} % of the packets of each direction are lost, each on its own",
            _PAPERS,
        )
        for percent in (1, 5, 10)
    },
    **{
        f"delay-{delay_ms}ms": Preset(
            Impairment.both(OneWay(delay_ns=delay_ms * MS)),
            f"each direction takes {delay_ms} ms",
            _PAPERS,
        )
        for delay_ms in (50, 250, 350)
    },
    "1gbit": Preset(
        Impairment.both(OneWay(rate_bps=1000 * MBIT)),
        "1 Gbit/s in each direction",
        "dekker2020: all its links",
    ),
    "10gbit": Preset(
        Impairment.both(OneWay(rate_bps=10_000 * MBIT)),
        "10 Gbit/s in each direction",
        "osswald2020: its link",
    ),
    "dsl": Preset(
        _line(1_500_000, 384_000, 50),
        "1.5 Mbit/s down, 384 kbit/s up, round trip 50 ms",
        f"{_WEBPAGETEST}: DSL",
    ),
    "lte": Preset(
        _line(12 * MBIT, 12 * MBIT, 70),
        "12 Mbit/s down and up, round trip 70 ms",
        f"{_WEBPAGETEST}: LTE",
    ),
    "wifi": Preset(
        Impairment.both(
            OneWay(jitter=Jitter(24 * MS, JitterShape.PARETO, hold_ns=WIFI_HOLD_MS * MS))
        ),
        "the hop adds 32 ms to half of the round trips and 100 ms to a tenth; order is kept",
        "Pei et al., WiFi can be the weakest link of round trip network latency in the wild, "
        "INFOCOM 2016: more than half of the packets above 20 ms, a tenth above 100 ms; the Pareto "
        "distribution, held for 100 ms each, is our fit to these two figures",
    ),
    "satellite": Preset(
        Impairment.both(OneWay(delay_ns=279 * MS)),
        "geostationary, at the edge of its coverage: round trip 558 ms",
        "RFC 2488, section 2",
    ),
    "transatlantic": Preset(
        Impairment.both(OneWay(delay_ns=45 * MS)),
        "round trip 90 ms",
        "Verizon's service level for transatlantic latency: at most 90 ms between London and "
        "New York",
    ),
}
