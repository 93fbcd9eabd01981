"""Direct or relayed: a path counts only if its packets travel the way that the VPN claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from culvert.journal.marks import SEARCHED
from culvert.measurements.base import Measurement
from culvert.measurements.tunnel.idle_cost import IdleCost
from culvert.measurements.tunnel.initiation import Initiation
from culvert.measurements.tunnel.reconnect import Reconnect
from culvert.proof.canary import CANARY_PACKETS, CANARY_PAYLOAD_BYTES
from culvert.proof.route import ALL_BUT
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from tests.checks import failed_check
from tests.run.cells import SHORT, execute, measure

from .relayed import (
    RELAY,
    ChangesPath,
    ClaimsDirect,
    ClaimsRelay,
    CountsDirect,
    Direct,
    PretendsDirect,
    PretendsRelay,
    Relayed,
    ReportsItsClaim,
)
from .tunnels import skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")),
]
MESH = LabSpec(topology=mesh(2), link=LinkSpec(rate_bps=30_000_000_000))
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
CROSSED = f"packets through {RELAY}"
NOTHING_WATCHED: Mapping[str, tuple[Measurement[Any], dict[str, Any]]] = {
    "initiation": (Initiation(), {"cycles": 1}),
    "reconnect": (Reconnect(), {"event": "restart-self"}),
    "idle_cost": (IdleCost(), {"settle": "0s", "duration": "200ms"}),
}
"""Measurements without an account of their load."""


def short(driver: type[Relayed], kind: str) -> TrialFinding:
    """One short trial of a measurement."""
    if kind in NOTHING_WATCHED:
        return measure(made(driver), *NOTHING_WATCHED[kind], MESH)
    return execute(made(driver), kind, MESH)


def made(driver: type[Relayed]) -> Relayed:
    return driver(driver.variants[0])


def figures(finding: TrialFinding) -> dict[str, Any]:
    """What was counted at the relay."""
    (counted,) = (check for check in finding.evidence.checks if check.name == CROSSED)
    return dict(counted.figures)


@pytest.mark.parametrize("kind", ["tcp", "rtt"])
def test_a_relayed_path_counts_and_so_do_packets_at_the_relay(kind: str) -> None:
    finding = execute(made(Relayed), kind, MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")
    counted = figures(finding)
    assert counted["relayed"]
    assert counted["crossed"] >= (1 - ALL_BUT) * counted["sent"] > 0
    checks = {check.name: check for check in finding.evidence.checks}
    at_relay = checks[f"no clear text on the underlay (at {RELAY})"]
    assert at_relay.passed
    assert dict(at_relay.figures)[SEARCHED] >= 4 * CANARY_PACKETS  # both ways, in and out
    for when in ("start", "end"):
        route = checks[f"the path's route at the {when}"]
        assert route.detail.startswith("a>b: relayed through relay")
    (received,) = (
        metric.value
        for metric in finding.outcome.metrics
        if metric.name == "node_received_packets" and metric.labels["node"] == RELAY
    )
    assert received == counted["crossed"]


def test_a_direct_path_counts_where_a_relay_is_at_hand() -> None:
    finding = execute(made(Direct), "tcp", MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")
    counted = figures(finding)
    assert (counted["relayed"], counted["crossed"]) == (False, 0)
    assert counted["sent"] > 0


@pytest.mark.parametrize("kind", ["tcp", "rtt"])
@pytest.mark.parametrize("driver", [ClaimsDirect, ClaimsRelay])
def test_a_report_that_is_not_the_claim_is_invalid(driver: type[Relayed], kind: str) -> None:
    finding = execute(made(driver), kind, MESH)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "the path's route at the start"
    assert failed_check(finding).detail.startswith("a>b: ")
    assert "relayed through relay" in finding.reason


@pytest.mark.parametrize("driver", [PretendsDirect, PretendsRelay])
@pytest.mark.parametrize("kind", ["tcp", *NOTHING_WATCHED])
def test_a_canary_that_takes_another_route_than_is_reported_is_invalid(
    driver: type[Relayed], kind: str
) -> None:
    finding = short(driver, kind)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == f"the canary's bytes at {RELAY}"


@pytest.mark.parametrize("driver", [Relayed, Direct])
@pytest.mark.parametrize("kind", NOTHING_WATCHED)
def test_a_path_counts_by_its_canary_where_a_measurement_watches_no_load(
    driver: type[Relayed], kind: str
) -> None:
    finding = short(driver, kind)
    assert (finding.status, finding.reason) == (Status.OK, "")
    (at_relay,) = (
        dict(check.figures)
        for check in finding.evidence.checks
        if check.name == f"the canary's bytes at {RELAY}"
    )
    assert at_relay["canary_bytes"] == CANARY_PACKETS * CANARY_PAYLOAD_BYTES
    if driver is Relayed:
        assert 4 < at_relay["bytes"] / at_relay["canary_bytes"] < 4.5
    else:
        assert at_relay["bytes"] == 0


@pytest.mark.parametrize("kind", ["tcp", "rtt"])
def test_load_that_is_relayed_against_the_report_is_invalid(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("culvert.run.trials.stage.send_canary", lambda session: [])
    finding = execute(made(PretendsDirect), kind, MESH)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == CROSSED
    assert f"packets arrived at {RELAY}" in finding.reason
    assert figures(finding)["crossed"] > 0


def test_a_path_on_which_the_program_counts_another_route_is_invalid() -> None:
    finding = execute(made(CountsDirect), "rtt", MESH)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "all packets took the claimed route"
    assert "packets direct and" in finding.reason


@pytest.mark.parametrize("driver", [Relayed, ReportsItsClaim])
def test_a_path_that_changes_in_the_middle_is_invalid(driver: type[Relayed]) -> None:
    _, parameters = SHORT["tcp"]
    finding = measure(made(driver), ChangesPath(), parameters, MESH)
    assert finding.status is Status.INVALID
    failed = {each.name: each.detail for each in finding.evidence.checks if not each.passed}
    assert f"packets arrived at {RELAY}" in failed[CROSSED]
    assert failed_check(finding).name == CROSSED
    counted = figures(finding)
    assert 0 < counted["crossed"] < (1 - ALL_BUT) * counted["sent"]
