"""Nothing is faster than its path: a time that contains crossings of the underlay is at least the
requested delay of as many, which the run verifies.

::

    a ──20 ms── router ──20 ms── b      a round trip (2 ways): at least 80 ms
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

from culvert.metrics import MetricSpec
from culvert.proof.underlay import least_delay_ns
from culvert.topology.graph import Network
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import convert
from culvert.vpns.variant import Carried

REMEDY = (
    "packets took a way beside the link, or something answers on the near node: the figures are "
    "not of this path; see how the VPN's programs communicate"
)


def delays_are_possible(
    session: Session, specs: Iterable[MetricSpec], outcome: Outcome
) -> list[Check]:
    """One check of all times that contain crossings; none where no delay is requested."""
    there_ns, back_ns = least_ways_ns(session)
    declared = {spec.name: spec for spec in specs if spec.ways}
    one_clock = session.lab.shared_kernel
    judged, faults = 0, []
    for metric in outcome.metrics:
        spec = declared.get(metric.name)
        if spec is None or (spec.ways % 2 and not one_clock):
            continue  # between two clocks a single crossing is not known so well
        if spec.of_packets and session.vpn.carries is not Carried.PACKETS:
            continue  # a proxy answers on the near node
        trips, single = divmod(spec.ways, 2)
        least_ns = trips * (there_ns + back_ns) + single * min(there_ns, back_ns)
        judged += least_ns > 0
        if convert(metric.value, metric.unit, "ns") < least_ns:
            faults.append(f"{metric.name} is {metric.value:.4g} {metric.unit}")
    if not judged:
        return []
    way = f"the links of {session.path} delay by {there_ns / 1e6:.4g} ms there and "
    way += f"{back_ns / 1e6:.4g} ms back at the least"
    found = ", ".join(faults) if faults else f"no time of {judged} is shorter"
    return [Check("delays are possible", not faults, f"{way}: {found}", REMEDY)]


def least_ways_ns(session: Session) -> tuple[int, int]:
    """The least delay of the path's links, there and back; through the node that relays it, if its
    route has one."""
    path, topology = session.path, session.lab.spec.topology
    via = session.route.via if session.route is not None else None
    stops = [path.source, path.target]
    if via is not None and topology.networks_of(via):  # the nodes of a cluster have none
        stops.insert(1, via)
    legs = [leg for here, there in pairwise(stops) for leg in topology.between(here, there)]
    sum_of = partial(_sum_ns, session, legs)
    return sum_of(towards_target=True), sum_of(towards_target=False)


def _sum_ns(session: Session, legs: list[tuple[Network, bool]], *, towards_target: bool) -> int:
    total = 0
    for network, forward in legs:
        impairment = session.lab.spec.link_of(network.name).impairment
        same = forward is towards_target
        total += least_delay_ns(impairment.a_to_b if same else impairment.b_to_a)
    return total
