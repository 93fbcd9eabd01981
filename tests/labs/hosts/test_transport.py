"""The primitives of a node that is a host: an sshd in a namespace."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from culvert.errors import DeadlineExceeded, HostLost, LabError, NotPossible
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.labs.hosts.node import SshNode
from culvert.labs.process import Process
from culvert.probe.client import Probe
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until
from tests.labs.hosts.connections import connect
from tests.labs.hosts.remains import init_of, processes, remains, wait_unchanged

pytestmark = pytest.mark.lab
_VXLAN = ["type", "vxlan", "id", "2", "dstport", "4790"]


@pytest.fixture
def lab(fleet: Fleet) -> Iterator[HostsLab]:
    with HostsLab(fleet, LabSpec()) as opened:
        yield opened


@pytest.fixture
def node(lab: HostsLab) -> SshNode:
    return lab.nodes["a"]


def test_a_program_runs_there(node: SshNode) -> None:
    done = node.run(
        ["sh", "-c", "cat; echo $CULVERT_X >&2; exit 3"],
        stdin="ab" * 99_999,
        env={"CULVERT_X": "é"},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "ab" * 99_999, "é\n")
    with pytest.raises(LabError, match="false on host a"):
        node.run(["false"])
    with pytest.raises(NotPossible, match="the program is not installed on a"):
        node.run(["no-such-program"])
    with pytest.raises(DeadlineExceeded):
        node.run(["sleep", "60"], timeout_s=0.2)


def test_a_program_is_spawned_with_a_log_and_pipes(node: SshNode) -> None:
    process = node.spawn(["sh", "-c", "echo begun; exec sleep 60"], name="sleeper")
    wait_until(lambda: process.log_text() == "begun\n", what="its log", deadline_s=5)
    assert process.alive()
    assert process.usage() is not None
    assert not process.stopped()
    process.stop()
    assert process.returncode() == -signal.SIGTERM
    echo = node.spawn(["cat"], name="cat", pipes=True)
    echo.stdin.write(b"one\ntwo\n")
    echo.stdin.flush()
    assert [echo.stdout.readline(), echo.stdout.readline()] == [b"one\n", b"two\n"]
    echo.stdin.close()
    wait_until(lambda: echo.returncode() == 0, what="the end of cat", deadline_s=5)


def test_a_stop_that_is_over_is_known(node: SshNode) -> None:
    process = node.spawn(["sleep", "60"], name="sleeper")
    assert process.resumptions() == 0
    node.run(["sh", "-c", f"kill -STOP {process.pid}"])
    wait_until(lambda: bool(process.stopped()), what="the stop", deadline_s=5)
    node.run(["sh", "-c", f"kill -CONT {process.pid}"])
    wait_until(lambda: not process.stopped(), what="its end", deadline_s=5)
    assert [process.resumptions(), process.resumptions()] == [1, 1]
    process.stop()


def test_what_is_stopped_takes_its_children_along(node: SshNode, demo: DemoHosts) -> None:
    process = node.spawn(["sh", "-c", "sleep 77 & wait"], name="family")
    init = init_of(demo, "a")
    wait_until(lambda: "sleep 77" in processes(init), what="the child", deadline_s=5)
    process.stop(grace_s=0)
    assert "sleep 77" not in processes(init)


def test_files_and_secrets(node: SshNode, demo: DemoHosts) -> None:
    path = node.write("deep/key", "secret", secret=True)
    script = node.write("deep/up", "#!/bin/sh\necho $1\n", executable=True)
    assert node.run([str(script), "it runs"]).stdout == "it runs\n"
    assert node.read("deep/up").startswith(b"#!/bin/sh")
    node.remove("deep/up")
    assert (node.exists("deep/up"), node.exists("deep/key")) == (False, True)
    assert node.read(str(path)) == b"secret"
    shown = node.run(["stat", "-c", "%u %a", str(path), str(node.directory)]).stdout
    assert shown.split() == ["0", "600", "0", "700"]
    root = Path(f"/proc/{init_of(demo, 'a')}/root")
    assert not (root / str(path)[1:]).exists()  # programs of others do not see it
    assert stat.S_IMODE(_upload(demo, node).stat().st_mode) == 0o700
    large = os.urandom(700_000)
    assert node.read(str(node.write("large", large))) == large
    assert node.exists(str(path))
    node.remove(str(path))
    assert not node.exists(str(path))
    with pytest.raises(FileNotFoundError):
        node.read(str(path))
    assert node.text("/proc/sys/net/ipv4/ip_forward") == "0"


def test_changes_of_fixed_files_are_the_runs_own(
    node: SshNode, demo: DemoHosts, lab: HostsLab
) -> None:
    own = Path(f"/proc/{init_of(demo, 'a')}/root")
    before = (own / "etc/hosts").read_bytes()
    node.keep_changes("/etc/hosts", "/etc", "/var/lib")
    node.run(["sh", "-ec", "mkdir -p /var/lib/x; echo 192.0.2.1 y > /var/lib/x/y"])
    node.run(["sh", "-ec", "echo 192.0.2.1 y | tee /etc/culvert-test >> /etc/hosts"])
    assert node.text("/etc/hosts").endswith("192.0.2.1 y")
    assert node.text("/var/lib/x/y") == node.text("/etc/culvert-test") == "192.0.2.1 y"
    assert (own / "etc/hosts").read_bytes() == before
    assert not (own / "etc/culvert-test").exists()
    node.host.reset()
    assert not node.exists("/etc/culvert-test")
    assert node.read("/etc/hosts") == before


def test_a_node_has_its_own_run_directory(node: SshNode, demo: DemoHosts) -> None:
    node.run(["touch", "/run/mine"])
    assert node.exists("/run/mine")
    assert not Path(f"/proc/{init_of(demo, 'a')}/root/run/mine").exists()


def test_a_unix_socket_is_dialled(node: SshNode) -> None:
    script = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/run/x.sock'); s.listen(); "
        "c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()"
    )
    node.spawn(["python3", "-c", script], name="listener")
    wait_until(lambda: node.exists("/run/x.sock"), what="the socket", deadline_s=5)
    with node.dial("/run/x.sock") as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"HELLO"
        assert connection.recv(100) == b""
    with pytest.raises(FileNotFoundError):
        node.dial("/run/none.sock")


def test_the_probe_measures_there(lab: HostsLab) -> None:
    with Probe(lab.a) as probe:
        hello = probe.call("hello", 5)
        assert "udp_sink" in hello["features"]["tasks"]
        port = probe.begin("echo", bind=str(lab.a.underlay.address.ip), token="0" * 32, idle_s=1)
        assert port.port() > 0


def test_what_exists_is_not_created_and_not_removed(node: SshNode) -> None:
    node.host.run(["ip", "link", "add", "theirs", *_VXLAN])
    try:
        with pytest.raises(LabError, match="theirs"):
            node.add_link("theirs", "vxlan", vxlan_id=2, vxlan_port=4790)
        node.host.reset()
        assert node.link("theirs") is not None
    finally:
        node.host.run(["ip", "link", "delete", "theirs"])


def test_the_guard_removes_everything(demo: DemoHosts, inventory: Inventory, fleet: Fleet) -> None:
    before = remains(demo, "a")
    lab = HostsLab(fleet, LabSpec())
    lab.open()
    _busy(lab.nodes["a"])
    assert remains(demo, "a") != before
    assert fleet.close() == []
    wait_unchanged(demo, "a", before)


@pytest.mark.parametrize("victim", ["agent", "ssh"])
def test_the_guard_removes_everything_when_the_agent_is_killed(
    demo: DemoHosts, fleet: Fleet, victim: str
) -> None:
    before = remains(demo, "a")
    lab = HostsLab(fleet, LabSpec())
    lab.open()
    node = lab.nodes["a"]
    _busy(node)
    if victim == "agent":
        _kill(node, "pid")
        wait_until(lambda: not node.host.agent.alive(), what="the agent's end", deadline_s=5)
        assert not node.host.connection.run(f"exec ls -d {node.host.contact.directory}").stdout
        node.host.connection.close()
    else:
        node.host.connection.kill()
    wait_unchanged(demo, "a", before)
    with pytest.raises(HostLost):
        node.run(["true"])


@pytest.mark.parametrize("victim", ["agent", "ssh"])
def test_settings_of_a_hub_are_undone_when_the_agent_is_killed(
    demo: DemoHosts, fleet: Fleet, victim: str
) -> None:
    before = remains(demo, "a")
    redirects = "net/ipv4/conf/all/send_redirects"
    assert demo.node("a").sysctl(redirects) == "1"
    lab = HostsLab(fleet, LabSpec())
    lab.open()
    node = lab.nodes["a"]
    _busy(node)
    for value in ("0", "1", "0"):  # the value of the host's own is the first
        node.set_sysctl(redirects, value)
        assert demo.node("a").sysctl(redirects) == value
    node.set_sysctl("net/ipv4/conf/mine0/forwarding", "1")
    assert demo.node("a").sysctl("net/ipv4/conf/mine0/forwarding") == "1"
    assert demo.node("a").sysctl("net/ipv4/ip_forward") == "0"
    if victim == "agent":
        _kill(node, "pid")
        wait_until(lambda: not node.host.agent.alive(), what="the agent's end", deadline_s=5)
        node.host.connection.close()
    else:
        node.host.connection.kill()
    wait_unchanged(demo, "a", before)
    assert demo.node("a").sysctl(redirects) == "1"


def test_a_setting_that_is_right_is_not_written(node: SshNode) -> None:
    name = "net/ipv4/conf/all/send_redirects"
    node.set_sysctl(name, node.sysctl(name))
    assert not node.exists(f"{node.host.contact.directory}/undo")
    node.set_sysctl(name, "0")
    assert node.exists(f"{node.host.contact.directory}/undo")


def test_the_next_connection_removes_what_a_killed_guard_left(
    demo: DemoHosts, fleet: Fleet
) -> None:
    before = remains(demo, "a")
    _left(fleet, _busy)
    assert remains(demo, "a") != before
    others = Path(f"/proc/{init_of(demo, 'a')}/root/tmp/culvert-job-of-another-program")
    others.mkdir()
    HostsLab(fleet, LabSpec())
    fleet.close()
    others.rmdir()
    wait_unchanged(demo, "a", before)


def test_after_a_restart_only_the_directory_is_removed(demo: DemoHosts, fleet: Fleet) -> None:
    """What has the name of the run's device is another's."""
    before = remains(demo, "a")
    directory = _upload(demo, _left(fleet, _with_device))
    (directory / "boot").write_text("00000000-0000-0000-0000-000000000000\n")
    HostsLab(fleet, LabSpec())
    assert not (directory / "boot").read_text().startswith("00000000"), "it is a new one"
    assert demo.node("a").link("mine0") is not None
    assert fleet.close() == []
    demo.node("a").run(["ip", "link", "delete", "mine0"])
    wait_unchanged(demo, "a", before)


def test_a_clean_up_that_fails_is_named(demo: DemoHosts, fleet: Fleet) -> None:
    node = _left(fleet, _with_device)
    directory = _upload(demo, node)
    directory.chmod(0o755)
    entry = node.host.entry
    (error,) = fleet.try_to_connect([entry])
    assert isinstance(error, LabError)
    assert node.host.contact.directory in error.what
    assert "others may use it" in error.why
    assert "--clean" in error.remedy
    directory.chmod(0o700)
    assert connect(fleet, [entry])
    assert not directory.exists()


def test_a_run_that_goes_on_is_left_alone(inventory: Inventory, fleet: Fleet) -> None:
    (host,) = connect(fleet, [inventory.hosts[0]])
    with Fleet(inventory, new_run_id()) as other:
        (same,) = connect(other, [inventory.hosts[0]])
        assert host.contact.directory in same.contact.stale
    host.require_answer()
    assert host.exists(f"{host.contact.directory}/boot")


def _left(fleet: Fleet, work: Callable[[SshNode], object]) -> SshNode:
    """Host a, on which a killed guard has left this work."""
    lab = HostsLab(fleet, LabSpec())
    lab.open()
    node = lab.nodes["a"]
    work(node)
    _kill(node, "guard", "pid")
    wait_until(lambda: not node.host.agent.alive(), what="the agent's end", deadline_s=5)
    return node


def _upload(demo: DemoHosts, node: SshNode) -> Path:
    """The directory of the copied probe on host a, as seen from here."""
    return Path(f"/proc/{init_of(demo, 'a')}/root{node.host.contact.directory}")


def _kill(node: SshNode, *who: str) -> None:
    hello = node.host.agent.call("hello")
    argv = ["kill", "-9", *(str(hello[one]) for one in who)]
    node.host.agent.post("spawn", argv=argv, env=node.host.environment())


def _busy(node: SshNode) -> Process:
    """A device, an address, a route, files, a program, and one that has left its parent."""
    _with_device(node)
    node.add_address("mine0", IPv4Interface("198.19.7.1/24"))
    node.set_link("mine0", up=True)
    node.add_route(IPv4Network("198.19.9.0/24"), device="mine0")
    node.write("secret", "x", secret=True)
    node.run(["sh", "-c", "setsid sleep 1234 >/dev/null 2>&1 & sleep 0.1"])
    return node.spawn(["sleep", "4321"], name="sleeper")


def _with_device(node: SshNode) -> None:
    node.add_link("mine0", "vxlan", vxlan_id=1, vxlan_port=4789)
