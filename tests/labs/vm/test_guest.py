"""A real guest: the kernel that ``culvert vm build`` made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from culvert.errors import CulvertError
from culvert.labs.vm import guest
from culvert.labs.vm.build import built
from culvert.labs.vm.job import Job
from culvert.labs.vm.uml import Uml
from culvert.waiting import wait_until

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(built() is None, reason="no guest kernel: culvert vm build"),
]


DEADLINE_S = 120
"""For a guest that runs a short command."""


def _culvert(*words: str) -> list[str]:
    return [sys.executable, "-m", "culvert", *words]


def _run(*words: str, shares: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    share = [word for path in shares for word in ("--share", str(path))]
    argv = _culvert("vm", "run", "--hypervisor", "uml", *share, "--", *words)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


def test_streams_and_exit_code_come_back() -> None:
    done = _run("sh", "-c", "echo to out; echo to err >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == ("to out\n", "to err\n", 7)


def test_the_guest_is_root_on_another_kernel_and_has_no_way_out() -> None:
    done = _run("sh", "-c", "id -u; uname -r; ip route; cat /sys/class/net/*/operstate | sort -u")
    user, release, *network = done.stdout.splitlines()
    assert user == "0"
    assert release != os.uname().release
    assert network == ["down", "unknown"]  # lo alone is up, the kernel's gre0 is not; no route


def test_a_command_in_the_guest_knows_that_it_is_in_one() -> None:
    told = "from culvert.labs.guest import guest\nprint(guest().hypervisor, guest().not_comparable)"
    assert _run(sys.executable, "-c", told).stdout.startswith("uml functional")


def test_what_the_guest_writes_stays_in_it_but_for_shares(tmp_path: Path) -> None:
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir()
    (private / "kept").write_text("as it was")
    script = f"echo new >{private}/kept; rm -r /etc/hosts; echo told >{shared}/told"
    assert _run("sh", "-c", script, shares=(shared,)).returncode == 0
    assert (private / "kept").read_text() == "as it was"
    assert Path("/etc/hosts").exists()
    assert (shared / "told").read_text() == "told\n"


def test_a_guest_that_dies_is_an_error_with_its_last_words() -> None:
    done = _run("sh", "-c", "kill -9 -1; kill -9 $$; sleep 60")
    assert done.returncode != 0
    crash = _run("python3", "-c", "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)")
    assert crash.returncode == 1
    assert "before its command did" in crash.stderr or "guest" in crash.stderr
    assert "Traceback" not in crash.stderr


def test_a_guest_that_does_not_boot_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sleeper = tmp_path / "linux"
    sleeper.write_text("#!/bin/sh\necho stuck\nsleep 60\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr(Uml, "boot_deadline_s", 0.5)
    with pytest.raises(CulvertError, match=r"did not boot within 0\.5 s; its console shows: stuck"):
        guest.run(Uml(sleeper), Job(["true"], Path("/")))


def test_an_interrupt_lets_the_command_clean_up(tmp_path: Path) -> None:
    script = (
        f"trap 'echo cleaned >{tmp_path}/said; exit 9' TERM; echo up >{tmp_path}/up;"
        " while :; do sleep 0.1; done"
    )
    argv = _culvert("vm", "run", "--hypervisor", "uml", "--share", str(tmp_path), "--")
    process = subprocess.Popen([*argv, "sh", "-c", script], stderr=subprocess.PIPE, text=True)
    wait_until((tmp_path / "up").exists, what="the command in the guest", deadline_s=60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    assert (tmp_path / "said").read_text() == "cleaned\n"


def test_a_guest_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    argv = _culvert("vm", "run", "--hypervisor", "uml", "--share", str(tmp_path), "--")
    script = f"echo up >{tmp_path}/up; sleep 600"
    process = subprocess.Popen([*argv, "sh", "-c", script])
    wait_until((tmp_path / "up").exists, what="the command in the guest", deadline_s=60)
    children = [int(word) for word in _children(process.pid)]
    assert children
    process.kill()
    process.wait()
    wait_until(
        lambda: not any(_alive(child) for child in children), what="the guest's end", deadline_s=20
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_needs_no_privilege() -> None:
    kernel = built()
    assert kernel is not None
    assert _as_nobody(kernel.program) == 0


def _as_nobody(linux: Path) -> int:
    """A job as user 65534, in a process that reads all that it needs before it becomes that user:
    they may not read this environment."""
    argv = [sys.executable, "-c", _NOBODY, str(linux)]
    return subprocess.run(argv, check=False, timeout=DEADLINE_S).returncode


_NOBODY = """
import os, sys
from pathlib import Path
from culvert.labs.vm import guest
from culvert.labs.vm.job import Job
from culvert.labs.vm.uml import Uml
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(guest.run(Uml(Path(sys.argv[1])), Job(["sh", "-c", "test $(id -u) = 0"], Path("/"))))
"""


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    time.sleep(0.01)
    return stat.rpartition(")")[2].split()[0] != "Z"
