"""What the machine's other programs use, seen from within a PID namespace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from culvert.trial import bystanders


def write(proc: Path, pid: int, parent: int, ticks: tuple[int, int, int, int], name: str) -> None:
    """As in proc_pid_stat(5): of the process (user, system), of its children the same."""
    times = " ".join(map(str, ticks))
    directory = proc / str(pid)
    directory.mkdir(exist_ok=True)
    text = f"{pid} ({name}) S {parent} {pid} {pid} 0 -1 4194560 1 2 3 4 {times} 20 0 1 0 77 0 0"
    (directory / "stat").write_text(text)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bystanders, "machine_proc", lambda: tmp_path)
    monkeypatch.setattr(bystanders, "init_outside", lambda: 50)
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_CLK_TCK": 100}[name])
    write(tmp_path, 1, 0, (100, 100, 0, 0), "init")
    write(tmp_path, 2, 0, (900, 900, 0, 0), "kthreadd")
    write(tmp_path, 7, 2, (900, 900, 0, 0), "kworker/0:1")
    write(tmp_path, 40, 1, (100, 0, 0, 50), "a shell) S 50 (")
    write(tmp_path, 50, 40, (900, 900, 900, 900), "culvert-probe")
    write(tmp_path, 60, 50, (900, 900, 0, 0), "culvert")
    write(tmp_path, 61, 60, (900, 900, 0, 0), "openvpn")
    return tmp_path


def test_only_processes_outside_count_and_their_children_that_ended(proc: Path) -> None:
    assert bystanders.used_s() == pytest.approx(2.0 + 1.5)
    write(proc, 41, 40, (300, 0, 0, 0), "compiler")
    write(proc, 61, 60, (2000, 2000, 0, 0), "openvpn")
    assert bystanders.used_s() == pytest.approx(3.5 + 3.0)


def test_without_a_namespace_nothing_is_outside(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bystanders, "init_outside", lambda: None)
    assert bystanders.used_s() is None
    assert bystanders.Bystanders().cpus() is None


def test_they_use_at_most_all_cpus_and_never_less_than_none(proc: Path) -> None:
    """One that ended while /proc was read is in one of both sums."""
    seen = bystanders.Bystanders()
    assert seen.cpus() == 0
    write(proc, 41, 40, (10**9, 0, 0, 0), "compiler")
    assert seen.cpus() == os.cpu_count()
    write(proc, 41, 40, (0, 0, 0, 0), "compiler")
    write(proc, 40, 1, (0, 0, 0, 0), "shell")
    assert seen.cpus() == 0
