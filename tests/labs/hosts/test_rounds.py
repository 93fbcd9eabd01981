"""Paths that share nothing are measured at the same time, the others one after another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import Inventory, read_inventory
from culvert.runid import new_run_id
from culvert.topology.graph import Path as Measured
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from tests.cli import Cli
from tests.labs.hosts.studies import round_trips

pytestmark = [pytest.mark.lab, pytest.mark.slow]
PATHS = (Measured("a", "b"), Measured("c", "d"), Measured("a", "c"))


def rounds(inventory: Inventory, seed: int = 1, boot: str = "") -> list[set[Measured]]:
    spec = LabSpec(topology=mesh(4, paths=PATHS)).with_seed(seed)
    with Fleet(inventory, new_run_id()) as fleet:
        lab = HostsLab(fleet, spec)
        for host in lab.hosts if boot else ():
            host._contact = replace(host.contact, boot=boot)
        return [set(each) for each in lab.rounds]


def test_rounds_share_no_host_and_no_declared_link(four: DemoHosts) -> None:
    inventory = read_inventory(four.inventory)
    found = rounds(inventory)
    assert sorted(map(len, found)) == [1, 2]
    assert {PATHS[0], PATHS[1]} in found
    assert any(rounds(inventory, seed) != found for seed in range(2, 12))  # a random order
    hosts = tuple(
        replace(host, shared_links=("uplink",)) if host.name in "bd" else host
        for host in inventory.hosts
    )
    assert sorted(map(len, rounds(replace(inventory, hosts=hosts)))) == [1, 1, 1]
    assert sorted(map(len, rounds(inventory, boot="of all"))) == [1, 1, 1]


def test_paths_are_measured_at_the_same_time(say: Cli, four: DemoHosts, tmp_path: Path) -> None:
    lab = 'topology = "mesh"\nmembers = 4\npaths = ["a>b", "c>d"]'
    study, out = round_trips(tmp_path, lab=lab), tmp_path / "run"
    told = say("run", study, "--lab", "hosts", "--inventory", four.inventory, "--out", out)
    with Journal.open(out) as journal:
        trials, rows = journal.trials(), journal.rows()
    assert set(trials["status"]) == {"ok"}, told.out + told.err
    paths = {json.loads(labels).get("path") for labels in rows["labels"]}
    assert {"a>b", "c>d"} <= paths
    checks = json.loads(trials.filter(measurement="rtt")["evidence"][0])["checks"]
    assert all(any(str(path) in check["name"] for check in checks) for path in PATHS[:2])
