"""OpenVPN: the responder is the server, initiators are its clients.

With certificates (TLS 1.3, the default) or a static key, over UDP or TCP. Data channel offload into
the kernel is disabled except for the variants dco-..., because it makes a different VPN to measure.
"""

from __future__ import annotations

import re
from dataclasses import replace

from culvert.vpns.authoring import (
    LEAVE_OUT,
    Capability,
    DataPath,
    Host,
    Lab,
    Missing,
    Node,
    NotPossible,
    OuterFlow,
    OuterPacket,
    Path,
    Process,
    TunnelVpn,
    Variant,
    path_of_device,
    underlay_address,
)
from culvert.vpns.openvpn import config
from culvert.vpns.openvpn import packet as wire
from culvert.vpns.openvpn import program as openvpn_program
from culvert.vpns.openvpn.choice import OPTIONS, RENEG, VARIANTS, Choice
from culvert.vpns.openvpn.config import DEVICE, PORT, Transport
from culvert.vpns.openvpn.requirements import INSTALL, missing_parts
from culvert.vpns.openvpn.up import Arrival, socket_of
from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind
from culvert.waiting import wait_until

_LISTENS = re.compile(r"UDPv4 link remote:|Listening for incoming TCP connection")

_KEYS = re.compile(r"Control Channel: TLS")
_REPLAY_GUARD_S = 1.2
"""Packet numbers of a static key begin with the second of the start (openvpn's packet_id.h)."""


class OpenVpn(TunnelVpn):
    """One server and its clients; each is one process with one thread, or in the kernel."""

    name = "openvpn"
    summary = "OpenVPN 2, in user space or with its data channel in the kernel"
    variants = VARIANTS
    options = OPTIONS
    role = "openvpn"
    capabilities = frozenset({Capability.NET_ADMIN})

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.choice = Choice.of(variant.name, options)
        self.variant = replace(variant, facts={**variant.facts, **self.choice.facts()})
        self.cpu_attributable = not self.choice.offloaded
        self._framing = self.choice.framing

    # -- requirements ------------------------------------------------------------------------------

    device, port = DEVICE, PORT

    def missing(self, host: Host) -> list[Missing]:
        """The program, /dev/net/tun or the kernel's module, and what the options need."""
        return list(missing_parts(host, self.choice))

    def version(self, host: Host) -> str:
        """Versions of OpenVPN, the package, the TLS library, and the kernel if it encrypts."""
        program = openvpn_program.version(host, self._program(host))
        return f"{program}, Linux {host.kernel_release}" if self.choice.offloaded else program

    def most_members(self) -> int | None:
        """A static key serves two nodes."""
        return 2 if self.choice.static_key else None

    def _program(self, host: Host) -> str:
        program = openvpn_program.find(host, offloaded=self.choice.offloaded)
        if program is None:
            raise NotPossible(self.id, "openvpn is missing", INSTALL)
        return program

    # -- the life of a tunnel ----------------------------------------------------------------------

    def choose(self, lab: Lab) -> None:
        """Both the device and the server's port."""
        self.device, self.port = lab.free_device(DEVICE), lab.free_port(PORT)

    def configure(self) -> None:
        """Keys and a configuration file for each node."""
        for part in self.missing(self.target):
            raise NotPossible(self.id, f"{part.what} is missing", part.remedy)
        if self.choice.static_key:
            self._prepare_static_key()
        else:
            self._prepare_certificates()

    def _tunnel(self, source: Node) -> config.Tunnel:
        return config.Tunnel(
            self.choice.cipher,
            self.choice.transport,
            openvpn_program.dialect(self.target, self._program(self.target)),
            config.TunnelEnds(
                underlay_address(self.target),
                self.inner(source),
                self.inner(self.target),
                self.inner_ipv6(source),
                self.inner_ipv6(self.target),
            ),
            keepalive=self.choice.keepalive,
            renegotiates=self.choice.renegotiates,
            offloaded=self.choice.offloaded,
            settings=self.choice.settings,
            device=self.device,
            port=self.port,
        )

    def _prepare_certificates(self) -> None:
        authority = Authority(KeyKind.SECP384R1)
        server = self.target
        own = _write_credential(server, authority, CertificateUsage.SERVER)
        for client in self.sources:
            tunnel = self._tunnel(client)
            entry = server.write(f"openvpn/clients/{client.name}", config.client_entry(tunnel))
            files = _write_credential(client, authority, CertificateUsage.CLIENT)
            client.write(
                "openvpn/config",
                config.client_config(tunnel, files, server.name, socket_of(client)),
            )
        server.write(
            "openvpn/config",
            config.server_config(tunnel, own, entry.parent, socket_of(server)),
        )

    def _prepare_static_key(self) -> None:
        key = config.new_static_key()
        (client,) = self.sources
        tunnel = self._tunnel(client)
        for node, make in (
            (client, config.static_client_config),
            (self.target, config.static_server_config),
        ):
            path = node.write("openvpn/static.key", key, secret=True)
            node.write("openvpn/config", make(tunnel, path, socket_of(node)))

    def listen(self, target: Node) -> None:
        """Start the server; ready when it reports so."""
        process = self._start(target)
        if self.choice.static_key:
            # It reports CONNECTED only after the client's first packet.
            what = f"openvpn on node {target.name} listened on port {self.port}"
            self.await_fact(lambda: _LISTENS.search(process.log_text()), process, what)
        else:
            what = f"openvpn on node {target.name} was ready for clients"
            self._arrival.connected(target, process, what)

    def connect(self, source: Node) -> None:
        """Start the client; up when it reports that it is connected, and in the kernel when both
        ends have their keys.

        With a static key there is no handshake, and it reports up to two seconds late: it is up
        when a ping through the tunnel is answered.
        """
        before = self._arrival.data_channels()
        process = self._start(source)
        if self.choice.static_key:
            self._arrival.answered(source, process, self.inner(self.target).ip)
        else:
            self._arrival.connected(source, process, self._connected(source))
            self._framing = _negotiated(self._framing, process.log_text())
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def _connected(self, source: Node) -> str:
        return f"node {source.name} was connected to node {self.target.name}"

    def leave(self, node: Node) -> None:
        """Stop it, and have the server forget a client, to which it would otherwise keep sending.

        With a static key the server is restarted. Packet numbers start from the second of the
        client's start, so the server would drop packets of a client that is restarted within the
        same second as replays.
        """
        super().leave(node)
        server = self.target
        if node.name == server.name:
            return
        if self.choice.static_key and self.processes[server.name]:
            self._stop_processes(server)
            self.listen(server)
        for process in self.processes[server.name]:
            if not self.choice.static_key and process.alive():
                self._arrival.forgotten(node, server, process)

    def crash(self, node: Node) -> None:
        """With a static key it waits until a second after the client's start, see leave()."""
        if self.choice.static_key and node.name != self.target.name:
            clients = self.processes[node.name]
            wait_until(
                lambda: all(client.age_s() > _REPLAY_GUARD_S for client in clients),
                what="the second of the client's start had passed",
                deadline_s=2 * _REPLAY_GUARD_S,
            )
        super().crash(node)

    def drop(self, path: Path) -> None:
        """Have the client close its connection, and hold before it opens another."""
        if self.choice.static_key:
            raise NotPossible(self.id, "has no handshake that could be repeated", LEAVE_OUT)
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        self._arrival.held(source, process)

    def resume(self, path: Path) -> None:
        """Release the client's hold; up when it reports that it is connected."""
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        before = self._arrival.data_channels(process)
        self._arrival.connected(source, process, self._connected(source), release=True)
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def rekey(self, path: Path) -> None:
        """Wait until the client has renewed its keys: with the option reneg, in a few seconds."""
        if not self.choice.renegotiates:
            raise NotPossible(
                self.id, "renews no keys with this configuration", f"add the option +{RENEG}"
            )
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        before = _agreed_keys(process)
        self.await_fact(
            lambda: _agreed_keys(process) > before,
            process,
            f"node {source.name} renewed its keys",
            deadline_s=self.rekey_deadline_s,
        )

    def _stop_processes(self, node: Node, *, grace_s: float = 2.0) -> None:
        super()._stop_processes(node, grace_s=grace_s)
        if self.choice.offloaded:
            # The kernel keeps the device of a program that was killed.
            node.del_link(self.device)

    def _start(self, node: Node) -> Process:
        config_file = str(node.directory / "openvpn/config")
        return self.start_process(node, [self._program(node), "--config", config_file], "openvpn")

    @property
    def _arrival(self) -> Arrival:
        return Arrival(self, self.processes[self.target.name])

    # -- what the proof needs ----------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        del node
        return self.device

    @property
    def data_path(self) -> DataPath:
        """The kernel for dco-..., else user space."""
        return DataPath.KERNEL if self.choice.offloaded else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """From the kind of the interface; in the kernel it is ovpn, or ovpn-dco out of tree."""
        return path_of_device(self.id, node, self.device, kernel_kind="ovpn")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP or TCP with the server's port at one end."""
        if self.choice.transport is Transport.TCP:
            return OuterFlow(wire.TCP, frozenset({self.port}))
        messages = wire.messages(static_key=self.choice.static_key)
        return OuterFlow(wire.UDP, frozenset({self.port}), messages=messages)

    def outer_length(self, inner_length: int) -> int | None:
        """From the cipher; None over TCP, whose segments differ, and for packets that --fragment
        splits."""
        if self.choice.transport is Transport.TCP:
            return None
        fragment = self.choice.settings.fragment
        if fragment is not None:
            return wire.fragment_length(self._framing, inner_length, fragment)
        return wire.udp_length(self._framing, inner_length)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """The control channel's packets; with a static key there are none."""
        return not self.choice.static_key and wire.is_control(packet)


def _agreed_keys(process: Process) -> int:
    """How often the ends have agreed on keys for the data channel, from the log."""
    return len(_KEYS.findall(process.log_text()))


def _negotiated(framing: wire.Framing, client_log: str) -> wire.Framing:
    """The negotiated framing: from 2.7 on, epoch keys with AEAD, as the server's reply states."""
    epoch = re.search(r"PUSH_REPLY,.*\baead-epoch\b", client_log)
    return wire.Framing.AEAD_EPOCH if epoch and framing is wire.Framing.AEAD else framing


def _write_credential(
    node: Node, authority: Authority, usage: CertificateUsage
) -> config.CertificateFiles:
    credential = authority.issue(node.name, usage)
    return config.CertificateFiles(
        authority=node.write("openvpn/ca.crt", authority.certificate),
        identity=node.write(
            "openvpn/identity.pem", credential.certificate + credential.key, secret=True
        ),
    )
