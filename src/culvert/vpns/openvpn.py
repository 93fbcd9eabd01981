"""OpenVPN: node b is the server, node a the client.

With certificates (TLS 1.3, the default) or a static key, over UDP or TCP. Where the kernel could
take over the data channel it is told not to, unless the variant is one of dco-...: that is another
VPN to measure.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from culvert import tools
from culvert.errors import NotPossible, VpnError
from culvert.labs.base import Lab, Node, Process
from culvert.vpns import openvpn_config as config
from culvert.vpns import openvpn_packet as wire
from culvert.vpns import openvpn_program, ovpn_kernel
from culvert.vpns import openvpn_settings as settings
from culvert.vpns.base import (
    LEAVE_OUT,
    DataPath,
    Missing,
    OuterFlow,
    OuterPacket,
    Variant,
    Vpn,
    underlay_address,
)
from culvert.vpns.facts import path_of_device, wait_for_fact
from culvert.vpns.openvpn_config import DEVICE, PORT, Cipher, Transport
from culvert.vpns.openvpn_management import SOCKET_PATH_MAX, Management, State
from culvert.vpns.pki import Authority, KeyKind, Usage
from culvert.waiting import wait_until

_NEWS_S = 0.02
"""How long to wait for the next state before looking whether the program still runs."""
_PSK = "psk"
_TCP = "tcp"
_DPD = "dpd"
_RENEG = "reneg"
_LISTENS = re.compile(r"UDPv4 link remote:|Listening for incoming TCP connection")

_KEYS = re.compile(r"Control Channel: TLS")
_DROPPED = "SIGUSR1"
_DCO = "dco-"
_REPLAY_GUARD_S = 1.2
"""Packet numbers of a static key begin with the second of the start (openvpn's packet_id.h)."""

_BOTH = {
    "tunnel MTU": "1500 (default)",
    "fragment": "off (default)",
    "mssfix": "default: TCP inside makes outer packets of at most 1492 bytes",
    "renegotiation": "off",
    "pings": "off",
    "compression": "none",
    "socket buffers": "the system's default",
}
_IN_USER_SPACE = {"data channel offload": "off"}
_IN_KERNEL = {
    "data channel offload": "on",
    "mssfix": "has no effect in the kernel: full packets are cut outside",
}
_CERTIFICATES = {
    "authentication": "certificates, ECDSA secp384r1",
    "key exchange": "TLS 1.3 with its default group (X25519)",
}


def _variant(cipher: Cipher) -> Variant:
    facts = {"cipher": cipher.value} | ({} if cipher.aead else {"authenticity": "HMAC-SHA256"})
    summary = cipher.value if cipher.aead else f"{cipher.value} with HMAC-SHA256"
    clear = cipher is Cipher.NONE
    return Variant(
        cipher.value.lower(),
        "no encryption, HMAC-SHA256" if clear else summary,
        facts | _BOTH | _IN_USER_SPACE | _CERTIFICATES,
        encrypts=not clear,
        integrity_only=clear,
    )


def _offloaded(cipher: Cipher) -> Variant:
    facts = {"cipher": cipher.value} | _BOTH | _IN_KERNEL | _CERTIFICATES
    return Variant(_DCO + cipher.value.lower(), f"{cipher.value} in the kernel", facts)


class OpenVpn(Vpn):
    """One server with one client; each is one process with one thread, or the kernel."""

    name = "openvpn"
    summary = "OpenVPN 2, in user space or with its data channel in the kernel"
    variants = (
        *(_variant(cipher) for cipher in Cipher if cipher is not Cipher.NONE),
        _variant(Cipher.NONE),
        *(_offloaded(cipher) for cipher in Cipher if cipher.aead),
    )
    options: ClassVar[Mapping[str, str]] = {
        _TCP: "carry the tunnel over TCP instead of UDP",
        _PSK: "a static key instead of certificates (CBC variants, and none)",
        _DPD: f"dead peer detection: keepalive {config.PING_S} {config.PING_RESTART_S}",
        _RENEG: f"new keys every {config.RENEGOTIATION_S} s",
        **settings.OPTIONS,
    }
    role = "openvpn"

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.offloaded = variant.name.startswith(_DCO)
        name = variant.name.removeprefix(_DCO)
        self.cipher = next(cipher for cipher in Cipher if cipher.value.lower() == name)
        self.settings = settings.Settings.of(options)
        self.transport = Transport.TCP if _TCP in options else Transport.UDP
        self.static_key = _PSK in options
        self.variant = replace(variant, facts={**variant.facts, **self._chosen_facts()})
        self._framing = self._first_framing()
        self._nodes: dict[str, Node] = {}

    def _chosen_facts(self) -> dict[str, str]:
        facts = {"transport": f"{self.transport.upper()} {PORT}", **self.settings.facts()}
        if self.transport is Transport.TCP:
            facts["TCP_NODELAY"] = "off (default)"
        if self.static_key:
            facts |= {"authentication": "static key", "key exchange": "none"}
        if _DPD in self.chosen:
            facts["pings"] = (
                f"every {config.PING_S} s, restart after {config.PING_RESTART_S} s without "
                "(a server: after twice that)"
            )
        if _RENEG in self.chosen:
            facts["renegotiation"] = f"by the client, every {config.RENEGOTIATION_S} s"
        return facts

    # -- what it takes ---------------------------------------------------------------------------

    def missing(self) -> list[Missing]:
        """The program, /dev/net/tun or the kernel's module, and whatever the options need."""
        program = openvpn_program.find(offloaded=self.offloaded)
        missing = self._missing_kernel() if self.offloaded else self._missing_program(program)
        udp = self.transport is Transport.UDP
        missing += [
            Missing(what, f"drop the option {option}, or correct it")
            for what, option in settings.refused(self.chosen, udp=udp, offloaded=self.offloaded)
        ]
        if not self.static_key:
            return missing
        if self.offloaded:
            return [*missing, Missing("static keys in the kernel", f"drop the option {_PSK}")]
        if self.cipher.aead:
            missing.append(
                Missing(
                    f"{self.cipher.value} with a static key, which OpenVPN has not",
                    f"drop the option {_PSK}, or use openvpn/aes-256-cbc+{_PSK}",
                )
            )
        if _RENEG in self.chosen:
            what = "renegotiation with a static key, which OpenVPN has not"
            missing.append(Missing(what, f"drop the option {_RENEG}, or {_PSK}"))
        if program is not None and openvpn_program.dialect(program).lacks_static_keys:
            missing.append(
                Missing(
                    "an OpenVPN with static keys, which 2.8 dropped",
                    f"drop the option {_PSK}, or install OpenVPN 2.6 or 2.7",
                )
            )
        if tools.find("ping") is None:
            missing.append(Missing("ping", f"culvert install {self.name}"))
        return missing

    def _missing_program(self, program: Path | None) -> list[Missing]:
        missing = []
        if program is None:
            missing.append(Missing("openvpn", f"culvert install {self.name}"))
        if not Path("/dev/net/tun").exists():
            missing.append(Missing("/dev/net/tun", "modprobe tun"))
        return missing

    def _missing_kernel(self) -> list[Missing]:
        kind = ovpn_kernel.kernel_kind()
        if kind is None:
            remedy = (
                "modprobe ovpn (Linux 6.16 or later, CONFIG_OVPN), or openvpn-dco-dkms for "
                "OpenVPN 2.6, or use culvert run --lab vm"
            )
            return [Missing(f"kernel feature {ovpn_kernel.IN_TREE}", remedy)]
        if openvpn_program.find(offloaded=True) is None:
            wanted = "2.7 or later" if kind == ovpn_kernel.IN_TREE else "2.6"
            remedy = f"put OpenVPN {wanted} on PATH or into {tools.tools_directory() / 'bin'}"
            return [Missing(f"an OpenVPN that drives {kind}: {wanted}", remedy)]
        return []

    def version(self) -> str:
        """OpenVPN's, the package's if it is one, and the TLS library's."""
        return openvpn_program.version(self._program())

    def _program(self) -> Path:
        program = openvpn_program.find(offloaded=self.offloaded)
        if program is None:
            raise NotPossible(self.id, "openvpn is missing", f"culvert install {self.name}")
        return program

    # -- the life of a tunnel --------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """Keys and a configuration file for each node."""
        for lack in self.missing():
            raise NotPossible(self.id, f"it lacks {lack.what}", lack.remedy)
        self._nodes = {"a": lab.a, "b": lab.b}
        tunnel = config.Tunnel(
            self.cipher,
            self.transport,
            openvpn_program.dialect(self._program()),
            config.Ends(underlay_address(lab.b), self.inner(lab.a), self.inner(lab.b)),
            keepalive=_DPD in self.chosen,
            renegotiates=_RENEG in self.chosen,
            offloaded=self.offloaded,
            settings=self.settings,
        )
        if self.static_key:
            self._prepare_static_key(lab, tunnel)
        else:
            self._prepare_certificates(lab, tunnel)

    def _prepare_certificates(self, lab: Lab, tunnel: config.Tunnel) -> None:
        authority = Authority(KeyKind.SECP384R1)
        entry = lab.b.write(f"openvpn/clients/{lab.a.name}", config.client_entry(tunnel))
        server = _write_credential(lab.b, authority, Usage.SERVER)
        client = _write_credential(lab.a, authority, Usage.CLIENT)
        lab.b.write(
            "openvpn/config",
            config.server_config(tunnel, server, entry.parent, lab.a.name, _socket(lab.b)),
        )
        lab.a.write(
            "openvpn/config", config.client_config(tunnel, client, lab.b.name, _socket(lab.a))
        )

    def _prepare_static_key(self, lab: Lab, tunnel: config.Tunnel) -> None:
        key = config.new_static_key()
        for node, make in (
            (lab.a, config.static_client_config),
            (lab.b, config.static_server_config),
        ):
            path = node.write("openvpn/static.key", key, secret=True)
            node.write("openvpn/config", make(tunnel, path, _socket(node)))

    def listen(self, b: Node) -> None:
        """Start the server; ready when it says so."""
        process = self._start(b)
        if self.static_key:
            # It is "connected" only after the client's first packet.
            wait_for_fact(
                lambda: _LISTENS.search(process.log_text()) is not None,
                vpn=self.id,
                process=process,
                what=f"openvpn on node b listened on {self.transport.upper()} port {PORT}",
                deadline_s=self.up_deadline_s,
            )
        else:
            self._await_connected(b, process, "openvpn on node b was ready for clients")

    def connect(self, a: Node) -> None:
        """Start the client; up when it says that it is connected.

        With a static key there is no handshake, and it says so up to two seconds late: it is up
        when a ping through the tunnel is answered.
        """
        process = self._start(a)
        if self.static_key:
            self._await_answer(a, process)
        else:
            self._await_connected(a, process, "node a was connected to node b")
            self._framing = _negotiated(self._framing, process.log_text())

    def disconnect(self, a: Node) -> None:
        """End the client.

        With a static key the server starts anew: it knows its client by packet numbers that grow
        from the second in which the client was started, and would refuse as a replay what a
        client sends that is started within the same second.
        """
        super().disconnect(a)
        b = self._nodes["b"]
        if self.static_key and self.processes["b"]:
            self._stop_processes(b)
            self.listen(b)

    def end_initiator(self, a: Node) -> None:
        """End the client; with a static key not within a second of its start, see disconnect()."""
        if self.static_key:
            wait_until(
                lambda: all(_age_s(client) > _REPLAY_GUARD_S for client in self.processes["a"]),
                what="the second in which the client was started was over",
                deadline_s=2 * _REPLAY_GUARD_S,
            )
        super().end_initiator(a)

    def drop(self, a: Node) -> None:
        """Have the client close its connection, and hold before it opens the next."""
        if self.static_key:
            raise NotPossible(self.id, "has no handshake that could be done again", LEAVE_OUT)
        (process,) = self.processes[a.name]

        def holds() -> bool:
            management.watch(_NEWS_S)
            return management.holds

        with Management(_socket(a)) as management:
            management.say("hold on")  # or it waits a second before it connects again
            management.say("signal SIGUSR1")
            wait_for_fact(
                holds,
                vpn=self.id,
                process=process,
                what="openvpn on node a closed its connection",
                deadline_s=self.up_deadline_s,
            )

    def initiate(self, a: Node) -> None:
        """Release the client's hold; up when it says that it is connected."""
        (process,) = self.processes[a.name]
        self._await_connected(a, process, "node a was connected to node b", release=True)

    def rekey(self, a: Node) -> None:
        """Wait until the client has renewed its keys: with the option reneg, in a few seconds."""
        if _RENEG not in self.chosen:
            raise NotPossible(
                self.id, "renews no keys as it is configured", f"add the option +{_RENEG}"
            )
        (process,) = self.processes[a.name]
        before = _agreed_keys(process)
        wait_for_fact(
            lambda: _agreed_keys(process) > before,
            vpn=self.id,
            process=process,
            what="node a renewed its keys",
            deadline_s=self.rekey_deadline_s,
        )

    def _start(self, node: Node) -> Process:
        process = node.spawn(
            [str(self._program()), "--config", str(node.directory / "openvpn/config")],
            name="openvpn",
        )
        self.processes[node.name].append(process)
        return process

    def _await_connected(
        self, node: Node, process: Process, what: str, *, release: bool = False
    ) -> None:
        with Management(_socket(node)) as management:
            if release:
                management.say("hold off")
                management.say("hold release")

            def connected() -> bool:
                state = management.watch(_NEWS_S)
                if state is None or state.name != "CONNECTED":
                    self._refuse_setback(node, process, state)
                    return False
                return True

            wait_for_fact(
                connected,
                vpn=self.id,
                process=process,
                what=what,
                deadline_s=self.up_deadline_s,
                evidence=lambda: f"its state is {management.latest}; {self._server_said()}",
            )

    def _await_answer(self, a: Node, process: Process) -> None:
        def has_address() -> bool:
            link = a.link(DEVICE)
            return link is not None and link.up and bool(link.addresses)

        wait_for_fact(
            has_address,
            vpn=self.id,
            process=process,
            what=f"node a gave {DEVICE} its address",
            deadline_s=self.up_deadline_s,
            evidence=self._server_said,
        )
        ping = a.spawn(self._ping(), name="openvpn-ping")
        try:
            wait_for_fact(
                lambda: ping.returncode() == 0,
                vpn=self.id,
                process=process,
                what="node b answered a ping through the tunnel",
                deadline_s=self.up_deadline_s,
                evidence=lambda: f"{ping.log_text().strip()}; {self._server_said()}".lstrip("; "),
            )
        finally:
            ping.stop(grace_s=0)

    def _refuse_setback(self, node: Node, process: Process, state: State | None) -> None:
        """A second attempt of the client would be another start, and later than it should be; the
        one that drop() asked for is none."""
        if state is not None and state.name == "RECONNECTING" and state.detail != _DROPPED:
            raise VpnError(
                self.id,
                f"openvpn on node {node.name} failed and starts over: {state.detail}; "
                f"its log ends: {_end(process)}; {self._server_said()}",
                "look at both logs for a TLS or authentication error",
            )

    def _server_said(self) -> str:
        ended = "".join(_end(process) for process in self.processes["b"])
        return f"node b's log ends: {ended}" if ended else "node b said nothing"

    def _ping(self) -> list[str]:
        """Twenty pings a second until one is answered."""
        target = str(self.inner(self._nodes["b"]).ip)
        deadline = str(math.ceil(self.up_deadline_s) + 1)
        ping = tools.require("ping", f"culvert install {self.name}")
        return [str(ping), "-n", "-q", "-i", "0.05", "-c", "1", "-w", deadline, target]

    # -- what the proof asks ---------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device."""
        del node
        return DEVICE

    @property
    def data_path(self) -> DataPath:
        """The kernel for dco-..., else user space."""
        return DataPath.KERNEL if self.offloaded else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """By the kind of the interface; in the kernel it is ovpn, or ovpn-dco out of tree."""
        return path_of_device(self.id, node, DEVICE, kernel_kind="ovpn")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP or TCP with the server's port at one end."""
        protocol = wire.TCP if self.transport is Transport.TCP else wire.UDP
        return OuterFlow(protocol, frozenset({PORT}))

    def outer_length(self, inner_length: int) -> int | None:
        """By the cipher; None over TCP, which cuts as it likes."""
        if self.transport is Transport.TCP:
            return None
        return wire.udp_length(self._framing, inner_length)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """The control channel's packets; with a static key there are none."""
        return not self.static_key and wire.is_control(packet)

    def _first_framing(self) -> wire.Framing:
        if self.cipher.aead:
            return wire.Framing.AEAD
        if self.cipher is Cipher.NONE:
            return wire.Framing.CLEAR_STATIC_KEY if self.static_key else wire.Framing.CLEAR
        return wire.Framing.CBC_STATIC_KEY if self.static_key else wire.Framing.CBC


def _age_s(process: Process) -> float:
    return (time.monotonic_ns() - process.started_monotonic_ns) / 1e9


def _agreed_keys(process: Process) -> int:
    """How often the ends have agreed on keys for the data channel, as the log tells."""
    return len(_KEYS.findall(process.log_text()))


def _negotiated(framing: wire.Framing, client_log: str) -> wire.Framing:
    """What the ends agreed on: from 2.7 on, epoch keys with AEAD, told in the server's reply."""
    epoch = re.search(r"PUSH_REPLY,.*\baead-epoch\b", client_log)
    return wire.Framing.AEAD_EPOCH if epoch and framing is wire.Framing.AEAD else framing


def _write_credential(node: Node, authority: Authority, usage: Usage) -> config.CertificateFiles:
    credential = authority.issue(node.name, usage)
    return config.CertificateFiles(
        authority=node.write("openvpn/ca.crt", authority.certificate),
        identity=node.write(
            "openvpn/identity.pem", credential.certificate + credential.key, secret=True
        ),
    )


def _socket(node: Node) -> Path:
    path = node.directory / "openvpn.sock"
    if len(str(path).encode()) > SOCKET_PATH_MAX:
        raise VpnError(
            f"openvpn on node {node.name}",
            f"{path} is too long for a unix socket (at most {SOCKET_PATH_MAX} bytes)",
            "use a lab whose directory has a shorter path",
        )
    return path


def _end(process: Process) -> str:
    """The last lines that are not about our own questions."""
    lines = [line for line in process.log_text().splitlines() if "MANAGEMENT:" not in line]
    return " | ".join(lines[-3:])
