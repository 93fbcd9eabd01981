"""Goodput over intervals, and what becomes of the kernel's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.tcp.tcp import Tcp, TcpParameters, fairness
from culvert.results import Status
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import asked, fake, session
from tests.run import cells
from tests.run.cells import value, vpn

MS = 10**6


SENT: dict[str, Any] = {
    "bytes_written": 5000,
    "seconds": 1.0,
    "congestion_control": "cubic",
    "mss": 1000,
    "retransmits": 2,
    "data_segs_out": 40,
    "intervals": [
        {"t_ns": n * 100 * MS, "bytes_acked": 0, "retransmits": 0, "cwnd": n, "rtt_us": 10 * n}
        for n in range(1, 11)
    ],
    "final_tcp_info": {"segs_out": 50, "bytes_sent": 7000, "segs_in": 20},
}
SUNK = {
    "bytes": 5000,
    "first_ns": 0,
    "last_ns": 10**9,
    "intervals": [{"t_ns": n * 100 * MS, "bytes": 500} for n in range(1, 11)],
    "tcp_info": {"segs_in": 3, "segs_out": 21},
}


def measure(sent: dict[str, Any], arrived: dict[str, Any], **parameters: Any) -> Outcome:
    made = session({"tcp_source": sent}, {"tcp_sink": arrived})
    outcome = Tcp().run(made, TcpParameters.model_validate(parameters))
    assert asked(made.a, "tcp_source")["connect"] == "198.18.0.2"
    assert asked(made.b, "tcp_sink")["token"] == asked(made.a, "tcp_source")["token"]
    return outcome


def test_figures_of_the_sender_leave_the_warm_up_out() -> None:
    outcome = measure(SENT, SUNK, warmup="500ms", duration="500ms")
    found = {metric.name: metric.value for metric in outcome.metrics}
    assert found["retransmit_ratio"] == pytest.approx(2 / 40)
    assert found["tcp_rtt_p50_us"] == 80  # of 60 to 100 us
    assert found["cwnd_p50_segments"] == 8
    assert found["goodput_bps"] == pytest.approx(40_000)
    assert all(check.passed for check in outcome.doubts)


def test_segments_that_were_merged_on_the_way_are_counted_by_their_bytes() -> None:
    traffic = measure(SENT, SUNK).traffic
    assert traffic is not None
    assert traffic.a_to_b_received.packets == 5  # the kernel saw 3, of 5,000 bytes with MSS 1,000


@pytest.mark.parametrize(
    ("sent", "arrived", "doubt"),
    [
        ({}, {"corrupt_samples": 1}, "payload is intact"),
        ({}, {"bytes": 0}, "data arrived"),
        ({"congestion_control": "bbr"}, {}, "congestion control"),
    ],
)
def test_each_fault_of_tcp_is_a_doubt(
    sent: dict[str, Any], arrived: dict[str, Any], doubt: str
) -> None:
    failed = [one for one in measure(SENT | sent, SUNK | arrived).doubts if not one.passed]
    assert [one.name for one in failed] == [doubt]
    assert failed[0].remedy


def test_a_connection_that_carried_nothing_gives_zero_not_an_exception() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("first_ns", "last_ns", "tcp_info"))
    nothing |= {"bytes": 0, "intervals": []}
    outcome = measure(SENT | {"intervals": [], "data_segs_out": 0, "mss": 0}, nothing)
    assert {m.name: m.value for m in outcome.metrics}["goodput_bps"] == 0


def both(**parameters: Any) -> Outcome:
    """Two connections each way, the second of each with a third of the bytes."""
    sent = SENT | {"streams": [{"intervals": SENT["intervals"]}, {"intervals": []}]}
    arrived = SUNK | {"streams": [{"bytes": 3750}, {"bytes": 1250}]}
    ends = {"tcp_source": sent, "tcp_sink": arrived}
    made = session(ends, ends)
    wanted = {"direction": "both", "streams": 2, "duration": "500ms", **parameters}
    outcome = Tcp().run(made, TcpParameters.model_validate(wanted))
    for probe in (made.a, made.b):
        tasks = [task for task, _ in fake(probe).asked if task.startswith("tcp")]
        assert sorted(tasks) == ["tcp_sink", "tcp_source"]
        assert asked(probe, "tcp_source")["streams"] == asked(probe, "tcp_sink")["streams"] == 2
    return outcome


def test_both_directions_and_all_connections_add_up() -> None:
    outcome = both()
    found = {metric.name: metric.value for metric in outcome.metrics}
    assert (found["goodput_up_bps"], found["goodput_down_bps"]) == (40_000, 40_000)
    assert found["goodput_bps"] == 80_000
    assert found["retransmitted_segments"] == 4
    assert found["stream_fairness"] == pytest.approx(0.8)
    assert outcome.goodput_bytes == 10_000
    assert outcome.traffic is not None
    assert outcome.traffic.a_to_b_sent == outcome.traffic.b_to_a_sent
    assert set(found) <= {spec.name for spec in Tcp.metrics}


def test_each_connection_has_its_series() -> None:
    windows = [series for series in both().series if series.name == "cwnd_segments"]
    labels = [(series.labels["direction"], series.labels["stream"]) for series in windows]
    assert labels == [("up", "0"), ("up", "1"), ("down", "0"), ("down", "1")]


def test_the_largest_write_has_a_name() -> None:
    largest = TcpParameters.model_validate({"write_size": "max"})
    assert largest == TcpParameters.model_validate({})
    assert asked_write(write_size=64, nodelay=True) == (64, True)


def asked_write(**parameters: Any) -> tuple[int, bool]:
    made = session({"tcp_source": SENT}, {"tcp_sink": SUNK})
    Tcp().run(made, TcpParameters.model_validate(parameters))
    given = asked(made.a, "tcp_source")
    return given["write_size"], given["nodelay"]


@pytest.mark.parametrize(("receiver_got", "passed"), [(4_194_304, True), (425_984, False)])
def test_socket_buffers_are_those_that_were_requested(receiver_got: int, passed: bool) -> None:
    made = session(
        {"tcp_source": {**SENT, "send_buffer_effective": 4_194_304}},
        {"tcp_sink": {**SUNK, "receive_buffer_effective": receiver_got}},
    )
    outcome = Tcp().run(made, TcpParameters.model_validate({"socket_buffer": "2MiB"}))
    assert asked(made.a, "tcp_source")["send_buffer"] == 2 << 20
    assert asked(made.b, "tcp_sink")["receive_buffer"] == 2 << 20
    (check,) = [doubt for doubt in outcome.doubts if doubt.name == "socket buffers"]
    assert check.passed is passed
    assert f"the receiver {receiver_got // 2}" in check.detail
    assert "rmem_max" in check.remedy


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_fairness_is_between_one_share_and_all(shares: list[int]) -> None:
    assert 1 / len(shares) - 1e-9 <= fairness(shares) <= 1 + 1e-9


@pytest.mark.lab
@pytest.mark.parametrize("direction", ["down", "both"])
def test_many_connections_in_each_direction_are_proved(direction: str) -> None:
    wanted = {"direction": direction, "streams": 3, "duration": "300ms", "warmup": "100ms"}
    finding = cells.measure(vpn("none"), Tcp(), wanted)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "goodput_bps") > 0


@pytest.mark.lab
@pytest.mark.vpn
def test_both_directions_through_a_tunnel_are_proved() -> None:
    wanted = {"direction": "both", "streams": 3, "duration": "300ms", "warmup": "100ms"}
    finding = cells.measure(vpn("wireguard/go"), Tcp(), wanted)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "goodput_down_bps") > 0
