"""Figures of QUIC from what both ends counted, and a short one for real."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from culvert.measurements.apps.quic import UNCOUNTED, Quic, QuicParameters, datagram_traffic
from culvert.probe.results import Datagrams
from culvert.results import Status
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import asked, session
from tests.run import cells
from tests.run.cells import value, vpn
from tests.vpns.tunnels import skip_reason

MS = 1_000_000
SENT: dict[str, Any] = {
    **{"connections": 21, "failed_handshakes": 0, "bytes": 12_000_000, "packets": 10_000},
    **{"lost_packets": 100, "rtt_us": 900, "mtu": 1392, "datagrams": 9000, "calls": 1000},
    "handshake": {"p50_ns": 2 * MS, "p90_ns": 3 * MS, "max_ns": 4 * MS, "histogram": "HIST"},
    "udp": {"sent": 9200, "sent_bytes": 12_600_000, "received": 950, "received_bytes": 40_000},
}
SUNK: dict[str, Any] = {
    **{"connections": 21, "bytes": 12_000_000, "first_ns": 0, "last_ns": 1200 * MS},
    "intervals": [{"t_ns": number * 100 * MS, "bytes": 1_000_000} for number in range(1, 13)],
    "udp": {"sent": 1000, "sent_bytes": 41_000, "received": 9100, "received_bytes": 12_500_000},
}
MARKED = {"sent": 24, "received": 24, "lost": 0}
SHORT = {"duration": "400ms", "warmup": "100ms", "handshakes": 3}


def measure(sent: dict[str, Any], sunk: dict[str, Any], **parameters: Any) -> Outcome:
    made = session(
        {"quic_source": SENT | sent, "rtt": MARKED},
        {"quic_sink": SUNK | sunk, "echo": {"packets": 24}},
    )
    outcome = Quic().run(made, QuicParameters.model_validate(parameters))
    source, sink = asked(made.a, "quic_source"), asked(made.b, "quic_sink")
    assert source["segmentation"] == sink["segmentation"] == parameters.get("gso", True)
    assert (source["port"], source["certificate"], source["handshakes"]) == (40001, "Q1ZU", 20)
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_goodput_after_the_warm_up_and_handshakes() -> None:
    outcome = measure({}, {})
    found = values(outcome)
    assert found["goodput_bps"] == 80e6
    assert (found["handshake_p50_ms"], found["handshake_p90_ms"]) == (2, 3)
    assert "handshake_p99_ms" not in found  # 21 handshakes have none
    assert (found["loss_ratio"], found["datagrams_per_call"]) == (0.01, 9)
    assert outcome.traffic is not None
    assert outcome.traffic.a_to_b_sent.packets == 9200 + 21 * UNCOUNTED + 24
    assert outcome.traffic.a_to_b_received.packets == 9100 + 24
    assert all(check.passed for check in outcome.doubts)


@pytest.mark.parametrize(
    ("sent", "sunk", "parameters", "doubt"),
    [
        ({"failed_handshakes": 3}, {}, {}, "handshakes succeed"),
        ({}, {"bytes": 0, "intervals": []}, {}, "data arrived"),
        ({}, {}, {"gso": False}, "source of segmentation is recorded"),
    ],
)
def test_doubts(
    sent: dict[str, Any], sunk: dict[str, Any], parameters: dict[str, Any], doubt: str
) -> None:
    failed = [one for one in measure(sent, sunk, **parameters).doubts if not one.passed]
    assert [one.name for one in failed] == [doubt]


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 100))
def test_what_was_sent_is_no_less_than_what_arrived(sent: int, lost: int, connections: int) -> None:
    near = Datagrams(sent=sent, sent_bytes=1000 * sent)
    arrived = max(sent - lost, 0)
    far = Datagrams(received=arrived, received_bytes=1000 * arrived)
    found = datagram_traffic(near, far, connections)
    assert found.a_to_b_received.packets <= found.a_to_b_sent.packets
    assert found.a_to_b_received.ip_bytes == 1028 * arrived
    assert found.b_to_a_received.packets == 0


@pytest.mark.parametrize("wrong", [{"streams": 0}, {"duration": "0s"}, {"handshakes": 10_001}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        QuicParameters.model_validate(wrong)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go"))
@pytest.mark.parametrize(("word", "gso"), [("none", True), ("none", False), ("wireguard/go", True)])
def test_quic_is_carried_and_proved(word: str, gso: bool) -> None:
    finding = cells.measure(vpn(word), Quic(), {**SHORT, "gso": gso})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "goodput_bps") > 0
    assert value(finding, "handshake_p50_ms") > 0
    assert (value(finding, "datagrams_per_call") > 1) == gso


@pytest.mark.lab
def test_quic_over_a_link_with_loss() -> None:
    lossy = OneWay(loss=0.02)
    spec = LabSpec(
        link=LinkSpec(kind="wire", rate_bps=20_000_000, impairment=Impairment(lossy, OneWay()))
    )
    finding = cells.measure(vpn("none"), Quic(), SHORT, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "loss_ratio") > 0
