from __future__ import annotations

import os
import signal
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from unittest.mock import Mock

import pytest

from culvert import tools
from culvert.errors import NotPossible, VpnError
from culvert.labs.endpoint import LinkState
from culvert.labs.host import Completed
from culvert.labs.node import Node
from culvert.machine import features
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import node_state
from culvert.vpns.ipsec.transforms import IKE, TRANSFORMS, Carriage, Transform
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.strongswan import config as strongswan_config
from culvert.vpns.strongswan import fetch
from culvert.vpns.strongswan.config import VICI, IkeConnection, IkeEnd, Upkeep, connections_config
from culvert.vpns.strongswan.driver import StrongSwan
from culvert.vpns.strongswan.variants import Choice
from culvert.vpns.variant import DataPath
from tests.here import HERE

from ..conftest import LabFactory
from .tunnels import PINGS, answered, bring_up, driver, largest_inner, outer_packets, skip_reason

WHY_NOT = skip_reason("strongswan/esp-aes256gcm")
needs_strongswan = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(WHY_NOT), reason=f"needs {WHY_NOT}"),
]
VARIANTS = [
    ("esp-aes128cbc-sha256", "ESP:AES_CBC-128/HMAC_SHA2_256_128"),
    ("esp-aes256cbc-sha256", "ESP:AES_CBC-256/HMAC_SHA2_256_128"),
    ("esp-aes128gcm", "ESP:AES_GCM_16-128"),
    ("esp-aes256gcm", "ESP:AES_GCM_16-256"),
    ("esp-chacha20poly1305", "ESP:CHACHA20_POLY1305"),
    ("esp-aes128gcm+cert", "ESP:AES_GCM_16-128"),
]
GCM = Carriage(TRANSFORMS["esp-aes128gcm"])


class Impatient(StrongSwan):
    up_deadline_s = 2.0


def impatient(name: str, *options: str) -> Impatient:
    variant = next(variant for variant in StrongSwan.variants if variant.name == name)
    return Impatient(variant, frozenset(options))


def associations(node: Node, program: str = "swanctl") -> str:
    environment = {"STRONGSWAN_CONF": str(node.directory / "strongswan/strongswan.conf")}
    argv = [node.require(program, ""), "--list-sas", "--uri", f"unix://{VICI}"]
    return node.run(argv, env=environment).stdout


def test_a_newer_strongswan_finds_its_plugins_where_it_is(tmp_path: Path) -> None:
    libraries = tmp_path / "usr/lib/ipsec"
    (libraries / "plugins").mkdir(parents=True)
    library = libraries / "libstrongswan.so.0.0.0"
    library.write_bytes(b"before\0/usr/lib/ipsec/plugins\0after")
    fetch._move(tmp_path)
    assert library.read_bytes() == b"before\0plugins" + bytes(16) + b"after"
    assert fetch._why_not(tmp_path) == "its OpenSSL plugin has no ML-KEM"
    (libraries / "plugins/libstrongswan-openssl.so").write_bytes(b"..EVP_PKEY_encapsulate..")
    assert fetch._why_not(tmp_path) is None


@pytest.mark.parametrize(
    ("options", "proposal", "refused"),
    [
        ([], "aes256gcm16-prfsha384-x25519", 0),
        (["mlkem768"], "aes256gcm16-prfsha384-x25519-ke1_mlkem768", 0),
        (["mlkem768", "x25519"], "", 1),
    ],
)
def test_the_key_exchange_is_that_of_the_option(
    options: list[str], proposal: str, refused: int
) -> None:
    choice = Choice.of("esp-aes256gcm", frozenset(options))
    assert len(list(choice.contradictions())) == refused
    if not refused:
        assert choice.ike_proposal == proposal
        assert choice.programs.daemon.endswith("newer") is bool(options)


def log(vpn: Vpn, node: str) -> str:
    return vpn.processes[node][0].log_text()


class TestUp:
    pytestmark = needs_strongswan

    @pytest.mark.parametrize(("variant", "proposal"), VARIANTS)
    def test_variant(self, lab: LabFactory, variant: str, proposal: str) -> None:
        vpn, pair = driver(f"strongswan/{variant}"), lab()
        bring_up(vpn, pair)
        assert answered(vpn, pair) == (PINGS, PINGS)
        for node in (pair.a, pair.b):
            listed = associations(node)
            assert proposal in listed
            assert "AES_GCM_16-256/PRF_HMAC_SHA2_384/CURVE_25519" in listed
            assert vpn.determine_data_path(node) is vpn.data_path
        method = "ED25519" if "cert" in vpn.chosen else "pre-shared key"
        assert f"authentication of 'b' with {method} successful" in log(vpn, "a")
        for inner in (64, 512, 1024, largest_inner(vpn, pair)):
            lengths = {packet.length for packet in outer_packets(vpn, pair, inner)}
            assert lengths == {vpn.outer_length(inner)}
        vpn.stop(pair)

    def test_post_quantum_key_exchange(self, lab: LabFactory) -> None:
        if why_not := skip_reason("strongswan/esp-aes256gcm+mlkem768"):
            pytest.skip(why_not)
        pair = lab()
        for option, fragments in (("x25519", False), ("mlkem768", True)):
            vpn = driver(f"strongswan/esp-aes256gcm+{option}")
            bring_up(vpn, pair)
            assert answered(vpn, pair) == (PINGS, PINGS)
            listed = associations(pair.a, "swanctl-newer")
            assert ("KE1_ML_KEM_768" in listed) is fragments
            assert "CURVE_25519" in listed
            vpn.stop(pair)

    def test_five_times(self, lab: LabFactory) -> None:
        pair = lab()
        before = [node_state(node).objects for node in (pair.a, pair.b)]
        for _ in range(5):
            vpn = driver("strongswan/esp-aes256gcm")
            bring_up(vpn, pair)
            assert answered(vpn, pair) == (PINGS, PINGS)
            vpn.stop(pair)
            assert [node_state(node).objects for node in (pair.a, pair.b)] == before


class TestTrouble:
    pytestmark = needs_strongswan

    def test_a_configuration_that_it_refuses(self, lab: LabFactory) -> None:
        vpn, pair = driver("strongswan/esp-aes256gcm"), lab()
        vpn.prepare(pair)
        path = pair.b.directory / "strongswan/swanctl.conf"
        unknown = path.read_text().replace("aes256gcm16\n", "no-such-cipher\n")
        pair.b.write("strongswan/swanctl.conf", unknown, secret=True)
        with pytest.raises(VpnError, match="could not load its configuration"):
            vpn.join(pair.b)

    def test_a_daemon_that_dies_at_its_start(self, lab: LabFactory) -> None:
        vpn, pair = driver("strongswan/esp-aes256gcm"), lab()
        vpn.prepare(pair)
        pair.b.write("strongswan/strongswan.conf", "charon-systemd { load = no-such-plugin! }\n")
        with pytest.raises(VpnError, match="ended with code"):
            vpn.join(pair.b)

    def test_a_responder_that_has_died(self, lab: LabFactory) -> None:
        vpn, pair = impatient("esp-aes256gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        os.kill(vpn.processes["b"][0].pid, signal.SIGKILL)
        with pytest.raises(VpnError, match=r"could not initiate.*its log ends.*IKE_SA_INIT"):
            vpn.reach(pair.path)

    def test_another_shared_key(self, lab: LabFactory) -> None:
        vpn, pair = impatient("esp-aes256gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        path = pair.a.directory / "strongswan/swanctl.conf"
        pair.a.write(
            "strongswan/swanctl.conf",
            path.read_text().replace("secret = 0x", "secret = 0x00"),
            secret=True,
        )
        with pytest.raises(VpnError, match=r"could not initiate.*AUTH_FAILED"):
            vpn.reach(pair.path)

    def test_a_certificate_of_a_strange_authority(self, lab: LabFactory) -> None:
        vpn, pair = impatient("esp-aes256gcm", "cert"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        stranger = Authority(KeyKind.ED25519).issue("a", CertificateUsage.CLIENT)
        pair.a.write("strongswan/x509/own.pem", stranger.certificate)
        pair.a.write("strongswan/private/own.pem", stranger.key, secret=True)
        with pytest.raises(VpnError, match=r"could not initiate.*AUTH_FAILED"):
            vpn.reach(pair.path)

    def test_after_a_kill_nothing_stays(self, lab: LabFactory) -> None:
        vpn, pair = driver("strongswan/esp-aes256gcm"), lab()
        before = [node_state(node) for node in (pair.a, pair.b)]
        bring_up(vpn, pair)
        for name in "ab":
            os.kill(vpn.processes[name][0].pid, signal.SIGKILL)
        vpn.stop(pair)
        for node, state in zip((pair.a, pair.b), before, strict=True):
            assert node_state(node).left_since(state) == []
        again = driver("strongswan/esp-aes256gcm")
        bring_up(again, pair)
        assert answered(again, pair) == (PINGS, PINGS)


class TestMissing:
    def test_programs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tools, "find", lambda program: None)
        lacks = {
            lack.what: lack.remedy for lack in driver("strongswan/esp-aes256gcm").missing(HERE)
        }
        assert lacks["charon-systemd"] == lacks["swanctl"] == "culvert install strongswan"
        with pytest.raises(NotPossible):
            driver("strongswan/esp-aes256gcm").version(HERE)

    def test_the_plugin_is_needed_in_user_space_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("culvert.vpns.strongswan.charon._PLUGIN_DIRECTORIES", ())

        def lacks(vpn: str) -> set[str]:
            return {lack.what for lack in driver(vpn).missing(HERE)}

        plugin = "strongSwan's plugin kernel-libipsec"
        assert plugin in lacks("strongswan/esp-aes256gcm")
        assert plugin not in lacks("strongswan/esp-aes256gcm+kernel")

    def test_the_kernel_is_used_only_where_it_has_esp(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for has_esp in (True, False):
            monkeypatch.setattr(features, "has", lambda _, has_esp=has_esp: has_esp)
            lacks = {lack.what for lack in driver("strongswan/esp-aes256gcm+kernel").missing(HERE)}
            assert ("ESP in the kernel" not in lacks) == has_esp
            assert driver("strongswan/esp-aes256gcm").data_path is DataPath.USER


class TestEspInTheKernel:
    def test_the_outer_packets_are_esp(self) -> None:
        vpn = driver("strongswan/esp-aes256gcm+kernel")
        assert vpn.data_path is DataPath.KERNEL
        flow = vpn.outer_flow
        assert flow is not None
        assert (flow.protocol, flow.ports) == (50, frozenset())
        assert flow.also == (IKE,)
        assert flow.decrypts_there
        assert vpn.outer_length(64) == 120

    def test_what_cannot_be_is_said(self) -> None:
        def lacks(word: str) -> list[str]:
            return [lack.what for lack in driver(f"strongswan/{word}").missing(HERE)]

        assert "AH in UDP, which does not exist" in lacks("ah-sha256+kernel+encap")
        together = lacks("esp-aes256gcm+kernel+route+transport")
        assert "an xfrm interface in transport mode" in together
        assert "+transport in user space" in lacks("esp-aes256gcm+transport")
        assert "esp-null-sha256 in user space" in lacks("esp-null-sha256")

    @pytest.mark.parametrize(
        ("count", "kind", "path"),
        [
            ("\tSAD count 2 (buckets ...)\n", None, DataPath.KERNEL),
            ("\tSAD count 0\n", "tun", DataPath.USER),
            ("", "tun", DataPath.USER),
        ],
    )
    def test_what_the_kernel_tells_decides(
        self, count: str, kind: str | None, path: DataPath
    ) -> None:
        assert driver("strongswan/esp-aes256gcm").determine_data_path(told(count, kind)) is path

    @pytest.mark.parametrize("kind", [None, "dummy"])
    def test_neither_is_an_error(self, kind: str | None) -> None:
        with pytest.raises(VpnError, match="no security association"):
            driver("strongswan/esp-aes256gcm").determine_data_path(told("", kind))


def told(count: str, kind: str | None) -> Node:
    """A node whose kernel tells that many associations, and an ipsec0 of that kind."""
    node = Mock(spec=Node)
    node.name = "a"
    node.run.return_value = Completed((), 0, count, "")
    node.link.return_value = kind and LinkState("ipsec0", kind, 1400, True, ())
    return node


class TestConfiguration:
    LOCAL = IkeEnd("a", IPv4Address("198.18.0.1"), [IPv4Address("198.19.0.1")])
    REMOTE = IkeEnd("b", IPv4Address("198.18.0.2"), [IPv4Address("198.19.0.2")])
    CONNECTION = IkeConnection("tunnel", LOCAL, REMOTE, initiates=True, shared_key="00")

    @pytest.mark.parametrize("transform", TRANSFORMS.values())
    def test_a_shared_key(self, transform: Transform) -> None:
        one = replace(self.CONNECTION, shared_key="00ff")
        text = connections_config(Carriage(transform), [one], Upkeep())
        assert text.count("auth = psk") == 2
        assert "secret = 0x00ff" in text
        assert f"_proposals = {transform.proposal}\n" in text
        assert ("ah_proposals" in text) == (transform.shape is None)
        assert "certs" not in text
        assert text.count("{") == text.count("}")

    def test_certificates(self) -> None:
        one = replace(self.CONNECTION, shared_key=None, certificate="own.pem")
        text = connections_config(GCM, [one], Upkeep())
        assert text.count("auth = pubkey") == 2
        assert "certs = own.pem" in text
        assert "secret" not in text
        assert text.count("{") == text.count("}")

    def connection(self, upkeep: Upkeep, *, initiates: bool) -> str:
        return connections_config(GCM, [replace(self.CONNECTION, initiates=initiates)], upkeep)

    @pytest.mark.parametrize("initiates", [True, False])
    def test_nothing_is_renewed(self, initiates: bool) -> None:
        text = self.connection(Upkeep(), initiates=initiates)
        for setting in ("rekey_time", "reauth_time", "dpd_delay", "rekey_bytes", "rekey_packets"):
            assert f"{setting} = 0\n" in text
        assert "dpd_action = clear\n" in text
        assert "mobike = no\n" in text

    def test_the_initiator_calls_again_where_it_is_asked_to(self) -> None:
        upkeep = Upkeep(dead_peer_detection=True)
        caller, called = (
            self.connection(upkeep, initiates=initiates) for initiates in (True, False)
        )
        assert "dpd_action = restart\n" in caller
        assert "close_action = start\n" in caller
        assert "keyingtries = 0\n" in caller  # for ever: an outage may last longer than one try
        assert "keyingtries = 1\n" in called
        assert "dpd_action = clear\n" in called
        for text in (caller, called):
            assert "dpd_delay = 2\n" in text
        daemon = strongswan_config.daemon_config(in_kernel=False, upkeep=upkeep)
        assert "retransmit_tries = 3\n" in daemon
        assert daemon.count("{") == daemon.count("}")

    def test_the_ways_of_the_kernel(self) -> None:
        def text(carriage: Carriage) -> str:
            return connections_config(carriage, [self.CONNECTION], Upkeep())

        plain = text(GCM)
        assert "mode = tunnel\n" in plain
        assert "encap = no\n" in plain
        assert "if_id" not in plain
        assert "mode = transport\n" in text(replace(GCM, transport=True))
        assert "encap = yes\n" in text(replace(GCM, in_udp=True))
        assert "if_id_out = 42\n" in text(replace(GCM, route=True))

    def test_mobike_lets_the_address_change(self) -> None:
        text = self.connection(Upkeep(mobike=True), initiates=True)
        assert "local_addrs = %any\n" in text
        assert "mobike = yes\n" in text
        daemon = strongswan_config.daemon_config(in_kernel=False, upkeep=Upkeep(mobike=True))
        assert "roam_events = yes\n" in daemon

    def test_who_calls_may_be_behind_a_nat(self) -> None:
        assert "remote_addrs = 198.18.0.2\n" in self.connection(Upkeep(), initiates=True)
        assert "remote_addrs = %any\n" in self.connection(Upkeep(), initiates=False)

    def test_a_gateway_has_a_connection_and_a_key_for_each_client(self) -> None:
        clients = [
            replace(
                self.CONNECTION,
                name=f"tunnel-{name}",
                initiates=False,
                remote=replace(self.REMOTE, identity=name),
                shared_key=key,
            )
            for name, key in (("c1", "0a"), ("c2", "0b"))
        ]
        text = connections_config(GCM, clients, Upkeep())
        for name, key in (("c1", "0a"), ("c2", "0b")):
            assert text.count(f"  tunnel-{name} {{\n") == 2  # the connection and its child
            assert f"id-remote = {name}\n    secret = 0x{key}\n" in text
        assert text.count("{") == text.count("}")

    @pytest.mark.parametrize("in_kernel", [True, False])
    def test_who_does_esp(self, in_kernel: bool) -> None:
        text = strongswan_config.daemon_config(in_kernel=in_kernel, upkeep=Upkeep())
        assert ("kernel-libipsec kernel-netlink" in text) == (not in_kernel)
        assert "kernel-netlink" in text
        assert text.count("{") == text.count("}")
