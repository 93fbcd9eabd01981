"""How cells are named by their parameters."""

from __future__ import annotations

import pytest

from culvert.report.labels import everything
from culvert.results import Parameters


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("udp", "over UDP, 64 byte packets, unlimited rate"),
        ("tcp", "over TCP, after 500 ms of warm-up, congestion control cubic"),
    ],
)
def test_parameters_without_effect_are_not_shown(protocol: str, expected: str) -> None:
    values = {"protocol": protocol, "packet_size": 64, "rate": None}
    values |= {"warmup": "500ms", "congestion_control": "cubic"}
    assert everything("gateway_load", Parameters.of(values)) == expected


def test_a_storm_is_named_by_what_its_event_uses() -> None:
    values = {"event": "start", "cut": "20s", "churn": "5/s", "stay": "2s", "established": "0%"}
    assert everything("session_storm", Parameters.of(values)) == "they start"
    cut = Parameters.of({**values, "event": "cut"})
    assert everything("session_storm", cut) == "the gateway's link was cut, a cut of 20 s"
