"""Many clients of one gateway come up together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.vpns.lifecycle import bring_up, seldom
from tests.vpns.tunnels import driver, skip_reason

CLIENTS = 12
LabFactory = Callable[..., NetnsLab]


def test_many_are_looked_at_less_often_and_only_meanwhile() -> None:
    vpn = driver("none")
    usual_s = vpn.poll_s
    with seldom(vpn, 25):
        assert vpn.poll_s == pytest.approx(0.025)
    assert vpn.poll_s == usual_s


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
@pytest.mark.parametrize(
    "word", ["wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes128gcm"]
)
def test_clients_of_one_gateway_come_up_together(word: str, lab: LabFactory) -> None:
    if lacks := skip_reason(word):
        pytest.skip(lacks)
    opened = lab(LabSpec(topology=star(CLIENTS)))
    vpn = driver(word)
    try:
        vpn.prepare(opened)
        bring_up(vpn)
        for client in opened.members[:-1]:
            done = client.run(
                ["ping", "-c", "1", "-W", "5", str(vpn.inner(opened.nodes["gateway"]).ip)],
                check=False,
            )
            assert done.returncode == 0, client.name
    finally:
        vpn.stop(opened)
