"""A link whose MTU is not Ethernet's: measured with it, and judged only if the study writes one.
The path of its packets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from culvert import tools
from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from tests.cli import Cli
from tests.labs.hosts.studies import round_trips

MTU = 1460


@pytest.fixture(scope="module")
def cloud() -> Iterator[DemoHosts]:
    """Two hosts."""
    if tools.find("sshd") is None:
        pytest.skip("no sshd: apt-get install openssh-server")
    with DemoHosts(link=LinkSpec(mtu=MTU)) as hosts:
        yield hosts


def trials(say: Cli, cloud: DemoHosts, study: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    out = study.parent / "run"
    say("run", study, "--lab", "hosts", "--inventory", cloud.inventory, "--out", out)
    with Journal.open(out) as journal:
        return journal.trials(), journal.rows()


@pytest.mark.lab
@pytest.mark.vpn
def test_an_mtu_that_is_not_requested_is_recorded(
    say: Cli, cloud: DemoHosts, tmp_path: Path
) -> None:
    found, metrics = trials(say, cloud, round_trips(tmp_path, vpns='"wireguard/go"', probes=50))
    assert set(found["status"]) == {"ok"}, found["reason"].to_list()
    mtus = metrics.filter(pl.col("metric").str.ends_with("mtu_bytes"))
    assert mtus.select("metric", "value").rows() == [("found_mtu_bytes", MTU)]


@pytest.mark.lab
def test_an_mtu_that_is_requested_is_judged(say: Cli, cloud: DemoHosts, tmp_path: Path) -> None:
    study = round_trips(tmp_path, lab="link = { mtu = 1500 }", probes=50)
    found, _ = trials(say, cloud, study)
    assert set(found["status"]) == {"invalid"}
    assert all(f"requested 1500 bytes, found {MTU}" in reason for reason in found["reason"])


@pytest.mark.lab
def test_routes_and_the_ttl_of_echoes_are_facts(cloud: DemoHosts) -> None:
    with (
        Fleet(read_inventory(cloud.inventory), new_run_id()) as fleet,
        HostsLab(fleet, LabSpec()) as lab,
    ):
        ends = {name: cloud.node(name).underlay for name in cloud.names}
        for name, other in (("a", "b"), ("b", "a")):
            assert lab.nodes[name].facts()["paths"] == {
                other: {
                    "device": ends[name].device,
                    "source": str(ends[name].address.ip),
                    "gateway": "none",
                    "ttl": "64",
                }
            }


@pytest.mark.lab
def test_vpns_get_the_devices_mtu_unless_one_is_requested(cloud: DemoHosts) -> None:
    with Fleet(read_inventory(cloud.inventory), new_run_id()) as fleet:
        with HostsLab(fleet, LabSpec()) as lab:
            assert lab.spec.mtu == lab.spec.path_link(lab.path).mtu == MTU
        with HostsLab(fleet, LabSpec(link=LinkSpec().requesting(1400))) as lab:
            assert lab.spec.mtu == lab.spec.path_link(lab.path).mtu == 1400
