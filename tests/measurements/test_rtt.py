"""Which percentiles so many probes can tell, and when the answers are too few."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from culvert.measurements.parameters import Sampling
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.probe.results.base import SHARES
from culvert.proof.limits import GENERATOR
from culvert.results import Status
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import asked, fake, session
from tests.run import cells
from tests.run.cells import value, vpn

PATIENT = {"probes": 200, "rate": "200/s"}
"""A rate that a busy machine keeps."""
TIMES = {f"{name}_ns": 1000 * (n + 1) for n, name in enumerate(("min", "mean", *SHARES, "max"))}


def found(sent: int, received: int, **more: Any) -> dict[str, Any]:
    lost = sent - received
    return {"sent": sent, "received": received, "lost": lost, "histogram": "HIST", **TIMES, **more}


def measure(answer: dict[str, Any], **parameters: Any) -> Outcome:
    return Rtt().run(session({"rtt": answer}), RttParameters.model_validate(parameters))


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


@pytest.mark.parametrize(
    ("received", "last"),
    [(9, "p50"), (10, "p90"), (99, "p90"), (100, "p99"), (1000, "p99_9"), (10_000, "p99_99")],
)
def test_a_percentile_needs_a_probe_beyond_it(received: int, last: str) -> None:
    told = values(measure(found(received, received)))
    names = list(SHARES)
    expected = {f"rtt_{name}_us" for name in names[: names.index(last) + 1]}
    assert {name for name in told if name.startswith("rtt_p")} == expected
    assert told["rtt_p50_us"] == 3  # microseconds of nanoseconds


@given(st.integers(10, 10**7), st.integers(0, 10**7))
def test_most_probes_must_be_answered(sent: int, lost: int) -> None:
    received = max(sent - lost, 0)
    doubts = measure(found(sent, received)).doubts
    assert doubts[0].passed == (received >= sent / 2)
    assert doubts[0].remedy


def failed(outcome: Outcome) -> list[str]:
    return [check.name for check in outcome.doubts if not check.passed]


def test_a_sender_that_cannot_keep_the_schedule_measures_itself() -> None:
    kept = measure(found(1000, 1000, overdue=500), probes=1000)
    behind = measure(found(1000, 1000, overdue=501), probes=1000)
    assert failed(kept) == []
    assert failed(behind) == [GENERATOR]
    assert values(behind)["probes_overdue"] == 501


def test_probes_that_were_not_sent_are_told() -> None:
    outcome = measure(found(990, 990, send_errors={"ENETUNREACH": 10}), probes=1000)
    assert failed(outcome) == ["every probe was sent"]
    assert "990 of 1000 probes; refused: ENETUNREACH 10" in outcome.doubts[1].detail


def test_no_answer_has_no_time_no_histogram_and_is_doubted() -> None:
    nothing = dict.fromkeys(TIMES)
    outcome = measure(found(100, 0, **nothing) | {"histogram": None})
    assert [histogram.name for histogram in outcome.histograms] == ["noise_floor_ns"]
    assert values(outcome)["loss_ratio"] == 1
    assert not any(name.startswith("rtt_") for name in values(outcome))
    assert not outcome.doubts[0].passed


def test_udp_needs_an_echo_and_icmp_the_kernel_alone() -> None:
    udp, icmp = session({"rtt": found(20, 20)}), session({"rtt": found(20, 20)})
    Rtt().run(udp, RttParameters.model_validate({}))
    Rtt().run(icmp, RttParameters.model_validate({"protocol": "icmp"}))
    assert asked(udp.a, "rtt")["port"] == 40001
    assert asked(udp.b, "echo")["bind"] == "198.18.0.2"
    assert "port" not in asked(icmp.a, "rtt")
    assert "echo" not in [task for task, _ in fake(icmp.b).asked]


def test_a_packet_of_84_bytes_carries_56() -> None:
    made = session({"rtt": found(20, 20)})
    outcome = Rtt().run(made, RttParameters.model_validate({}))
    assert asked(made.a, "rtt")["payload_size"] == 56
    assert outcome.traffic is not None
    assert outcome.traffic.a_to_b_sent.ip_bytes == 20 * 84


def test_the_instruments_own_noise_stands_beside_it_for_half_a_second() -> None:
    made = session({"rtt": found(10_000, 10_000)})
    outcome = Rtt().run(made, RttParameters.model_validate({"rate": "2000/s", "spin": "50us"}))
    given = asked(made.a, "noise_floor")
    assert (given["count"], given["rate_pps"], given["spin_us"]) == (1000, 2000, 50)
    assert given["payload_size"] == 56
    told = values(outcome)
    assert (told["noise_floor_p50_us"], told["noise_floor_max_us"]) == (3, 6)
    assert set(told) <= {spec.name for spec in Rtt.metrics}


def test_over_tcp_the_kernel_says_what_went_through_the_tunnel() -> None:
    own = {"segs_out": 30, "bytes_sent": 2000, "segs_in": 25, "bytes_received": 1900}
    far = {"segs_out": 28, "bytes_sent": 1900, "segs_in": 29, "bytes_received": 2000}
    made = session(
        {"rtt": found(20, 20, tcp_info=own)},
        {"tcp_responder": {"connections": 1, "responses": 20, "tcp_info": far}},
    )
    outcome = Rtt().run(made, RttParameters.model_validate({"protocol": "tcp"}))
    assert asked(made.a, "rtt")["payload_size"] == 36
    traffic = outcome.traffic
    assert traffic is not None
    assert (traffic.a_to_b_sent.packets, traffic.a_to_b_received.packets) == (33, 29)
    assert (traffic.b_to_a_sent.packets, traffic.b_to_a_received.packets) == (31, 25)
    with pytest.raises(ValidationError):
        RttParameters.model_validate({"protocol": "tcp", "packet_size": 84})


@pytest.mark.lab
@pytest.mark.parametrize("protocol", ["udp", "icmp", "tcp"])
def test_every_probe_is_answered_on_a_bare_link(protocol: str) -> None:
    finding = cells.measure(vpn("none"), Rtt(), {"protocol": protocol, **PATIENT})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "probes_lost") == 0
    assert 0 < value(finding, "noise_floor_p50_us") <= value(finding, "noise_floor_max_us")


@pytest.mark.parametrize("sampling", Sampling)
def test_probes_and_noise_floor_are_spread_alike(sampling: Sampling) -> None:
    made = session({"rtt": found(10, 10)})
    Rtt().run(made, RttParameters.model_validate({"sampling": sampling}))
    assert asked(made.a, "rtt")["sampling"] == sampling
    assert asked(made.a, "noise_floor")["sampling"] == sampling


def test_ping_keeps_even_gaps_and_no_others() -> None:
    assert RttParameters.model_validate({"instrument": "ping"}).sampling is Sampling.PERIODIC
    with pytest.raises(ValidationError, match="poisson"):
        RttParameters.model_validate({"instrument": "ping", "sampling": "poisson"})
