"""``culvert hosts check``, and which links are measured at the same time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.links.rounds import pairs_of, rounds, used_by
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.remote.features import to_load
from tests.cli import Cli
from tests.labs.hosts.bad import up_again
from tests.labs.hosts.studies import round_trips

_LINKS = st.sampled_from([(), ("uplink",), ("uplink", "wifi")])


@given(st.lists(_LINKS, min_size=2, max_size=14))
def test_within_a_round_nothing_is_shared(links: list[tuple[str, ...]]) -> None:
    hosts = tuple(
        HostEntry(f"h{number}", f"h{number}", shared_links=shared)
        for number, shared in enumerate(links)
    )
    pairs = pairs_of(hosts)
    found = rounds(pairs, used_by)
    assert sorted(map(str, pairs)) == sorted(str(pair) for one in found for pair in one)
    for together in found:
        used = [host.name for pair in together for host in pair]
        assert len(used) == len(set(used))
        shared = [{link for host in pair for link in host.shared_links} for pair in together]
        assert sum(map(len, shared)) == len(set().union(*shared))


@pytest.mark.lab
def test_hosts_are_checked(say: Cli, demo: DemoHosts) -> None:
    told = say("hosts", "check", "--inventory", demo.inventory, "--json")
    found = json.loads(told.out)
    assert told.code == 0, found
    a, b = found["hosts"]
    assert (a["name"], b["name"]) == ("a", "b")
    assert not a["problems"]
    assert a["architecture"]
    assert abs(a["clock_ahead_ms"]) <= a["clock_uncertainty_ms"] + 1
    assert "tun" in a["features"]
    assert 22 in a["ports_in_use"]
    (link,) = found["links"]
    assert link["mtu_bytes"] == 1500
    assert link["rtt_ms"] > 0
    assert link["there_bps"] > 1e6


@pytest.mark.lab
def test_what_is_missing_has_a_remedy_and_an_exit_code(say: Cli, demo: DemoHosts) -> None:
    with up_again(demo, "b"):
        demo.servers["b"].stop(grace_s=0)
        told = say("hosts", "check", "--inventory", demo.inventory, "--no-links")
    assert told.code == 1
    assert "host b: no sshd listens on its port" in told.out
    assert "a: ports in use (VPNs get others): 22" in told.out
    assert "a: kernel features: " in told.out
    assert "1 of 2 hosts are ready; what is missing is above" in told.out
    assert "remedy: start sshd on it" in told.out


@pytest.mark.lab
def test_hosts_that_are_ready_get_the_next_command(say: Cli, demo: DemoHosts) -> None:
    told = say("hosts", "check", "--inventory", demo.inventory)
    assert told.code == 0, told.out + told.err
    assert "2 of 2 hosts are ready" in told.out
    assert f"culvert run quick --lab hosts --inventory {demo.inventory}" in told.out
    assert "-0.0" not in told.out
    assert "a to b" in told.out


@pytest.mark.parametrize(
    ("lacking", "remedy"),
    [
        (
            ["netem", "ovpn"],
            "modprobe -a sch_netem ovpn on the host, or boot a kernel that has them",
        ),
        (["aes-instructions"], "use a host with a processor that has them"),
        (
            ["aes-instructions", "esp"],
            "modprobe -a esp4 on the host, or boot a kernel that has them",
        ),
    ],
)
def test_features_that_a_host_lacks_are_modules(lacking: list[str], remedy: str) -> None:
    assert to_load(lacking) == remedy


def test_a_demonstration_of_a_wrong_study_makes_no_hosts(say: Cli) -> None:
    told = say("hosts", "demo", "quick", "--scale", "nonsense")
    assert told.code == 2
    assert 'it has no scale "nonsense"' in told.err
    assert "hosts" not in told.out


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.usefixtures("demo")  # which skips where there is no sshd
def test_a_demonstrations_links_have_the_rate_of_the_study(say: Cli, tmp_path: Path) -> None:
    study, out = round_trips(tmp_path, lab='link = { rate = "100Mbit/s" }'), tmp_path / "run"
    told = say("hosts", "demo", study, "--out", out)
    assert told.code == 0, told.out + told.err
    with Journal.open(out) as journal:
        assert set(journal.trials()["status"]) == {"ok"}
