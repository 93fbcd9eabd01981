"""Rates from counts, and packets that came from nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from culvert.measurements.udp.udp import Udp, UdpParameters
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import asked, session

SENT: dict[str, Any] = {"packets": 1000, "bytes": 36_000, "seconds": 2.0}
SUNK: dict[str, Any] = {
    "packets": 800,
    "bytes": 28_800,
    "first_ns": 10**9,
    "last_ns": 3 * 10**9,
    "socket_drops": 150,
    "forwarded": {"packets": 700, "bytes": 25_200, "seconds": 3.5},
}


def measure(sent: dict[str, Any], sunk: dict[str, Any]) -> Outcome:
    made = session({"udp_source": sent}, {"udp_sink": sunk})
    outcome = Udp().run(made, UdpParameters.model_validate({"packet_size": 64, "rate": "500/s"}))
    given = asked(made.a, "udp_source")
    assert (given["payload_size"], given["rate_pps"]) == (36, 500)  # 64 bytes with its headers
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_goodput_is_what_was_forwarded_while_it_was_offered() -> None:
    found = values(measure(SENT, SUNK))
    assert found["offered_pps"] == pytest.approx(500)
    assert found["received_pps"] == pytest.approx(200)
    assert found["offered_bps"] == pytest.approx(144_000)
    assert found["goodput_bps"] == pytest.approx(57_600)
    assert found["loss_ratio"] == pytest.approx(0.2)
    assert found["backlog_packets"] == 100
    assert (found["lost_in_socket"], found["lost_unattributed"]) == (150, 50)


def test_what_a_full_queue_refused_is_lost_and_what_had_no_route_was_not_offered() -> None:
    refused = {"ENOBUFS": 150, "UNREPORTED": 50, "ENETUNREACH": 500}
    found = values(measure(SENT | {"send_errors": refused}, SUNK))
    assert found["offered_packets"] == 1200
    assert found["loss_ratio"] == pytest.approx(400 / 1200)


def test_a_duplicate_is_no_packet_that_arrived() -> None:
    assert values(measure(SENT, SUNK | {"duplicates": 100}))["loss_ratio"] == pytest.approx(0.3)


def test_what_arrived_is_goodput_and_inner_traffic() -> None:
    outcome = measure(SENT, SUNK)
    assert outcome.goodput_bytes == 28_800
    assert outcome.traffic is not None
    assert outcome.traffic.a_to_b_sent.ip_bytes == 64_000
    assert outcome.traffic.a_to_b_received.ip_bytes == 51_200
    assert all(check.passed for check in outcome.doubts)


@pytest.mark.parametrize(
    ("sunk", "doubt"),
    [
        ({"packets": 1001, "bytes": 36_036}, "packets are conserved"),
        ({"packets": 0, "bytes": 0, "first_ns": None, "last_ns": None}, "packets are conserved"),
        ({"packets": 5, "duplicates": 5}, "packets are conserved"),
        ({"corrupt": 1}, "payload is intact"),
    ],
)
def test_each_fault_of_udp_is_a_doubt(sunk: dict[str, Any], doubt: str) -> None:
    failed = [one for one in measure(SENT, SUNK | sunk).doubts if not one.passed]
    assert [one.name for one in failed] == [doubt]
    assert failed[0].remedy


def test_a_source_that_sent_nothing_gives_figures_all_the_same() -> None:
    nothing = {"packets": 0, "bytes": 0}
    found = values(
        measure(nothing | {"seconds": 0.0}, nothing | {"forwarded": nothing | {"seconds": 10.0}})
    )
    assert (found["goodput_bps"], found["loss_ratio"]) == (0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"packet_size": 63},
        {"packet_size": 65536},
        {"packet_size": "huge"},
        {"duration": "0s"},
        {"rate": "0/s"},
        {"rate": "0bit/s"},
        {"rate": "10mbit/s"},
        {"rate": 10},
        {"rat": "1/s"},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        UdpParameters.model_validate(wrong)


@pytest.mark.parametrize(
    ("text", "sizes", "packets_per_s"),
    [
        ("1000/s", (64, 1500), 1000),
        ("8Mbit/s", (1028,), 1000),
        ("8Mbit/s", (528, 1528), 1000),  # of a mean payload of 1000 bytes
    ],
)
def test_a_rate_is_of_packets_or_of_payload(
    text: str, sizes: tuple[int, ...], packets_per_s: float
) -> None:
    parameters = UdpParameters.model_validate({"rate": text})
    assert parameters.rate is not None
    assert parameters.rate.packets_per_s(sizes) == pytest.approx(packets_per_s)
    assert parameters.model_dump(mode="json", by_alias=True)["rate"] == text
