"""The lab ``netns``: every node a network namespace of this machine."""

from __future__ import annotations

import atexit
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from culvert.errors import LabError, NotPossible, UsageError
from culvert.labs.base import Lab, Node
from culvert.labs.cpu import aes, affinity
from culvert.labs.cpu.interrupts import deferred
from culvert.labs.link import veth
from culvert.labs.link.netem import connect as netem
from culvert.labs.link.shaping import MAX_RATE_BPS
from culvert.labs.link.wire.cable import LONGEST_MTU as WIRE_LONGEST_MTU
from culvert.labs.link.wire.cable import RATES_BPS as WIRE_RATES_BPS
from culvert.labs.link.wire.cable import Wire
from culvert.labs.link.wire.end import WireEnd
from culvert.labs.link.wire.program import WireProgram
from culvert.labs.link.witness import Witness
from culvert.labs.netns import cleanup, owner, syscalls, sysctls
from culvert.labs.netns import interfaces as links
from culvert.labs.netns.node import NetnsNode
from culvert.labs.netns.places import NAMESPACES, run_directory
from culvert.labs.router import firewall
from culvert.runid import is_run_id
from culvert.topology.link.impairment import CLEAN
from culvert.topology.link.spec import LinkSpec
from culvert.topology.plan import Plug, mac_of, plan, side
from culvert.topology.spec import LabSpec

MTU_RANGE = range(68, 65536)
"""From RFC 791's smallest to what a veth carries."""


class NetnsLab(Lab):
    """Namespaces joined by cables: veth pairs, wires, or veth pairs with netem."""

    shared_kernel = True
    a: NetnsNode
    b: NetnsNode
    router: NetnsNode | None

    def __init__(self, run_id: str, spec: LabSpec) -> None:
        if not is_run_id(run_id):
            raise UsageError(f"run id '{run_id}'", "is not 4 to 8 of a-z0-9", "use new_run_id()")
        self.run_id = run_id
        self.spec = spec
        self._plan = plan(spec.topology)
        _check(spec, self._plan.nodes)
        cpus = spec.cpus or {}
        self.nodes: Mapping[str, NetnsNode] = {
            name: NetnsNode(
                run_id,
                name,
                self._plan.attachments(name)[0],
                cpus=cpus.get(name),
                quota=spec.processors.quota.get(name),
                variables=aes.OFF if spec.processors.aes is False else None,
            )
            for name in self._plan.nodes
        }
        self.a, self.b = self.nodes["a"], self.nodes["b"]
        self.router = self.nodes.get("router")
        self._rules = firewall.Rules(
            spec.firewall,
            next(((kind, side(self._plan, node)) for node, kind in spec.nat.items()), None),
            spec.block_udp,
        )
        self._wire_program = WireProgram(run_id)
        self.wires: list[Wire] = []
        """The running wires in the order of cables; empty for other kinds of links."""
        self._interrupts: Mapping[Path, str] = {}
        self._claimed = False

    @property
    def underlay_devices(self) -> Mapping[str, tuple[str, ...]]:
        """The devices of each node that are ends of cables."""
        return {
            name: tuple(attachment.device for attachment in self._plan.attachments(name))
            for name in self._plan.nodes
        }

    def faults(self) -> Sequence[str]:
        """Of the wires; other links are the kernel's, whose counters the accounting reads."""
        return [fault for wire in self.wires for fault in wire.statistics().faults()]

    def witness(self, node: Node) -> Witness | None:
        """The wire's end at the node's underlay device."""
        namespace = self.nodes[node.name].namespace
        for wire in self.wires:
            for end in wire.ends:
                if end.namespace is namespace and end.device == node.underlay.device:
                    return WireEnd(wire, is_left=end is wire.ends[0])
        return None

    def obstacles(self) -> Sequence[str]:
        """What the router has dropped."""
        return firewall.obstacles(self.router) if self.router is not None else ()

    def open(self) -> None:
        """Make nodes and links; on an error, or Ctrl-C, nothing is left."""
        _require_root()
        self._remove_dead_namesake()
        try:
            with deferred():
                self._claim()
            self._make()
        except OSError as error:
            self.close()
            raise _impossible(error) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End every process on the nodes, remove nodes, links and directories. Idempotent."""
        if self._claimed:
            with deferred():
                self._close()

    def _claim(self) -> None:
        owner.claim(self.run_id)
        self._claimed = True
        atexit.register(self.close)

    def _make(self) -> None:
        if self.spec.processors.interrupts:
            self._interrupts = affinity.pin(self.spec.processors.interrupts)
        directory = run_directory(self.run_id)
        directory.mkdir(mode=0o700)
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
        syscalls.mount(f"culvert-{self.run_id}", directory, "tmpfs", flags, "mode=0700")
        NAMESPACES.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name, node in self.nodes.items():
            forwards = sysctls.ROUTER if name == "router" else {}
            node.open({**sysctls.NODE, **forwards})
        for number, (left, right) in enumerate(self._plan.cables):
            # What is asked for happens once on the way from a to b, not at every hop.
            spec = self.spec.link if number == 0 else replace(self.spec.link, impairment=CLEAN)
            self._connect(self._end(left), self._end(right), spec)
        if self.spec.processors.steering:
            for name, devices in self.underlay_devices.items():
                for device in devices:
                    self.nodes[name].steer(device, self.spec.processors.steering)
        for route in self._plan.routes:
            namespace = self.nodes[route.node].namespace
            links.add_route(namespace, route.destination, device=None, gateway=route.gateway)
        if self.router is not None:
            firewall.load(self.router, self._rules)
            # Afterwards: a kernel module may bring these settings.
            self.router.inside(lambda: sysctls.apply(sysctls.CONNTRACK))

    def _connect(self, left: veth.End, right: veth.End, spec: LinkSpec) -> None:
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

    def _end(self, plug: Plug) -> veth.End:
        address = plug.attachment.address
        return veth.End(
            self.nodes[plug.node].namespace, plug.attachment.device, address, mac_of(address)
        )

    def _close(self) -> None:
        atexit.unregister(self.close)
        self._wire_program.stop()
        self.wires.clear()
        for node in self.nodes.values():
            node.close()
        cleanup.remove_run(self.run_id)
        affinity.restore(self._interrupts)
        self._claimed = False

    def _remove_dead_namesake(self) -> None:
        for leftover in cleanup.find_leftovers():
            if leftover.run_id == self.run_id:
                cleanup.remove(leftover)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise NotPossible(
            "the lab netns",
            "making network namespaces needs root, or namespaces of one's own",
            "run it with sudo, or by the command `culvert`",
        )


def _impossible(error: OSError) -> LabError | NotPossible:
    reason = f"{error.filename or 'system call'}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return NotPossible(
            "the lab netns",
            f"{reason} (root lacks CAP_SYS_ADMIN here)",
            "run on the host, or give the container --privileged",
        )
    return LabError("the lab netns", reason, "run `culvert doctor`")


def _check(spec: LabSpec, nodes: tuple[str, ...]) -> None:
    """Refuse what no machine could build; raises UsageError or NotPossible."""
    link = spec.link
    if link.mtu not in MTU_RANGE:
        raise UsageError(f"MTU {link.mtu}", "is not between 68 and 65535", "use 1500")
    rates = WIRE_RATES_BPS if link.kind == "wire" else range(8000, MAX_RATE_BPS + 1)
    if link.rate_bps is not None and link.rate_bps not in rates:
        raise UsageError(
            f"rate {link.rate_bps} bit/s",
            f"is not between {rates[0]} bit/s and {rates[-1] / 1e9:.0f} Gbit/s",
            "leave it out for a link without a limit",
        )
    link.impairment.check()
    if spec.topology == "pair" and (spec.nat or spec.block_udp):
        raise UsageError(
            "NAT and blocked UDP", "two nodes on one link have no router", 'use topology "routed"'
        )
    if len(spec.nat) > 1 or not spec.nat.keys() <= {"a", "b"}:
        raise UsageError(
            f"NAT for {', '.join(spec.nat)}",
            "the router translates for one of the nodes a and b",
            'write nat = "port-restricted" for node a',
        )
    if link.kind == "veth" and link.impairment:
        raise UsageError(
            "impairments of a veth link",
            "a veth only carries packets",
            'use the link kind "wire", or "netem" where the kernel has it',
        )
    if link.kind == "wire" and link.mtu > WIRE_LONGEST_MTU:
        raise UsageError(
            f"MTU {link.mtu}", f"a wire carries up to {WIRE_LONGEST_MTU}", "use less, or veth"
        )
    _check_processors(spec, nodes)
    available = os.sched_getaffinity(0)
    for name, cpus in (spec.cpus or {}).items():
        if name not in nodes:
            raise UsageError(f"cpus of node '{name}'", "no such node", f"use {', '.join(nodes)}")
        if not cpus or not available.issuperset(cpus):
            raise NotPossible(
                f"CPUs {list(cpus)} for node {name}",
                f"this machine offers {sorted(available)}",
                "choose among those",
            )


def _check_processors(spec: LabSpec, nodes: tuple[str, ...]) -> None:
    for name, quota in spec.processors.quota.items():
        if name not in nodes or not 0 < quota <= 1:
            raise UsageError(
                f"a CPU quota of {quota:.0%} for node '{name}'",
                "no such node, or no share above 0 and up to 100 %",
                f"use {', '.join(nodes)}",
            )
    if spec.processors.aes and aes.has_instructions() is False:
        raise NotPossible(
            "aes = true", "this processor has no AES instructions", "measure without, aes = false"
        )
    if spec.processors.aes is False and platform.machine() != "x86_64":
        raise NotPossible(
            "aes = false", f"it is not known how on {platform.machine()}", "leave it out here"
        )
