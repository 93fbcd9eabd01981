"""What somebody planted beside a journal, or in its place: neither read, nor written through."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import chdir, closing
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.journal.journal import FILE, Journal
from tests.cli import Cli, small_study
from tests.effort import cpu_s
from tests.journal import attacks
from tests.journal.dummies import HEAD, trial
from tests.journal.readers import samples

SOON_S = 10.0


def values(run: Path) -> float:
    with Journal.open(run) as journal:
        return float(journal.rows()["value"].sum())


@pytest.fixture
def log(tmp_path: Path) -> bytes:
    """The log of a run that goes on: it holds all of a journal."""
    run = tmp_path / "another"
    with Journal.create(run, HEAD) as journal:
        for number in range(3):
            journal.record(trial(number))
        return (run / f"{FILE}-wal").read_bytes()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_log_without_its_journal_is_not_played_into_a_new_one(
    tmp_path: Path, log: bytes, end: str
) -> None:
    """It gave a new run the trials of another."""
    run = tmp_path / "run"
    run.mkdir()
    (run / f"{FILE}{end}").write_bytes(log)
    with pytest.raises(UsageError, match="does not belong to this journal") as caught:
        Journal.create(run, HEAD)
    assert "remove it" in caught.value.remedy
    assert sorted(path.name for path in run.iterdir()) in (
        sorted([f"{FILE}{end}", "journal.lock"]),
        [f"{FILE}{end}"],
    )


@pytest.fixture
def hot(tmp_path: Path) -> bytes:
    """A rollback journal that SQLite plays back: all values twice as large, valid checksums."""
    run = attacks.made(tmp_path / "hot")
    with closing(sqlite3.connect(run / FILE, isolation_level=None)) as sql:
        sql.execute("PRAGMA journal_mode = DELETE")
        sql.execute("UPDATE metric SET value = value * 2")
        attacks.seal(sql)
        sql.execute("PRAGMA cache_size = 1")
        sql.execute("BEGIN IMMEDIATE")
        sql.execute("UPDATE metric SET value = value / 2")
        sql.execute("UPDATE trial SET evidence = evidence")
        content = (run / f"{FILE}-journal").read_bytes()
        sql.execute("ROLLBACK")
    return content


def test_a_rollback_journal_is_not_played_back(tmp_path: Path, hot: bytes) -> None:
    """It changed the trials after they were verified."""
    run = attacks.made(tmp_path / "run")
    before = (run / FILE).read_bytes(), values(run)
    (run / f"{FILE}-journal").write_bytes(hot)
    with pytest.raises(UsageError, match="does not belong to this journal"):
        Journal.resume(run, HEAD)
    (run / f"{FILE}-journal").unlink()  # readers refuse it too
    assert ((run / FILE).read_bytes(), values(run)) == before


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
def test_what_sqlite_opens_beside_a_new_file_is_not_a_link(
    tmp_path: Path, end: str, hard: bool
) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    victim.write_text("precious" * 5000)
    run.mkdir()
    place = run / f"{FILE}.new{end}"
    place.hardlink_to(victim) if hard else place.symlink_to(victim)
    Journal.create(run, HEAD).close()
    assert victim.read_text() == "precious" * 5000
    assert not os.path.lexists(place)


def _socket(path: Path) -> None:
    with chdir(path.parent), closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(path.name)


KINDS: Mapping[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "full": lambda path: path.symlink_to("/dev/full"),
    "directory": Path.mkdir,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "itself": lambda path: path.symlink_to(path),
    "a hard link": lambda path: path.hardlink_to(_other(path)),
}


def _other(path: Path) -> Path:
    other = path.parent.parent / "other"
    shutil.copy(path.parent / "kept", other)
    return other


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_no_command_writes_to_or_waits_for_a_special_file(
    say: Cli, tmp_path: Path, kind: str, end: str
) -> None:
    """Commands that write refuse it; those that read do not open what they do not read."""
    run = attacks.made(tmp_path / "run")
    shutil.copy(run / FILE, run / "kept")
    place = run / f"{FILE}{end}"
    place.unlink(missing_ok=True)
    KINDS[kind](place)
    ping = tmp_path / "ping.txt"
    ping.write_text(samples.PING)
    study = small_study(tmp_path / "small.toml")
    commands: list[tuple[str | Path, ...]] = [
        ("import", "ping", ping, "--out", run),
    ]
    if kind in ("pipe", "a hard link"):  # the slowest
        commands += [("run", study, "--out", run, "--resume"), ("run", study, "--out", run)]
    reads = end in ("", "-wal") and kind != "a hard link"
    if reads:
        commands += [
            ("report", run),
            ("export", run),
            ("compare", run, run),
            ("bundle", run, "--out", tmp_path / "x.zip"),
        ]
    for words in commands:
        refused_soon(say, words)
    begun = cpu_s()
    assert say("verify", run).code in ((1, 2) if reads else (0, 1, 2))
    assert cpu_s() - begun < SOON_S


def refused_soon(say: Cli, words: tuple[str | Path, ...]) -> None:
    begun = cpu_s()
    said = say(*words)
    assert cpu_s() - begun < SOON_S, words
    assert "defect" not in said.err, (words, said.err)
    said.refused(2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_special_file_in_the_lock_s_place(say: Cli, tmp_path: Path, kind: str) -> None:
    run = attacks.made(tmp_path / "run")
    shutil.copy(run / FILE, run / "kept")
    (run / "journal.lock").unlink()
    KINDS[kind](run / "journal.lock")
    if kind == "pipe":
        refused_soon(say, ("run", small_study(tmp_path / "s.toml"), "--out", run, "--resume"))
    assert say("verify", run).code == 0


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_directory_where_a_new_journal_is_made(tmp_path: Path, end: str) -> None:
    run = tmp_path / "run"
    (run / f"{FILE}.new{end}").mkdir(parents=True)
    with pytest.raises(UsageError, match="a directory instead of a file"):
        Journal.create(run, HEAD)
