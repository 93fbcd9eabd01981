"""Hosts on which something is wrong: each is named with its remedy, and nothing stays there."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import CulvertError, LabError, ProbeError
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from tests.labs.hosts.bad import another_sshd, fake, over, refused
from tests.labs.hosts.connections import connect
from tests.labs.hosts.remains import init_of, remains

pytestmark = pytest.mark.lab
_PLACES = "/tmp /var/tmp /dev/shm /root /opt"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("noexec", "/tmp is mounted noexec"),
        ("ro", "Read-only file system"),
        ("size=64k", "/tmp has 64 kB free"),
    ],
)
def test_no_directory_can_hold_the_run(
    demo: DemoHosts, inventory: Inventory, options: str, why: str
) -> None:
    with another_sshd(demo, over(_PLACES, options)):
        error = refused(inventory)
    assert why in error.why
    assert "noexec" in error.remedy


def test_another_directory_is_used_where_one_is_noexec(
    demo: DemoHosts, inventory: Inventory
) -> None:
    with another_sshd(demo, over("/tmp", "noexec")), Fleet(inventory, new_run_id()) as fleet:
        (host,) = connect(fleet, inventory.hosts[:1])
        assert host.contact.directory.startswith("/var/tmp/culvert-")


def test_a_changed_host_key_is_refused(demo: DemoHosts, inventory: Inventory) -> None:
    known = demo.directory / "known_hosts"
    right = known.read_text()
    lines = right.splitlines()
    other = lines[1].split(maxsplit=1)[1]
    try:
        known.write_text("\n".join([f"{demo.management('a')} {other}", *lines[1:], ""]))
        assert "differs from known_hosts" in refused(inventory).why
        known.write_text("\n".join([*lines[1:], ""]))
        assert "unknown keys are refused" in refused(inventory).why
        assert known.read_text() == "\n".join([*lines[1:], ""])
    finally:
        known.write_text(right)


def test_a_key_that_is_not_accepted(demo: DemoHosts, inventory: Inventory) -> None:
    with another_sshd(demo, options="AuthorizedKeysFile none\n"):
        assert "none of your keys" in refused(inventory).why


def test_a_host_of_another_architecture_names_the_probe_to_build(
    demo: DemoHosts, inventory: Inventory
) -> None:
    script = 'case $1 in -m) echo armv7l;; *) exec /usr/bin/uname "$@";; esac'
    with another_sshd(demo, **fake("uname", script)):
        before = remains(demo, "a")
        error = refused(inventory)
        assert remains(demo, "a") == before
    assert "it is armv7" in error.why
    assert error.remedy == "make probe-static TARGET=armv7-unknown-linux-musleabihf"


def test_an_old_kernel(demo: DemoHosts, inventory: Inventory) -> None:
    script = 'case $1 in -r) echo 2.6.32-754.el6;; *) exec /usr/bin/uname "$@";; esac'
    with another_sshd(demo, **fake("uname", script)):
        error = refused(inventory)
        assert not _directories(demo)
    assert "kernel 2.6.32-754.el6 is older than Linux 3.4" in error.why


def test_a_disk_that_is_filled_in_a_trial(demo: DemoHosts, inventory: Inventory) -> None:
    with (
        another_sshd(demo, over("/tmp", "size=24m")),
        Fleet(inventory, new_run_id()) as fleet,
        HostsLab(fleet, LabSpec()) as lab,
    ):
        lab.a.run(["sh", "-c", "cat /dev/zero > /tmp/filler"], check=False)
        with pytest.raises(ProbeError, match="No space left on device") as undone:
            lab.nodes["a"].host.undo(["true"])
        assert undone.value.what.startswith("undo on host a: ")
        assert undone.value.remedy
        lab.a.run(["mount", "-o", "remount,size=1m", "/run"])
        with pytest.raises(LabError, match="No space left on device") as error:
            lab.a.write("config", b"x" * 2_000_000)
        assert error.value.what.startswith("host a, /run/culvert-")
        assert "memory" in error.value.remedy
    assert not _directories(demo)


def test_a_clock_that_is_a_day_wrong(demo: DemoHosts, inventory: Inventory) -> None:
    script = "exec /usr/bin/date -d tomorrow +%s"
    with (
        another_sshd(demo, **fake("date", script)),
        Fleet(inventory, new_run_id()) as fleet,
        pytest.raises(CulvertError, match=r"clock is 86[34]\d\d s ahead") as error,
    ):
        HostsLab(fleet, LabSpec()).open()
    assert "chronyc" in error.value.remedy


def _directories(demo: DemoHosts) -> list[Path]:
    return list(Path(f"/proc/{init_of(demo, 'a')}/root/tmp").glob("culvert-*"))
