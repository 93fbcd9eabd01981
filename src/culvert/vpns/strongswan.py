"""IPsec with strongSwan: IKEv2 by charon, ESP in the kernel or, where that has none, in charon.

In charon (kernel-libipsec) inner packets go through the tun device ipsec0, and ESP is always
inside of UDP. In the kernel there is no device: policies pick packets by their inner addresses,
which a dummy interface holds, and ESP is an IP protocol of its own.
"""

from __future__ import annotations

import math
import re
import secrets
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path
from typing import ClassVar

from culvert import tools
from culvert.doctor import features
from culvert.errors import DeadlineExceeded, NotPossible, VpnError
from culvert.labs.base import Completed, Lab, Node, Process
from culvert.vpns import esp, strongswan_config
from culvert.vpns.base import (
    DataPath,
    Missing,
    OuterFlow,
    OuterPacket,
    Variant,
    Vpn,
    underlay_address,
)
from culvert.vpns.facts import wait_for_fact
from culvert.vpns.packages import package_version
from culvert.vpns.pki import Authority, KeyKind, Usage
from culvert.vpns.strongswan_config import CONNECTION, IKE_PROPOSAL, VICI, End, Suite, Upkeep

DEVICE = "ipsec0"
"""The tun device of kernel-libipsec."""
_HOLDER = "inner0"
"""The dummy interface that holds the inner address where there is no device of the tunnel."""
_ROUTING_RULE = 220
"""The table, and the priority of its rule, that charon puts its routes into."""
_PLUGIN = "libstrongswan-kernel-libipsec.so"
_PLUGIN_DIRECTORIES = (
    "/usr/lib/ipsec/plugins",
    "/usr/lib/strongswan/plugins",
    "/usr/lib64/strongswan/plugins",
    "/usr/local/lib/ipsec/plugins",
)
_KEY_BYTES = 32
_CERT = "cert"
_KERNEL = "kernel"
_DPD = "dpd"
_MOBIKE = "mobike"

_SHAPES = {
    Suite.AES128CBC_SHA256: esp.CBC_SHA256,
    Suite.AES128GCM: esp.GCM,
    Suite.AES256GCM: esp.GCM,
    Suite.CHACHA20POLY1305: esp.CHACHA20_POLY1305,
}
_FACTS = {
    "key exchange": f"IKEv2, {IKE_PROPOSAL}",
    "perfect forward secrecy": "none for the first child SA, whose keys come from the IKE SA",
    "initiation": "start of charon, swanctl --load-all, swanctl --initiate",
    "interface": "in user space ipsec0 with the plugin's MTU of 1400",
    "rekeying": "off",
    "dead peer detection": "off",
    "MOBIKE": "off",
    "cookies": "off",
    "retransmission": "default (first after 4 s)",
}


def _variant(name: str, suite: Suite, cipher: str) -> Variant:
    facts = {"cipher": cipher, "ESP proposal": suite.value, **_FACTS}
    return Variant(name, f"ESP with {cipher}", facts)


_SUITES = {
    "esp-aes128cbc-sha256": (Suite.AES128CBC_SHA256, "AES-128-CBC with HMAC-SHA256-128"),
    "esp-aes128gcm": (Suite.AES128GCM, "AES-128-GCM"),
    "esp-aes256gcm": (Suite.AES256GCM, "AES-256-GCM"),
    "esp-chacha20poly1305": (Suite.CHACHA20POLY1305, "ChaCha20-Poly1305"),
}


class StrongSwan(Vpn):
    """One charon on each node; node a initiates."""

    name = "strongswan"
    summary = "IPsec by strongSwan, in user space; +kernel: by the kernel's ESP"
    variants = tuple(_variant(name, *suite) for name, suite in _SUITES.items())
    options: ClassVar[Mapping[str, str]] = {
        _CERT: "Ed25519 certificates instead of a pre-shared key",
        _KERNEL: "ESP by the kernel instead of kernel-libipsec",
        _DPD: f"dead peer detection, after {strongswan_config.DPD_S} s of silence",
        _MOBIKE: "MOBIKE: the initiator's address may change",
    }
    role = "strongswan"

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.suite = _SUITES[variant.name][0]
        self.certificates = _CERT in options
        self.in_kernel = _KERNEL in options
        self.upkeep = Upkeep(dead_peer_detection=_DPD in options, mobike=_MOBIKE in options)
        self.variant = replace(variant, facts={**variant.facts, **self._chosen_facts()})

    def _chosen_facts(self) -> dict[str, str]:
        facts = {
            "authentication": "Ed25519 certificates" if self.certificates else "pre-shared key"
        }
        if self.upkeep.dead_peer_detection:
            each, times = strongswan_config.DPD_RETRANSMIT_S, strongswan_config.DPD_RETRANSMISSIONS
            facts["dead peer detection"] = (
                f"after {strongswan_config.DPD_S} s; restart then, and when the peer closes"
            )
            facts["retransmission"] = f"every {each} s, {times} times"
        if self.upkeep.mobike:
            facts["MOBIKE"] = "on"
        return facts

    # -- what it takes ---------------------------------------------------------------------------

    def missing(self) -> list[Missing]:
        """The programs; in user space the plugin and /dev/net/tun as well."""
        remedy = f"culvert install {self.name}"
        missing = [
            Missing(program, remedy)
            for program in ("charon-systemd", "swanctl", "ip")
            if tools.find(program) is None
        ]
        if self.in_kernel and not features.has("esp"):
            missing.append(Missing("ESP in the kernel", f"leave +{_KERNEL} out, or see doctor"))
        if self.data_path is DataPath.USER:
            if not any((Path(place) / _PLUGIN).exists() for place in _PLUGIN_DIRECTORIES):
                missing.append(Missing("strongSwan's plugin kernel-libipsec", remedy))
            if not Path("/dev/net/tun").exists():
                missing.append(Missing("/dev/net/tun", "modprobe tun"))
        return missing

    def version(self) -> str:
        """strongSwan's, and the package's if it is one."""
        # From swanctl: charon-systemd does not tell, but starts whatever it is called with.
        told = subprocess.run(
            [self._program("swanctl"), "--help"], capture_output=True, text=True, check=False
        )
        found = re.search(r"strongSwan (\S+) swanctl", told.stdout + told.stderr)
        package = package_version("charon-systemd")
        own = found[1] if found else "unknown"
        return f"{own}, package {package}" if package else own

    def _program(self, name: str) -> str:
        return str(tools.require(name, f"culvert install {self.name}"))

    # -- the life of a tunnel --------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """The daemon's configuration, the connection, and keys for each node."""
        for lack in self.missing():
            raise NotPossible(self.id, f"it lacks {lack.what}", lack.remedy)
        in_kernel = self.data_path is DataPath.KERNEL
        daemon = strongswan_config.daemon_config(in_kernel=in_kernel, upkeep=self.upkeep)
        authority = Authority(KeyKind.ED25519) if self.certificates else None
        shared_key = None if authority else secrets.token_hex(_KEY_BYTES)
        for node, peer in ((lab.a, lab.b), (lab.b, lab.a)):
            node.write("strongswan/strongswan.conf", daemon)
            connection = strongswan_config.connection_config(
                self.suite,
                self._end_of(node),
                self._end_of(peer),
                initiates=node is lab.a,
                upkeep=self.upkeep,
                shared_key=shared_key,
                certificate="own.pem",
            )
            node.write("strongswan/swanctl.conf", connection, secret=True)
            if authority is not None:
                own = authority.issue(node.name, _usage(node))
                node.write("strongswan/x509ca/authority.pem", authority.certificate)
                node.write("strongswan/x509/own.pem", own.certificate)
                node.write("strongswan/private/own.pem", own.key, secret=True)

    def _end_of(self, node: Node) -> End:
        return End(node.name, underlay_address(node), self.inner(node).ip)

    def listen(self, b: Node) -> None:
        """Start the responder; ready when it has loaded the connection."""
        self._start(b)

    def connect(self, a: Node) -> None:
        """Start the initiator and initiate; up when the child SA is installed."""
        self._start(a)
        self.initiate(a)

    def initiate(self, a: Node) -> None:
        """Have the running charon initiate."""
        (charon,) = self.processes[a.name]
        timeout = str(math.ceil(self.up_deadline_s))
        self._swanctl(
            a, charon, ["--initiate", "--child", CONNECTION, "--timeout", timeout], "initiate"
        )

    def drop(self, a: Node) -> None:
        """Delete the IKE SA, and with it the child: the peer is told."""
        (charon,) = self.processes[a.name]
        self._swanctl(a, charon, ["--terminate", "--ike", CONNECTION], "end the tunnel")

    def rekey(self, a: Node) -> None:
        """A new child SA: the old one goes when the new one is there."""
        (charon,) = self.processes[a.name]
        self._swanctl(a, charon, ["--rekey", "--child", CONNECTION], "renew its keys")

    def stop(self, lab: Lab) -> None:
        """End both; devices, associations, policies and routes go with them."""
        super().stop(lab)
        for node in (lab.a, lab.b):
            node.del_link(_HOLDER)

    def _stop_processes(self, node: Node) -> None:
        daemons = list(self.processes[node.name])
        super()._stop_processes(node)
        if any(daemon.returncode() != 0 for daemon in daemons):
            self._sweep(node)

    def _sweep(self, node: Node) -> None:
        """Remove what a charon that was killed has left in the kernel."""
        for words in (
            ("rule", "del", "pref", str(_ROUTING_RULE)),
            ("-6", "rule", "del", "pref", str(_ROUTING_RULE)),
            ("route", "flush", "table", str(_ROUTING_RULE)),
            ("xfrm", "state", "flush"),
            ("xfrm", "policy", "flush"),
        ):
            node.run([self._program("ip"), *words], check=False)

    def _start(self, node: Node) -> Process:
        if self.data_path is DataPath.KERNEL:
            self._hold_inner_address(node)
        control = node.file(VICI)
        control.unlink(missing_ok=True)  # of one that was killed
        charon = node.spawn(
            [self._program("charon-systemd")], name="charon", env=_environment(node)
        )
        self.processes[node.name].append(charon)
        wait_for_fact(
            lambda: _listens(control),
            vpn=self.id,
            process=charon,
            what=f"charon on node {node.name} listened at {VICI}",
            deadline_s=self.up_deadline_s,
        )
        if self.data_path is DataPath.USER:
            wait_for_fact(
                lambda: node.link(DEVICE) is not None,
                vpn=self.id,
                process=charon,
                what=f"charon on node {node.name} made {DEVICE}",
                deadline_s=self.up_deadline_s,
            )
            node.add_address(DEVICE, self._inner_alone(node))
        self._swanctl(node, charon, ["--load-all", "--noprompt"], "load its configuration")
        return charon

    def _hold_inner_address(self, node: Node) -> None:
        if node.link(_HOLDER) is None:
            node.add_link(_HOLDER, "dummy")
            node.add_address(_HOLDER, self._inner_alone(node))
            node.set_link(_HOLDER, up=True)

    def _inner_alone(self, node: Node) -> IPv4Interface:
        """/32, so that no route leads to the peer but the one that charon makes."""
        return IPv4Interface(f"{self.inner(node).ip}/32")

    def _swanctl(self, node: Node, charon: Process, words: list[str], what: str) -> Completed:
        try:
            done = node.run(
                [self._program("swanctl"), *words, "--uri", f"unix://{VICI}"],
                env=_environment(node),
                timeout_s=self.up_deadline_s + 1,
                check=False,
            )
        except DeadlineExceeded as error:
            raise VpnError(
                self.id,
                f"charon on node {node.name} did not {what}: {error.why}; "
                f"its log ends: {_log_end(charon)}",
                "look whether the underlay carries UDP ports 500 and 4500, and at the log",
            ) from error
        if done.returncode == 0:
            return done
        alive = "" if charon.alive() else f" (it ended with code {charon.returncode()})"
        said = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise VpnError(
            self.id,
            f"charon on node {node.name} could not {what}{alive}: {' '.join(said)}; "
            f"its log ends: {_log_end(charon)}",
            "look at the log of each node for what the other refused",
        )

    # -- what the proof asks ---------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device, or the underlay's where the kernel encrypts on the way out."""
        return DEVICE if self.data_path is DataPath.USER else node.underlay.device

    @property
    def data_path(self) -> DataPath:
        """In user space, so that results of different kernels compare, unless asked."""
        return DataPath.KERNEL if self.in_kernel else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """KERNEL if it holds security associations; USER if it holds none, and ipsec0 is a tun."""
        counted = node.run([self._program("ip"), "xfrm", "state", "count"], check=False)
        held = re.search(r"SAD count (\d+)", counted.stdout)  # a kernel without XFRM tells none
        if held and int(held[1]):
            return DataPath.KERNEL
        link = node.link(DEVICE)
        if link is not None and link.kind == "tun":
            return DataPath.USER
        raise VpnError(
            f"{self.id} on node {node.name}",
            f"the kernel holds no security association and {DEVICE} is "
            f"{link.kind if link else 'missing'}, not tun",
            "bring the tunnel up again",
        )

    @property
    def outer_flow(self) -> OuterFlow | None:
        """ESP inside of UDP with IKE beside it, or ESP alone."""
        if self.data_path is DataPath.USER:
            return OuterFlow(esp.UDP, frozenset({esp.IKE_PORT, esp.NAT_PORT}))
        return OuterFlow(esp.ESP)

    def outer_length(self, inner_length: int) -> int | None:
        """By the cipher."""
        in_udp = self.data_path is DataPath.USER
        return esp.outer_length(_SHAPES[self.suite], inner_length, in_udp=in_udp)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """IKE's packets."""
        return esp.is_ike(packet)


def _environment(node: Node) -> dict[str, str]:
    directory = node.directory / "strongswan"
    return {"STRONGSWAN_CONF": str(directory / "strongswan.conf"), "SWANCTL_DIR": str(directory)}


def _usage(node: Node) -> Usage:
    return Usage.CLIENT if node.name == "a" else Usage.SERVER


def _listens(control: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(control))
    return True


def _log_end(process: Process) -> str:
    lines = [line.strip() for line in process.log_text().splitlines() if line.strip()]
    return " | ".join(lines[-5:]) or "nothing"
