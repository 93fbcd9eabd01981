"""Nothing of a run stays on a host, whatever the host is like and whatever it prints besides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from culvert import tools
from culvert.errors import HostLost
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.runid import new_run_id
from culvert.waiting import wait_until
from tests.labs.hosts.connections import connect
from tests.labs.hosts.logins import NOPASSWD, ROOT, WAYS, WITH_PASSWORD, Login, log_in_as

pytestmark = pytest.mark.lab
_UNNAMED = "hostname culvert-nowhere.invalid\necho hosts: files > /etc/nsswitch.conf\n"
_UTS = ("--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture(autouse=True)
def _probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts get the probe of this version, whatever ``make probe-static`` has built before."""
    own = tools.require("culvert-probe", "run `make setup`")
    monkeypatch.setattr("culvert.labs.hosts.remote.start.probe_for", lambda *_: own)


def left(demo: DemoHosts) -> list[str]:
    """Of all hosts."""
    roots = [Path(f"/proc/{_first(demo, name)}/root") for name in demo.names]
    return [str(path) for root in roots for path in (root / "tmp").glob("culvert-*")]


def _first(demo: DemoHosts, name: str) -> int:
    """A process with the host's view of files: unshare(1) is outside of it, if it has forked."""
    pid = demo.servers[name].pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(next(iter(children), pid))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_host_whose_name_does_not_resolve(demo: DemoHosts, way: Login) -> None:
    """Each call of sudo prints a warning then."""
    inventory = read_inventory(log_in_as(demo, way, view=_UNNAMED, apart=_UTS))
    with Fleet(inventory, new_run_id()) as fleet:
        first, _ = connect(fleet, inventory.hosts)
        assert first.run(["hostname"]).stdout == "culvert-nowhere.invalid\n"
        assert fleet.close() == []
    assert left(demo) == []


@pytest.mark.parametrize("way", [ROOT, NOPASSWD, WITH_PASSWORD], ids=lambda way: way.name)
def test_hosts_that_see_the_same_processes(demo: DemoHosts, way: Login) -> None:
    """As a machine and its containers: each guard ends its own host's processes only."""
    inventory = read_inventory(log_in_as(demo, way, apart=("--mount",)))
    with Fleet(inventory, new_run_id()) as fleet:
        first, second = connect(fleet, inventory.hosts)
        assert len(left(demo)) == 2
        assert first.close() == []
        assert second.run(["echo", "still"]).stdout == "still\n"
        assert fleet.close() == []
    assert left(demo) == []


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_guard_that_is_killed(demo: DemoHosts, way: Login) -> None:
    """The controller removes the run in its place, over the connection that is still there."""
    inventory = read_inventory(log_in_as(demo, way))
    with Fleet(inventory, new_run_id()) as fleet:
        first, _ = connect(fleet, inventory.hosts)
        guard = first.agent.call("hello")["guard"]
        first.agent.call("undo", argv=["/bin/sh", "-c", "echo undone > /run/undone"])
        with suppress(HostLost):  # the agent may report the end of kill before its own
            first.run(["kill", "-9", str(guard)])
        wait_until(lambda: not first.agent.alive(), what="the agent's end", deadline_s=30)
        assert len(left(demo)) == 2
        assert fleet.close() == []
    undone = Path(f"/proc/{_first(demo, 'a')}/root/run/undone")
    assert (left(demo), undone.read_text()) == ([], "undone\n")
    undone.unlink()


@pytest.fixture(autouse=True)
def _as_before(demo: DemoHosts) -> Iterator[None]:
    yield
    for name in demo.names:
        demo.servers[name].stop(grace_s=0)
        demo.start_sshd(name)
