"""OpenVPN: the responder is the server, initiators are its clients.

With certificates (TLS 1.3, the default) or a static key, over UDP or TCP. Data channel offload into
the kernel is disabled except for the variants dco-..., because it makes a different VPN to measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.vpns.authoring import (
    LEAVE_OUT,
    Capability,
    Host,
    Lab,
    Missing,
    Node,
    NotPossible,
    Path,
    Process,
    Variant,
    underlay_address,
)
from culvert.vpns.openvpn import files, seats
from culvert.vpns.openvpn import packet as wire
from culvert.vpns.openvpn import program as openvpn_program
from culvert.vpns.openvpn.choice import DPD, OPTIONS, PORT, RENEG, VARIANTS, Choice
from culvert.vpns.openvpn.config import DEVICE, KILL_SWITCH
from culvert.vpns.openvpn.seats import Seat
from culvert.vpns.openvpn.underlay import OnUnderlay
from culvert.vpns.openvpn.up import Arrival, await_next_second
from culvert.vpns.parts import kill_switch


class OpenVpn(OnUnderlay):
    """One server and its clients; each is one process with one thread, or in the kernel."""

    name = "openvpn"
    summary = "OpenVPN 2, in user space or with its data channel in the kernel"
    variants, options = VARIANTS, OPTIONS
    recovering = frozenset({DPD})
    role, ipv6_inside = "openvpn", True
    routes_behind = forwards = True
    capabilities = frozenset({Capability.NET_ADMIN})
    device, port, kernel_kind = DEVICE, PORT, "ovpn"  # in tree ovpn, out of tree ovpn-dco
    kill_switch = KILL_SWITCH

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.choice = Choice.of(variant.name, options)
        self.variant = replace(variant, facts={**variant.facts, **self.choice.facts()})
        self.cpu_attributable = not self.choice.offloaded
        self.one_source = self.restarts_target = self.choice.static_key
        self._framing = self.choice.framing
        # The server counts data channels of the kernel of all clients together.
        self.reaches_together = not self.choice.offloaded
        self._seats: list[Seat] = []

    def missing(self, host: Host) -> list[Missing]:
        return list(openvpn_program.missing_parts(host, self.choice))

    def version(self, host: Host) -> str:
        program = openvpn_program.version(host, self._program(host))
        return f"{program}, Linux {host.kernel_release}" if self.choice.offloaded else program

    def _program(self, host: Host) -> str:
        return openvpn_program.require(self.id, host, self.choice)

    def choose(self, lab: Lab) -> None:
        """Those of each server process; the first has the client's device too."""
        super().choose(lab)
        first = Seat(self.device, self.port)
        self._seats = seats.chosen(self, lab, first, self.choice.settings.processes or 1)

    def configure(self) -> None:
        version = openvpn_program.numbers(self.target, self._program(self.target))
        files.write_all(self, self.choice, version, self._seats)
        server = f"ip daddr {underlay_address(self.target)}"
        own = f"{server} {self.choice.transport} dport {self.port}"
        kill_switch.load(self, self.sources, self.device, [own])

    def listen(self, target: Node) -> None:
        if self.choice.static_key:
            self._arrival.listens(target, self._start(target))
            return
        started = [self._start(target, number) for number in range(len(self._seats))]
        for number, process in enumerate(started):
            what = f"openvpn on node {target.name} was ready for clients"
            self._arrival.connected(target, process, what, number=number)
            seats.lead(self, self._seats, number)
            self.forward(self._seats[number].device)

    def connect(self, source: Node) -> None:
        """Start the client; up when it reports that it is connected, and in the kernel when both
        ends have their keys.

        With a static key there is no handshake, and it reports up to two seconds late: it is up
        when a ping through the tunnel is answered.
        """
        before = self._arrival.data_channels()
        process = self._start(source)
        if self.choice.static_key:
            self._arrival.answered(source, process, self.traffic_address(self.target))
        else:
            self._arrival.connected(source, process, f"node {source.name} was connected")
            self._framing = wire.negotiated(self._framing, process.log_text())
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def interfaces(self, node: Node) -> Sequence[str]:
        """On the gateway that of each server process."""
        if node.name != self.target.name:
            return (self.device,)
        return tuple(seat.device for seat in self._seats)

    def leave(self, node: Node) -> None:
        """Stop it, and have the server forget a client, to which it would otherwise keep sending.

        With a static key the server is restarted. Packet numbers start from the second of the
        client's start, so the server would drop packets of a client that is restarted within the
        same second as replays.
        """
        super().leave(node)
        server = self.target
        if self.choice.static_key or node.name == server.name:
            return
        number = seats.number_of(self, self._seats, node)
        for process in self.processes[server.name][number : number + 1]:
            if process.alive():
                self._arrival.forgotten(node, server, process, number)

    def crash(self, node: Node) -> None:
        """With a static key it waits until a second after the client's start, see leave()."""
        if self.choice.static_key and node.name != self.target.name:
            await_next_second(self.processes[node.name])
        super().crash(node)

    def drop(self, path: Path) -> None:
        """Have the client close its connection, and hold before it opens another."""
        if self.choice.static_key:
            raise NotPossible(self.id, "has no handshake to repeat", LEAVE_OUT)
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        self._arrival.held(source, process)

    def resume(self, path: Path) -> None:
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        before = self._arrival.data_channels(process)
        what = f"node {source.name} was connected again"
        self._arrival.connected(source, process, what, release=True)
        if self.choice.offloaded:
            self._arrival.keyed(process, before)

    def rekey(self, path: Path) -> None:
        """Wait until the client has renewed its keys: with the option reneg, in a few seconds."""
        if not self.choice.renegotiates:
            raise NotPossible(
                self.id, "cannot renew its keys with this configuration", f"add the option +{RENEG}"
            )
        source = self.source_of(path)
        (process,) = self.processes[source.name]
        self._arrival.rekeyed(source, process)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        del ended
        if self.choice.offloaded:
            # The kernel keeps the device of a program that was killed.
            for device in dict.fromkeys((self.device, *(seat.device for seat in self._seats))):
                node.del_link(device)

    def _start(self, node: Node, number: int = 0) -> Process:
        argv = [self._program(node), "--config", str(node.directory / files.config_of(number))]
        return self.start_process(node, argv, f"openvpn{number or ''}")

    @property
    def _arrival(self) -> Arrival:
        return Arrival(self, self.processes[self.target.name])
