"""Direct, relayed or no path: what is found, not what a variant claims."""

from __future__ import annotations

import time
from unittest.mock import Mock

import pytest

from culvert.measurements.tunnel import reachability
from culvert.measurements.tunnel.reachability import Reachability
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.link.spec import LinkSpec
from culvert.topology.nat import Nat
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn
from tests.checks import failed_check
from tests.run.cells import measure, vpn
from tests.vpns.relayed import ClaimsDirect, ClaimsRelay, PretendsDirect, Relayed
from tests.vpns.tunnels import skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")),
]
SHORT = {"give_up": "1s", "settle": "500ms", "duration": "500ms"}
LINK = LinkSpec(rate_bps=30_000_000_000)


@pytest.fixture(autouse=True)
def _another_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the nodes were other machines, whose clocks this machine's says nothing of."""
    monkeypatch.setattr(
        reachability, "time", Mock(monotonic=time.monotonic, monotonic_ns=lambda: 0)
    )


def found(
    contestant: Vpn, nats: dict[str, list[Nat]] | None = None, blocked: tuple[str, ...] = ()
) -> TrialFinding:
    spec = LabSpec(topology=mesh(2, nats=nats, block_udp=blocked), link=LINK)
    return measure(contestant, Reachability(), SHORT, spec)


def figures(finding: TrialFinding) -> dict[str, float]:
    assert (finding.status, finding.reason) == (Status.OK, "")
    return {metric.name: metric.value for metric in finding.outcome.metrics if not metric.labels}


def outcome(finding: TrialFinding) -> tuple[float, float, float]:
    values = figures(finding)
    return values["direct"], values["relayed"], values["no_path"]


@pytest.mark.parametrize("driver", [Relayed, ClaimsDirect])
def test_a_relayed_path_counts_whatever_the_variant_claims(driver: type[Relayed]) -> None:
    finding = found(driver(driver.variants[0]))
    assert outcome(finding) == (0, 1, 0)
    values = figures(finding)
    assert values["first_packet_ms"] > 0
    assert values["goodput_bps"] > 0
    assert "direct_ms" not in values
    (crossed,) = (c for c in finding.evidence.checks if c.name == "packets through relay")
    assert crossed.figures["relayed"]


def test_a_direct_path_counts_whatever_the_variant_claims() -> None:
    finding = found(ClaimsRelay(ClaimsRelay.variants[0]))
    assert outcome(finding) == (1, 0, 0)
    values = figures(finding)
    assert values["direct_ms"] >= values["first_packet_ms"]
    (crossed,) = (c for c in finding.evidence.checks if c.name == "packets through relay")
    assert (crossed.figures["relayed"], crossed.figures["crossed"]) == (False, 0)


def test_a_report_that_packets_contradict_is_invalid() -> None:
    finding = found(PretendsDirect(PretendsDirect.variants[0]))
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "packets through relay"


def test_no_answer_is_a_result() -> None:
    finding = found(vpn("wireguard/go"), nats={"b": [Nat.PORT_RESTRICTED]})
    assert outcome(finding) == (0, 0, 1)
    assert "goodput_bps" not in figures(finding)


def test_a_tunnel_through_the_initiators_nat_is_direct() -> None:
    assert outcome(found(vpn("wireguard/go"), nats={"a": [Nat.SYMMETRIC]})) == (1, 0, 0)


def test_the_baseline_shows_that_the_nats_do_their_work() -> None:
    assert outcome(found(vpn("none"))) == (1, 0, 0)
    assert outcome(found(vpn("none"), nats={"b": [Nat.FULL_CONE]})) == (0, 0, 1)
    assert outcome(found(vpn("none"), blocked=("a",))) == (0, 0, 1)


class NeverUp(Relayed):
    """A driver whose members never come up, although nothing is in the way."""

    name = "never-up"
    up_deadline_s = 0.3

    def serve(self, server: object) -> None:
        """The relay passes nothing on."""


def test_a_vpn_that_does_not_come_up_on_open_paths_has_failed() -> None:
    finding = found(NeverUp(NeverUp.variants[0]))
    assert finding.status is Status.FAILED
