"""Studies over SSH, on hosts of namespaces."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from tests.cli import Cli
from tests.labs.hosts.bad import up_again
from tests.labs.hosts.remains import remains, wait_unchanged
from tests.labs.hosts.studies import round_trips
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.slow]
_STUDY = """\
name = "over-ssh"
vpns = ["none", "wireguard/go"]
[lab]
topology = "pair"
link = {{ kind = "veth", mtu = {mtu} }}
[[measurement]]
kind = "tcp"
duration = "300ms"
warmup = "100ms"
[[measurement]]
kind = "initiation"
cycles = 1
[plan]
blocks = 1
"""


def study(directory: Path, mtu: int = 1500) -> Path:
    path = directory / "study.toml"
    path.write_text(_STUDY.format(mtu=mtu))
    return path


def trials(directory: Path) -> pl.DataFrame:
    with Journal.open(directory) as journal:
        return journal.trials()


@pytest.mark.vpn
def test_a_study_runs_over_ssh_and_leaves_nothing(
    say: Cli, demo: DemoHosts, tmp_path: Path
) -> None:
    before = {name: remains(demo, name) for name in demo.names}
    out = tmp_path / "run"
    words = ["run", study(tmp_path), "--lab", "hosts", "--inventory", demo.inventory, "--out", out]
    told = say(*words)
    found = trials(out)
    assert dict(found.select("status").to_series().value_counts().iter_rows()) == {"ok": 5}, (
        told.out + told.err
    )
    assert "underlay" in found["measurement"].to_list()
    for name in demo.names:
        wait_unchanged(demo, name, before[name])


@pytest.mark.vpn
@pytest.mark.parametrize("vpn", ["wireguard/go", "wesher"])
def test_ssh_on_the_measured_link_is_left_out(say: Cli, tmp_path: Path, vpn: str) -> None:
    if why_not := skip_reason(vpn):
        pytest.skip(why_not)
    with DemoHosts(3) as demo:  # one device for both: only two hosts have a second link
        assert demo.node("a").attachments[0] is demo.node("a").attachments[-1]
        out = tmp_path / "run"
        words = ["--lab", "hosts", "--inventory", demo.inventory, "--out", out]
        # So few packets that those of SSH are as many.
        few = round_trips(tmp_path, vpns=f'"none", "{vpn}"', probes=50)
        told = say("run", few, *words)
    assert set(trials(out)["status"]) == {"ok"}, told.out + told.err


def test_a_condition_that_the_link_does_not_have_is_invalid_with_both_figures(
    say: Cli, demo: DemoHosts, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    words = ["--lab", "hosts", "--inventory", demo.inventory, "--out", out, "--only", "none"]
    told = say("run", study(tmp_path, mtu=1400), *words)
    assert told.code == 1
    found = trials(out)
    assert set(found["status"]) == {"invalid"}
    assert all("requested 1400 bytes, found 1500" in reason for reason in found["reason"])


def test_a_host_that_is_down_is_named_and_others_are_not_touched(
    say: Cli, demo: DemoHosts, tmp_path: Path
) -> None:
    with up_again(demo, "b"):
        demo.servers["b"].stop(grace_s=0)
        out = tmp_path / "run"
        words = ["--lab", "hosts", "--inventory", demo.inventory, "--out", out, "--only", "none"]
        said = say("run", study(tmp_path), *words)
        assert said.code == 1
        found = trials(out)
        assert set(found["status"]) <= {"failed", "invalid"}
        assert all("host b: no sshd listens on its port" in reason for reason in found["reason"])


def test_an_inventory_is_for_the_lab_hosts(say: Cli, tmp_path: Path) -> None:
    say("run", "quick", "--lab", "hosts").refused(2, "no inventory", "--inventory hosts.yml")
    say("run", "quick", "--inventory", tmp_path / "hosts.yml").refused(2, "add --lab hosts")
    assert shutil.which("ssh")
