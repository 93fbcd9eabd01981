from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.vpns.openvpn import config, program
from culvert.vpns.openvpn.choice import VARIANTS, Choice
from culvert.vpns.openvpn.config import Tunnel, TunnelEnds
from tests.here import HERE

ENDS = TunnelEnds(
    IPv4Address("198.18.0.2"), IPv4Interface("198.19.0.1/24"), IPv4Interface("198.19.0.2/24")
)
FILES = config.CertificateFiles(Path("/n/ca.crt"), Path("/n/identity.pem"))
SOCKET = Path("/n/openvpn.sock")
TUNNELS = st.builds(
    Tunnel,
    st.builds(
        Choice.of,
        st.sampled_from([each.name for each in VARIANTS if not each.name.startswith("dco-")]),
        st.sampled_from([frozenset(), frozenset({"tcp"})]),
    ),
    st.sampled_from([(2, 5), (2, 6), (2, 7)]),
    st.just(ENDS),
)


def chosen(variant: str, *names: str) -> Choice:
    return Choice.of(variant, frozenset(names))


def options(text: str) -> dict[str, list[str]]:
    """Name of each option and its arguments; an option that is given twice fails."""
    lines = [line.split() for line in text.splitlines()]
    found = {line[0]: line[1:] for line in lines}
    assert len(found) == len(lines)
    return found


@given(TUNNELS)
def test_both_ends_have_the_same_tls_settings(tunnel: Tunnel) -> None:
    server = options(config.server_config(tunnel, FILES, Path("/n/clients"), SOCKET))
    client = options(config.client_config(tunnel, FILES, "b", SOCKET))
    for side in (server, client):
        assert side["data-ciphers"] == [tunnel.choice.cipher.value]
        assert side["tls-version-min"] == ["1.3"]
        assert side["reneg-sec"] == side["reneg-bytes"] == side["reneg-pkts"] == ["0"]
        assert side["ping-restart"] == ["0"]
        assert ("disable-dco" in side) == (tunnel.version >= (2, 6))
        assert not {"ping", "keepalive", "compress", "comp-lzo", "fragment"} & side.keys()
    assert server["ifconfig"] == ["198.19.0.2", "255.255.255.0"]
    assert server["remote-cert-tls"] == ["client"]
    assert client["remote-cert-tls"] == ["server"]
    assert client["remote"] == ["198.18.0.2", "1194"]
    assert config.client_entry(tunnel) == "ifconfig-push 198.19.0.1 255.255.255.0\n"


def test_a_named_group_is_the_only_one() -> None:
    tunnel = Tunnel(chosen("aes-256-gcm", "x25519mlkem768"), (2, 7), ENDS)
    server = options(config.server_config(tunnel, FILES, Path("/n/clients"), SOCKET))
    client = options(config.client_config(tunnel, FILES, "b", SOCKET))
    assert server["tls-groups"] == client["tls-groups"] == ["X25519MLKEM768"]


@pytest.mark.parametrize("names", [("x25519", "x25519mlkem768"), ("x25519", "psk")])
def test_two_groups_or_one_without_tls_are_refused(names: tuple[str, ...]) -> None:
    choice = chosen("aes-256-cbc", *names)
    assert any("TLS group" in lack.what for lack in program.missing_parts(HERE, choice))


@given(TUNNELS)
def test_both_ends_have_the_static_key_in_opposite_directions(tunnel: Tunnel) -> None:
    server = options(config.static_server_config(tunnel, Path("/n/static.key"), SOCKET))
    client = options(config.static_client_config(tunnel, Path("/n/static.key"), SOCKET))
    assert server["secret"][0] == client["secret"][0] == '"/n/static.key"'
    assert {server["secret"][1], client["secret"][1]} == {"0", "1"}
    assert server["ifconfig"] == list(reversed(client["ifconfig"]))
    for side in (server, client):
        assert side["cipher"] == [tunnel.choice.cipher.value]
        assert side["auth"] == ["SHA256"]
        persuaded = "allow-deprecated-insecure-static-crypto" in side
        assert persuaded == (tunnel.version >= (2, 7))
        assert not any(name.startswith(("tls", "reneg", "ca", "cert")) for name in side)


@pytest.mark.parametrize(
    ("transport", "server", "client"),
    [([], "udp4", "udp4"), (["tcp"], "tcp4-server", "tcp4-client")],
)
def test_the_transport_is_configured_at_both_ends(
    transport: list[str], server: str, client: str
) -> None:
    tunnel = Tunnel(chosen("aes-256-cbc", *transport), (2, 6), ENDS)
    key = Path("/n/static.key")
    assert options(config.static_server_config(tunnel, key, SOCKET))["proto"] == [server]
    assert options(config.static_client_config(tunnel, key, SOCKET))["proto"] == [client]


@pytest.mark.parametrize(
    ("transport", "server", "client"),
    [([], "udp6", "udp6"), (["tcp"], "tcp6-server", "tcp6-client")],
)
def test_transport_over_ipv6(transport: list[str], server: str, client: str) -> None:
    ends = replace(ENDS, server=IPv6Address("2001:2::1"))
    tunnel = Tunnel(chosen("aes-256-gcm", *transport), (2, 6), ends)
    there = options(config.server_config(tunnel, FILES, Path("/n/clients"), SOCKET))
    here = options(config.client_config(tunnel, FILES, "b", SOCKET))
    assert (there["proto"], here["proto"]) == ([server], [client])
    assert (there["local"], here["remote"]) == (["2001:2::1"], ["2001:2::1", "1194"])


def test_ipv6_inside_both_with_certificates_and_with_a_static_key() -> None:
    client, server = IPv6Interface("2001:2::1/64"), IPv6Interface("2001:2::2/64")
    ends = replace(ENDS, client_ipv6=client, server_ipv6=server)
    tunnel = Tunnel(chosen("aes-256-gcm"), (2, 6), ends)
    key = Path("/n/static.key")
    with_certificates = options(config.server_config(tunnel, FILES, Path("/n/clients"), SOCKET))
    assert with_certificates["ifconfig-ipv6"] == ["2001:2::2/64", "2001:2::1"]
    entry = options(config.client_entry(tunnel))
    assert entry["ifconfig-ipv6-push"] == ["2001:2::1/64", "2001:2::2"]
    there = options(config.static_server_config(tunnel, key, SOCKET))
    here = options(config.static_client_config(tunnel, key, SOCKET))
    assert there["ifconfig-ipv6"] == ["2001:2::2/64", "2001:2::1"]
    assert here["ifconfig-ipv6"] == ["2001:2::1/64", "2001:2::2"]


@given(TUNNELS)
def test_dead_peer_detection_and_renegotiation(tunnel: Tunnel) -> None:
    choice = replace(tunnel.choice, options=tunnel.choice.options | {"dpd", "reneg"})
    tunnel = replace(tunnel, choice=choice)
    server = options(config.server_config(tunnel, FILES, Path("/n/clients"), SOCKET))
    client = options(config.client_config(tunnel, FILES, "b", SOCKET))
    for side in (server, client):
        assert side["keepalive"] == ["2", "10"]
        assert "ping-restart" not in side  # openvpn refuses both
    assert (server["reneg-sec"], client["reneg-sec"]) == (["0"], ["5"])


def test_a_path_with_spaces_and_quotes_is_one_word() -> None:
    tunnel = Tunnel(chosen("aes-256-cbc"), (2, 6), ENDS)
    text = config.static_client_config(tunnel, Path('/my "keys"/s'), SOCKET)
    assert r'secret "/my \"keys\"/s" 1' in text


def test_a_static_key_is_what_openvpn_generates() -> None:
    key = config.new_static_key()
    assert re.fullmatch(
        r"-----BEGIN OpenVPN Static key V1-----\n([0-9a-f]{32}\n){16}"
        r"-----END OpenVPN Static key V1-----\n",
        key,
    )
    assert key != config.new_static_key()
