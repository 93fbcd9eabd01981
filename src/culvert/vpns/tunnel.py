"""VPNs with two ends: one end listens, others connect; on a pair, a routed lab and a star. The most
common form is one foreground program with a tun device and one UDP port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.graph import Path, Role
from culvert.vpns.base import Vpn
from culvert.vpns.facts import wait_for_device, wait_for_echo, wait_for_ping
from culvert.vpns.parts import kill_switch
from culvert.vpns.tundevice import TunDevice
from culvert.vpns.variant import DIRECT, Carried, Route, Variant

_CONF = "net/ipv4/conf"
_REDIRECTS = f"{_CONF}/all/send_redirects"


class TunnelVpn(Vpn):
    """``target`` listens; each of ``sources`` connects to it.

    On a star these are the gateway and its clients, otherwise the ends of the first measured path.
    A path between two clients leads through the gateway, if the VPN ``forwards``.
    """

    joins_together = True
    reaches_together = True
    forwards: bool = False
    """Whether the responder can carry packets from one initiator to another."""
    one_source: bool = False
    """Whether it connects two nodes only."""
    restarts_target: bool = False
    """Whether the responder has to start anew once an initiator has left."""

    _redirects: str | None = None
    """The responder's setting before forward()."""

    def forward(self, device: str) -> None:
        """Have the responder's kernel forward between its initiators, if a measured path needs it.
        Undone by ``stop()``."""
        if not self.is_hub:
            return
        # The device's settings end with it. The general net/ipv4/ip_forward stays as it is: it
        # would make the node a router between all its devices, and change the forwarding of each
        # and accept_redirects too. No redirects: the next hop is on the same device, but not
        # reachable for the sender; they are sent if the device's setting or that of all permits it
        # (ip-sysctl in the kernel's documentation).
        target = self.target
        if self._redirects is None:
            self._redirects = target.sysctl(_REDIRECTS)
        target.set_sysctl(f"{_CONF}/{device}/forwarding", "1")
        target.set_sysctl(f"{_CONF}/{device}/send_redirects", "0")
        target.set_sysctl(_REDIRECTS, "0")

    def stop(self, lab: Lab) -> None:
        """Undo ``forward()`` and remove the kill switch's rules too."""
        super().stop(lab)
        if self._redirects is not None:
            self.target.set_sysctl(_REDIRECTS, self._redirects)
            self._redirects = None
        kill_switch.remove(self, lab)

    @property
    def target(self) -> Node:
        """The responder."""
        gateways = self.lab.of_role(Role.GATEWAY)
        return gateways[0] if gateways else self.lab.b

    @property
    def sources(self) -> tuple[Node, ...]:
        """The initiators."""
        return self.lab.of_role(Role.CLIENT) or (self.lab.a,)

    @property
    def ends(self) -> tuple[Node, ...]:
        """All of them, the responder last."""
        return (*self.sources, self.target)

    def peers(self, node: Node) -> tuple[Node, ...]:
        """The nodes at the other ends of a node's tunnels."""
        return self.sources if node.name == self.target.name else (self.target,)

    def most_members(self) -> int | None:
        """Two, or any number."""
        return 2 if self.one_source else None

    def source_of(self, path: Path) -> Node:
        """The initiator of a path."""
        return self.lab.nodes[path.source]

    @property
    def paths(self) -> Sequence[Path]:
        """From each initiator to the responder."""
        target = self.target.name
        return tuple(Path(source.name, target) for source in self.sources)

    @property
    def is_hub(self) -> bool:
        """Whether a measured path leads from one initiator to another, through the responder."""
        return any(self.route(path) != DIRECT for path in self.lab.spec.topology.paths)

    def prepare(self, lab: Lab) -> None:
        """Refuse paths that these tunnels do not connect, then ``configure()``."""
        self._lab = lab
        ends = {node.name for node in self.ends}
        for path in lab.spec.topology.paths:
            if not {path.source, path.target} <= ends:
                raise NotPossible(
                    self.id,
                    f"connects two nodes, and the path {path} is not between them",
                    'use topology = "star", where every client has a tunnel to the gateway',
                )
        if self.is_hub and not self.forwards:
            raise NotPossible(
                self.id,
                f"does not forward packets from one client to another on {self.target.name}",
                "measure a client's path to the gateway",
            )
        super().prepare(lab)

    def route(self, path: Path) -> Route:
        """Direct to the responder; between two initiators through it, and it decrypts."""
        hub = self.target.name
        return DIRECT if hub in (path.source, path.target) else Route(hub, decrypts=True)

    def enter(self, node: Node) -> None:
        """The responder listens, an initiator connects."""
        if node.name == self.target.name:
            self.listen(node)
        else:
            self.connect(node)

    @property
    def newcomers(self) -> Sequence[Node]:
        """The initiators: the responder waits for them."""
        return self.sources

    @property
    def pairs(self) -> Sequence[Path]:
        """From each initiator to the responder."""
        return self.paths

    @property
    def joining(self) -> Sequence[Node]:
        """The responder; initiators start when they connect."""
        return (self.target,)

    def join(self, member: Node) -> None:
        """The responder listens."""
        if member.name == self.target.name:
            self.listen(member)

    def reach(self, path: Path) -> None:
        """The initiator connects."""
        self.connect(self.source_of(path))

    def leave(self, node: Node) -> None:
        """Stop it; the responder starts anew if it has to."""
        super().leave(node)
        if self.restarts_target and node is not self.target and self.processes[self.target.name]:
            self._stop_processes(self.target)
            self.listen(self.target)

    @abstractmethod
    def listen(self, target: Node) -> None:
        """Start the responder and wait for the fact that it accepts connections."""

    @abstractmethod
    def connect(self, source: Node) -> None:
        """Start an initiator and wait for the fact that its tunnel is up.

        Raises VpnError with the last lines of the log if it ends or does not come up in time.
        """


class TunProgram(TunDevice, TunnelVpn):
    """A driver defines the class attributes below, ``configure()`` and ``arguments()``, and
    ``is_handshake()`` if it has a handshake.

    The responder listens when its device is up; an initiator is connected when a ping through the
    tunnel is answered, or an echo of UDP.
    """

    program: ClassVar[str]
    """Its name, the first of ``programs``."""
    server_program: ClassVar[str] = ""
    """The responder's, if it runs another one: the second of ``programs``."""
    configures_device: ClassVar[bool] = True
    """Whether the program gives its device the address and the MTU, and sets it up; otherwise
    Culvert does, once ``has_made_device()``."""

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        both = filter(None, (self.program, self.server_program))
        self.programs = (*both, *self.programs)

    @abstractmethod
    def arguments(self, node: Node) -> Sequence[str]:
        """The program's arguments on a node, for the foreground; paths are absolute
        (``node.directory``)."""

    def listen(self, target: Node) -> None:
        """Start it; returns when its device is up."""
        self.start(target)

    def connect(self, source: Node) -> None:
        """Start it; returns when a ping to the responder is answered, or an echo if it carries no
        pings."""
        process = self.start(source)
        address, most_s = self.traffic_address(self.target), self.up_deadline_s
        if self.carries is Carried.PACKETS:
            wait_for_ping(self.id, source, address, process, deadline_s=most_s)
        else:
            ends = source, self.target
            wait_for_echo(self.id, ends, address, process, deadline_s=most_s)

    def has_made_device(self, node: Node, process: Process) -> bool:
        """Whether Culvert may configure the device: it is there. A driver whose program goes on to
        change its device afterwards overrides this with the fact that it is done, such as a line of
        ``process.log_text()``: until then it may fail because the device is up."""
        del process
        return node.link(self.device_on(node)) is not None

    def start(self, node: Node) -> Process:
        """Start the program on a node and wait for its device."""
        responds = node.name == self.target.name
        program = (responds and self.server_program) or self.program
        device = self.device_on(node)
        process = self.launch(node, program, *self.arguments(node))
        if not self.configures_device:
            what = f"{program} on node {node.name} made {device}"
            self.await_fact(lambda: self.has_made_device(node, process), process, what)
            self.set_up_device(node)
        wait_for_device(self.id, node, device, process, deadline_s=self.up_deadline_s)
        return process
