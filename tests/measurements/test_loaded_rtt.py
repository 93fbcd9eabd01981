"""Idle, loaded, and the difference."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.rtt import loaded_rtt
from culvert.measurements.rtt.loaded_rtt import LoadedRtt, LoadedRttParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from tests.here import HERE
from tests.measurements.fakes import session
from tests.quiet import quiet
from tests.run.cells import value, vpn

SHORT = {"idle": "500ms", "duration": "1s", "rate": "200/s"}
SENT: dict[str, Any] = {
    "bytes_written": 10**6,
    "seconds": 1.0,
    "congestion_control": "cubic",
    "mss": 1000,
    "retransmits": 0,
    "data_segs_out": 1000,
    "final_tcp_info": {"segs_out": 1003, "segs_in": 500, "bytes_sent": 10**6},
}
SUNK = {"bytes": 10**6, "first_ns": 0, "last_ns": 10**9, "tcp_info": {"segs_in": 1003}}


def measure(monkeypatch: pytest.MonkeyPatch, load: str, sunk: dict[str, Any]) -> Outcome:
    monkeypatch.setattr(loaded_rtt, "LEAD_S", 0)
    results = iter(
        [
            {"sent": 1000, "received": 1000, "lost": 0, "p50_ns": 100_000, "p99_ns": 300_000},
            {"sent": 1000, "received": 50, "lost": 950, "p50_ns": 900_000, "p99_ns": 950_000},
        ]
    )
    ends = {"tcp_source": SENT, "tcp_sink": sunk, "echo": {"packets": 1050}}
    made = session({**ends, "rtt": lambda _: next(results)}, ends)
    return LoadedRtt().run(made, LoadedRttParameters.model_validate({"load": load}))


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_the_increase_and_only_percentiles_that_probes_lie_beyond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = values(measure(monkeypatch, "up", SUNK))
    assert found["rtt_idle_p50_us"] == 100
    assert found["rtt_loaded_p50_us"] == 900
    assert found["rtt_increase_p50_us"] == 800
    assert found["rtt_idle_p99_us"] == 300
    assert "rtt_loaded_p99_us" not in found  # 50 answers have none
    assert "rtt_increase_p99_us" not in found
    assert found["probe_loss_loaded_ratio"] == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("load", "directions"), [("up", {"up"}), ("down", {"down"}), ("both", {"up", "down"})]
)
def test_each_direction_has_its_goodput_and_its_traffic(
    monkeypatch: pytest.MonkeyPatch, load: str, directions: set[str]
) -> None:
    outcome = measure(monkeypatch, load, SUNK)
    found = values(outcome)
    assert {d for d in ("up", "down") if f"load_{d}_bps" in found} == directions
    assert all(found[f"load_{d}_bps"] == pytest.approx(8e6) for d in directions)
    assert outcome.goodput_bytes == 10**6 * len(directions)
    assert outcome.traffic is not None
    data = {"up": outcome.traffic.a_to_b_received, "down": outcome.traffic.b_to_a_received}
    for direction, flow in data.items():
        assert (flow.ip_bytes > 10**6) is (direction in directions)


def test_a_load_that_carried_nothing_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = measure(monkeypatch, "both", {"bytes": 0})
    failed = [check for check in outcome.doubts if not check.passed]
    assert [check.name for check in failed] == ["every connection carried data"]
    assert failed[0].remedy


@pytest.mark.parametrize("wrong", [{"load": "sideways"}, {"streams": 0}, {"idle": "0s"}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LoadedRttParameters.model_validate(wrong)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.alone
@pytest.mark.parametrize("word", ["none", "wireguard/go"])
def test_a_slow_link_has_a_queue(word: str) -> None:
    contestant = vpn(word)
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)

    def once() -> TrialFinding:
        return Execution(
            vpn(word),  # an instance serves one lab
            LabSpec(link=LinkSpec(rate_bps=20_000_000)),
            LoadedRtt(),
            LoadedRttParameters.model_validate({**SHORT, "load": "both"}),
            Tunnels(lambda asked: NetnsLab(new_run_id(), asked)),
        ).execute()

    finding = quiet(once, unmarked=True)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert finding.evidence.proved
    assert 0 < value(finding, "load_up_bps") < 20_000_000
    assert 0 < value(finding, "load_down_bps") < 20_000_000
    assert value(finding, "rtt_loaded_p50_us") > value(finding, "rtt_idle_p50_us")
