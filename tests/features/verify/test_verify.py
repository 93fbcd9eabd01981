"""The tests of features, with real tunnels and with drivers that lack the feature."""

from __future__ import annotations

import pytest

from culvert.features.record import Record
from culvert.features.verify import bench, life
from culvert.features.verify.bench import SHORT, Bench, FeatureTest, Finding, Undecided
from culvert.features.verify.ipv6 import PingOverIpv6, TunnelOverIpv6
from culvert.features.verify.life import (
    NewKeys,
    OnlyCiphertext,
    SameAfterRestart,
    SmallerMtu,
    WithoutServers,
)
from culvert.features.verify.paths import DirectPath, EveryPair, HolePunching
from culvert.features.verify.policy import ForbiddenFlows
from culvert.features.verify.run import TESTS, verified
from culvert.labs.node import Node
from culvert.measurements.mtu.mtu import MtuDirection
from culvert.results import Metric, Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import Path
from culvert.trial.outcome import Outcome
from culvert.vpns.base import Vpn
from culvert.vpns.variant import DIRECT
from culvert.vpns.wireguard.driver import WireGuard
from tests.run.cells import vpn
from tests.vpns.pretender import Pretender, TakesAnotherWay
from tests.vpns.relayed import ClaimsDirect, Relayed
from tests.vpns.tunnels import skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")),
]


BOTH_IPV6 = {"ping-over-ipv6": True, "tunnel-over-ipv6": True}


def records(make: type[Vpn] | str, *tests: type[FeatureTest]) -> dict[str, Record]:
    def instance() -> Vpn:
        return vpn(make) if isinstance(make, str) else make(make.variants[0])

    return {one.test: one for one in verified(instance, tests)}


def test_wireguard_is_direct_encrypts_restarts_fragments_and_crosses_ipv6() -> None:
    tests = (DirectPath, OnlyCiphertext, SameAfterRestart, SmallerMtu, PingOverIpv6, TunnelOverIpv6)
    found = records("wireguard/go", *tests)
    assert {name: one.holds for name, one in found.items()} == {
        "direct-path": True,
        "only-ciphertext": True,
        "same-after-restart": True,
        "smaller-mtu": False,
        "ping-over-ipv6": True,
        "tunnel-over-ipv6": True,
    }
    assert "0 of IPv4" in found["tunnel-over-ipv6"].detail
    assert "fragments" in found["smaller-mtu"].detail
    (version,) = {one.version for one in found.values()}
    assert version


class RenewsAtOnce(WireGuard):
    """WireGuard itself renews its keys after two minutes."""

    def rekey(self, path: Path) -> None:
        """Nothing to wait for."""


def test_packets_must_cross_after_new_keys() -> None:
    assert records(RenewsAtOnce, NewKeys)["new-keys"].holds


def test_what_a_vpn_does_not_have_is_undecided() -> None:
    found = records("openvpn/aes-256-gcm", EveryPair, ForbiddenFlows)
    assert {one.holds for one in found.values()} == {None}
    assert "has no policy" in found["forbidden-flows"].detail


def test_of_a_path_that_carries_nothing_no_mtu_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = MtuDirection(1420, None, None, None, inside_fragments=False)
    monkeypatch.setattr(life, "one_direction", lambda *_: nothing)
    found = records("wireguard/go", SmallerMtu)["smaller-mtu"]
    assert (found.holds, found.detail) == (None, "no packet of any size arrived")


def test_clear_text_is_found() -> None:
    found = records(Pretender, OnlyCiphertext)["only-ciphertext"]
    assert found.holds is False
    assert "readable in" in found.detail


def test_a_relayed_path_is_not_the_direct_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "settle", "1s")
    assert records(ClaimsDirect, DirectPath)["direct-path"].holds is False


def test_a_variant_that_keeps_its_paths_relayed_does_not_decide_what_direct_ones_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SHORT, "settle", "1s")
    found = records(Relayed, DirectPath, WithoutServers)
    assert {(one.holds, one.detail) for one in found.values()} == {
        (None, "this variant keeps its paths relayed through relay")
    }


class KnowsIpv4Only(WireGuard):
    """Its configuration has IPv4 addresses."""

    up_deadline_s = 2.0

    def _with_endpoint(self, target: Node) -> list[tuple[str, str]]:
        known = dict(super()._with_endpoint(target))
        return list({**known, "endpoint": f"{target.underlay.address.ip}:{self.port}"}.items())


def test_a_tunnel_over_ipv4_is_not_verified_over_ipv6() -> None:
    found = records(KnowsIpv4Only, TunnelOverIpv6)["tunnel-over-ipv6"]
    assert found.holds is None
    assert "handshake" in found.detail


def test_openvpn_carries_and_crosses_ipv6() -> None:
    found = records("openvpn/aes-256-gcm", PingOverIpv6, TunnelOverIpv6)
    assert {name: one.holds for name, one in found.items()} == BOTH_IPV6


@pytest.mark.parametrize("mesh", ["nebula/aes", "headscale/direct"])
def test_a_mesh_carries_and_crosses_ipv6(mesh: str) -> None:
    if reason := skip_reason(mesh):
        pytest.skip(reason)
    found = records(mesh, PingOverIpv6, TunnelOverIpv6)
    assert {name: one.holds for name, one in found.items()} == BOTH_IPV6


class Quick(HolePunching):
    """Without the long waits."""

    def run(self, bench: Bench) -> Finding:
        raise Undecided("it was not tried")


def test_a_test_that_raises_decides_nothing() -> None:
    found = records(TakesAnotherWay, Quick)["hole-punching"]
    assert (found.holds, found.detail) == (None, "it was not tried")


@pytest.mark.parametrize(
    ("statuses", "holds"),
    [
        ([Status.INVALID, Status.OK], True),
        ([Status.INVALID] * 3, None),
        ([Status.FAILED, Status.OK], None),
    ],
)
def test_a_trial_that_is_invalid_is_repeated(
    monkeypatch: pytest.MonkeyPatch, statuses: list[Status], holds: bool | None
) -> None:
    to_come = iter(statuses)
    metrics = [Metric(way, "", float(way == "direct")) for way in ("direct", "relayed", "no_path")]

    class Executed:
        def __init__(self, *_: object) -> None: ...

        def execute(self) -> TrialFinding:
            return TrialFinding(next(to_come), outcome=Outcome(metrics, []))

    monkeypatch.setattr(bench, "Execution", Executed)
    monkeypatch.setattr(WireGuard, "route", lambda *_: DIRECT)
    assert records("wireguard/go", DirectPath)["direct-path"].holds is holds
    assert len(list(to_come)) == (1 if statuses[0] is Status.FAILED else 0)


def test_each_test_has_a_criterion_of_its_own() -> None:
    assert (
        len({test.criterion for test in TESTS}) == len({test.name for test in TESTS}) == len(TESTS)
    )
