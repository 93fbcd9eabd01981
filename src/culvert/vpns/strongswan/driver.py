"""IPsec with strongSwan: IKEv2 by charon, ESP in charon or in the kernel.

In charon (kernel-libipsec) inner packets go through the tun device ipsec0, and ESP is always
in UDP. In the kernel ESP and AH are IP protocols of their own, and there is no device unless the
option +route requests one: policies select packets by their inner addresses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_interface

from culvert.vpns.authoring import (
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
    VpnError,
)
from culvert.vpns.ipsec import esp
from culvert.vpns.ipsec import inner as ipsec_inner
from culvert.vpns.ipsec import transforms as ipsec
from culvert.vpns.parts import kill_switch
from culvert.vpns.strongswan import charon as strongswan_charon
from culvert.vpns.strongswan import files
from culvert.vpns.strongswan import variants as known
from culvert.vpns.strongswan.charon import Charon
from culvert.vpns.strongswan.config import CONNECTION, MARK
from culvert.vpns.strongswan.variants import Choice

DEVICE = "ipsec0"
"""The tun device of kernel-libipsec."""


class StrongSwan(TunnelVpn):
    """One charon on each node."""

    name = "strongswan"
    summary = "IPsec by strongSwan, in user space; +kernel: by the kernel's ESP"
    variants = known.VARIANTS
    options = known.OPTIONS
    recovering = frozenset({known.DPD, known.MOBIKE})
    listed_with = (known.KERNEL,)
    kill_switch = (
        "Culvert's, a rule of nftables: charon's policies end with charon, so what is neither "
        "marked by charon nor by the device is rejected"
    )
    tables = frozenset({"220"})
    role = "strongswan"
    handshake_trips = 2
    """IKE_SA_INIT and IKE_AUTH (RFC 7296, section 1.2)."""
    capabilities = strongswan_charon.CAPABILITIES

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.choice = Choice.of(variant.name, options)
        self.carriage, self.in_kernel = self.choice.carriage, self.choice.in_kernel
        self.cpu_attributable = self.ipv6_inside = not self.in_kernel
        self.routes_behind = self.forwards = not self.in_kernel
        self.variant = replace(variant, facts={**variant.facts, **self.choice.facts()})

    # -- requirements ------------------------------------------------------------------------------

    def missing(self, host: Host) -> list[Missing]:
        """The programs; in user space the plugin and /dev/net/tun as well."""
        missing = list(strongswan_charon.missing_programs(host, self.choice.programs))
        missing += self.choice.contradictions()
        if self.in_kernel:
            missing += self.carriage.missing_from_kernel(host)
        else:
            missing += strongswan_charon.missing_in_user_space(host)
        return missing

    def version(self, host: Host) -> str:
        """Versions of strongSwan, of its package if there is one, and of the kernel if it
        encrypts."""
        words = strongswan_charon.version(host, self.choice.programs)
        return ", ".join([*words, self.carriage.kernel_version(host)] if self.in_kernel else words)

    # -- the life of a tunnel ----------------------------------------------------------------------

    def configure(self) -> None:
        if self.carriage.transport:
            ipsec_inner.require_pair(self.id, self.lab)
        if self.in_kernel and self.lab.spec.topology.full_tunnel:
            raise NotPossible(
                self.id,
                "cannot be a client's default route in the kernel",
                f"leave +{known.KERNEL} out",
            )
        files.write_all(self, self.choice)
        kill_switch.load(self, self.sources, DEVICE, [f"meta mark {MARK:#x}"])

    def listen(self, target: Node) -> None:
        self._start(target)
        self.forward(DEVICE)

    def connect(self, source: Node) -> None:
        """Start the initiator and initiate; up when the child SA is installed."""
        self._start(source)
        self._initiate(source)

    def resume(self, path: Path) -> None:
        self._initiate(self.source_of(path))

    def _initiate(self, source: Node) -> None:
        timeout = str(math.ceil(self.up_deadline_s))
        words = ["--initiate", "--child", CONNECTION, "--timeout", timeout]
        self._charon(source).command(words, "initiate")

    def drop(self, path: Path) -> None:
        """Delete the IKE SA, and with it the child: the peer is notified."""
        self._delete(self.source_of(path))

    def _delete(self, source: Node) -> None:
        self._charon(source).command(["--terminate", "--ike", CONNECTION], "end the tunnel")

    def leave(self, node: Node) -> None:
        """End the tunnel, then stop charon: a charon that stops does not wait for the peer's
        answer, which would arrive at a closed port."""
        running = any(charon.alive() for charon in self.processes[node.name])
        if running and node.name != self.target.name:
            with suppress(VpnError):  # there is no tunnel
                self._delete(node)
        super().leave(node)

    def rekey(self, path: Path) -> None:
        """Negotiate a new child SA, which replaces the old one. swanctl does not wait for it."""
        charon = self._charon(self.source_of(path))
        before = charon.children()
        charon.command(["--rekey", "--child", CONNECTION], "renew its keys")
        charon.wait(lambda: charon.children() > before, "had a child SA with new keys")

    def stop(self, lab: Lab) -> None:
        """Stop all charons; their devices, associations, policies and routes are removed with
        them."""
        super().stop(lab)
        if self.in_kernel and self._lab is not None:
            for node in self.ends:
                ipsec_inner.release(self.carriage, node, self.inner(node))

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        if any(daemon.returncode() != 0 for daemon in ended):
            strongswan_charon.sweep(node)

    def _charon(self, node: Node) -> Charon:
        (process,) = self.processes[node.name]
        return Charon(self, node, process, self.choice.programs)

    def _start(self, node: Node) -> None:
        if self.in_kernel:
            ipsec_inner.hold(self.id, self.carriage, node, self.inner(node))
        charon = Charon.start(self, node, self.choice.programs)
        if not self.in_kernel:
            charon.wait(lambda: node.link(DEVICE) is not None, f"made {DEVICE}")
            for each in files.inside(self, self.choice, node):
                node.add_address(DEVICE, ip_interface(each))
        charon.command(["--load-all", "--noprompt"], "load its configuration")

    # -- what the proof needs ----------------------------------------------------------------------

    def interface(self, node: Node) -> str:
        """The tun device; in the kernel the xfrm interface, or the underlay's device."""
        return ipsec_inner.interface(self.carriage, node) if self.in_kernel else DEVICE

    @property
    def data_path(self) -> DataPath:
        """User space, so that results of different kernels are comparable; the kernel with
        +kernel."""
        return DataPath.KERNEL if self.in_kernel else DataPath.USER

    def determine_data_path(self, node: Node) -> DataPath:
        return ipsec_inner.data_path(self.id, node, DEVICE)

    @property
    def outer_flow(self) -> OuterFlow | None:
        return self.carriage.outer_flow(ipsec.IKE) if self.in_kernel else ipsec.IKE

    def outer_length(self, inner_length: int) -> int | None:
        return self.carriage.outer_length(inner_length)

    def is_handshake(self, packet: OuterPacket) -> bool:
        return esp.is_ike(packet)
