"""The tests of features, with real tunnels and with drivers that lack the feature."""

from __future__ import annotations

import pytest

from culvert.features.record import Record
from culvert.features.verify.base import FeatureTest, Finding
from culvert.features.verify.bench import SHORT, Bench, Undecided
from culvert.features.verify.life import NewKeys, OnlyCiphertext, SameAfterRestart, SmallerMtu
from culvert.features.verify.paths import DirectPath, EveryPair, HolePunching
from culvert.features.verify.policy import ForbiddenFlows
from culvert.features.verify.run import TESTS, verified
from culvert.topology.graph import Path
from culvert.vpns.base import Vpn
from culvert.vpns.wireguard.driver import WireGuard
from tests.run.cells import vpn
from tests.vpns.pretender import Pretender, TakesAnotherWay
from tests.vpns.relayed import Relayed
from tests.vpns.tunnels import skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")),
]


def records(make: type[Vpn] | str, *tests: type[FeatureTest]) -> dict[str, Record]:
    def instance() -> Vpn:
        return vpn(make) if isinstance(make, str) else make(make.variants[0])

    seen: list[Record] = []
    found = verified(instance, seen.append, tests)
    assert found == seen
    return {one.test: one for one in found}


def test_wireguard_is_direct_encrypts_restarts_and_fragments() -> None:
    tests = (DirectPath, OnlyCiphertext, SameAfterRestart, SmallerMtu)
    found = records("wireguard/go", *tests)
    assert {name: one.holds for name, one in found.items()} == {
        "direct-path": True,
        "only-ciphertext": True,
        "same-after-restart": True,
        "smaller-mtu": False,
    }
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


def test_clear_text_is_found() -> None:
    found = records(Pretender, OnlyCiphertext)["only-ciphertext"]
    assert found.holds is False
    assert "readable in" in found.detail


def test_a_relayed_path_is_not_the_direct_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "settle", "1s")
    assert records(Relayed, DirectPath)["direct-path"].holds is False


class Quick(HolePunching):
    """Without the long waits."""

    def run(self, bench: Bench) -> Finding:
        raise Undecided("it was not tried")


def test_a_test_that_raises_decides_nothing() -> None:
    found = records(TakesAnotherWay, Quick)["hole-punching"]
    assert (found.holds, found.detail) == (None, "it was not tried")


def test_each_test_has_a_criterion_of_its_own() -> None:
    assert (
        len({test.criterion for test in TESTS}) == len({test.name for test in TESTS}) == len(TESTS)
    )
