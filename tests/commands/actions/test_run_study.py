"""``run`` and ``up`` from outside: interrupted, on full disks, on each other's journals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from culvert import tools
from culvert.errors import JournalError
from culvert.journal.journal import FILE, Journal
from culvert.labs.namespace.cleanup import find_leftovers
from culvert.machine import rootless
from culvert.waiting import wait_until
from tests import hostile
from tests.cli import CULVERT, TRACE, Said, culvert, small_study
from tests.labs import host

pytestmark = pytest.mark.lab
no_wireguard = pytest.mark.skipif(
    tools.find("wireguard-go") is None, reason="needs WireGuard: culvert install wireguard/go"
)


class Started:
    """A command that runs; its lines come one by one."""

    def __init__(self, words: Sequence[str | Path], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [CULVERT, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )

    def line(self, with_word: str) -> str:
        """The next line on standard output that holds the word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if with_word in line:
                return line
        raise AssertionError(f"no line with {with_word}: {self.process.communicate()[1]}")

    def end(self, number: signal.Signals | None = None) -> Said:
        """Send a signal, and wait for its end."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        assert TRACE not in err
        return Said(self.process.returncode, out, err)


Start = Callable[..., Started]


@pytest.fixture
def start() -> Iterator[Start]:
    started = []

    def begin(*words: str | Path, env: dict[str, str] | None = None) -> Started:
        started.append(Started(words, env or {}))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdout, one.process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def third_party(tmp_path: Path) -> dict[str, str]:
    """The environment in which the hostile drivers are installed, and Culvert's tests are not."""
    place = tmp_path / "third-party"
    place.mkdir()
    hostile.install(place)
    return {"PYTHONPATH": str(place)}


@pytest.fixture(autouse=True)
def _nothing_is_left(killing: None) -> Iterator[None]:
    """No trace of a run whose process is dead; other runs may go on at the same time."""
    before = find_leftovers()
    yield
    assert [each for each in find_leftovers() if each not in before] == []


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def long_study(tmp_path: Path) -> Path:
    return small_study(tmp_path / "long.toml", probes=100, blocks=500)


# -- interrupted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_how_to_go_on_and_keeps_what_it_has(
    tmp_path: Path, start: Start, number: signal.Signals
) -> None:
    study, out = long_study(tmp_path), tmp_path / "a run"
    run = start("run", study, "--out", out)
    run.line("2/500")
    said = run.end(number)
    assert said.code == 130
    hint = next(line for line in said.err.splitlines() if "resume with: " in line)
    assert hint.endswith(f"culvert run {study} --out '{out}' --resume")
    with Journal.open(out) as journal:
        kept = len(journal.done())
    assert kept >= 2
    if number is not signal.SIGINT:
        return  # once is enough for what follows
    again = start("run", study, "--out", out, "--resume")
    assert again.line("/500").strip().startswith(f"{kept + 1}/500")
    again.end(signal.SIGTERM)


def test_an_interrupted_run_with_json_keeps_standard_output_clean(
    tmp_path: Path, start: Start
) -> None:
    out = tmp_path / "out"
    run = start("run", long_study(tmp_path), "--out", out, "--json")
    wait_for_trials(out, 1)
    said = run.end(signal.SIGINT)
    assert (said.code, said.out) == (130, "")
    assert "--resume" in said.err


def wait_for_trials(out: Path, count: int) -> None:
    """Until the journal holds as many trials."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        # The run may write to the journal during the reading: then it is read again.
        with suppress(JournalError):
            if Journal.exists(out):
                with Journal.open(out) as journal:
                    if len(journal.done()) >= count:
                        return
        threading.Event().wait(0.02)
    raise AssertionError("no trial")


def test_impatience_changes_nothing(tmp_path: Path, start: Start) -> None:
    run = start("run", long_study(tmp_path), "--out", tmp_path / "out")
    run.line("1/500")
    for _ in range(20):
        run.process.send_signal(signal.SIGTERM)
    said = run.end(signal.SIGINT)  # which holds no traceback
    assert said.code == 130


def test_a_run_whose_reader_goes_says_how_to_go_on(tmp_path: Path, start: Start) -> None:
    run = start("run", long_study(tmp_path), "--out", tmp_path / "out")
    run.line("1/500")
    assert run.process.stdout is not None
    run.process.stdout.close()
    assert run.process.stderr is not None
    told = run.process.stderr.read()
    Said(run.process.wait(60), "", told).refused(1, "has closed the pipe", "--resume")


@no_wireguard
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_keeps_a_tunnel_until_it_is_told_to_end(start: Start, number: signal.Signals) -> None:
    up = start("up", "wireguard/go", "--json")
    assert up.process.stdout is not None
    text = ""
    for line in up.process.stdout:
        text += line
        if line == "}\n":
            break
    told = json.loads(text)
    assert told["proved"]
    nodes = told["nodes"]
    pinged = subprocess.run(
        [*told["enter"][1:], nodes["a"]["namespace"], "ping", "-c1", nodes["b"]["inner"]],
        capture_output=True,
        check=False,
    )
    assert pinged.returncode == 0, pinged.stdout
    said = up.end(number)
    assert (said.code, said.out) == (0, "")
    assert "wireguard/go is removed" in said.err
    assert host.left_of(nodes["a"]["namespace"]) == []


def test_up_that_is_killed_leaves_nothing(start: Start) -> None:
    up = start("up", "none", "--json")
    up.line('"enter"')
    (process,) = (pid for pid in rootless.enclosing() if _parent(pid) == up.process.pid)
    up.process.kill()
    up.process.wait()
    wait_until(
        lambda: process not in rootless.enclosing(), what="the end of its namespaces", deadline_s=5
    )


@no_wireguard
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_that_is_interrupted_on_its_way_is_130(
    start: Start, third_party: dict[str, str], number: signal.Signals
) -> None:
    up = start("up", "hostile/hangs", env=third_party)
    up.line("hanging")
    said = up.end(number)
    assert said.code == 130
    assert "interrupted" in said.err


# -- VPNs that go wrong ----------------------------------------------------------------------------


@no_wireguard
def test_each_fault_of_a_vpn_spoils_its_own_trial(
    tmp_path: Path, third_party: dict[str, str]
) -> None:
    faults = [fault for fault in hostile.VARIANTS if fault != "hangs"]
    vpns = [f"hostile/{fault}" for fault in faults]
    study = small_study(tmp_path / "s.toml", "none", *vpns, probes=500)
    out = tmp_path / "out"
    said = culvert("run", study, "--out", out, "--json", env=third_party)
    assert said.code == 1
    told = json.loads(said.out)
    assert told["trials"] == {"ok": 1, "invalid": 0, "failed": 7, "unsupported": 1}
    reasons = {problem["vpn"].partition("/")[2]: problem for problem in told["problems"]}
    for fault, words in {
        "absent": "program hostile",
        "raises": "ValueError: two lines",
        "breaks-pipe": "BrokenPipeError",
        "port-in-use": "UDP port 51820: refused: Address already in use",
        "dies-at-start": "ended with code 7 before it is up; its log ends: no licence",
        "dies-in-the-middle": "wireguard-go-a on node a was killed (SIGKILL)",
        "never-up": "completed a handshake",
        "stays": "does not want to go",
    }.items():
        assert words in reasons[fault]["reason"]
        assert reasons[fault]["remedy"]
    with Journal.open(out) as journal:
        trials = journal.trials()
    assert trials.height == len(faults) + 1
    assert all(trial["remedy"] for trial in trials.iter_rows(named=True) if trial["vpn"] != "none")


@no_wireguard
@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        ("raises", 1, "ValueError: two lines"),
        ("port-in-use", 1, "Address already in use"),
        ("dies-at-start", 1, "no licence"),
        ("dies-in-the-middle", 1, "was killed (SIGKILL)"),
    ],
)
def test_up_tells_what_went_wrong(
    third_party: dict[str, str], fault: str, code: int, told: str
) -> None:
    said = culvert("up", f"hostile/{fault}", env=third_party)
    Said(said.code, "", said.err).refused(code, told)
    assert "\x1b" not in said.out + said.err


def test_what_is_missing_is_unsupported_and_told_with_its_remedy(tmp_path: Path) -> None:
    study = small_study(tmp_path / "s.toml", "none", "wireguard/go")
    env = {"PATH": str(tmp_path), "CULVERT_TOOLS": str(tmp_path)}
    said = culvert("run", study, "--out", tmp_path / "out", env=env)
    assert said.code == 3
    assert "remedy: culvert install wireguard/go" in said.out
    assert "1 ok  1 unsupported" in said.out


def test_what_is_missing_is_said_before_the_first_trial_and_its_claims_are_not_tested(
    tmp_path: Path,
) -> None:
    study = small_study(tmp_path / "s.toml", "none", "wireguard/go", "openvpn/none")
    claims = (
        f'[[claim]]\nid = "{name}"\ntext = "{name}"\ntest = "rtt.rtt_p50_us: {name} > none"\n'
        for name in ("wireguard/go", "openvpn/none")
    )
    study.write_text(
        study.read_text()
        + "".join(claims)
        .replace('id = "wireguard/go"', 'id = "w"')
        .replace('id = "openvpn/none"', 'id = "o"')
    )
    env = {"PATH": str(tmp_path), "CULVERT_TOOLS": str(tmp_path)}
    said = culvert("run", study, "--only", "wireguard/go", "--out", tmp_path / "out", env=env)
    assert said.code == 3
    text = " ".join(said.out.split())
    assert "missing: wireguard-go" in text.partition("none, rtt")[0]
    assert "would be unsupported here: culvert install wireguard/go" in text
    assert "not measured openvpn/none" in text
    assert "openvpn/none: the run has no trial of rtt, clean" in text


def test_root_without_cap_sys_admin_measures_in_a_user_namespace(tmp_path: Path) -> None:
    if refusal := rootless.refusal():
        pytest.skip(refusal.why)
    powerless = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    study = small_study(tmp_path / "s.toml")
    said = culvert("run", study, "--out", tmp_path / "out", before=powerless)
    assert said.code == 0, said.err
    assert "without root: " in said.out
    assert "1 ok" in said.out


# -- journals and disks ----------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(size_kb: int) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", str(disk)]
        subprocess.run(words, check=True)
        return disk

    yield mount
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_up_loses_nothing_and_the_run_goes_on_afterwards(
    tmp_path: Path, tiny_disk: Callable[[int], Path]
) -> None:
    disk = tiny_disk(220)
    study, out = small_study(tmp_path / "s.toml", blocks=12), disk / "out"
    said = culvert("run", study, "--out", out)
    assert said.code == 2
    Said(2, "", said.err).refused(2, "disk", "--resume")
    with Journal.open(out) as journal:
        kept = len(journal.done())
    assert 0 < kept < 12
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    said = culvert("run", study, "--out", out, "--resume", "--json")
    assert said.code in (0, 1)  # invalid on a busy machine
    counts = json.loads(said.out)["trials"]
    assert counts["ok"] + counts["invalid"] == 12 - kept


def test_a_disk_without_any_room_is_told(tmp_path: Path, tiny_disk: Callable[[int], Path]) -> None:
    out = tiny_disk(16) / "out"
    culvert("run", small_study(tmp_path / "s.toml"), "--out", out).refused(2, "disk")


def test_a_place_where_nothing_can_be_written_is_told(
    tmp_path: Path, tiny_disk: Callable[[int], Path]
) -> None:
    disk = tiny_disk(64)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    said = culvert("run", small_study(tmp_path / "s.toml"), "--out", disk / "x")
    said.refused(2, "Read-only file system", "--out")


def test_two_runs_on_one_journal(tmp_path: Path, start: Start) -> None:
    study, out = long_study(tmp_path), tmp_path / "out"
    run = start("run", study, "--out", out)
    run.line("1/500")
    (holder,) = (pid for pid in rootless.enclosing() if _parent(pid) == run.process.pid)
    culvert("run", study, "--out", out, "--resume").refused(2, f"process {holder}")
    assert json.loads(culvert("export", out).out)  # reading is free
    assert run.end(signal.SIGTERM).code == 130


def test_resuming_what_cannot_be_resumed(tmp_path: Path) -> None:
    study, out = small_study(tmp_path / "s.toml"), tmp_path / "out"
    culvert("run", study, "--out", out, "--resume").refused(2, "no journal")
    assert not out.exists()
    assert culvert("run", study, "--out", out).code in (0, 1)  # invalid on a busy machine
    small_study(study, probes=31)
    culvert("run", study, "--out", out, "--resume").refused(2, "probes", "original study")
    path = out / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    culvert("run", study, "--out", out, "--resume").refused(2, "corrupt", "another directory")
    assert path.read_bytes() == whole[: len(whole) // 2]
