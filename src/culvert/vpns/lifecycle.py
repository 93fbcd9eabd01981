"""How a VPN is brought up: servers, then members, then paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from culvert.errors import NotPossible
from culvert.labs.node import Node
from culvert.labs.together import AT_ONCE, at_once
from culvert.topology.graph import Path
from culvert.topology.ip import IpVersion
from culvert.vpns.abilities import Registering, Serving, newcomers
from culvert.vpns.base import Vpn
from culvert.waiting import wait_until

LOOK_OF_EACH_S = 0.001
"""A look at one of N members takes about as long."""
_USABLE_S = 5.0


def bring_up(vpn: Vpn, *, but: Path | None = None) -> None:
    """Serve, join, reach, in order; ``but`` names a path whose source a measurement starts
    itself."""
    serve_all(vpn)
    source = None if but is None else but.source
    join_all(vpn, [each for each in vpn.joining if each.name != source])
    reach_all(vpn, [path for path in vpn.paths if path.source != source])
    if source is not None and isinstance(vpn, Registering):
        vpn.register(vpn.lab.nodes[source])
    if vpn.lab.spec.inner is IpVersion.V6:
        for node in vpn.lab.members:
            await_usable(vpn.interface(node), node)


def await_usable(device: str, node: Node) -> None:
    """Wait until the IPv6 addresses of a device, if it is there, can be bound: they are tentative
    until the kernel's work queue has seen them, on a tunnel too."""
    if node.link(device) is None:
        return
    listed = ["ip", "-6", "-oneline", "address", "show", "dev", device, "tentative"]
    wait_until(
        lambda: not node.run(listed).stdout,
        what=f"the IPv6 addresses of {device} on node {node.name} could be used",
        deadline_s=_USABLE_S,
        remedy=f"see 'ip -6 address show dev {device}' on the node",
    )


def reach_all(vpn: Vpn, paths: Sequence[Path]) -> None:
    """Bring paths up: those of different sources at the same time if the driver permits it."""
    if not vpn.reaches_together:
        for path in paths:
            vpn.reach(path)
        return
    by_source: dict[str, list[Path]] = {}
    for path in paths:
        by_source.setdefault(path.source, []).append(path)
    with seldom(vpn, min(len(by_source), AT_ONCE)):
        at_once(lambda some: [vpn.reach(path) for path in some], list(by_source.values()))


@contextmanager
def seldom(vpn: Vpn, together: int) -> Iterator[None]:
    """Look less often for the facts of members that come up together: a look of each every 0.2 ms
    would take the processors that their programs need."""
    usual_s = vpn.poll_s
    vpn.poll_s = max(usual_s, together * LOOK_OF_EACH_S)
    try:
        yield
    finally:
        vpn.poll_s = usual_s


def serve_all(vpn: Vpn) -> None:
    """Start the servers, in the order of the topology."""
    for server in vpn.lab.of_role(*vpn.needs):
        if not isinstance(vpn, Serving):
            raise NotPossible(
                vpn.id, f"does not use a {server.role}", "report this: its needs are wrong"
            )
        vpn.serve(server)


def join_all(vpn: Vpn, members: Sequence[Node]) -> None:
    """Let them join: at the same time if the driver permits it."""
    for group in groups(vpn, members):
        with ThreadPoolExecutor(len(group)) as pool:
            list(pool.map(vpn.join, group))


def groups(vpn: Vpn, members: Sequence[Node]) -> Sequence[Sequence[Node]]:
    """Members that join at the same time, one group after the other: first those that wait for the
    newcomers."""
    if not vpn.joins_together:
        return [[member] for member in members]
    first = waiting(vpn, members)
    return [group for group in (first, [each for each in members if each not in first]) if group]


def waiting(vpn: Vpn, members: Sequence[Node]) -> Sequence[Node]:
    """Those of the members that wait for the newcomers."""
    new = {node.name for node in newcomers(vpn)}
    return [member for member in members if member.name not in new]
