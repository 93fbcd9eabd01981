"""The commands as an ordinary user starts them: everything works, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.labs.namespace import cleanup
from culvert.labs.vm.build import built
from culvert.machine import cgroup, rootless
from culvert.vpns.wireguard.device import CAPABILITIES
from culvert.waiting import wait_until
from tests.cli import CULVERT, small_study
from tests.unprivileged import USER, User
from tests.vpns.tunnels import skip_reason

pytestmark = pytest.mark.lab


def _processes_of_user() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and entry.stat().st_uid == USER:
                found.add(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After the test the machine has nothing of the user's: no process, no namespace, no run."""
    before = _processes_of_user()
    yield
    wait_until(
        lambda: not _processes_of_user() - before,
        what="the end of all processes of a run",
        deadline_s=5,
    )
    for directory in ("/run/netns", "/run/culvert"):
        assert not [path for path in Path(directory).glob("*") if path.lstat().st_uid == USER]


@pytest.fixture
def delegated() -> Iterator[Path]:
    """A control group that is the user's to divide."""
    where = cgroup.hierarchy()
    if where is None or where.version == 2:
        pytest.skip("a group can be joined and divided at once only in control groups 1")
    path = where.path / f"test-{os.getpid()}"
    path.mkdir()
    for each in (path, *path.iterdir()):
        os.chown(each, USER, USER)
    yield path
    cgroup.remove(path)


@contextmanager
def _kept_up(
    user: User, vpn: str = "none"
) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, object]]]:
    """``culvert up``, and what it says once the tunnel is up."""
    with user.start(CULVERT, "up", vpn, "--json") as process:
        try:
            assert process.stdout is not None
            text = ""
            while line := process.stdout.readline().decode():
                text += line
                if line == "}\n":
                    break
            yield process, json.loads(text)
        finally:
            process.kill()


def test_a_study_is_measured_and_the_journal_is_the_users(user: User, nothing_left: None) -> None:
    study = small_study(user.home / "small.toml", "none")
    said = user.culvert("run", study, "--out", "results")
    assert said.code == 0, said.err
    assert {path.stat().st_uid for path in (user.home / "results").rglob("*")} == {USER}
    with Journal.open(user.home / "results") as journal:
        rows = journal.rows()
        assert set(rows["status"]) == {"ok"}
        assert "cpu_other_processes_s" in set(rows["metric"])
    assert user.culvert("report", "results").code == 0


def test_root_without_sys_admin_is_an_ordinary_user(tmp_path: Path) -> None:
    """As in a container that has NET_ADMIN besides the engine's capabilities."""
    if rootless.refusal() is not None:
        pytest.skip("no user namespaces here")
    study = small_study(tmp_path / "small.toml", "none")
    bounded = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    words = (*bounded, CULVERT, "run", study, "--out", tmp_path / "results")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    with Journal.open(tmp_path / "results") as journal:
        assert "without_root" in journal.run()["environment"]


@pytest.mark.vpn
def test_a_vpn_is_proved(user: User, nothing_left: None) -> None:
    study = small_study(user.home / "small.toml", "wireguard/go")
    said = user.culvert("run", study, "--out", "results", "--json")
    assert said.code == 0, said
    trials = json.loads(said.out)["trials"]
    assert trials["ok"] == sum(trials.values()) > 0


_BLOCKED = """
name = "blocked"
title = "UDP between two members is blocked"
vpns = ["nebula/aes+fallback"]
[lab]
topology = "mesh"
members = 2
[[condition]]
name = "clean"
[[measurement]]
kind = "failover"
hold = "200ms"
relay_max = "500ms"
[plan]
blocks = 1
"""


@pytest.mark.vpn
def test_a_router_blocks_a_path(user: User, nothing_left: None) -> None:
    if lacks := skip_reason("nebula/aes"):
        pytest.skip(lacks)
    study = user.home / "blocked.toml"
    study.write_text(_BLOCKED)
    said = user.culvert("run", study, "--out", "results", "--json")
    told = json.loads(said.out)
    assert told["trials"]["failed"] == 1, told
    # It was blocked: the relay takes over later than that.
    reasons = [problem["reason"] for problem in told["problems"]]
    assert any("the path becomes relayed: a>b: " in reason for reason in reasons), reasons


@pytest.mark.vpn
def test_a_daemon_has_only_what_it_needs_in_its_user_namespace_too(user: User) -> None:
    with _kept_up(user, "wireguard/go"):
        statuses = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                statuses.append((process / "status").read_text())
    found = [
        dict(line.split(":\t", 1) for line in text.splitlines())
        for text in statuses
        if text.startswith("Name:\twireguard-go\n") and f"Uid:\t{USER}\t" in text
    ]
    assert len(found) == 2
    most = sum(1 << capability for capability in CAPABILITIES)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert [int(each[name], 16) for each in found] == [most, most]


def test_a_run_says_what_it_has_less_of(user: User) -> None:
    study = small_study(user.home / "small.toml", "none")
    said = user.culvert("run", study, "--out", "results")
    assert "without root" in said.out


def test_what_only_root_may_do_is_unsupported(user: User) -> None:
    study = small_study(user.home / "small.toml", "none")
    text = study.read_text()
    study.write_text(text + '[[condition]]\nname = "quota"\nrouter = { quota = "50%" }\n')
    said = user.culvert("run", study, "--out", "results", "--json")
    assert said.code == 3
    told = json.loads(said.out)
    assert told["trials"]["unsupported"] == 1
    assert "root" in told["problems"][0]["remedy"]


def test_quotas_hold_in_a_delegated_control_group(user: User, delegated: Path) -> None:
    study = small_study(user.home / "small.toml", "none")
    text = study.read_text()
    study.write_text(text + '[[condition]]\nname = "quota"\nrouter = { quota = "50%" }\n')
    join = f'echo $$ >"{delegated}/cgroup.procs" && exec "$@"'
    words = user.command([CULVERT, "run", study, "--out", "results", "--json"])
    done = subprocess.run(
        ["sh", "-c", join, "sh", *words],
        capture_output=True,
        check=False,
        cwd=user.home,
        env={**os.environ, "HOME": str(user.home)},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"]["ok"] == 1
    assert not [path for path in delegated.iterdir() if path.is_dir()]


def test_ctrl_c_ends_a_tunnel_as_meant(user: User, nothing_left: None) -> None:
    with _kept_up(user) as (process, told):
        assert told["proved"] is True
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_sigterm_has_the_commands_own_exit_code(user: User, nothing_left: None) -> None:
    with _kept_up(user) as (process, _):
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_killing_the_outer_process_ends_everything(user: User, nothing_left: None) -> None:
    with _kept_up(user) as (process, _):
        inside = _processes_of_user()
        assert len(inside) > 2
        process.kill()
        process.wait()
        wait_until(
            lambda: not inside & _processes_of_user(),
            what="the end of all processes inside",
            deadline_s=5,
        )


def test_the_tunnel_can_be_entered_from_outside(user: User) -> None:
    with _kept_up(user) as (_, told):
        enter = told["enter"]
        assert isinstance(enter, list)
        nodes = told["nodes"]
        assert isinstance(nodes, dict)
        there = nodes["b"]["inner"]
        ping = user.start(*enter, nodes["a"]["namespace"], "ping", "-c1", "-W2", there)
        out, err = ping.communicate(timeout=20)
        assert ping.returncode == 0, (out, err)


@pytest.mark.usefixtures("killing")
def test_roots_clean_up_leaves_it_alone(user: User) -> None:
    with _kept_up(user) as (process, told):
        nodes = told["nodes"]
        assert isinstance(nodes, dict)
        _, run_id, _ = nodes["a"]["namespace"].split("-")
        assert run_id not in str([*cleanup.find_leftovers(), *cleanup.active()])
        assert process.poll() is None


@pytest.mark.usefixtures("killing")
def test_clean_has_nothing_to_do(user: User) -> None:
    said = user.culvert("clean")
    assert (said.code, said.out) == (0, "nothing was left behind\n"), said.err


def test_doctor_names_the_way(user: User) -> None:
    told = json.loads(user.culvert("doctor", "--json").out)
    checks = {check["name"]: check for check in told["checks"]}
    assert told["ready"] is True
    assert checks["root"]["status"] == "present"
    assert "their own namespaces" in checks["root"]["detail"]
    assert checks["user-namespaces"]["status"] == "present"
    assert checks["veth"]["status"] == "present"


def test_a_shell_makes_namespaces_and_wires(user: User, nothing_left: None) -> None:
    script = (
        "ip netns add left && ip netns add right && "
        f"sleep 1 | {CULVERT} wire cable --a left:u0 --b right:u0"
    )
    said = user.culvert("shell", "--", "sh", "-c", script)
    assert said.code == 0, said.err
    assert '"event":"ready"' in said.out


@pytest.mark.guest
@pytest.mark.skipif(built() is None, reason="no guest kernel was built")
def test_a_guest_runs(user: User) -> None:
    assert user.culvert("vm", "run", "--hypervisor", "uml", "--", "true").code == 0


@pytest.mark.parametrize("words", [("run", "quick"), ("up", "none"), ("shell",)])
def test_where_the_kernel_refuses_it_says_why(user: User, words: tuple[str, ...]) -> None:
    """Without a mapping of its own a process gets no user namespace."""
    started = user.start("unshare", "--user", CULVERT, *words)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 3
    assert b"user namespaces" in err
    assert b"sudo" in err


def _exit_code(user: User, *words: str) -> int:
    return user.culvert("shell", "--", *words).code


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM), ("true", 0)]
)
def test_exit_codes_pass_through(user: User, script: str, code: int) -> None:
    assert _exit_code(user, "sh", "-c", script) == code


def test_streams_pass_through(user: User) -> None:
    started = subprocess.run(
        user.command([CULVERT, "shell", "--", "sh", "-c", "cat; echo wrong >&2"]),
        input=b"through",
        capture_output=True,
        check=True,
        env={**os.environ, "HOME": str(user.home)},
        cwd=user.home,
    )
    assert (started.stdout, started.stderr) == (b"through", b"wrong\n")
