"""Programs of nodes, as root, change nothing of the machine and share no folder."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from culvert.waiting import wait_until
from tests.conftest import LabFactory

pytestmark = pytest.mark.lab

SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/var/lock")
CHANGES = """
echo 192.0.2.1 stranger >> /etc/hosts
echo '|/bin/false' > /proc/sys/kernel/core_pattern
echo stranger > /proc/sys/kernel/hostname
hostname stranger
touch /usr/culvert-test /var/lib/culvert-test /root/culvert-test /dev/culvert-test
echo 1 > /proc/sys/net/ipv4/ip_forward && echo forwards
exit 0
"""
SYSTEM_V = """
import ctypes
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 4096, 0o1666), libc.msgget(4711, 0o1666))
"""


def of_the_machine() -> tuple[str, str, str]:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    return Path("/etc/hosts").read_text(), socket.gethostname(), pattern


@pytest.mark.parametrize("start", ["run", "daemon", "spawn"])
def test_root_on_a_node_does_not_change_the_machine(lab: LabFactory, start: str) -> None:
    before, node = of_the_machine(), lab().a
    if start == "run":
        assert node.run(["sh", "-c", CHANGES]).stdout == "forwards\n"
    else:
        process = getattr(node, start)(["sh", "-c", CHANGES], name="vpn")
        process.wait(deadline_s=10)
        assert "ead-only" in process.log_text()
    assert node.sysctl("net/ipv4/ip_forward").strip() == "1"
    assert of_the_machine() == before
    made = ("/usr/culvert-test", "/var/lib/culvert-test", "/root/culvert-test", "/dev/culvert-test")
    assert not [path for path in made if Path(path).exists()]


@pytest.mark.parametrize("folder", SHARED)
def test_nodes_share_no_folder_that_they_can_write_to(lab: LabFactory, folder: str) -> None:
    if not Path(folder).exists():
        pytest.skip(f"no {folder} here")
    pair = lab()
    path = f"{folder}/culvert-test-{pair.run_id}"
    pair.a.run(["sh", "-c", f"echo a > {path}"])
    assert pair.a.run(["cat", path]).stdout == "a\n"
    assert pair.b.run(["test", "-e", path], check=False).returncode == 1
    assert not Path(path).exists()


def test_programs_see_the_machine_s_temporary_files(lab: LabFactory, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("from here")
    assert lab().a.run(["cat", str(tmp_path / "script")]).stdout == "from here"


def test_nodes_share_no_queues_and_no_memory(lab: LabFactory) -> None:
    pair = lab()
    made = pair.a.run([sys.executable, "-c", SYSTEM_V])
    assert "-1" not in made.stdout.split()
    look = SYSTEM_V.replace("0o1666", "0")
    holder = pair.a.spawn([sys.executable, "-c", SYSTEM_V + "input()"], name="holder", pipes=True)
    assert holder.stdout.readline()
    assert pair.b.run([sys.executable, "-c", look]).stdout.split() == ["-1", "-1"]


def test_terminals_are_a_program_s_own(lab: LabFactory) -> None:
    pair = lab()
    script = "import os, pty; a, b = pty.openpty(); print(os.ttyname(b), flush=True); input()"
    holder = pair.a.spawn([sys.executable, "-c", script], name="holder", pipes=True)
    name = holder.stdout.readline().decode().strip()
    assert pair.b.run(["test", "-e", name], check=False).returncode == 1


OTHERS = """
import os
print(*(pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in ("1", str(os.getpid()))))
"""


@pytest.mark.parametrize("start", ["run", "daemon"])
def test_programs_see_no_process_of_another_node(lab: LabFactory, start: str) -> None:
    """None whose files they could reach through /proc/PID/root, and none that they could end."""
    pair = lab()
    pair.b.daemon(["sleep", "60"], name="other")
    pair.a.spawn(["sleep", "60"], name="instrument")
    if start == "run":
        assert pair.a.run([sys.executable, "-c", OTHERS]).stdout.split() == []
        return
    process = pair.a.daemon([sys.executable, "-c", OTHERS], name="vpn")
    wait_until(lambda: not process.alive(), what="its end", deadline_s=20)
    assert (process.returncode(), process.log_text().split()) == (0, [])


def test_programs_of_a_node_see_each_other(lab: LabFactory) -> None:
    node = lab().a
    node.daemon(["sleep", "60"], name="vpn")
    assert len(node.run([sys.executable, "-c", OTHERS]).stdout.split()) == 1


def test_what_a_command_leaves_ends_with_the_lab(lab: LabFactory) -> None:
    pair = lab()
    leave = "setsid env -i sleep 61 > /dev/null 2>&1 < /dev/null &"
    pair.a.run(["sh", "-c", leave])
    init = pair.a.init()
    assert init is not None
    pair.close()
    assert not Path(f"/proc/{init}").exists()
