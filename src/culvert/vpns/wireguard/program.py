"""The programs of WireGuard in user space, and their versions."""

from __future__ import annotations

from culvert.vpns.authoring import (
    Capability,
    Host,
    Node,
    NotPossible,
    Process,
    Vpn,
    package_version,
    read_go_build,
)
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


def require(vpn: Vpn, path: str | None) -> str:
    """The path; raises NotPossible if there is none."""
    if path is None:
        raise NotPossible(vpn.id, f"{PROGRAM} is missing", f"culvert install {vpn.id}")
    return path


def start(vpn: Vpn, node: Node, program: str, device: str) -> Process:
    """Start it as one of the VPN's; returns when it answers on its socket. Raises VpnError."""
    process = node.daemon(
        [program, "--foreground", device],
        name=f"{PROGRAM}-{node.name}",
        env={"WG_PROCESS_FOREGROUND": "1"},  # otherwise it fills the log with advice
        capabilities=CAPABILITIES,
    )
    vpn.processes[node.name].append(process)
    control, what = ControlSocket(device), f"{PROGRAM} on node {node.name} answered"
    vpn.await_fact(lambda: control.state(node) is not None, process, what)
    return process


def _printed(host: Host, program: str) -> str:
    """The printed version, such as 0.0.20220316."""
    first = host.run([program, "--version"], check=False).stdout.partition("\n")[0]
    return first.removeprefix(f"{PROGRAM} ").removeprefix("v") or "unknown"
