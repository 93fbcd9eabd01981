"""Impairments of real links by the hosts' own queueing disciplines, only where they are allowed."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path

import polars as pl
import pytest

from culvert.errors import LabError, NotPossible
from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.links.impairment import HANDLE, Towards, less_the_own
from culvert.labs.link.token_bucket import token_bucket
from culvert.machine import features
from culvert.topology.link.impairment import Bursts, Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until
from tests.cli import Cli
from tests.labs.hosts.remains import GONE_S, remains, wait_unchanged

PEER = IPv4Address("192.0.2.7")
SLOW_BPS = 50_000_000
_STUDY = """\
name = "slow"
vpns = ["none"]
[lab]
topology = "pair"
link = {{ {link} }}
[[condition]]
name = "c"
{condition}
[[measurement]]
kind = "tcp"
duration = "500ms"
warmup = "100ms"
[plan]
blocks = 1
"""


def commands(requested: OneWay, rate_bps: int | None = None) -> list[str]:
    return [" ".join(words) for words in Towards(PEER, requested, rate_bps, 1500).commands("e", 2)]


def test_a_rate_alone_needs_no_netem() -> None:
    bucket = token_bucket(SLOW_BPS, 1500)
    made = commands(OneWay(queue_packets=10), SLOW_BPS)
    limit = bucket.burst_bytes + 10 * 1514
    assert made[1].startswith(
        f"qdisc add dev e parent {HANDLE}:2 handle 7c77: tbf rate 50000000bit "
        f"burst {bucket.burst_bytes} limit {limit} peakrate "
    )
    # One frame passes, two are split.
    assert 1514 < int(made[1].split()[-1]) < 2 * 1514
    assert made[-1].endswith(f"u32 match ip dst 192.0.2.7/32 flowid {HANDLE}:2")
    assert not any("netem" in words for words in made)


def test_the_rest_is_netems() -> None:
    one_way = OneWay(delay_ns=10_000_000, loss=Bursts(0.01, 0.25))
    made = commands(one_way, SLOW_BPS)[2]
    assert made.startswith("qdisc add dev e parent 7c77:1 netem limit ")
    assert "delay 10000us" in made
    assert "loss gemodel 1.0% 25.0% 100.0% 0.0%" in made
    assert " rate " not in made
    assert not Towards(PEER, OneWay(), None, 1500).impaired


def test_each_of_many_peers_has_a_class_and_a_discipline_of_its_own() -> None:
    handles = {HANDLE}
    for number in range(1, 501):
        words = Towards(PEER, OneWay(), SLOW_BPS, 1500).commands("e", number)[1]
        of_class, handle = words[words.index("parent") + 1], words[words.index("handle") + 1]
        assert of_class == f"{HANDLE}:{number:x}"  # tc reads it as hexadecimal
        assert int(handle.rstrip(":"), 16) < 0x8000  # those from there on are the kernel's choice
        handles.add(handle.rstrip(":"))
    assert len(handles) == 501


def test_the_links_own_delay_counts() -> None:
    assert less_the_own(OneWay(delay_ns=10_000), 6_000).delay_ns == 7_000
    assert less_the_own(OneWay(delay_ns=1_000), 6_000).delay_ns == 0


def run(say: Cli, demo: DemoHosts, directory: Path, text: str, *words: str) -> pl.DataFrame:
    study, out = directory / "slow.toml", directory / "run"
    study.write_text(text)
    say("run", study, "--lab", "hosts", "--inventory", demo.inventory, "--out", out, *words)
    with Journal.open(out) as journal:
        return journal.trials()


RATE = _STUDY.format(link='rate = "50Mbit/s"', condition="")
DELAY = _STUDY.format(link='kind = "netem"', condition='delay = "5ms"')


@pytest.mark.lab
@pytest.mark.slow
def test_a_rate_is_made_where_it_is_allowed(say: Cli, demo: DemoHosts, tmp_path: Path) -> None:
    before = {name: remains(demo, name) for name in demo.names}
    trials = run(say, demo, tmp_path, RATE, "--allow-impairment")
    assert set(trials["status"]) == {"ok"}, trials["reason"].to_list()
    assert set(trials["measurement"]) == {"underlay", "tcp"}
    for name in demo.names:
        wait_unchanged(demo, name, before[name])
        assert HANDLE not in str(disciplines(demo, name))


@pytest.mark.lab
def test_without_permission_the_flag_is_named(say: Cli, demo: DemoHosts, tmp_path: Path) -> None:
    trials = run(say, demo, tmp_path, RATE)
    assert set(trials["status"]) == {"invalid"}, trials["reason"].to_list()
    assert all("requested 50 Mbit/s" in reason for reason in trials["reason"])
    assert all("--allow-impairment" in remedy for remedy in trials["remedy"])


@pytest.mark.lab
def test_a_kernel_without_netem_is_named(say: Cli, demo: DemoHosts, tmp_path: Path) -> None:
    if features.has("netem"):
        pytest.skip("this kernel has netem")
    trials = run(say, demo, tmp_path, DELAY, "--allow-impairment")
    assert set(trials["status"]) == {"unsupported"}, trials["reason"].to_list()
    assert all("its kernel has no netem" in reason for reason in trials["reason"])
    assert all("modprobe sch_netem" in remedy for remedy in trials["remedy"])


@pytest.mark.lab
def test_impairments_end_with_the_connection(demo: DemoHosts, fleet: Fleet) -> None:
    spec = LabSpec(link=LinkSpec(rate_bps=SLOW_BPS, impairment=Impairment()))
    before = {name: disciplines(demo, name) for name in demo.names}
    with HostsLab(fleet, spec, allow_impairment=True) as lab:
        assert all(HANDLE in str(disciplines(demo, name)) for name in demo.names)
        for host in lab.hosts:
            host.connection.kill()
        wait_until(
            lambda: {name: disciplines(demo, name) for name in demo.names} == before,
            what="the disciplines were as before",
            deadline_s=GONE_S,
            poll_s=0.1,
        )
        with pytest.raises(LabError):
            lab.a.run(["true"])


@pytest.mark.lab
def test_a_discipline_that_somebody_chose_stays(demo: DemoHosts, fleet: Fleet) -> None:
    node = demo.node("b")
    device = node.underlay.device
    node.run(["tc", "qdisc", "add", "dev", device, "root", "handle", "5:", "htb"])
    try:
        before = disciplines(demo, "b")
        spec = LabSpec(link=LinkSpec(rate_bps=SLOW_BPS))
        with pytest.raises(NotPossible, match="Culvert does not change it: it is set to htb"):
            HostsLab(fleet, spec, allow_impairment=True).open()
        assert disciplines(demo, "b") == before
    finally:
        node.run(["tc", "qdisc", "delete", "dev", device, "root"])


def disciplines(demo: DemoHosts, name: str) -> object:
    node = demo.node(name)
    shown = json.loads(node.run(["tc", "-j", "qdisc", "show", "dev", node.underlay.device]).stdout)
    return [(one["kind"], one["handle"]) for one in shown]
