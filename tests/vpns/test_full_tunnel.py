"""A VPN as its client's default route: both versions of IP, and nothing of it stays."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.labs.namespace import interfaces
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.shapes import public
from culvert.topology.spec import LabSpec
from culvert.vpns.abilities import full_tunnel
from culvert.vpns.lifecycle import bring_up
from tests.run.cells import vpn

PUBLIC_IPV6 = "2001:2:0:2::1"
WORDS = (
    "wireguard/go+killswitch",
    "openvpn/aes-256-gcm+killswitch",
    "openvpn/aes-256-gcm+killswitch+tcp",
    "strongswan/esp-aes128gcm+killswitch",
)
WITHOUT_IPV6 = ("strongswan",)


def test_a_driver_that_is_no_default_route_says_so() -> None:
    with pytest.raises(NotPossible, match="default route"):
        full_tunnel(vpn("vxlan/plain"))
    for word in WORDS:
        assert full_tunnel(vpn(word)).kill_switch


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", WORDS)
def test_it_carries_everything_and_leaves_nothing(word: str) -> None:
    contestant = vpn(word)
    with NetnsLab(new_run_id(), LabSpec(topology=public())) as lab:
        client = lab.nodes["client"]
        addresses = [str(lab.nodes["public"].underlay.address.ip), PUBLIC_IPV6]

        def reached() -> list[bool]:
            pings = [["ping", "-c", "1", "-W", "2", address] for address in addresses]
            return [client.run(ping, check=False).returncode == 0 for ping in pings]

        def state() -> list[str]:
            rules = client.run(["nft", "list", "ruleset"]).stdout
            return [*sorted(interfaces.objects(client.namespace)), rules]

        before = state()
        assert reached() == [True, True]
        contestant.prepare(lab)
        assert reached() == [False, False]
        bring_up(contestant)
        assert reached() == [True, contestant.name not in WITHOUT_IPV6]
        contestant.stop(lab)
        assert state() == before
        assert reached() == [True, True]
