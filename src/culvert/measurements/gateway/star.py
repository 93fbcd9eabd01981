"""The star of as many clients as a measurement's parameters state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from culvert.errors import NotPossible
from culvert.proof.known import KnownPath
from culvert.topology import shapes
from culvert.topology.graph import Path, Role
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import Impairment
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import CORE, GATEWAY, Shape
from culvert.topology.spec import LabSpec

CLIENT_S = 0.03
"""To make a client's node and tunnel, to prove it and to remove it: 0.02 to 0.05 s on two CPUs."""


def star_of(
    kind: str, spec: LabSpec, clients: int, target: str = GATEWAY, *, behind: bool = False
) -> LabSpec:
    """The measured path leads from the first client to ``target``; ``behind`` adds a host behind
    the gateway. Raises NotPossible for another topology; ``kind`` is the measurement's."""
    if spec.topology.name != Shape.STAR:
        raise NotPossible(
            kind,
            f'the topology "{spec.topology.name}" has no gateway',
            'write topology = "star" in [lab]',
        )
    if behind and IpVersion.V6 in (spec.underlay, spec.inner):
        raise NotPossible(
            kind, "hosts behind the gateway have IPv4 only", 'leave it out, or write to = "gateway"'
        )
    found = spec.on(shapes.star(clients, paths=[Path("c1", target)], behind=behind))
    if found.cpus is None or "c1" not in found.cpus:
        return found
    # Nodes that the study's own star does not have share the CPUs of the clients that it has.
    more = {
        node.name: found.cpus["c1"] for node in found.topology.of_role(Role.CLIENT, Role.BEHIND)
    }
    return replace(found, cpus={**more, **found.cpus})


def together(known: KnownPath, clients: int, *, past: bool = False) -> KnownPath:
    """The path of so many clients at once: it carries what the gateway's link does, or what all
    links of the clients do. ``past``: packets need not cross the gateway's link."""
    gateway = known.spec.link_of(f"{GATEWAY}-{CORE}")
    links = [known.spec.link_of(f"c{number}-{CORE}") for number in range(1, clients + 1)]
    there, back = known.link.impairment.ways
    up, down = _rates(links, upward=True), _rates(links, upward=False)
    if not past:
        up = _least([up, _rates([gateway], upward=False)])
        down = _least([down, _rates([gateway], upward=True)])
    both = Impairment(replace(there, rate_bps=up), replace(back, rate_bps=down))
    return replace(known, link=replace(known.link, rate_bps=None, impairment=both))


def _rates(links: Sequence[LinkSpec], *, upward: bool) -> int | None:
    """Of all links together, away from their nodes or towards them; None: not limited."""
    rates = [
        (link.impairment.a_to_b if upward else link.impairment.b_to_a).rate_on(link.rate_bps)
        for link in links
    ]
    known = [rate_bps for rate_bps in rates if rate_bps is not None]
    return sum(known) if len(known) == len(rates) else None


def _least(rates: Sequence[int | None]) -> int | None:
    return min((rate_bps for rate_bps in rates if rate_bps is not None), default=None)
