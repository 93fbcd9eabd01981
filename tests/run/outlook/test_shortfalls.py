"""What a machine does not have is named before a run, with line and remedy."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import pytest

from culvert.labs.hosts.host import SshHost
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.room import Machine, watchers_in_use
from culvert.labs.this_machine import ThisMachine
from culvert.plan.plan import Plan
from culvert.run.outlook.shortfalls import Shortfall, shortfalls
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue
from tests.cli import Cli

TWO = Machine([(0,), (1,)])
MANY = Machine([(core,) for core in range(12)])

HEAD = """name = "s"
vpns = ["none", "wireguard/go"]
[lab]
topology = "routed"
cpus = "split"
[[measurement]]
kind = "tcp"
"""
CONDITIONS = """[[condition]]
name = "shared"
cpus = "shared"
[[condition]]
name = "split"
[[condition]]
name = "two"
cores = 2
[[condition]]
name = "chosen"
cpus = { a = [0], b = [9] }
[[condition]]
name = "slow"
cpus = { a = [0], b = [1], router = [0] }
router = { quota = "20%", cores = 2 }
[scale.small]
conditions = ["slow"]
"""


def missing(text: str, machine: Machine = TWO, scale: str = "") -> list[Shortfall]:
    return shortfalls(Study.parse(text, installed_catalogue(), scale=scale), machine)


def test_each_condition_has_the_line_that_asks_for_too_much() -> None:
    found = missing(HEAD + CONDITIONS)
    assert [(one.line, one.conditions, one.cells) for one in found] == [
        (5, ("split",), 2),
        (15, ("two",), 2),
        (18, ("chosen",), 2),
        (22, ("slow",), 2),
    ]
    assert all(one.remedy for one in found)
    assert str(found[0]) == (
        'line 5: cpus = "split": 3 nodes need 3 CPUs, this machine has 2, so 2 cells (split) would '
        'be unsupported here: write cpus = "shared" in [lab]'
    )


class Bare(ThisMachine):
    """A machine on which nothing is installed, and whose kernel has no features."""

    def find(self, program: str) -> str | None:
        return None

    def has(self, feature: str) -> bool:
        return False


BARE = Machine([(0,), (1,)], hosts=(Bare(),))


def test_programs_kernel_features_and_instruments_are_looked_at() -> None:
    text = """name = "s"
vpns = [
    "none",
    "wireguard/go",
    "wireguard/kernel",
]
[[measurement]]
kind = "tcp"
instrument = ["probe", "iperf3"]
"""
    found = missing(text, BARE)
    assert [(one.line, one.what, one.cells) for one in found] == [
        (4, "missing", 2),
        (5, "missing", 2),
        (None, "iperf3", 1),
    ]
    assert "wireguard-go" in found[0].why
    assert found[0].remedy.startswith("culvert install wireguard/go")
    assert "kernel" in found[1].why


def test_what_no_machine_can_do_is_found_before_a_lab_is_built() -> None:
    quota = """[[condition]]
name = "slow"
cpus = { a = [0], b = [1] }
router = { quota = "20%" }
"""
    text = HEAD.replace('cpus = "split"\n', "").replace("wireguard/go", "wireguard/kernel")
    (found,) = missing(text.replace("routed", "pair") + quota)
    assert (found.what, found.cells) == ("router.quota", 1)


def test_the_time_is_that_of_the_cells_that_can_run(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\nvpns = ["none", "wireguard/go"]\n[[measurement]]\nkind = "tcp"\n'
        'duration = "60s"\n[plan]\nblocks = 10\n'
    )
    whole = json.loads(say("run", path, "--dry-run", "--only", "none", "--json").out)
    monkeypatch.setattr(ThisMachine, "find", Bare.find)
    said = say("run", path, "--dry-run")
    assert "2 cells, of which 1 can run here, 10 blocks" in " ".join(said.out.split())
    document = json.loads(say("run", path, "--dry-run", "--json").out)
    assert document["max_s"] == pytest.approx(whole["max_s"])
    assert [bool(cell["unsupported"]) for cell in document["cells"]] == [False, True]
    assert [one["line"] for one in document["shortfalls"]] == [2]


def test_conditions_with_one_cause_are_one() -> None:
    (found,) = missing(HEAD + '[[condition]]\nname = "x"\n[[condition]]\nname = "y"\n')
    assert (found.conditions, found.cells) == (("x", "y"), 4)
    (found,) = missing(HEAD)
    assert (found.line, found.conditions) == (5, ("clean",))


def test_lines_are_those_of_the_file_in_a_smaller_scale_too() -> None:
    (found,) = missing(HEAD + CONDITIONS, scale="small")
    assert (found.line, found.conditions) == (22, ("slow",))


def test_a_machine_that_has_it_all_lacks_nothing() -> None:
    without_quota = HEAD + CONDITIONS.replace("cores = 2 }", "cores = 1 }")
    assert missing(without_quota, MANY) == []
    assert missing(HEAD.replace('cpus = "split"\n', "")) == []


def test_a_part_of_the_plan_needs_its_own_labs_only() -> None:
    study = Study.parse(HEAD + CONDITIONS, installed_catalogue())
    (found,) = shortfalls(study, TWO, Plan.of(study).only("two"))
    assert found.conditions == ("two",)


@pytest.mark.parametrize("link", ["", 'link = { kind = "wire" }\n'])
def test_check_and_dry_run_say_so_and_succeed(say: Cli, tmp_path: Path, link: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        HEAD.replace('cpus = "split"\n', link) + '[[condition]]\nname = "x"\ncores = 999\n'
    )
    for words in (("study", "check", path), ("run", path, "--dry-run"), ("study", "show", path)):
        said = say(*words)
        assert said.code == 0, said.err
        text = " ".join(said.out.split())
        assert "cores = 999: 3 nodes with 999 CPUs each need 2997" in text
        assert "so 2 cells (x) would be unsupported here: measure this condition" in text
    told = json.loads(say("run", path, "--dry-run", "--json").out)["shortfalls"]
    assert [one["conditions"] for one in told] == [["x"]]
    assert json.loads(say("study", "check", path, "--json").out)[0]["shortfalls"] == told


MANY_CLIENTS = """name = "s"
vpns = ["none", "wireguard/go"]
[lab]
topology = "star"
[[measurement]]
kind = "gateway_load"
clients = [8, 500]
"""


def test_the_largest_number_of_clients_that_fits_is_stated() -> None:
    study = Study.parse(MANY_CLIENTS, installed_catalogue())
    (found,) = shortfalls(study, Machine([(0,)], 1 << 30))  # the baseline has no programs
    assert (found.line, found.cells, found.conditions) == (4, 1, ("clean",))
    assert found.what == 'wireguard/go on topology "star" with 500 clients'
    assert found.remedy == "use a machine with more memory, or use at most 59 clients"


def test_the_baseline_needs_memory_for_its_nodes_alone() -> None:
    study = Study.parse(MANY_CLIENTS, installed_catalogue())
    (bare, found) = shortfalls(study, Machine([(0,)], 300 << 20))
    assert bare.why == "they take about 502 MB of memory, 300 MB are available"
    assert bare.remedy.endswith("or use at most 298 clients")
    assert found.remedy.endswith("or use at most 16 clients")


def test_the_largest_number_of_clients_that_the_open_files_permit_is_stated() -> None:
    study = Study.parse(MANY_CLIENTS, installed_catalogue())
    (_, found) = shortfalls(study, Machine([(0,)], descriptors=1024))
    assert found.why == "they take about 3268 open files, 1024 are permitted"
    assert found.remedy == "raise the limit (ulimit -Hn 3268), or use at most 126 clients"
    assert not shortfalls(study, Machine([(0,)], descriptors=3268))
    *_, none_fits = shortfalls(study, Machine([(0,)], descriptors=24))
    assert none_fits.remedy == "raise the limit (ulimit -Hn 3268)"


def test_programs_that_watch_files_need_as_many_watchers_and_others_none() -> None:
    study = Study.parse(MANY_CLIENTS, installed_catalogue())
    (found,) = shortfalls(study, Machine([(0,)], watchers=128))
    assert found.what == 'wireguard/go on topology "star" with 500 clients'
    assert found.why == (
        "their programs take 501 instances of inotify, this user can make 128 more"
    )
    assert found.remedy == (
        "raise the limit (sysctl -w fs.inotify.max_user_instances=1002), or use at most 127 clients"
    )
    assert not shortfalls(study, Machine([(0,)], watchers=501))


def test_of_several_limits_the_tightest_is_stated() -> None:
    study = Study.parse(MANY_CLIENTS, installed_catalogue())
    found = shortfalls(study, Machine([(0,)], 1 << 30, 1024, 40))
    assert [one.remedy.rpartition(", or ")[2] for one in found] == [
        "use at most 126 clients",
        "use at most 39 clients",
    ]


def test_what_a_user_watches_is_counted() -> None:
    made = [ctypes.CDLL(None).inotify_init1(os.O_CLOEXEC) for _ in range(3)]
    try:
        assert watchers_in_use() >= 3
    finally:
        for each in made:
            os.close(each)


def test_a_run_refuses_what_does_not_fit_before_a_lab_is_made(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetnsLab, "open", lambda lab: pytest.fail(f"{len(lab.nodes)} nodes made"))
    monkeypatch.setattr(Machine, "here", lambda: Machine([(0,), (1,)], descriptors=1024))
    path = tmp_path / "s.toml"
    path.write_text(MANY_CLIENTS.replace(', "wireguard/go"', "").replace("[8, 500]", "500"))
    said = say("run", path, "--out", tmp_path / "out")
    said.refused(3, "none on topology")
    text = " ".join(said.err.split())
    assert "raise the limit (ulimit -Hn 3268), or use at most 126 clients" in text
    assert not (tmp_path / "out").exists()


def test_a_dry_run_counts_the_hosts_of_an_inventory_and_connects_to_none(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[SshHost] = []
    monkeypatch.setattr(SshHost, "open", opened.append)
    path, inventory = tmp_path / "s.toml", tmp_path / "hosts.yml"
    path.write_text(MANY_CLIENTS.replace('"star"', '"star"\nclients = 2').replace("[8,", "[2,"))
    inventory.write_text("all: {hosts: {one: {}, two: {}, three: {}}}\n")
    said = say("run", path, "--lab", "hosts", "--inventory", inventory, "--dry-run", "--json")
    assert said.code == 0, said.err
    (found,) = json.loads(said.out)["shortfalls"]
    assert (found["line"], found["cells"]) == (4, 2)
    assert found["why"].startswith("3 hosts for 501 nodes of the topology star: ")
    assert "use at most 2 clients" in found["remedy"]
    assert opened == []


def test_a_measurement_that_needs_another_topology_is_named() -> None:
    study = Study.parse(MANY_CLIENTS.replace("star", "pair"), installed_catalogue())
    (found,) = shortfalls(study, Machine([(0,)]))
    assert (found.what, found.cells) == ("gateway_load", 4)
