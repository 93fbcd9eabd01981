from __future__ import annotations

import os
import signal
import sys

import pytest

from culvert import tools
from culvert.errors import NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.proof.route import judge_data_path
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import node_state
from culvert.vpns.openvpn import config
from culvert.vpns.openvpn.driver import OpenVpn
from culvert.vpns.openvpn.packet import Framing, Opcode, negotiated
from culvert.vpns.outer import OuterPacket
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.vpns.variant import DataPath
from tests.here import HERE

from ..conftest import LabFactory
from .tunnels import PINGS, answered, bring_up, driver, largest_inner, outer_packets, skip_reason

WHY_NOT = skip_reason("openvpn/aes-256-gcm")
needs_openvpn = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(WHY_NOT), reason=f"needs {WHY_NOT}"),
]
CIPHERS = [name for variant in OpenVpn.variants if not (name := variant.name).startswith("dco-")]
OPTIONS = [
    *("aes-256-gcm+tcp", "aes-128-cbc+psk", "aes-256-cbc+psk", "aes-256-cbc+psk+tcp"),
    *("none+psk", "aes-256-cbc+gigabit", "aes-256-gcm+tun-mtu-1300+mssfix-0+fast-io"),
    "aes-128-gcm+buffers-100000+txqueuelen-500",
]

HOLD_PORT = """
import socket, sys
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.bind(("0.0.0.0", 1194))
print("held", flush=True)
sys.stdin.read()
"""


class Impatient(OpenVpn):
    up_deadline_s = 1.5


def impatient(name: str, *options: str) -> Impatient:
    variant = next(variant for variant in OpenVpn.variants if variant.name == name)
    return Impatient(variant, frozenset(options))


class _Claims(OpenVpn):
    """One that says it is in the kernel, with the interface of another that is not."""

    def __init__(self, claims: OpenVpn, real: Vpn) -> None:
        super().__init__(claims.variant)
        self._real = real

    def determine_data_path(self, node: Node) -> DataPath:
        return self._real.determine_data_path(node)


def log(vpn: Vpn, node: str) -> str:
    return vpn.processes[node][0].log_text()


class TestUp:
    pytestmark = needs_openvpn

    @pytest.mark.parametrize("variant", [*CIPHERS, *OPTIONS])
    def test_variant(self, lab: LabFactory, variant: str) -> None:
        vpn, pair = driver(f"openvpn/{variant}"), lab()
        bring_up(vpn, pair)
        assert answered(vpn, pair) == (PINGS, PINGS)
        assert {vpn.determine_data_path(node) for node in (pair.a, pair.b)} == {DataPath.USER}
        self.check_address(vpn, pair)
        self.check_cipher(vpn)
        if vpn.outer_length(64) is not None:
            for inner in (64, 512, 1024, largest_inner(vpn, pair)):
                lengths = {packet.length for packet in outer_packets(vpn, pair, inner)}
                assert lengths == {vpn.outer_length(inner)}
        vpn.stop(pair)

    def check_address(self, vpn: Vpn, pair: Lab) -> None:
        for node in (pair.a, pair.b):
            link = node.link(vpn.interface(node))
            assert link is not None
            assert [address.ip for address in link.addresses] == [vpn.inner(node).ip]

    def check_cipher(self, vpn: Vpn) -> None:
        cipher = vpn.variant.facts["cipher"]
        # A static-key tunnel names its cipher a second after it works.
        if "psk" not in vpn.chosen:
            named = f"Data Channel: cipher '{cipher}'" in log(vpn, "a")
            assert named == vpn.variant.encrypts  # of none it says nothing
            assert "Control Channel: TLSv1.3" in log(vpn, "a")
            assert "384 bits ECsecp384r1" in log(vpn, "a")
            assert "peer temporary key: 253 bits X25519" in log(vpn, "a")
        assert "disabling data channel offload" not in log(vpn, "a")

    def test_a_fall_back_to_user_space_is_seen(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-128-gcm"), lab()
        bring_up(vpn, pair)
        pretended = OpenVpn(next(v for v in OpenVpn.variants if v.name == "dco-aes-128-gcm"))
        assert pretended.data_path is DataPath.KERNEL
        assert not judge_data_path(_Claims(pretended, vpn), pair.members).passed
        vpn.stop(pair)

    def test_settings_reach_the_devices(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-128-gcm+gigabit+txqueuelen-123"), lab()
        bring_up(vpn, pair)
        for node in (pair.a, pair.b):
            link = node.link("tun0")
            assert link is not None
            assert link.mtu == 6000
            said = node.run(["cat", "/sys/class/net/tun0/tx_queue_len"]).stdout
            assert said.strip() == "123"
        vpn.stop(pair)

    @pytest.mark.parametrize("cipher", ["aes-256-gcm", "aes-128-cbc"])
    def test_what_is_too_long_is_cut_inside(self, lab: LabFactory, cipher: str) -> None:
        vpn, pair = driver(f"openvpn/{cipher}+fragment-1300"), lab()
        bring_up(vpn, pair)
        whole = max(length for length in range(64, 1501) if vpn.outer_length(length) is not None)
        for inner in (64, whole):
            lengths = {packet.length for packet in outer_packets(vpn, pair, inner)}
            assert lengths == {vpn.outer_length(inner)}
        for inner in (whole + 1, 1500):
            packets = outer_packets(vpn, pair, inner)
            assert len(packets) == 2 * PINGS
            assert max(packet.length for packet in packets) <= 28 + 1300
        vpn.stop(pair)

    def test_one_byte_more_is_fragmented(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-256-gcm"), lab()
        bring_up(vpn, pair)
        largest = largest_inner(vpn, pair)
        assert largest == 1448
        assert len(outer_packets(vpn, pair, largest)) == PINGS
        assert max(packet.length for packet in outer_packets(vpn, pair, largest + 1)) <= 1500

    @pytest.mark.parametrize("variant", ["aes-256-gcm", "aes-256-cbc+psk"])
    def test_five_times(self, lab: LabFactory, variant: str) -> None:
        pair = lab()
        before = [node_state(node).objects for node in (pair.a, pair.b)]
        for _ in range(5):
            vpn = driver(f"openvpn/{variant}")
            bring_up(vpn, pair)
            assert answered(vpn, pair) == (PINGS, PINGS)
            vpn.stop(pair)
            assert [node_state(node).objects for node in (pair.a, pair.b)] == before


class TestTrouble:
    pytestmark = needs_openvpn

    def test_a_configuration_that_it_refuses(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-256-gcm"), lab()
        vpn.prepare(pair)
        pair.b.write("openvpn/config", "no-such-option\n")
        with pytest.raises(VpnError, match=r"ended with code 1 .*Unrecognized option"):
            vpn.join(pair.b)

    def test_a_port_in_use(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-256-gcm"), lab()
        holder = pair.b.spawn([sys.executable, "-c", HOLD_PORT], name="holder", pipes=True)
        assert holder.stdout.readline() == b"held\n"
        vpn.prepare(pair)
        with pytest.raises(VpnError, match="Address already in use"):
            vpn.join(pair.b)

    def test_a_server_that_has_died(self, lab: LabFactory) -> None:
        vpn, pair = impatient("aes-256-gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        os.kill(vpn.processes["b"][0].pid, signal.SIGKILL)
        with pytest.raises(VpnError, match=r"WAIT.*the server's log ends.*Initialization Sequence"):
            vpn.reach(pair.path)

    def test_a_client_that_dies_while_it_connects(self, lab: LabFactory) -> None:
        vpn, pair = driver("openvpn/aes-256-gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        path = pair.a.directory / "openvpn/config"
        pair.a.write("openvpn/config", path.read_text() + "tls-exit\n")
        pair.a.write("openvpn/ca.crt", Authority(KeyKind.SECP384R1).certificate)
        with pytest.raises(VpnError, match=r"ended with code \d .*TLS handshake failed"):
            vpn.reach(pair.path)

    def test_a_client_of_a_strange_authority(self, lab: LabFactory) -> None:
        vpn, pair = impatient("aes-256-gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        stranger = Authority(KeyKind.SECP384R1).issue("a", CertificateUsage.CLIENT)
        identity = stranger.certificate + stranger.key
        pair.a.write("openvpn/identity.pem", identity, secret=True)
        with pytest.raises(VpnError, match=r"not after 1\.5 s.*the server's log ends.*TLS"):
            vpn.reach(pair.path)

    def test_a_server_of_a_strange_authority(self, lab: LabFactory) -> None:
        vpn, pair = impatient("aes-256-gcm"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        pair.a.write("openvpn/ca.crt", Authority(KeyKind.SECP384R1).certificate)
        with pytest.raises(VpnError, match="tls-error"):
            vpn.reach(pair.path)

    def test_a_different_static_key(self, lab: LabFactory) -> None:
        vpn, pair = impatient("aes-256-cbc", "psk"), lab()
        vpn.prepare(pair)
        vpn.join(pair.b)
        pair.a.write("openvpn/static.key", config.new_static_key(), secret=True)
        with pytest.raises(VpnError, match="HMAC authentication failed"):
            vpn.reach(pair.path)

    def test_a_wrong_key_does_not_stay(self, lab: LabFactory) -> None:
        pair = lab()
        before = [node_state(node) for node in (pair.a, pair.b)]
        vpn = driver("openvpn/aes-256-gcm")
        vpn.prepare(pair)
        pair.a.write("openvpn/config", "no-such-option\n")
        vpn.join(pair.b)
        with pytest.raises(VpnError):
            vpn.reach(pair.path)
        vpn.stop(pair)
        for node, state in zip((pair.a, pair.b), before, strict=True):
            assert node_state(node).left_since(state) == []


class TestMissing:
    def test_the_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tools, "find", lambda program: None)
        lacks = {lack.what: lack.remedy for lack in driver("openvpn/aes-256-gcm").missing(HERE)}
        assert lacks["openvpn"] == "culvert install openvpn"
        with pytest.raises(NotPossible) as told:
            driver("openvpn/aes-256-gcm").version(HERE)
        assert told.value.remedy == "culvert install openvpn"

    def test_aead_with_a_static_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tools, "find", lambda program: None)
        lacks = {lack.what: lack.remedy for lack in driver("openvpn/aes-128-gcm+psk").missing(HERE)}
        assert (
            "openvpn/aes-256-cbc+psk"
            in lacks["AES-128-GCM with a static key, which OpenVPN does not support"]
        )
        without = {lack.what for lack in driver("openvpn/aes-128-cbc+psk").missing(HERE)}
        refused = "AES-128-GCM with a static key, which OpenVPN does not support"
        assert without == lacks.keys() - {refused}

    def test_a_static_key_is_never_renewed(self) -> None:
        lacks = {
            lack.what: lack.remedy for lack in driver("openvpn/aes-256-cbc+psk+reneg").missing(HERE)
        }
        remedy = lacks["renegotiation with a static key, which OpenVPN does not support"]
        assert remedy == "drop the option reneg, or psk"


class TestDeclared:
    def test_what_the_kernel_encrypts_is_no_time_of_the_programs(self) -> None:
        assert driver("openvpn/aes-256-gcm").cpu_attributable
        offloaded = driver("openvpn/dco-aes-256-gcm")
        assert not offloaded.cpu_attributable
        assert "softirq" in offloaded.variant.facts["CPU accounting"]

    def test_facts_tell_what_keeps_a_tunnel_up(self) -> None:
        assert driver("openvpn/aes-256-gcm").variant.facts["pings"] == "off"
        facts = driver("openvpn/aes-256-gcm+dpd+reneg").variant.facts
        assert facts["pings"].startswith("every 2 s, restart after 10 s")
        assert facts["renegotiation"] == "by the client, every 5 s"

    def test_facts_follow_the_options(self) -> None:
        assert driver("openvpn/aes-256-cbc").variant.facts["transport"] == "UDP 1194"
        facts = driver("openvpn/aes-256-cbc+psk+tcp").variant.facts
        assert facts["transport"] == "TCP 1194"
        assert facts["authentication"] == "static key"
        assert facts["key exchange"] == "none"

    def test_epoch_keys_are_read_from_the_servers_reply(self) -> None:
        reply = "PUSH: Received control message: 'PUSH_REPLY,cipher AES-256-GCM,protocol-flags {}'"
        old, new = reply.format("cc-exit tls-ekm"), reply.format("cc-exit tls-ekm aead-epoch")
        assert negotiated(Framing.AEAD, old) is Framing.AEAD
        assert negotiated(Framing.AEAD, new) is Framing.AEAD_EPOCH
        assert negotiated(Framing.CBC, new) is Framing.CBC

    def test_a_static_key_has_no_handshake(self) -> None:
        control = OuterPacket(0, True, 17, 1, 1194, 29, bytes((Opcode.CONTROL_V1 << 3,)))
        assert driver("openvpn/aes-256-cbc").is_handshake(control)
        assert not driver("openvpn/aes-256-cbc+psk").is_handshake(control)
