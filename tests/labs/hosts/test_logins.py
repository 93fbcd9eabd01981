"""Runs on hosts whose user becomes root as is usual there: VPNs that read files of theirs work, and
nothing stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.journal.journal import Journal
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from tests.cli import Cli
from tests.labs.hosts.connections import connect
from tests.labs.hosts.logins import (
    DOAS,
    NOPASSWD,
    PASSWORD,
    USER,
    WAYS,
    WITH_PASSWORD,
    Login,
    log_in_as,
)
from tests.labs.hosts.remains import init_of, processes, remains, wait_unchanged
from tests.labs.hosts.studies import round_trips
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.slow]
VPNS = ("openvpn/aes-128-gcm", "strongswan/esp-aes128gcm")
"""Both have files, and no more capabilities than they need."""
_NOEXEC = "for place in /tmp /var/tmp; do mount -t tmpfs -o noexec,mode=1777 tmpfs $place; done\n"


def measured(say: Cli, demo: DemoHosts, inventory: Path, directory: Path) -> None:
    """Both VPNs work, and then the hosts are as they were after a login."""
    wanted = [vpn for vpn in VPNS if not skip_reason(vpn)]
    if not wanted:
        pytest.skip(skip_reason(VPNS[0]))
    study = round_trips(directory, vpns=", ".join(f'"{vpn}"' for vpn in wanted))
    with Fleet(read_inventory(inventory), new_run_id()) as fleet:
        connect(fleet, fleet.inventory.hosts)  # what a login itself writes is not the run's
    before = {name: remains(demo, name) for name in demo.names}
    out = directory / "run"
    told = say(
        "run", str(study), "--lab", "hosts", "--inventory", str(inventory), "--out", str(out)
    )
    assert "its agent" not in told.err, told.err
    with Journal.open(out) as journal:
        trials = journal.trials().filter(measurement="rtt")
    reasons = trials["reason"].to_list()
    # A machine that is busy can make a trial invalid; a VPN that does not start makes it failed.
    assert set(trials["status"]) <= {"ok", "invalid"}, reasons
    assert set(trials["vpn"]) == {"none", *wanted}
    for name in demo.names:
        wait_unchanged(demo, name, before[name])


@pytest.mark.vpn
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_vpns_that_read_files_work(say: Cli, demo: DemoHosts, tmp_path: Path, way: Login) -> None:
    measured(say, demo, log_in_as(demo, way), tmp_path)


@pytest.mark.vpn
def test_the_run_is_in_a_home_that_only_its_user_may_enter(
    say: Cli, demo: DemoHosts, tmp_path: Path
) -> None:
    """On a file system of its own, because temporary folders are mounted noexec."""
    inventory = log_in_as(demo, WITH_PASSWORD, view=_NOEXEC)
    with Fleet(read_inventory(inventory), new_run_id()) as fleet:
        (host, *_) = connect(fleet, fleet.inventory.hosts)
        assert host.contact.directory.startswith(f"/home/{USER}/culvert-")
    measured(say, demo, inventory, tmp_path)


def test_secrets_are_roots_alone(demo: DemoHosts) -> None:
    inventory = read_inventory(log_in_as(demo, NOPASSWD))
    with Fleet(inventory, new_run_id()) as fleet, HostsLab(fleet, LabSpec()) as lab:
        node = lab.nodes["a"]
        path = node.write("deep/key", "secret", secret=True)
        shown = node.run(["stat", "-c", "%u %a", str(path), str(node.directory)]).stdout.split()
        assert shown == ["0", "600", "0", "700"]
        root = Path(f"/proc/{init_of(demo, 'a')}/root")
        assert not (root / str(path)[1:]).exists(), "the host's own programs do not see it"
        upload = root / str(node.host.contact.directory)[1:]
        assert stat.S_IMODE(upload.stat().st_mode) == 0o700
        node.run(
            [
                "setpriv",
                "--bounding-set",
                "-dac_override,-dac_read_search",
                "--inh-caps",
                "-all",
                "cat",
                str(path),
            ]
        )


@pytest.mark.parametrize(
    ("login", "why"),
    [
        (Login("no rule"), "sudo on the host requires a password"),
        (Login("a wrong one", password="wrong"), "sudo on the host refuses the password: "),
        (
            Login("in no sudoers", password=WITH_PASSWORD.password),
            f"refuses the password: {USER} is not in the sudoers file",
        ),
    ],
    ids=lambda one: one.name if isinstance(one, Login) else "",
)
def test_who_may_not_become_root_is_named(demo: DemoHosts, login: Login, why: str) -> None:
    assert why in refused(demo, log_in_as(demo, login))


def test_no_way_to_become_root(demo: DemoHosts) -> None:
    neither = "for one in sudo doas; do mount --bind /dev/null /usr/bin/$one; done\n"
    assert "neither sudo nor doas" in refused(demo, log_in_as(demo, WITH_PASSWORD, view=neither))


def test_the_password_is_on_no_command_line(demo: DemoHosts) -> None:
    inventory = read_inventory(log_in_as(demo, WITH_PASSWORD))
    with Fleet(inventory, new_run_id()) as fleet:
        (host, *_) = connect(fleet, inventory.hosts)
        assert host.run(["id", "-u"]).stdout.strip() == "0"
        assert not any(PASSWORD in line for line in processes(init_of(demo, "a")))


def test_doas_that_wants_a_password(demo: DemoHosts) -> None:
    login = Login("doas", doas_conf=DOAS.doas_conf.replace("nopass ", ""))
    without_sudo = "mount --bind /dev/null /usr/bin/sudo\n"
    assert "needs a terminal" in refused(demo, log_in_as(demo, login, view=without_sudo))


def refused(demo: DemoHosts, inventory: Path) -> str:
    before = remains(demo, "a")
    with Fleet(read_inventory(inventory), new_run_id()) as fleet:
        (error, *_) = fleet.try_to_connect(fleet.inventory.hosts)
    assert isinstance(error, NotPossible)
    assert error.remedy
    wait_unchanged(demo, "a", before)
    return error.why
