"""Direct and relayed paths between three members, proved; what they leave on this machine."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, serving, star
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import node_state
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.variant import KEPT_RELAYED_BY
from tests.run.cells import execute, vpn
from tests.vpns.tunnels import skip_reason

WORDS = ("headscale/direct", "headscale/relay", "headscale/relay+plain")
RELAY = "relay"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason(WORDS[0])), reason=skip_reason(WORDS[0])),
]
LINK = LinkSpec(rate_bps=30_000_000_000)
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
THREE = LabSpec(topology=mesh(3), link=LINK)


def figures(finding: TrialFinding, name: str) -> dict[str, Any]:
    (found,) = (check for check in finding.evidence.checks if check.name == name)
    return dict(found.figures)


@pytest.mark.parametrize("word", WORDS)
def test_every_packet_takes_the_route_of_the_variant(word: str) -> None:
    finding = execute(vpn(word), "tcp", THREE)
    assert (finding.status, finding.reason) == (Status.OK, "")
    relayed = "relay" in word
    crossed = figures(finding, f"packets through {RELAY}")
    own = figures(finding, "all packets took the claimed route")
    assert own["direct" if relayed else "relayed"] == 0
    assert own["relayed" if relayed else "direct"] > 0
    assert crossed["relayed"] is relayed
    if relayed:
        assert crossed["crossed"] >= 0.98 * crossed["sent"]
        assert finding.evidence.vpn[KEPT_RELAYED_BY].endswith("on every member")
    used = {
        metric.labels["node"]: metric.value
        for metric in finding.outcome.metrics
        if metric.name == "node_cpu_s"
    }
    assert used.keys() >= {"control", RELAY}
    if relayed:  # neither works otherwise
        assert used[RELAY] > used["control"]
    assert finding.version.startswith("Tailscale 1.")


def rules(node: Node) -> list[str]:
    """Rules, and routes of Tailscale's table, of both families."""
    shown = []
    for family in ("-4", "-6"):
        for words in (["rule"], ["route", "show", "table", "all"]):
            lines = json.loads(node.run(["ip", family, "-j", *words]).stdout or "[]")
            shown += [f"{family} {line}" for line in lines]
        shown.append(node.run(["nft", "list", "tables"]).stdout)
    return shown


@pytest.fixture
def iptables(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PATH, as of Debian's package: each command creates the table, also one that then fails."""
    for name, family in (("iptables", "ip"), ("ip6tables", "ip6")):
        program = tmp_path / name
        version = f"[ $1 = --version ] && exec echo {name} v1.8.9"
        program.write_text(f"#!/bin/sh\n{version}\nexec nft add table {family} filter\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("outside", "iptables")
@pytest.mark.parametrize(
    ("shape", "killed"),
    [
        pytest.param(mesh(3, paths=[Path("a", "b")]), False, marks=pytest.mark.long),
        (mesh(3, paths=[Path("a", "b")]), True),
        pytest.param(star(2), True, marks=pytest.mark.long),
    ],
)
def test_nothing_is_left(shape: Topology, *, killed: bool) -> None:
    contestant: Vpn = vpn(WORDS[0])
    topology = serving(shape, contestant.needs)
    with NetnsLab(new_run_id(), LabSpec(topology=topology)) as lab:
        before = {name: (rules(node), node_state(node)) for name, node in lab.nodes.items()}
        contestant.prepare(lab)
        bring_up(contestant)
        source = lab.nodes[shape.paths[0].source]
        assert any("5270" in rule for rule in rules(source))
        assert any("5270" in rule for rule in rules(source) if rule.startswith("-6"))
        if killed:
            contestant.crash(source)
        contestant.stop(lab)
        for name, (ruled, state) in before.items():
            assert rules(lab.nodes[name]) == ruled, name
            assert node_state(lab.nodes[name]).left_since(state) == [], name
            assert "nameserver" not in lab.nodes[name].text("/etc/resolv.conf")
