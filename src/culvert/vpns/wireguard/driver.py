"""WireGuard: the kernel's, and the Go implementation in user space, current and the distribution's.

In user space through a tun device, in the kernel through one of its own kind.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from culvert import tools
from culvert.errors import LabError, NotPossible, VpnError
from culvert.labs.base import Lab, Node, Process
from culvert.vpns.base import (
    DataPath,
    Missing,
    OuterFlow,
    OuterPacket,
    Variant,
    Vpn,
    underlay_address,
)
from culvert.vpns.facts import kernel_lacks, path_of_device, wait_for_fact
from culvert.vpns.tun_device import missing_tun
from culvert.vpns.wireguard import packet as wire
from culvert.vpns.wireguard import program as wireguard_program
from culvert.vpns.wireguard import tool as wg_tool
from culvert.vpns.wireguard import uapi
from culvert.vpns.wireguard.control import Control, ControlSocket, ControlTool
from culvert.vpns.wireguard.keys import Keys
from culvert.vpns.wireguard.program import PROGRAM
from culvert.waiting import wait_until

DEVICE = "wg0"
PORT = 51820
_KERNEL = "kernel"

_UNDERLAY_ROOM = 80
"""What wg-quick leaves for the outer headers (IPv6's, so that any underlay fits)."""
_KEEPALIVE = "persistent_keepalive_interval"
_KEEPALIVE_MAX_S = 65535
_HANDSHAKE_GUARD_NS = 40_000_000
"""b refuses a handshake within 20 ms of the last (HandshakeInitationRate in wireguard-go), and one
whose time stamp, of 16 ms steps, is no later (TAI64N in its tai64n.go); so does the kernel."""

_NO_OFFLOADS = "nogso"
_SEGMENTATION = ("tso", "gso", "tx-udp-segmentation")
"""Off, the kernel hands the program single packets, which it then sends one by one."""

_PSK = "psk"

_CRYPTO = {
    "cipher": "ChaCha20-Poly1305",
    "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
    "transport": f"UDP {PORT}",
}
_IN_KERNEL = {
    "initiation": "creation of the interface, wg addconf",
    "CPU accounting": "kworkers encrypt (wg-crypt), all of this kernel's are counted; else softirq",
}


class WireGuard(Vpn):
    """Node b listens on a fixed port; node a calls from a random one."""

    name = "wireguard"
    summary = "WireGuard, by the kernel or in user space (wireguard-go)"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("go", "the current Go module, at a pinned version", _CRYPTO),
        Variant("go-debian", "the distribution's package, without UDP GSO and GRO", _CRYPTO),
        Variant(_KERNEL, "the kernel's", {**_CRYPTO, **_IN_KERNEL}),
    )
    options: ClassVar[Mapping[str, str]] = {
        _NO_OFFLOADS: "without segmentation offload: no super-packets in or out of the tunnel",
        _PSK: "a pre-shared key beside the key pairs",
    }
    role = "wireguard"
    rekey_deadline_s = 130.0
    """Keys are renewed by who sends after 120 s (REKEY_AFTER_TIME in the protocol)."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        facts = dict(variant.facts)
        if _NO_OFFLOADS in options:
            facts["segmentation offload"] = f"off ({DEVICE})"
        if _PSK in options:
            facts["pre-shared key"] = "yes"
        self.variant = replace(variant, facts=facts)
        self.in_kernel = variant.name == _KERNEL
        if self.in_kernel:
            self.kernel_threads = ("kworker/.*",)  # named after their last work, not their next
        self.control: Control = (ControlTool if self.in_kernel else ControlSocket)(DEVICE)
        self._keys = Keys.new(shared=_PSK in options)
        self._nodes: dict[str, Node] = {}
        self._mtu = 1500 - _UNDERLAY_ROOM

    # -- what it takes ---------------------------------------------------------------------------

    def missing(self) -> list[Missing]:
        """The program of this variant, and /dev/net/tun; or the kernel's WireGuard and its tool."""
        missing = []
        if self.in_kernel:
            missing += kernel_lacks("wireguard", "WireGuard in the kernel")
            if tools.find(wg_tool.PROGRAM) is None:
                missing.append(Missing(wg_tool.PROGRAM, f"culvert install {self.id}"))
        else:
            if self._program() is None:
                missing.append(Missing(f"{PROGRAM} for {self.id}", f"culvert install {self.id}"))
            missing += missing_tun()
        if _NO_OFFLOADS not in self.chosen:
            return missing
        if self.variant.name == "go-debian":
            what = "segmentation offload to switch off, which this version has not"
            missing.append(Missing(what, f"leave +{_NO_OFFLOADS} out"))
        if tools.find("ethtool") is None:
            missing.append(Missing("ethtool", f"culvert install {self.id}"))
        return missing

    def version(self) -> str:
        """The module's (or else the package's) version, and the compiler's; or the kernel's."""
        if self.in_kernel:
            return f"Linux {platform.release()}"
        return wireguard_program.version(self._installed())

    def _program(self) -> Path | None:
        distributions = self.variant.name == "go-debian"
        return wireguard_program.distributions() if distributions else wireguard_program.current()

    def _installed(self) -> Path:
        program = self._program()
        if program is None:
            raise NotPossible(self.id, f"{PROGRAM} is missing", f"culvert install {self.id}")
        return program

    # -- the life of a tunnel --------------------------------------------------------------------

    def prepare(self, lab: Lab) -> None:
        """A key pair for each node; a copy in the node's directory to try things by hand."""
        self._nodes = {"a": lab.a, "b": lab.b}
        self._mtu = lab.spec.link.mtu - _UNDERLAY_ROOM
        for name, node in self._nodes.items():
            node.write("wireguard/private.key", self._keys.text(name), secret=True)

    def listen(self, b: Node) -> None:
        """Start b; ready when its socket is bound to the port."""
        process = self._start(b)
        self.control.configure(b, [self._keys.private("b"), *self._peer_of(b)])
        self._bring_up(b)
        # Until the interface is up for wireguard-go as well, it tells no port; then a random one,
        # and asking for ours answers with an error if it is taken.
        wait_for_fact(
            lambda: self.control.state(b).listen_port,
            vpn=self.id,
            process=process,
            what=f"node b bound a UDP socket for {DEVICE}",
            deadline_s=self.up_deadline_s,
        )
        try:
            self.control.configure(b, [("listen_port", str(PORT))])
        except VpnError as error:
            raise VpnError(
                f"{self.id} on node b, UDP port {PORT}", error.why, error.remedy
            ) from error

    def connect(self, a: Node) -> None:
        """Start a; up when a has received the handshake's response.

        The handshake is set off by turning the persistent keepalive on, as in most users'
        configuration: it starts the moment that the interface is up, and needs no packet from
        outside. Afterwards the keepalive is off again, so that it never disturbs a measurement.
        """
        self._start(a)
        self.control.configure(a, [self._keys.private("a"), *self._called_peer(a)])
        self._bring_up(a)
        self._await_handshake(a)

    def initiate(self, a: Node) -> None:
        """Give the running initiator its peer again: it calls at once."""
        self.control.configure(a, self._called_peer(a))
        self._await_handshake(a)

    def drop(self, a: Node) -> None:
        """Take the peer, and with it all keys, from both."""
        self.control.configure(a, [self._keys.public("b"), ("remove", "true")])
        self._forget_initiator()

    def _called_peer(self, a: Node) -> list[uapi.Pair]:
        return [
            *self._peer_of(a),
            ("endpoint", f"{underlay_address(self._nodes['b'])}:{PORT}"),
            (_KEEPALIVE, str(_KEEPALIVE_MAX_S)),
        ]

    def _await_handshake(self, a: Node) -> None:
        wait_for_fact(
            lambda: self.control.peer(a).last_handshake_ns,
            vpn=self.id,
            process=self._process(a),
            what="node a completed a handshake with node b",
            deadline_s=self.up_deadline_s,
            evidence=lambda: self.control.traffic(a),
        )
        self.control.configure(
            a,
            [self._keys.public("b"), ("update_only", "true"), (_KEEPALIVE, "0")],
        )

    def disconnect(self, a: Node) -> None:
        """End a, and let b forget it.

        Without that b would refuse a handshake within 20 ms of the last one (a guard against
        floods and replays), and the next connect() would take five seconds.
        """
        super().disconnect(a)
        b = self._nodes.get("b")
        if b is not None and b.link(DEVICE) is not None:
            self._forget_initiator()

    def end_initiator(self, a: Node) -> None:
        """End a; b keeps its keys, and its guard against handshakes that follow too fast."""
        super().end_initiator(a)
        b = self._nodes["b"]
        guard_ns = _HANDSHAKE_GUARD_NS + self.control.resolution_ns
        wait_until(
            lambda: time.time_ns() - self.control.peer(b).last_handshake_ns > guard_ns,
            what="a new handshake with node b was allowed",
            deadline_s=guard_ns / 1e9 + 1.0,
        )

    def _end(self, node: Node) -> None:
        """The kernel's has no process: its interface is removed."""
        if self.in_kernel:
            self._stop_processes(node)
        else:
            super()._end(node)

    def rekey(self, a: Node) -> None:
        """Wait until it renews its keys: 120 s after the last handshake, when a sends.

        Nobody can ask for it: what makes wireguard-go start a handshake at once, such as another
        private key, throws the old keys away first, and blocks what a rekey does not block.
        """
        before = self.control.peer(a).last_handshake_ns
        wait_for_fact(
            lambda: self.control.peer(a).last_handshake_ns != before,
            vpn=self.id,
            process=self._process(a),
            what="node a renewed its keys",
            deadline_s=self.rekey_deadline_s,
            evidence=lambda: self.control.traffic(a),
        )

    def _forget_initiator(self) -> None:
        b = self._nodes["b"]
        forget = [self._keys.public("a"), ("remove", "true")]
        self.control.configure(b, forget)
        self.control.configure(b, self._peer_of(b))

    def _stop_processes(self, node: Node) -> None:
        super()._stop_processes(node)
        if self.in_kernel:
            link = node.link(DEVICE)
            if link is not None and link.kind == "wireguard":
                node.del_link(DEVICE)
        elif isinstance(self.control, ControlSocket):
            # wireguard-go removes it itself unless it was killed.
            node.file(self.control.path).unlink(missing_ok=True)

    def _process(self, node: Node) -> Process | None:
        return next(iter(self.processes[node.name]), None)

    def _start(self, node: Node) -> Process | None:
        if self.in_kernel:
            self._make_device(node)
            return None
        process = node.spawn(
            [str(self._installed()), "--foreground", DEVICE],
            name=f"{PROGRAM}-{node.name}",
            env={"WG_PROCESS_FOREGROUND": "1"},  # or it fills the log with advice
        )
        self.processes[node.name].append(process)
        wait_for_fact(
            lambda: self.control.state(node) is not None,
            vpn=self.id,
            process=process,
            what=f"{PROGRAM} on node {node.name} answered",
            deadline_s=self.up_deadline_s,
        )
        return process

    def _make_device(self, node: Node) -> None:
        try:
            node.add_link(DEVICE, "wireguard")
        except LabError as error:
            raise VpnError(self.id, error.why, error.remedy) from error

    def _bring_up(self, node: Node) -> None:
        node.add_address(DEVICE, self.inner(node))
        if _NO_OFFLOADS in self.chosen:
            off = [word for feature in _SEGMENTATION for word in (feature, "off")]
            node.run(["ethtool", "-K", DEVICE, *off])
        node.set_link(DEVICE, up=True, mtu=self._mtu)

    def _peer_of(self, node: Node) -> list[uapi.Pair]:
        other = self._nodes["b" if node.name == "a" else "a"]
        return self._keys.peer(other.name, self.inner(other).ip)

    # -- what the proof asks ---------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device, or the kernel's own."""
        del node
        return DEVICE

    @property
    def data_path(self) -> DataPath:
        """By the variant."""
        return DataPath.KERNEL if self.in_kernel else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        """By the kind of the interface."""
        return path_of_device(self.id, node, DEVICE, kernel_kind="wireguard")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """UDP with b's port at one end."""
        return OuterFlow(17, frozenset({PORT}))

    def outer_length(self, inner_length: int) -> int | None:
        """Padded to 16 bytes, though never beyond the interface's MTU."""
        return wire.outer_length(inner_length, self._mtu)

    def is_handshake(self, packet: OuterPacket) -> bool:
        """Initiation, response and cookie reply."""
        return wire.is_handshake(packet)
