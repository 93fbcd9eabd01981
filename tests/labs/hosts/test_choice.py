"""Names, ports and addresses that are free on the hosts; a collision is an error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import LabError, NotPossible
from culvert.journal.journal import Journal
from culvert.labs.base import Footprint
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.facts.survey import Survey
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.links.choice import LONGEST_NAME, Choice
from culvert.topology.plan import TUNNELS
from culvert.topology.spec import LabSpec
from culvert.vpns.mesh import MeshVpn
from culvert.vpns.netbird.driver import NetBird
from tests.cli import Cli
from tests.labs.hosts.remains import remains, wait_unchanged
from tests.labs.hosts.studies import round_trips
from tests.vpns.tunnels import driver, skip_reason

_NAME = st.from_regex(r"[a-z]{1,13}[0-9]{0,2}", fullmatch=True)


def survey(
    devices: set[str] | None = None,
    udp: set[int] | None = None,
    tcp: set[int] | None = None,
    routes: tuple[str, ...] = (),
) -> Survey:
    return Survey(
        "h",
        [{"ifname": name} for name in devices or ()],
        [],
        [{"dst": each, "dev": "eth0"} for each in routes],
        [],
        {17: frozenset(udp or ()), 6: frozenset(tcp or ())},
        (0,),
    )


LOOPBACK = {"ifname": "lo", "addr_info": [{"local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]}
ETHERNET = {"ifname": "e", "addr_info": [{"local": "10.0.0.1", "prefixlen": 8, "scope": "global"}]}


@pytest.mark.parametrize(
    ("addresses", "remedy"),
    [
        ([LOOPBACK, ETHERNET], "set culvert_address in the inventory to one of: 10.0.0.1 (e)"),
        ([LOOPBACK], "give it an IPv4 address: links between hosts are measured in IPv4"),
    ],
)
def test_a_host_that_ssh_reaches_over_ipv6(addresses: list[dict[str, Any]], remedy: str) -> None:
    with pytest.raises(LabError, match="2001:db8::1") as caught:
        replace(survey(), addresses=addresses).end("2001:db8::1")
    assert caught.value.remedy == remedy


@given(_NAME, st.sets(_NAME, max_size=4), st.integers(0, 30))
def test_a_device_is_free_on_all_hosts(usual: str, some: set[str], more: int) -> None:
    stem = usual.rstrip("0123456789")
    taken = some | {f"{stem}{number}" for number in range(more)}
    choice = Choice([survey(some), survey(taken)])
    found = choice.device(usual)
    assert found not in taken
    assert len(found) <= LONGEST_NAME
    assert (found == usual) == (usual not in taken)
    assert ("device" in choice.changes) == (found != usual)


def test_devices_chosen_for_different_purposes_differ() -> None:
    choice = Choice([survey({"tun0", "tun2"})])
    names = [choice.device(usual) for usual in ("tun0", "tun1", "tun2", "tun0")]
    assert names == ["tun1", "tun3", "tun4", "tun1"]


@given(st.integers(1, 65535), st.sets(st.integers(1, 65535)), st.integers(0, 70000))
def test_a_port_is_free_on_all_hosts(usual: int, some: set[int], more: int) -> None:
    row = set(range(usual, min(usual + more, 65536)))
    choice = Choice([survey(udp=some), survey(tcp=row)])
    if set(range(1024, 65536)) <= some | row:
        with pytest.raises(NotPossible):
            choice.port(usual)
        return
    found = choice.port(usual)
    assert found not in some | row
    assert (found == usual) == (usual not in some | row)


@given(st.lists(st.integers(1024, 1040), min_size=2, max_size=8), st.sets(st.integers(1024, 1040)))
def test_ports_chosen_for_different_purposes_differ(usual: list[int], taken: set[int]) -> None:
    choice = Choice([survey(udp=taken)])
    chosen = {port: choice.port(port) for port in usual}
    assert len(set(chosen.values())) == len(chosen)
    assert not taken & set(chosen.values())
    assert all(choice.port(port) == chosen[port] for port in usual)


def test_a_network_is_free_on_all_hosts() -> None:
    assert Choice([survey(routes=("default", "10.0.0.0/8"))]).tunnels == TUNNELS
    choice = Choice([survey(routes=("198.18.0.0/15",)), survey(routes=("10.255.1.0/24",))])
    assert choice.tunnels == IPv4Network("10.254.0.0/16")
    assert "198.19.0.0/16 is in use" in choice.changes["addresses"]
    with pytest.raises(NotPossible, match="addresses inside tunnels"):
        Choice([survey(routes=("198.18.0.0/15", "10.0.0.0/8", "172.16.0.0/12"))])


@contextmanager
def occupied(demo: DemoHosts, *commands: str) -> Iterator[None]:
    """Something else is on host b."""
    node = demo.node("b")
    node.run(["sh", "-ec", "\n".join(commands)])
    try:
        yield
    finally:
        node.run(["ip", "link", "delete", "wg0"], check=False)
        node.run(["nft", "delete", "table", "inet", "theirs"], check=False)
        node.run(["ip", "rule", "delete", "priority", "9999"], check=False)


_BOUND = """
import select, socket, sys
bound = []
for kind, port in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    bound.append(socket.socket(type=socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM))
    bound[-1].bind(("", port))
    if kind == "tcp":
        bound[-1].listen()
print("bound", flush=True)
select.select([], [], [])
"""


@contextmanager
def ports_held(demo: DemoHosts, ports: Mapping[int, str]) -> Iterator[None]:
    """A program of host b has these UDP and TCP ports."""
    pairs = [word for port, kind in ports.items() for word in (kind, str(port))]
    argv = [sys.executable, "-I", "-S", "-c", _BOUND, *pairs]
    holder = demo.node("b").spawn(argv, name="holds-ports", pipes=True)
    try:
        assert holder.stdout.readline() == b"bound\n"
        yield
    finally:
        holder.stop(grace_s=0)


_OTHER_VPN = (
    "ip link add wg0 type bridge",
    "ip address add 198.19.7.1/24 dev wg0",
    "ip link set wg0 up",
)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_another_vpn_of_the_host_stays_and_ours_has_other_names(
    say: Cli, demo: DemoHosts, tmp_path: Path
) -> None:
    vpns = '"none", "wireguard/go", "openvpn/aes-256-gcm"'
    study, out = round_trips(tmp_path, vpns=vpns), tmp_path / "run"
    with ports_held(demo, {51820: "udp"}), occupied(demo, *_OTHER_VPN):
        before = remains(demo, "b")
        words = ["--lab", "hosts", "--inventory", demo.inventory, "--out", out]
        told = say("run", study, *words)
        with Journal.open(out) as journal:
            trials = journal.trials()
        assert set(trials["status"]) == {"ok"}, told.out + told.err
        wait_unchanged(demo, "b", before)
    wireguard = trials.filter(pl.col("vpn") == "wireguard/go")["evidence"][0]
    for text in ("wg1, because wg0", "51821, because 51820", "because 198.19.0.0/16"):
        assert text in wireguard


_TAKEN = {
    "headscale/direct": {8080: "tcp", 9090: "tcp", 8443: "tcp", 3478: "udp", 41641: "udp"},
    "nebula/aes": {4242: "udp", 2222: "tcp"},
    "wesher": {7946: "tcp", 51820: "udp"},
}
_VENDORS = {
    "netbird/direct": {
        **{51820: "udp", 3478: "udp"},
        **{8080: "tcp", 33080: "tcp", 9090: "tcp", 9000: "tcp"},
    },
    "netbird/relay": {33080: "tcp", 3478: "udp"},
    "zerotier/direct": {9993: "udp"},
    "netmaker": {51821: "udp", 443: "tcp", 8081: "tcp", 1883: "tcp"},
}
_DEVICES = ("wt0", "zt0", "netmaker")


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
@pytest.mark.parametrize("vpn", _TAKEN)
def test_ports_of_servers_are_chosen_too(
    say: Cli, four: DemoHosts, tmp_path: Path, vpn: str
) -> None:
    """A program of a host holds the usual ones."""
    if why_not := skip_reason(vpn):
        pytest.skip(why_not)
    choose_others(say, four, tmp_path, {vpn: _TAKEN[vpn]})


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_vendors_meshes_have_other_ports_and_devices(
    say: Cli, four: DemoHosts, tmp_path: Path
) -> None:
    """Each whose programs are here; another of them may run on a host."""
    taken = {vpn: ports for vpn, ports in _VENDORS.items() if not skip_reason(vpn)}
    if not taken:
        pytest.skip("no programs of NetBird, ZeroTier or Netmaker are here")
    inventory = tmp_path / "hosts.yml"
    hosts = json.loads(four.inventory.read_text())
    hosts["all"]["vars"]["culvert_tools"] = str(tools_of(next(iter(taken))))
    inventory.write_text(json.dumps(hosts))
    node = four.node("b")
    try:
        for name in _DEVICES:
            node.run(["ip", "link", "add", name, "type", "bridge"])
        choose_others(say, four, tmp_path, taken, inventory)
        assert all(node.link(name) is not None for name in _DEVICES)
    finally:
        for name in _DEVICES:
            node.run(["ip", "link", "delete", name], check=False)


def tools_of(vpn: str) -> Path:
    """Where ``bin`` with a VPN's programs is; skips if the hosts do not see it."""
    vpn_driver = driver(vpn)
    assert isinstance(vpn_driver, MeshVpn)
    program = vpn_driver.programs[0]
    directory = Path(shutil.which(program) or "").resolve().parent
    if directory.name != "bin" or directory.is_relative_to("/tmp"):
        pytest.skip(f"{program} is in {directory}: hosts see it in a bin outside /tmp")
    return directory.parent


def choose_others(
    say: Cli,
    four: DemoHosts,
    tmp_path: Path,
    taken_by: Mapping[str, Mapping[int, str]],
    inventory: Path | None = None,
) -> None:
    """Run each VPN while a program of host b holds its usual ports: every trial is ok, and the
    evidence names them."""
    lab = 'topology = "mesh"\nmembers = 2'
    vpns = ", ".join(f'"{vpn}"' for vpn in taken_by)
    study, out = round_trips(tmp_path, vpns=vpns, lab=lab), tmp_path / "run"
    ports = {port: kind for taken in taken_by.values() for port, kind in taken.items()}
    with ports_held(four, ports):
        words = ["--lab", "hosts", "--inventory", inventory or four.inventory, "--out", out]
        told = say("run", study, *words)
    with Journal.open(out) as journal:
        trials = journal.trials().filter(measurement="rtt")
    assert set(trials["status"]) == {"ok"}, told.out + told.err
    for vpn, taken in taken_by.items():
        (evidence,) = trials.filter(vpn=vpn)["evidence"]
        assert {f"port {port}" for port in taken} <= set(json.loads(evidence)["vpn"])


@pytest.mark.lab
@pytest.mark.parametrize(
    ("footprint", "what"),
    [
        (Footprint({"b": "wg0"}, {}, ()), "the device wg0: exists on the host"),
        (Footprint({}, {6: frozenset({22})}, ()), "TCP port 22: is in use on the host"),
        (Footprint({}, {}, (TUNNELS,)), "wg0 has 198.19.7.1/24"),
        (Footprint({}, {}, (), frozenset({"52"})), "the routing table 52"),
        (
            Footprint({}, {}, (), firewall_tables=frozenset({"theirs"})),
            "the nftables table theirs: exists on the host",
        ),
    ],
)
def test_a_collision_is_an_error_before_anything_is_changed(
    demo: DemoHosts, fleet: Fleet, footprint: Footprint, what: str
) -> None:
    other = (*_OTHER_VPN, "ip rule add priority 9999 table 52", "nft add table inet theirs")
    with occupied(demo, *other), HostsLab(fleet, LabSpec()) as lab:
        before = [remains(demo, name) for name in demo.names]
        with pytest.raises(NotPossible) as error:
            lab.admit(footprint)
        assert str(error.value).startswith("host ")
        assert what in str(error.value)
        assert [remains(demo, name) for name in demo.names] == before


@pytest.mark.lab
def test_what_the_vpn_changes_of_a_hosts_network_is_found(demo: DemoHosts, fleet: Fleet) -> None:
    with occupied(demo, *_OTHER_VPN), HostsLab(fleet, LabSpec()) as lab:
        lab.admit(Footprint({"a": "wg1", "b": "wg1"}, {}, ()))
        assert lab.disturbed() is None
        lab.b.run(["ip", "address", "delete", "198.19.7.1/24", "dev", "wg0"])
        disturbed = lab.disturbed()
    assert disturbed is not None
    assert "host b" in disturbed.what
    assert "wg0" in disturbed.why


@pytest.mark.lab
def test_a_firewall_that_the_vpn_changes_is_found(demo: DemoHosts, fleet: Fleet) -> None:
    other = (*_OTHER_VPN, "nft add table inet theirs")
    with occupied(demo, *other), HostsLab(fleet, LabSpec()) as lab:
        lab.admit(Footprint({"a": "wg1"}, {}, (), firewall_tables=frozenset({"ours"})))
        lab.b.run(["nft", "add", "table", "ip", "ours"])
        assert lab.disturbed() is None
        lab.b.run(["nft", "delete", "table", "inet", "theirs"])
        disturbed = lab.disturbed()
    assert disturbed is not None
    assert "host b" in disturbed.what
    assert "firewall table theirs family inet" in disturbed.why


@pytest.mark.lab
def test_a_table_of_a_killed_program_is_removed(demo: DemoHosts, fleet: Fleet) -> None:
    with occupied(demo, "nft add table inet theirs"):
        before = remains(demo, "b")
        lab = HostsLab(fleet, LabSpec())
        lab.open()
        lab.admit(Footprint({}, {}, (), firewall_tables=NetBird.firewall_tables))
        for family in ("ip", "ip6"):
            lab.b.run(["nft", "add", "table", family, *NetBird.firewall_tables])
        assert remains(demo, "b") != before
        lab.nodes["b"].host.connection.kill()
        wait_unchanged(demo, "b", before)


@pytest.mark.lab
def test_without_nft_a_table_could_not_be_undone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostsLab(fleet, LabSpec()) as lab:
        found = SshHost.find
        missing = lambda host, name: None if name == "nft" else found(host, name)  # noqa: E731
        monkeypatch.setattr(SshHost, "find", missing)
        with pytest.raises(NotPossible, match="nft") as error:
            lab.admit(Footprint({}, {}, (), firewall_tables=NetBird.firewall_tables))
        assert error.value.remedy.startswith("install nftables on the host")


_OF_IPV6 = (
    "sysctl -q -w net.ipv6.conf.wg0.disable_ipv6=0",
    "ip address add fd00:7::2/64 dev wg0 nodad",
    "ip address add fd00:8::2/64 dev wg0 nodad",
    "ip -6 route add fd00:9::/64 via fd00:7::1",
    "ip link add wg9 type dummy 2>/dev/null || ip link add wg9 type bridge",
    "ip link set wg9 up",
    "sysctl -q -w net.ipv6.conf.wg9.disable_ipv6=0",
)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("address delete fd00:8::2/64 dev wg0", "address dev wg0 local fd00:8::2"),
        ("-6 route delete fd00:9::/64", "route dev wg0 dst fd00:9::/64"),
        ("-6 rule delete priority 32766", "rule of IPv6 priority 32766"),
        ("-6 route add fd00:7::1 dev wg9", "the way to the controller (fd00:7::1) changed"),
    ],
)
def test_what_the_vpn_changes_of_ipv6_is_found(
    demo: DemoHosts, fleet: Fleet, change: str, why: str
) -> None:
    """Host b is reached by IPv6, as far as it knows."""
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("this kernel has no IPv6")
    try:
        with occupied(demo, *_OTHER_VPN, *_OF_IPV6):
            lab = HostsLab(fleet, LabSpec())
            host = lab.hosts[1]
            host._contact = replace(host.contact, client=("fd00:7::1", 50000))
            with lab:
                lab.admit(Footprint({"a": "wg1"}, {}, ()))
                assert lab.disturbed() is None
                demo.node("b").run(["ip", *change.split()])
                disturbed = lab.disturbed()
    finally:
        demo.node("b").run(["ip", "link", "delete", "wg9"], check=False)
        if "rule" in change:
            demo.node("b").run(["ip", "-6", "rule", "add", "priority", "32766", "table", "main"])
    assert disturbed is not None
    assert "host b" in disturbed.what
    assert why in disturbed.why
