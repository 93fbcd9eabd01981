"""OpenVPN: node b is the server, node a the client.

With certificates (TLS 1.3, the default) or a static key, over UDP or TCP. Where the kernel could
take over the data channel it is told not to, unless the variant is one of dco-...: that is another
VPN to measure.
"""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.base import Lab, Node, Process
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
from culvert.vpns.openvpn import config
from culvert.vpns.openvpn import packet as wire
from culvert.vpns.openvpn import program as openvpn_program
from culvert.vpns.openvpn.choice import OPTIONS, RENEG, VARIANTS, Choice
from culvert.vpns.openvpn.config import DEVICE, PORT, Transport
from culvert.vpns.openvpn.lacks import INSTALL, lacks
from culvert.vpns.openvpn.management import Management
from culvert.vpns.openvpn.up import NEWS_S, Arrival, socket_of
from culvert.vpns.pki import Authority, KeyKind, Usage
from culvert.waiting import wait_until

_LISTENS = re.compile(r"UDPv4 link remote:|Listening for incoming TCP connection")

_KEYS = re.compile(r"Control Channel: TLS")
_REPLAY_GUARD_S = 1.2
"""Packet numbers of a static key begin with the second of the start (openvpn's packet_id.h)."""


class OpenVpn(Vpn):
    """One server with one client; each is one process with one thread, or the kernel."""

    name = "openvpn"
    summary = "OpenVPN 2, in user space or with its data channel in the kernel"
    variants = VARIANTS
    options: ClassVar[Mapping[str, str]] = OPTIONS
    role = "openvpn"

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.choice = Choice.of(variant.name, options)
        self.variant = replace(variant, facts={**variant.facts, **self.choice.facts()})
        self.cpu_attributable = not self.choice.offloaded
        self._framing = self.choice.framing
        self._nodes: dict[str, Node] = {}

    # -- what it takes ---------------------------------------------------------------------------

    def missing(self) -> list[Missing]:
        """The program, /dev/net/tun or the kernel's module, and whatever the options need."""
        return list(lacks(self.choice))

    def version(self) -> str:
        """OpenVPN's, the package's, the TLS library's, and the kernel's if that encrypts."""
        told = openvpn_program.version(self._program())
        return f"{told}, Linux {platform.release()}" if self.choice.offloaded else told

    def _program(self) -> Path:
        program = openvpn_program.find(offloaded=self.choice.offloaded)
        if program is None:
            raise NotPossible(self.id, "openvpn is missing", INSTALL)
        return program

    # -- the life of a tunnel --------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """Keys and a configuration file for each node."""
        for lack in self.missing():
            raise NotPossible(self.id, f"it lacks {lack.what}", lack.remedy)
        self._nodes = {"a": lab.a, "b": lab.b}
        tunnel = config.Tunnel(
            self.choice.cipher,
            self.choice.transport,
            openvpn_program.dialect(self._program()),
            config.Ends(underlay_address(lab.b), self.inner(lab.a), self.inner(lab.b)),
            keepalive=self.choice.keepalive,
            renegotiates=self.choice.renegotiates,
            offloaded=self.choice.offloaded,
            settings=self.choice.settings,
        )
        if self.choice.static_key:
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
            config.server_config(tunnel, server, entry.parent, lab.a.name, socket_of(lab.b)),
        )
        lab.a.write(
            "openvpn/config", config.client_config(tunnel, client, lab.b.name, socket_of(lab.a))
        )

    def _prepare_static_key(self, lab: Lab, tunnel: config.Tunnel) -> None:
        key = config.new_static_key()
        for node, make in (
            (lab.a, config.static_client_config),
            (lab.b, config.static_server_config),
        ):
            path = node.write("openvpn/static.key", key, secret=True)
            node.write("openvpn/config", make(tunnel, path, socket_of(node)))

    def listen(self, b: Node) -> None:
        """Start the server; ready when it says so."""
        process = self._start(b)
        if self.choice.static_key:
            # It is "connected" only after the client's first packet.
            wait_for_fact(
                lambda: _LISTENS.search(process.log_text()) is not None,
                vpn=self.id,
                process=process,
                what=f"openvpn on node b listened on {self.choice.transport.upper()} port {PORT}",
                deadline_s=self.up_deadline_s,
            )
        else:
            self._arrival.connected(b, process, "openvpn on node b was ready for clients")

    def connect(self, a: Node) -> None:
        """Start the client; up when it says that it is connected, and in the kernel when both ends
        have their keys.

        With a static key there is no handshake, and it says so up to two seconds late: it is up
        when a ping through the tunnel is answered.
        """
        before = self._arrival.data_channels()
        process = self._start(a)
        if self.choice.static_key:
            self._arrival.answered(a, process, self.inner(self._nodes["b"]).ip)
        else:
            self._arrival.connected(a, process, "node a was connected to node b")
            self._framing = _negotiated(self._framing, process.log_text())
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def disconnect(self, a: Node) -> None:
        """End the client, and let the server forget it, which would go on sending to it.

        With a static key the server starts anew: it knows its client by packet numbers that grow
        from the second in which the client was started, and would refuse as a replay what a
        client sends that is started within the same second.
        """
        super().disconnect(a)
        b = self._nodes["b"]
        if self.choice.static_key and self.processes["b"]:
            self._stop_processes(b)
            self.listen(b)
        for server in self.processes["b"]:
            self._forget_client(b, server)

    def _forget_client(self, b: Node, server: Process) -> None:
        """By its name, which the server may not know (any more)."""

        def answer() -> str | None:
            management.watch(NEWS_S)
            return next((said for said in management.answers if "common name" in said), None)

        if self.choice.static_key or not server.alive():
            return
        with Management(socket_of(b)) as management:
            management.say(f"kill {self._nodes['a'].name}")
            wait_for_fact(
                answer,
                vpn=self.id,
                process=server,
                what="the server on node b forgot its client",
                deadline_s=self.up_deadline_s,
            )

    def end_initiator(self, a: Node) -> None:
        """End the client; with a static key not within a second of its start, see disconnect()."""
        if self.choice.static_key:
            wait_until(
                lambda: all(_age_s(client) > _REPLAY_GUARD_S for client in self.processes["a"]),
                what="the second in which the client was started was over",
                deadline_s=2 * _REPLAY_GUARD_S,
            )
        super().end_initiator(a)

    def drop(self, a: Node) -> None:
        """Have the client close its connection, and hold before it opens the next."""
        if self.choice.static_key:
            raise NotPossible(self.id, "has no handshake that could be done again", LEAVE_OUT)
        (process,) = self.processes[a.name]

        def holds() -> bool:
            management.watch(NEWS_S)
            return management.holds

        with Management(socket_of(a)) as management:
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
        before = self._arrival.data_channels(process)
        self._arrival.connected(a, process, "node a was connected to node b", release=True)
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def rekey(self, a: Node) -> None:
        """Wait until the client has renewed its keys: with the option reneg, in a few seconds."""
        if not self.choice.renegotiates:
            raise NotPossible(
                self.id, "renews no keys as it is configured", f"add the option +{RENEG}"
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

    @property
    def _arrival(self) -> Arrival:
        return Arrival(self.id, self.up_deadline_s, self.processes["b"])

    # -- what the proof asks ---------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device."""
        del node
        return DEVICE

    @property
    def data_path(self) -> DataPath:
        """The kernel for dco-..., else user space."""
        return DataPath.KERNEL if self.choice.offloaded else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """By the kind of the interface; in the kernel it is ovpn, or ovpn-dco out of tree."""
        return path_of_device(self.id, node, DEVICE, kernel_kind="ovpn")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP or TCP with the server's port at one end."""
        protocol = wire.TCP if self.choice.transport is Transport.TCP else wire.UDP
        return OuterFlow(protocol, frozenset({PORT}))

    def outer_length(self, inner_length: int) -> int | None:
        """By the cipher; None over TCP, which cuts as it likes, and for what --fragment cuts."""
        if self.choice.transport is Transport.TCP:
            return None
        fragment = self.choice.settings.fragment
        if fragment is not None:
            return wire.fragment_length(self._framing, inner_length, fragment)
        return wire.udp_length(self._framing, inner_length)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """The control channel's packets; with a static key there are none."""
        return not self.choice.static_key and wire.is_control(packet)


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
