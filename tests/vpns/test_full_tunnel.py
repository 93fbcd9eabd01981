"""A VPN as its client's default route: both versions of IP, and nothing of it stays."""

from __future__ import annotations

import socket

import pytest

from culvert.errors import NotPossible
from culvert.labs.namespace import interfaces
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.shapes import public, serving
from culvert.topology.spec import LabSpec
from culvert.vpns.abilities import full_tunnel
from culvert.vpns.lifecycle import bring_up
from tests.run.cells import vpn

from .tunnels import installed

PUBLIC_IPV6 = "2001:2:0:2::1"
WORDS = (
    "wireguard/go+killswitch",
    "openvpn/aes-256-gcm+killswitch",
    "openvpn/aes-256-gcm+killswitch+tcp",
    "strongswan/esp-aes128gcm+killswitch",
    "headscale/direct+killswitch",
    "headscale/relay+killswitch",
    "sing-box/hysteria2+killswitch",
    "sing-box/vless+killswitch",
)
WITHOUT_IPV6 = ("strongswan",)
ANSWER_S = 2.0


def test_a_driver_that_is_no_default_route_says_so() -> None:
    with pytest.raises(NotPossible, match="default route"):
        full_tunnel(vpn("vxlan/plain"))
    for word in WORDS:
        assert full_tunnel(vpn(word)).kill_switch


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", [installed(word) for word in WORDS])
def test_it_carries_everything_and_leaves_nothing(word: str) -> None:
    contestant = vpn(word)
    topology = serving(public(), contestant.variant.needs)
    with NetnsLab(new_run_id(), LabSpec(topology=topology)) as lab:
        client, host = lab.nodes["client"], lab.nodes["public"]
        addresses = [str(host.underlay.address.ip), PUBLIC_IPV6]

        def listening(address: str) -> socket.socket:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return host.inside(lambda: socket.create_server((address, 0), family=family))

        servers = [listening(address) for address in addresses]

        def greeted(server: socket.socket) -> bool:
            """A proxy accepts a connection before the other end does."""
            address, port = server.getsockname()[:2]
            server.settimeout(ANSWER_S)
            try:
                with client.inside(
                    lambda: socket.create_connection((address, port), ANSWER_S)
                ) as connection:
                    accepted, _ = server.accept()
                    with accepted:
                        accepted.sendall(b"hello")
                        return connection.recv(5) == b"hello"
            except OSError:
                return False

        def reached() -> list[bool]:
            return [greeted(server) for server in servers]

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
        for server in servers:
            server.close()
