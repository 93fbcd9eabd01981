"""All clients of a gateway connect at once: when they are up, and which one is not."""

from __future__ import annotations

import os
import signal

import pytest
from pydantic import ValidationError

from culvert.errors import NotPossible, VpnError
from culvert.labs.node import Node
from culvert.measurements.gateway.storm import SessionStorm, StormParameters
from culvert.measurements.gateway.storming import (
    Attempts,
    Pace,
    kept_pace,
    sessions_per_s,
    until,
)
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.vpns.wireguard.driver import WireGuard
from tests.checks import failed_check
from tests.quiet import quiet
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import driver, skip_reason

STAR = LabSpec(topology=star(2))


@pytest.mark.parametrize("event", ["restart", "cut"])
def test_all_are_connected_before_a_restart_or_a_cut(event: str) -> None:
    with pytest.raises(ValidationError, match="all clients are connected"):
        StormParameters.model_validate({"event": event, "established": "50%"})


def test_a_load_needs_clients_that_are_connected_before() -> None:
    with pytest.raises(ValidationError, match="no client is connected before"):
        StormParameters.model_validate({"event": "churn", "load": "1Mbit/s"})


def test_of_clients_that_come_and_go_one_stays() -> None:
    assert StormParameters.model_validate({"event": "churn", "clients": 4}).before == 1
    assert StormParameters.model_validate({"event": "start", "clients": 4}).before == 0


@pytest.mark.parametrize(
    "given",
    [
        {"event": "churn", "clients": 1},
        {"event": "churn", "clients": 2, "established": "90%"},
        {"event": "start", "clients": 1, "established": "60%"},
    ],
)
def test_one_client_is_left_that_connects(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="none is left"):
        StormParameters.model_validate(given)


def test_clients_that_come_late_are_not_a_steady_rate() -> None:
    pace = Pace(0.1, 1.0)
    assert kept_pace(Attempts(late_s={"c1": 0.2}), pace).passed
    late = kept_pace(Attempts(late_s={"c1": 0.3, "c2": 0.1}), pace)
    assert (late.passed, late.detail) == (
        False,
        "one every 0.1 s; the latest began 0.300 s late",
    )


def test_a_steady_rate_is_between_the_first_and_the_last_session() -> None:
    assert sessions_per_s([1.0, 1.2, 1.4, 1.6], steady=True) == pytest.approx(5)
    assert sessions_per_s([1.0, 1.2, 1.4, 1.6], steady=False) == pytest.approx(2.5)
    assert sessions_per_s([0.5], steady=True) == pytest.approx(2)


@pytest.mark.parametrize(
    ("clients", "half", "most"), [(1, 1, 1), (2, 1, 2), (3, 2, 3), (100, 50, 99), (1000, 500, 990)]
)
def test_99_percent_are_up_before_the_last_one_of_a_hundred(
    clients: int, half: int, most: int
) -> None:
    times_s = [float(number) for number in range(1, clients + 1)]
    assert [until(percent, times_s) for percent in (50, 99, 100)] == [half, most, clients]


def test_a_lab_without_a_gateway_is_refused() -> None:
    with pytest.raises(NotPossible, match="has no gateway"):
        SessionStorm.lab(LabSpec(), StormParameters.model_validate({}))


def of_wireguard(given: dict[str, object], made: type[WireGuard] = WireGuard) -> TrialFinding:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    variant = driver("wireguard/go").variant
    return quiet(lambda: measure(made(variant), SessionStorm(), given, STAR))


@pytest.mark.lab
def test_without_a_vpn_all_are_up_with_their_first_packets() -> None:
    finding = quiet(lambda: measure(vpn("none"), SessionStorm(), {"clients": 4}, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "storm_clients") == 4
    assert value(finding, "failed_clients") == 0
    # All are due at once: that the last one starts late is part of the storm.
    assert "clients came at their rate" not in [one.name for one in finding.evidence.checks]


@pytest.mark.lab
@pytest.mark.vpn
def test_all_clients_start_beside_some_that_are_connected() -> None:
    finding = of_wireguard({"clients": 6, "established": "50%", "rate": "100/s"})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "storm_clients") == 3
    assert 0 < value(finding, "half_up_s") <= value(finding, "p99_up_s")
    assert value(finding, "p99_up_s") <= value(finding, "all_up_s")
    # A handshake is 148 and 92 bytes, and headers.
    assert value(finding, "control_bytes_per_client") >= 240
    assert value(finding, "gateway_storm_cpu_s") > 0
    assert 0 <= value(finding, "established_loss_ratio") <= 1


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_clients_come_back_after_the_gateway_was_restarted() -> None:
    finding = of_wireguard({"clients": 3, "event": "restart", "deadline": "60s"})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "storm_clients") == 3
    # WireGuard asks for new keys 15 s after its packets found no answer (its whitepaper, 6.5).
    assert value(finding, "all_up_s") > 1
    # The gateway could not read what was sent until then: it is no control traffic.
    assert "control_bytes_per_client" not in [one.name for one in finding.outcome.metrics]


@pytest.mark.lab
@pytest.mark.vpn
def test_clients_come_back_after_the_gateways_link_was_cut() -> None:
    finding = of_wireguard({"clients": 3, "event": "cut", "cut": "1s", "rate": "100/s"})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "storm_clients") == 3
    # Its keys outlast the cut: only the packets were missing.
    assert 0 < value(finding, "all_up_s") < 30


class Dying(WireGuard):
    """The gateway dies when a client connects."""

    def connect(self, source: Node) -> None:
        if source.name == "c3":
            (program,) = self.processes[self.target.name]
            assert program.pid is not None
            os.kill(program.pid, signal.SIGKILL)
        super().connect(source)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_a_gateway_that_dies_under_the_storm_is_a_failure_within_the_deadline() -> None:
    finding = of_wireguard({"clients": 4, "deadline": "5s"}, Dying)
    assert finding.status is Status.FAILED
    assert "on node gateway" in finding.reason or "wireguard-go-gateway" in finding.reason


class Failing(WireGuard):
    """One client has no tunnel."""

    def connect(self, source: Node) -> None:
        if source.name == "c3":
            raise VpnError(self.id, "node c3 is not permitted", "permit it")
        super().connect(source)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("permitted", [False, True])
def test_a_client_that_never_comes_up_is_named(permitted: bool) -> None:
    given: dict[str, object] = {"clients": 4, "failures": "25%" if permitted else "0%"}
    finding = of_wireguard(given, Failing)
    if permitted:
        assert (finding.status, finding.reason) == (Status.OK, "")
        assert value(finding, "failed_clients") == 1
    else:
        assert finding.status is Status.INVALID
        assert failed_check(finding).name == "every client came up"
        assert failed_check(finding).detail.startswith(
            "3 of 4 clients within 60 s; not c3: wireguard/go: node c3 is not"
        )


@pytest.mark.lab
@pytest.mark.vpn
def test_clients_come_and_go_beside_a_measured_load() -> None:
    given: dict[str, object] = {
        "clients": 8,
        "event": "churn",
        "churn": "5/s",
        "stay": "300ms",
        "established": "50%",
        "load": "400kbit/s",
        "rate": "100/s",
    }
    finding = of_wireguard(given)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "storm_clients") == 4
    # Times are from the beginning of each client, not of the first.
    assert 0 < value(finding, "half_up_s") <= value(finding, "all_up_s")
    assert value(finding, "sessions_per_s") > 0
    assert value(finding, "established_loss_ratio") < 0.5
    assert 0 < value(finding, "established_goodput_bps") < 1.1 * 4 * 400e3
