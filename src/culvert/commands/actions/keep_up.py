"""``culvert up``: one tunnel, proved and kept until Ctrl-C, for experiments by hand."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from rich.markup import escape

from culvert.console import err, out, print_json
from culvert.errors import NotPossible, UsageError, VpnError
from culvert.interruption import until_interrupted
from culvert.labs.base import Lab
from culvert.labs.namespace.places import namespace_name
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.labs.room import Machine
from culvert.machine import rootless
from culvert.privilege import init_outside, is_root
from culvert.proof.alive import survivors
from culvert.run import neighbours
from culvert.run.trials.causes import naming_the_cause
from culvert.run.trials.paths import open_session, require_room
from culvert.run.trials.stage import before
from culvert.runid import new_run_id
from culvert.topology.graph import Topology
from culvert.topology.shapes import Shape, mesh, pair, public, routed, serving, star
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.variant import Carried

DEFAULT_MEMBERS = 3
WATCH_S = 1.0
"""Interval between checks of the VPN's processes while the tunnel is kept."""


def keep_up(name: str, topology: str, *, as_json: bool) -> None:
    """Bring ``name`` up, prove it, print how to use it, and wait for Ctrl-C.

    Raises NotPossible if a requirement is missing, VpnError if the VPN dies, and KeyboardInterrupt
    if it is interrupted before the tunnel is up. The lab is removed in every case.
    """
    rootless.enter()
    vpn = registry.create(registry.parse(name))
    shape = serving(_shape(topology), vpn.needs)
    require_room(vpn, shape)
    spec = LabSpec(topology=shape)
    Machine.here().require(vpn, spec)
    lab = NetnsLab(new_run_id(), spec)
    missing = [each for host in lab.hosts for each in vpn.missing(host)]
    if missing:
        raise NotPossible(vpn.id, f"{missing[0].what} is missing", missing[0].remedy)
    with ExitStack() as stack:
        stack.enter_context(neighbours.announced())
        stack.enter_context(lab)
        stack.callback(vpn.stop, lab)
        begun = time.monotonic()
        vpn.prepare(lab)
        bring_up(vpn)
        up_s = time.monotonic() - begun
        checks = _prove(lab, vpn)
        proved_s = time.monotonic() - begun
        kept = _Kept(lab, vpn, checks, up_s=up_s, proved_s=proved_s)
        with until_interrupted():  # the normal end, from when the first word is read
            if as_json:
                print_json(kept.as_json())
            else:
                kept.show()
            _wait(vpn)
    err.print(f"{vpn.id} is removed", style="dim")


def _prove(lab: Lab, vpn: Vpn) -> list[Check]:
    with naming_the_cause(vpn, lab), ExitStack() as stack:
        return before(open_session(stack, lab, vpn, lab.path))


def _shape(word: str) -> Topology:
    """pair, routed, star, mesh or public, with the number of members: ``star:5``."""
    name, _, count = word.partition(":")
    try:
        shape, number = Shape(name), int(count or DEFAULT_MEMBERS)
    except ValueError:
        raise UsageError(
            f"topology '{word}'", "is unknown", "use pair, routed, star:5, mesh:3 or public"
        ) from None
    try:
        match shape:
            case Shape.PAIR:
                return pair()
            case Shape.ROUTED:
                return routed()
            case Shape.STAR:
                return star(number)
            case Shape.MESH:
                return mesh(number)
            case Shape.PUBLIC:
                return public()
    except UsageError as error:  # its remedy is that of a study file
        what = f"topology '{word}'"
        raise UsageError(what, str(error), f"write {name}:{DEFAULT_MEMBERS}") from None


@dataclass(frozen=True)
class _Kept:
    """A tunnel that is up; times in seconds from the start of the responder."""

    lab: Lab
    vpn: Vpn
    checks: list[Check]
    up_s: float
    proved_s: float

    @property
    def proved(self) -> bool:
        return all(check.passed for check in self.checks)

    def namespace(self, node: Node) -> str:
        return namespace_name(self.lab.run_id, node.name)

    def as_json(self) -> dict[str, Any]:
        """The data that a script needs to use the tunnel."""
        return {
            "vpn": self.vpn.id,
            "version": self.vpn.version(self.lab.a),
            "up_s": self.up_s,
            "proved": self.proved,
            "proved_s": self.proved_s,
            "enter": _how_to_enter(),
            "checks": [asdict(check) for check in self.checks],
            "nodes": {
                node.name: {
                    "namespace": self.namespace(node),
                    "interface": self.vpn.interface(node),
                    "inner": str(self.vpn.traffic_address(node)),
                    "underlay": str(node.underlay.address.ip),
                }
                for node in self.lab.members
            },
        }

    def show(self) -> None:
        """Print the state of the tunnel, its checks and how to use it."""
        verdict = "[green]proved[/]" if self.proved else "[yellow]NOT PROVED[/]"
        out.print(
            f"[bold]{self.vpn.id}[/] {escape(self.vpn.version(self.lab.a))} "
            f"is up after {self.up_s:.3f} s, {verdict} after {self.proved_s:.3f} s"
        )
        for check in self.checks:
            mark = "[green]yes[/]" if check.passed else "[yellow]no [/]"
            out.print(f"  {mark}  {escape(check.name)}: {escape(check.detail)}")
        out.print()
        for node in self.lab.members:
            inner, device = self.vpn.traffic_address(node), self.vpn.interface(node)
            out.print(f"  {node.name}  {inner} on {device}, underlay {node.underlay.address.ip}")
        to = self.vpn.traffic_address(self.lab.b)
        ping = f"ping {to}" if self.vpn.carries is Carried.PACKETS else "bash"
        enter = shlex.join(_how_to_enter())
        out.print(
            f"\nTo use it, in another terminal:"
            f"\n  {enter} {self.namespace(self.lab.a)} {ping}"
            f"\n  {enter} {self.namespace(self.lab.b)} bash"
            f"\n\nCtrl-C removes it.",
            markup=False,
        )


def _how_to_enter() -> list[str]:
    """The command, without the namespace's name, that enters a namespace from another terminal."""
    users = ["nsenter", "--preserve-credentials", "-U"]
    enter = ["sudo", "nsenter"] if is_root() else users
    return [*enter, "-t", str(init_outside()), "-m", "-p", "ip", "netns", "exec"]


def _wait(vpn: Vpn) -> NoReturn:
    """Wait until KeyboardInterrupt; raises VpnError if a process of the VPN ends."""
    while True:
        for check in survivors(vpn):
            raise VpnError(vpn.id, check.detail, check.remedy)
        time.sleep(WATCH_S)  # a death is not signalled; Ctrl-C interrupts the sleep at once
