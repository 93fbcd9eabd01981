"""The programs of WireGuard in user space, and their versions."""

from __future__ import annotations

from culvert.labs.capability import Capability
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import wait_for_fact
from culvert.vpns.versions import package_version, read_go_build
from culvert.vpns.wireguard.control import ControlSocket

PROGRAM = "wireguard-go"
CAPABILITIES = frozenset({Capability.NET_ADMIN})
_DISTRIBUTIONS = "/usr/bin/wireguard-go"


def distributions(host: Host) -> str | None:
    """Path of the distribution's program."""
    return _DISTRIBUTIONS if host.exists(_DISTRIBUTIONS) else None


def current(host: Host) -> str | None:
    """Path of the current program. The distribution's must not be used for it: it is five times
    slower."""
    found = host.find(PROGRAM)
    return None if found == _DISTRIBUTIONS else found


def version(host: Host, program: str) -> str:
    """The version of the module, else of the package, else the printed one; and of the compiler."""
    build = read_go_build(host, program)
    compiler = f" ({build.go})" if build else ""
    if build and build.version:
        return build.version + compiler
    return (package_version(host, PROGRAM) or _printed(host, program)) + compiler


def spawn(node: Node, program: str, device: str) -> Process:
    """Start it in the foreground."""
    return node.daemon(
        [program, "--foreground", device],
        name=f"{PROGRAM}-{node.name}",
        env={"WG_PROCESS_FOREGROUND": "1"},  # otherwise it fills the log with advice
        capabilities=CAPABILITIES,
    )


def await_answer(
    node: Node, process: Process, control: ControlSocket, *, vpn: str, deadline_s: float
) -> None:
    """Return when it answers on its socket; raises VpnError."""
    wait_for_fact(
        lambda: control.state(node) is not None,
        vpn=vpn,
        process=process,
        what=f"{PROGRAM} on node {node.name} answered",
        deadline_s=deadline_s,
    )


def _printed(host: Host, program: str) -> str:
    """The printed version, such as 0.0.20220316."""
    first = host.run([program, "--version"], check=False).stdout.partition("\n")[0]
    return first.removeprefix(f"{PROGRAM} ").removeprefix("v") or "unknown"
