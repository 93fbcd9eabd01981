"""The four programs, and the start of a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import missing_tun, wait_for_fact
from culvert.vpns.variant import Missing

DAEMON = "tailscaled"
CLIENT = "tailscale"
HEADSCALE = "headscale"
DERPER = "derper"


class Server(Protocol):
    """What ``start`` needs to know of one."""

    @property
    def program(self) -> str:
        """Its name on PATH or among Culvert's tools."""

    @property
    def arguments(self) -> Sequence[str]:
        """For the foreground."""

    def ready(self, process: Process) -> bool:
        """Whether members and commands can use it; may raise OSError if not yet."""


def missing(vpn: str, host: Host) -> Iterator[Missing]:
    """Programs that are not installed, and /dev/net/tun."""
    for program in (DAEMON, CLIENT, HEADSCALE, DERPER):
        if host.find(program) is None:
            yield Missing.to_install(program, vpn)
    yield from missing_tun(host)


def version(host: Host) -> str:
    """Of Tailscale's programs and of Headscale."""
    tailscale = host.run([path(host, DAEMON), "--version"]).stdout.split()
    headscale = host.run([path(host, HEADSCALE), "version"]).stdout.split()
    return f"Tailscale {tailscale[0]}, Headscale {headscale[2]}"


def path(host: Host, name: str) -> str:
    """Of a program there; raises NotPossible if it is missing."""
    return host.require(name, "culvert install headscale")


def start(vpn: str, node: Node, server: Server, running: list[Process], deadline_s: float) -> None:
    """Start a server, which is added to ``running`` at once; returns when it is ready."""
    argv = [path(node, server.program), *server.arguments]
    process = node.daemon(argv, name=server.program, capabilities=frozenset())
    running.append(process)
    wait_for_fact(
        lambda: server.ready(process),
        vpn=vpn,
        process=process,
        what=f"{server.program} on node {node.name} listened",
        deadline_s=deadline_s,
    )
