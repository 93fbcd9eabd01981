"""A node's own view of the files, and what it keeps from others."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from culvert.errors import NotPossible, UsageError
from tests.conftest import LabFactory

pytestmark = pytest.mark.lab


def test_each_node_has_its_own_run(lab: LabFactory) -> None:
    pair = lab()
    for node in (pair.a, pair.b):
        node.run(["sh", "-c", f"echo {node.name} > /run/x; mkdir -p /var/run/wireguard"])
    assert pair.a.file("/run/x").read_text() == "a\n"
    assert pair.b.file("/var/run/x").read_text() == "b\n"
    assert pair.a.run(["cat", "/var/run/x"]).stdout == "a\n"
    assert not Path("/run/x").exists()


def test_programs_of_a_node_share_its_run(lab: LabFactory) -> None:
    node = lab().a
    node.run(["mkfifo", "/run/fifo"])
    reader = node.spawn(["cat", "/run/fifo"], name="reader", pipes=True)
    node.run(["sh", "-c", "echo through > /run/fifo"])
    assert reader.stdout.read() == b"through\n"


def test_the_hosts_run_is_hidden(lab: LabFactory) -> None:
    pair = lab()
    find = "find /run -maxdepth 3 -path /run/culvert-proc -prune -o -print"
    seen = pair.a.run(find.split()).stdout.split()
    assert "/run/netns" not in seen
    assert f"/run/culvert/{pair.run_id}/a" in seen
    assert f"/run/culvert/{pair.run_id}/b" not in seen


def test_resolver_is_the_nodes_own(lab: LabFactory) -> None:
    before = Path("/etc/resolv.conf").read_bytes()
    node = lab().a
    assert node.run(["cat", "/etc/resolv.conf"]).stdout == "# no resolver in the lab\n"
    node.run(["sh", "-c", "echo nameserver 198.18.0.9 > /etc/resolv.conf"])
    assert node.run(["cat", "/etc/resolv.conf"]).stdout == "nameserver 198.18.0.9\n"
    assert node.file("/etc/resolv.conf").read_text() == "nameserver 198.18.0.9\n"
    assert Path("/etc/resolv.conf").read_bytes() == before


def test_changes_of_files_that_a_node_keeps_stay_on_it(lab: LabFactory) -> None:
    host = Path("/etc/hosts").read_bytes()
    pair = lab()
    for node in (pair.a, pair.b):
        node.keep_changes("/etc/hosts", "/etc", "/var/lib")
        node.keep_changes("/etc")
        written = f"echo {node.name} >> /etc/hosts; mkdir /var/lib/culvert-test /etc/culvert-test"
        node.run(["sh", "-c", f"{written}; echo {node.name} > /var/lib/culvert-test/key"])
    for node in (pair.a, pair.b):
        seen = node.run(["cat", "/etc/hosts", "/var/lib/culvert-test/key"]).stdout
        assert seen == f"{host.decode()}{node.name}\n{node.name}\n"
        assert node.read("/var/lib/culvert-test/key").decode() == f"{node.name}\n"
        assert node.read("/etc/hosts") == f"{host.decode()}{node.name}\n".encode()
        assert node.exists("/etc/culvert-test")
        assert node.run(["cat", "/etc/resolv.conf"]).stdout == "# no resolver in the lab\n"
    # What the node changed is below its directory, the host's files are not.
    found = {path.name for path in pair.a.directory.rglob("*")}
    assert "culvert-test" in found
    assert "passwd" not in found
    assert Path("/etc/hosts").read_bytes() == host
    assert not Path("/var/lib/culvert-test").exists()
    assert not Path("/etc/culvert-test").exists()
    mounts = Path("/proc/self/mountinfo")
    assert pair.run_id in mounts.read_text()
    pair.close()
    assert pair.run_id not in mounts.read_text()


def test_a_node_keeps_existing_paths_only(lab: LabFactory) -> None:
    with pytest.raises(NotPossible, match="No such file"):
        lab().a.keep_changes("/no/such/directory")


def test_proc_net_shows_the_nodes_interfaces(lab: LabFactory) -> None:
    lines = lab().a.read("/proc/net/dev").decode().splitlines()
    assert [line.split(":")[0].strip() for line in lines[2:]] == ["lo", "u0"]


def test_sys_shows_the_nodes_interfaces(lab: LabFactory) -> None:
    assert lab().a.run(["ls", "/sys/class/net"]).stdout.split() == ["lo", "u0"]


def test_written_files_are_where_programs_see_them(lab: LabFactory) -> None:
    node = lab().a
    path = node.write("conf/vpn.conf", "text\n")
    assert node.run(["cat", str(path)]).stdout == "text\n"
    node.write("conf/vpn.conf", b"other\n")
    assert node.run(["cat", str(path)]).stdout == "other\n"
    assert node.file(str(path)) == path


def test_a_relative_path_is_below_the_nodes_directory(lab: LabFactory) -> None:
    node = lab().a
    path = node.write("conf/x", "text\n")
    assert (node.exists("conf/x"), node.read("conf/x")) == (True, b"text\n")
    node.remove("conf/x")
    assert not path.exists()
    assert not node.exists("conf/x")


def test_a_script_is_executable(lab: LabFactory) -> None:
    node = lab().a
    script = node.write("up", "#!/bin/sh\necho $1\n", executable=True)
    assert node.run([str(script), "it runs"]).stdout == "it runs\n"
    key = node.write("key", "#!/bin/sh\n", secret=True, executable=True)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (script, key)]
    assert modes == [0o755, 0o700]


def test_secrets_are_readable_by_root_alone_and_never_on_a_disk(lab: LabFactory) -> None:
    node = lab().a
    secret = node.write("key", "s3cret", secret=True)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(node.write("plain", "x").stat().st_mode) == 0o644
    assert stat.S_IMODE(node.directory.stat().st_mode) == 0o700
    assert node.run(["stat", "-f", "-c", "%T", str(secret)]).stdout == "tmpfs\n"


@pytest.mark.parametrize("path", ["/etc/passwd", "../b/key", "../../../x"])
def test_nothing_is_written_elsewhere(lab: LabFactory, path: str) -> None:
    with pytest.raises(UsageError):
        lab().a.write(path, "x")


def test_the_environment_is_not_ours(lab: LabFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN_OF_THE_USER", "s3cret")
    pair = lab()
    words = dict(
        line.split("=", 1) for line in pair.a.run(["env"], env={"GIVEN": "1"}).stdout.splitlines()
    )
    assert words["GIVEN"] == "1"
    assert words["CULVERT_RUN"] == pair.run_id
    assert words["HOME"] == str(pair.a.directory)
    assert "A_TOKEN_OF_THE_USER" not in words
