"""A VPN that is interrupted on a host, in the middle of a load, gives no figure."""

from __future__ import annotations

import pytest

from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.proof.interference import LEFT_ALONE
from culvert.results import Status
from tests.trial import interruptions as do
from tests.trial.interruptions import Interruption, assert_invalid, trial
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.slow]
VPN = "wireguard/go"


@pytest.fixture(autouse=True)
def _installed() -> None:
    if why_not := skip_reason(VPN):
        pytest.skip(why_not)


@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize(("name", "where"), [("a", do.at_the_source), ("b", lambda act: act)])
@pytest.mark.parametrize(
    ("act", "words"), [(do.stop_there(0.2), "was stopped"), (do.down(0.3), "was down")]
)
def test_what_is_done_on_a_host_is_named(
    fleet: Fleet, kind: str, name: str, where: object, act: Interruption, words: str
) -> None:
    assert callable(where)
    found = trial(VPN, kind, where(act), make_lab=lambda spec: HostsLab(fleet, spec))
    assert_invalid(found, f"on node {name} {words}")


def test_one_that_is_left_alone_counts(fleet: Fleet) -> None:
    found = trial(VPN, "rtt", do.nothing, make_lab=lambda spec: HostsLab(fleet, spec))
    assert (found.status, found.reason) == (Status.OK, "")
    (check,) = [check for check in found.evidence.checks if check.name == LEFT_ALONE]
    assert {node["processes"] for node in check.figures.values()} == {1}
