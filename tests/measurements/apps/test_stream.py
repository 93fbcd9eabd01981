"""Figures of a video from what the probe counted, and a short one for real."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from culvert.measurements.apps.stream import Stream, StreamParameters
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
SMALL = {
    "rate": "800kbit/s",
    "frames_per_s": 10,
    "key_every": 2,
    "key_factor": 3,
    "variation": "0%",
}
# Frames of 15,000 and 5,000 bytes, 13 and 5 packets, for 0.4 s.
SENT: dict[str, Any] = {
    **{"packets": 36, "bytes": 40_000, "seconds": 0.4, "scheduled": 36},
    **{"first_ns": 1000 * MS, "late_p99_ns": 100_000},
}
SUNK: dict[str, Any] = {
    **{"packets": 35, "bytes": 38_800, "first_ns": 1001 * MS, "last_ns": 1310 * MS},
    **{"frames": [1050 * MS, None, 1310 * MS, 1320 * MS]},
}


def measure(sent: dict[str, Any], sunk: dict[str, Any]) -> Outcome:
    made = session({"udp_source": sent}, {"udp_sink": sunk})
    outcome = Stream().run(made, StreamParameters.model_validate({**SMALL, "duration": "400ms"}))
    frames = {"packets": (13, 5), "per_s": 10, "spread": 0.5}
    assert asked(made.a, "udp_source")["frames"] == asked(made.b, "udp_sink")["frames"] == frames
    assert len(asked(made.a, "udp_source")["payload_size"]) == 18
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_late_and_lost_frames() -> None:
    outcome = measure(SENT, SUNK)
    found = values(outcome)
    assert found["frames"] == 4
    assert (found["late_ratio"], found["lost_ratio"], found["missed_ratio"]) == (0.25, 0.25, 0.5)
    assert found["frame_delay_p50_us"] == 50_000
    assert found["frame_delay_max_us"] == 110_000
    assert found["longest_freeze_ms"] == 200
    assert found["stream_bps"] == 800_000
    assert outcome.series[0].values == [50_000, 110_000, 20_000]
    assert all(check.passed for check in outcome.doubts)
    assert outcome.goodput_bytes == 38_800


@pytest.mark.parametrize(
    ("sent", "sunk", "doubt"),
    [
        ({}, {"frames": [None] * 4}, "frames arrived"),
        ({}, {"corrupt": 1}, "payload is intact"),
        ({"scheduled": 40}, {}, "the generator is not the limit"),
        ({"late_p99_ns": 26 * MS}, {}, "the generator is not the limit: packets leave in time"),
    ],
)
def test_each_fault_of_the_stream_is_a_doubt(
    sent: dict[str, Any], sunk: dict[str, Any], doubt: str
) -> None:
    failed = [one for one in measure(SENT | sent, SUNK | sunk).doubts if not one.passed]
    assert [one.name for one in failed] == [doubt]


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration": "10ms"},
        {"rate": "100kbit/s", "frames_per_s": 240},
        {"rate": "1Gbit/s"},
        {"deadline": "0s"},
        {"pacing": "101%"},
        {"packet_size": 63},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StreamParameters.model_validate(wrong)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go"))
@pytest.mark.parametrize("word", ["none", "wireguard/go"])
def test_a_video_is_proved_and_arrives_whole(word: str) -> None:
    finding = cells.measure(vpn(word), Stream(), {"duration": "600ms", "deadline": "10s"})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "frames") == 36
    assert value(finding, "missed_ratio") == 0
    assert value(finding, "frame_delay_p50_us") > 0


@pytest.mark.lab
def test_with_loss_frames_are_lost_more_often_than_packets() -> None:
    lossy = OneWay(loss=0.05)
    spec = LabSpec(
        link=LinkSpec(kind="wire", rate_bps=20_000_000, impairment=Impairment(lossy, OneWay()))
    )
    finding = cells.measure(vpn("none"), Stream(), {"duration": "1s", "deadline": "10s"}, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert 0 < value(finding, "loss_ratio") < value(finding, "lost_ratio") < 1
    assert value(finding, "longest_freeze_ms") > 0
