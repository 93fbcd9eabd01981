"""EasyTier: its client's table of routes, and its meshes, direct and through a relay."""

from __future__ import annotations

import pytest

from culvert.proof.route import ALL_BUT
from culvert.results import Status
from culvert.topology.graph import Path, Role, Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, serving, star
from culvert.topology.spec import LabSpec
from culvert.vpns.contract.observe import pings_answered
from culvert.vpns.easytier import EasyTier, read_table
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.variant import DIRECT, Route
from tests.run.cells import execute

from ..conftest import LabFactory
from .tunnels import driver, skip_reason

RELAY = Route("relay")
ROUTES = {"easytier/direct": DIRECT, "easytier/relay": RELAY}
TABLE = """\
┌───────────────┬──────────┬─────────────┬───────────────┬───────────────────┬──────┐
│ ipv4          │ hostname │ proxy_cidrs │ next_hop_ipv4 │ next_hop_hostname │ cost │
├───────────────┼──────────┼─────────────┼───────────────┼───────────────────┼──────┤
│ 198.19.0.1/24 │ a        │             │ -             │ Local             │ 0    │
├───────────────┼──────────┼─────────────┼───────────────┼───────────────────┼──────┤
│               │ relay    │             │ DIRECT        │                   │ 1    │
├───────────────┼──────────┼─────────────┼───────────────┼───────────────────┼──────┤
│ 198.19.0.2/24 │ b        │             │               │ relay             │ 2    │
├───────────────┼──────────┼─────────────┼───────────────┼───────────────────┼──────┤
│ 198.19.0.2/24 │ b        │             │ DIRECT        │                   │ 1    │
└───────────────┴──────────┴─────────────┴───────────────┴───────────────────┴──────┘
"""
real = pytest.mark.skipif(bool(skip_reason("easytier/relay")), reason=skip_reason("easytier/relay"))


def easytier(text: str) -> EasyTier:
    vpn = driver(text)
    assert isinstance(vpn, EasyTier)
    return vpn


def test_a_table_has_the_read_table_also_of_a_node_that_came_back() -> None:
    found = read_table(TABLE)
    assert (found["relay"], found["b"], found["c"]) == ({DIRECT}, {DIRECT, RELAY}, set())


def test_only_the_relayed_variant_needs_a_relay() -> None:
    assert {text: driver(text).needs for text in ROUTES} == {
        "easytier/direct": (),
        "easytier/relay": (Role.RELAY,),
    }


@real
@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("topology", [mesh(3), star(2)], ids=["mesh", "star"])
@pytest.mark.parametrize("text", ROUTES)
def test_each_pair_has_the_route_that_the_variant_claims(
    lab: LabFactory, text: str, topology: Topology
) -> None:
    vpn = easytier(text)
    made = lab(LabSpec(topology=serving(topology, vpn.needs)))
    vpn.prepare(made)
    bring_up(vpn)
    first, second, third = made.members
    for source in made.members:
        for target in made.members:
            if source is not target:
                vpn.reach(path := Path(source.name, target.name))
                assert vpn.determine_route(path) == ROUTES[text]
    vpn.leave(first)
    assert pings_answered(second, vpn.inner(third).ip) == 1
    assert dict(vpn.routes(second, [first, third])) == {third.name: ROUTES[text]}
    vpn.reach(Path(first.name, third.name))
    assert pings_answered(third, vpn.inner(first).ip) == 1
    vpn.stop(made)


@real
@pytest.mark.lab
@pytest.mark.vpn
def test_every_packet_of_a_relayed_trial_crosses_the_relay() -> None:
    link = LinkSpec(rate_bps=30_000_000_000)  # no ceiling is measured
    finding = execute(driver("easytier/relay"), "tcp", LabSpec(topology=mesh(2), link=link))
    assert (finding.status, finding.reason) == (Status.OK, "")
    checks = {check.name: dict(check.figures) for check in finding.evidence.checks}
    counted = checks["packets through relay"]
    assert counted["relayed"]
    assert counted["crossed"] >= (1 - ALL_BUT) * counted["sent"] > 0
    for when in ("start", "end"):
        assert checks[f"the path's route at the {when}"]["found"] == str(RELAY)
