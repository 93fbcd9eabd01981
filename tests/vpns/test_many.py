"""Many clients of one gateway come up together, and what limits their number is stated first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.vpns.lifecycle import bring_up, seldom
from culvert.vpns.wireguard.device import WATCHERS
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


@pytest.mark.lab
@pytest.mark.vpn
def test_a_kernel_with_too_few_watchers_is_refused_before_anything_starts(
    lab: LabFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    opened = lab(LabSpec(topology=star(3)))
    vpn = driver("wireguard/go")
    whole = type(opened.members[0]).text
    monkeypatch.setattr(
        type(opened.members[0]),
        "text",
        lambda self, path: "2" if path == WATCHERS else whole(self, path),
    )
    with pytest.raises(NotPossible, match="4 members on one kernel, which permits 2 watchers"):
        vpn.prepare(opened)
