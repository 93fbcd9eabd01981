"""The lab ``netns``: every node a network namespace of this machine."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from culvert.errors import LabError, NotPossible
from culvert.labs.base import Handed, Lab
from culvert.labs.cpu import aes, affinity
from culvert.labs.cpu.interrupts import deferred
from culvert.labs.endpoint import Endpoint
from culvert.labs.host import Host
from culvert.labs.link import netem, veth
from culvert.labs.link.wire.cable import Wire
from culvert.labs.link.wire.program import WireProgram
from culvert.labs.namespace import cleanup, syscalls, sysctls
from culvert.labs.namespace import interfaces as links
from culvert.labs.namespace.claim import Claim, claim
from culvert.labs.namespace.places import prepare_names, run_directory
from culvert.labs.netns import public_side
from culvert.labs.netns.limits import check
from culvert.labs.netns.node import NetnsNode
from culvert.labs.process import Process
from culvert.labs.room import permit
from culvert.labs.router import firewall
from culvert.labs.this_machine import ThisMachine
from culvert.labs.together import AT_ONCE
from culvert.topology.graph import Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.plan import (
    EVERYWHERE,
    EVERYWHERE_IPV6,
    TUNNELS,
    TUNNELS_IPV6,
    Cable,
    Plug,
    mac_of,
    plan,
)
from culvert.topology.spec import LabSpec

T = TypeVar("T")
ENDING_S = 1.0
"""Longest time from the removal of a process's devices to its end."""


class NetnsLab(Lab):
    """Namespaces joined by cables: veth pairs, wires, or veth pairs with netem."""

    shared_kernel = True

    def __init__(self, run_id: str, spec: LabSpec, *, machines: bool = False) -> None:
        """``machines``: its nodes stand for machines, whose programs do what root may do, such as
        containers or an sshd. Otherwise they change no file of this machine."""
        self.run_id = run_id
        self.spec = spec
        self._plan = plan(spec.topology, spec.underlay)
        check(spec)
        cpus = spec.cpus or {}
        self._nodes = {
            node.name: NetnsNode(
                run_id,
                node.name,
                node.role,
                self._plan.attachments(node.name),
                cpus=cpus.get(node.name),
                quota=spec.processors.quota.get(node.name),
                variables=aes.OFF if spec.processors.aes is False else None,
                apart=not machines,
            )
            for node in spec.topology.nodes
        }
        self._wire_program = WireProgram(run_id)
        self.wires: list[Wire] = []
        """The running wires in the order of cables; empty for other kinds of links."""
        self._interrupts: Mapping[Path, str] = {}
        self._claim: Claim | None = None

    @property
    def nodes(self) -> Mapping[str, NetnsNode]:
        return self._nodes

    @property
    def a(self) -> NetnsNode:
        return self._nodes[self.path.source]

    @property
    def b(self) -> NetnsNode:
        return self._nodes[self.path.target]

    @property
    def hosts(self) -> Sequence[Host]:
        return (ThisMachine(),)

    def faults(self) -> Sequence[str]:
        """Faults of the wires; the accounting reads the kernel's counters of other links."""
        return [fault for wire in self.wires for fault in wire.statistics().faults()]

    def handed(self, node: Endpoint) -> Handed | None:
        """The count of the wire at the node's underlay device."""
        namespace = self._nodes[node.name].namespace
        for wire in self.wires:
            for number, end in enumerate(wire.ends):
                if end.namespace is namespace and end.device == node.underlay.device:
                    counts = wire.statistics().ways[number]
                    return Handed(counts.received_packets, counts.received_bytes)
        return None

    def obstacles(self) -> Sequence[str]:
        """Packets dropped by routers with a firewall, and by wires with a filter."""
        routers = [one for node in self._filters() for one in firewall.obstacles(node)]
        return [*routers, *(one for wire in self.wires for one in wire.obstacles())]

    @property
    def programs(self) -> Sequence[Process]:
        process = self._wire_program.process
        return () if process is None else (process,)

    def broken(self) -> LabError | None:
        """The program of the wires, if it has ended or is stopped; what somebody removed; a link
        that is down."""
        broken = self._wire_program.broken() or self._removed() or self._link_down()
        # The kernel removes the devices of a process a moment before the process counts as ended.
        return (broken and self._wire_program.broken(within_s=ENDING_S)) or broken

    def _removed(self) -> LabError | None:
        for node in self._nodes.values():
            for path in (node.netns_path, node.directory):
                if not path.exists():
                    return LabError(
                        f"{path} of node {node.name}",
                        "it was removed while the lab was in use",
                        "see which program removed it (another clean-up, ip netns delete); then "
                        "repeat the trial",
                    )
        return None

    def _link_down(self) -> LabError | None:
        for node in self._nodes.values():
            for attachment in node.attachments:
                link = node.link(attachment.device)
                if link is None or not link.up:
                    return LabError(
                        f"the link of node {node.name}",
                        f"its device {attachment.device} is {'down' if link else 'gone'}",
                        "see which program changed it during the trial; then repeat the trial",
                    )
        return None

    def open(self) -> None:
        """Create nodes and links; after an error, or Ctrl-C, nothing remains."""
        _require_root()
        permit(len(self._nodes))
        try:
            with deferred():
                self._claim = claim(self.run_id)
                atexit.register(self.close)
            self._make()
        except OSError as error:
            self.close()
            raise _impossible(error) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop every process on the nodes, remove nodes, links and directories. Idempotent."""
        if self._claim is not None:
            with deferred():
                self._close(self._claim)

    def _make(self) -> None:
        if self.spec.processors.interrupts:
            self._interrupts = affinity.pin(self.spec.processors.interrupts)
        directory = run_directory(self.run_id)
        directory.mkdir(mode=0o700)
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
        syscalls.mount(f"culvert-{self.run_id}", directory, "tmpfs", flags, "mode=0700")
        prepare_names()
        _each(self._open_node, self._nodes.values())
        wired: list[tuple[Cable, LinkSpec]] = []
        others: list[tuple[Cable, LinkSpec]] = []
        for number, cable in enumerate(self._plan.cables):
            spec = self.spec.link_of(cable.network.name)
            # Each link has its own random numbers; the first one uses the seed itself.
            link = (cable, replace(spec, seed=spec.seed + number))
            (wired if spec.kind == "wire" else others).append(link)
        for cable, spec in wired:  # one program's, in the order of cables
            self._connect(cable, spec)
        _each(self._connect_and_wait, others)
        _each(self._set_up, self._nodes.values())
        for route in self._plan.routes:
            namespace = self._nodes[route.node].namespace
            links.add_route(namespace, route.destination, device=None, gateway=route.gateway)
            behind = self.spec.topology.node(route.node).role is Role.BEHIND
            if route.destination == EVERYWHERE and not behind:
                # While a tunnel is down, its packets must not cross the underlay in clear text.
                links.refuse(namespace, TUNNELS)
            if route.destination == EVERYWHERE_IPV6:
                links.refuse(namespace, TUNNELS_IPV6)
        if self.spec.topology.full_tunnel:
            public_side.set_up(self._plan, self._nodes)
        for router in self._filters():
            firewall.apply(router, self._rules(router.name))
            # After loading the firewall: these settings may come with a kernel module.
            router.inside(lambda: sysctls.apply(sysctls.CONNTRACK))

    def _open_node(self, node: NetnsNode) -> None:
        router = node.role is Role.ROUTER or (node.role is Role.GATEWAY and self.behind)
        forwards = sysctls.ROUTER[self.spec.underlay] if router else {}
        node.open({**sysctls.NODE, **forwards})

    def _connect_and_wait(self, link: tuple[Cable, LinkSpec]) -> None:
        cable, spec = link
        self._connect(cable, spec)
        veth.wait_ready(self._end(cable.left), self._end(cable.right))

    def _set_up(self, node: NetnsNode) -> None:
        if self.spec.members_have_ipv6:  # the devices of links are there already, and keep none
            node.inside(lambda: sysctls.apply(sysctls.IPV6_FOR_NEW_DEVICES))
        if self.spec.processors.steering:
            for attachment in node.attachments:
                node.steer(attachment.device, self.spec.processors.steering)

    def _filters(self) -> list[NetnsNode]:
        return [self._nodes[node.name] for node in self.spec.topology.nodes if node.filters]

    def _rules(self, name: str) -> str:
        router = self.spec.topology.node(name)
        translated = (router.nat, self._plan.side(name)) if router.nat else None
        return firewall.ruleset(self.spec.firewall, translated, block_udp=router.blocks_udp)

    def _connect(self, cable: Cable, spec: LinkSpec) -> None:
        left, right = self._end(cable.left), self._end(cable.right)
        match spec.kind:
            case "veth":
                veth.connect(left, right, spec)
            case "netem":
                netem.connect(left, right, spec)
            case "wire":
                name = f"cable {len(self.wires)}"
                wire = Wire(self._wire_program, name, left, right, spec)
                self.wires.append(wire)
                wire.open()

    def _end(self, plug: Plug) -> veth.CableEnd:
        attachment, namespace = plug.attachment, self._nodes[plug.node].namespace
        mac = mac_of(attachment.address)
        return veth.CableEnd(namespace, attachment.device, attachment.address, mac, attachment.ipv6)

    def _close(self, claim: Claim) -> None:
        atexit.unregister(self.close)
        self._wire_program.stop()
        self.wires.clear()
        for node in self._nodes.values():
            node.close()
        affinity.restore(self._interrupts)
        cleanup.remove_run(self.run_id)
        claim.release()
        self._claim = None


def _each(work: Callable[[T], None], things: Iterable[T]) -> None:
    """At the same time: most of it is waiting for the kernel's locks. All have ended when it
    returns or raises, so that the lab can be closed."""
    with ThreadPoolExecutor(AT_ONCE, "lab") as pool:
        list(pool.map(work, things))


def _require_root() -> None:
    if os.geteuid() != 0:
        raise NotPossible(
            "the lab netns",
            "creating network namespaces needs root, or a user namespace",
            "run it with sudo, or with the command `culvert`",
        )


def _impossible(error: OSError) -> LabError | NotPossible:
    reason = f"{error.filename or 'system call'}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return NotPossible(
            "the lab netns",
            f"{reason} (root has no CAP_SYS_ADMIN here)",
            "run on the host, or give the container --privileged",
        )
    return LabError("the lab netns", reason, "run `culvert doctor`")
