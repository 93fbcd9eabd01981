"""Clients of one gateway: each path is up, proved and measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from culvert.journal.marks import PATH
from culvert.probe.client import Probe
from culvert.results import Metric, Status
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.paths import open_session
from culvert.run.trials.stage import before
from culvert.topology.graph import Path, Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import GATEWAY, star
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import node_state, pings_of
from tests.run.cells import execute, value

from ..conftest import LabFactory
from .tunnels import bring_up, driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
VPNS = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")
CLIENTS, MANY = 3, 50
LINK = LinkSpec(rate_bps=30_000_000_000)
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
HEADLINES = {"tcp": "goodput_bps", "rtt": "rtt_p50_us"}


def on_a_star(word: str) -> Vpn:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    return driver(word)


@pytest.mark.parametrize("word", [*VPNS, "openvpn/aes-256-gcm+processes-2"])
def test_each_client_is_proved(lab: LabFactory, word: str) -> None:
    vpn = on_a_star(word)
    made = lab(LabSpec(topology=star(CLIENTS, every_path=True)))
    was = {node.name: node_state(node).objects for node in made.members}
    bring_up(vpn, made)
    *clients, gateway = (len(vpn.processes[node.name]) for node in made.members)
    assert (clients, gateway) == ([1] * CLIENTS, 2 if "processes" in word else 1)
    assert len({vpn.inner(node) for node in made.members}) == CLIENTS + 1
    assert vpn.paths == made.spec.topology.paths
    for path in made.spec.topology.paths:
        with ExitStack() as stack:
            checks = before(open_session(stack, made, vpn, path))
        assert [check for check in checks if not check.passed] == [], path
    vpn.stop(made)
    assert {node.name: node_state(node).objects for node in made.members} == was


@pytest.mark.parametrize("word", VPNS)
def test_a_client_that_leaves_disturbs_no_other(lab: LabFactory, word: str) -> None:
    vpn, made = on_a_star(word), lab(LabSpec(topology=star(2)))
    bring_up(vpn, made)
    gateway, first, second = made.nodes[GATEWAY], made.nodes["c1"], made.nodes["c2"]
    inner = vpn.inner(gateway).ip
    with Probe(first) as one, Probe(second) as another:
        vpn.leave(first)
        assert (pings_of(one, inner), pings_of(another, inner)) == (0, 1)
        vpn.reach(Path(first.name, gateway.name))
        assert (pings_of(one, inner), pings_of(another, inner)) == (1, 1)
    vpn.stop(made)


@pytest.mark.parametrize("kind", HEADLINES)
def test_figures_are_labelled_by_path_and_summed_up_by_their_median(kind: str) -> None:
    on_a_star("wireguard/go")
    topology = star(2, every_path=True)
    spec = LabSpec(topology=topology, link=LINK)
    finding = execute(driver("wireguard/go"), kind, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    by_path = figures(finding, HEADLINES[kind])
    assert list(by_path) == [str(path) for path in topology.paths]
    assert value(finding, HEADLINES[kind]) == statistics.median(by_path.values())
    assert {check.name.rpartition(" ")[2] for check in finding.evidence.checks} == {
        f"({path})" for path in topology.paths
    }
    beside = {metric.labels["node"]: metric.labels["role"] for metric in third(finding)}
    assert beside == {"core": Role.ROUTER, "c1": Role.CLIENT, "c2": Role.CLIENT}


def figures(finding: TrialFinding, name: str) -> dict[str, float]:
    """A figure of each path."""
    return {
        metric.labels[PATH]: metric.value
        for metric in finding.outcome.metrics
        if metric.name == name and metric.labels.keys() == {PATH}
    }


def third(finding: TrialFinding) -> Sequence[Metric]:
    """What nodes beside a path received."""
    return [m for m in finding.outcome.metrics if m.name == "node_received_packets"]


@pytest.mark.slow
@pytest.mark.parametrize("word", VPNS)
def test_many_clients_at_once(lab: LabFactory, word: str) -> None:
    vpn, made = on_a_star(word), lab(LabSpec(topology=star(MANY)))
    bring_up(vpn, made)
    clients, gateway = made.of_role(Role.CLIENT), made.nodes[GATEWAY]
    assert len(clients) == MANY
    with ExitStack() as stack:
        probes = [stack.enter_context(Probe(client)) for client in clients]
        back = stack.enter_context(Probe(gateway))
        with ThreadPoolExecutor(MANY) as together:
            inner = vpn.inner(gateway).ip
            found = list(together.map(lambda probe: pings_of(probe, inner, count=3), probes))
        assert found == [3] * MANY
        assert [pings_of(back, vpn.inner(client).ip) for client in clients] == [1] * MANY
        last = Path(clients[-1].name, gateway.name)
        checks = before(open_session(stack, made, vpn, last))
    assert [check for check in checks if not check.passed] == []
    vpn.stop(made)
