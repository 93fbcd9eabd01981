"""A journal is data: whatever it holds, it is read or refused, soon, in words."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from culvert.bundle.write import bundle
from culvert.errors import JournalError, UsageError
from culvert.journal.export import export
from culvert.journal.format import Format
from culvert.journal.journal import FILE, Journal
from tests.cli import Cli
from tests.effort import cpu_s
from tests.files.planted import plant
from tests.journal import attacks
from tests.journal.dummies import HEAD, trial

REFUSED_WITHIN_S = 10.0


@pytest.mark.parametrize("name", attacks.SCHEMAS)
def test_a_schema_that_is_not_ours_is_refused(tmp_path: Path, name: str) -> None:
    run = attacks.with_schema(tmp_path / "run", name)
    before = (run / FILE).read_bytes()
    begun = cpu_s()
    for attempt in (
        partial(Journal.open, run),
        partial(Journal.resume, run, HEAD),
    ):
        with pytest.raises(JournalError, match="not a journal written by Culvert") as caught:
            attempt()
        assert caught.value.remedy
    assert cpu_s() - begun < REFUSED_WITHIN_S
    assert (run / FILE).read_bytes() == before


@pytest.mark.parametrize("name", attacks.VALUES)
def test_a_value_that_does_not_belong_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    run = attacks.with_value(tmp_path / "run", name)
    table, column, _ = attacks.VALUES[name]
    begun = cpu_s()
    with pytest.raises(JournalError) as caught:
        Journal.open(run)
    assert cpu_s() - begun < REFUSED_WITHIN_S
    said = str(caught.value)
    if name not in ("text that is no UTF-8", "a text of 100 MB", "an unknown status"):
        assert table in said
        assert column in said
    assert len(said) < 500


def read_all(run: Path) -> None:
    with Journal.open(run) as journal:
        journal.rows()


@pytest.mark.parametrize(
    "read", [read_all, lambda run: bundle(run, run.parent / "x.zip")], ids=["open", "bundle"]
)
def test_readers_leave_nothing_and_need_no_right_to_write(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    run = attacks.made(tmp_path / "run")
    assert sorted(path.name for path in run.iterdir()) == ["journal.lock", FILE]
    killed = tmp_path / "killed"
    with Journal.resume(run, HEAD) as journal:
        journal.record(trial(99))
        shutil.copytree(run, killed)
    (killed / f"{FILE}-shm").unlink()
    for directory in (run, killed):
        before = {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
        directory.chmod(0o555)
        read(directory)
        assert {path.name: path.stat().st_mtime_ns for path in directory.iterdir()} == before
        (tmp_path / "x.zip").unlink(missing_ok=True)
    with Journal.open(killed) as journal:
        assert journal.trials().height == attacks.TRIALS + 1


@pytest.mark.parametrize("end", ["", "-wal", "-journal", "-shm"])
@pytest.mark.parametrize("hard", [True, False])
def test_a_link_in_a_file_s_place_is_not_written_through(
    tmp_path: Path, end: str, hard: bool
) -> None:
    run, victim = attacks.made(tmp_path / "run"), tmp_path / "victim"
    place = run / f"{FILE}{end}"
    shutil.copy(run / FILE, victim) if not end else victim.write_text("precious")
    before = victim.read_bytes()
    place.unlink(missing_ok=True)
    place.hardlink_to(victim) if hard else place.symlink_to(victim)
    with pytest.raises(UsageError, match="link") as caught:
        Journal.resume(run, HEAD)
    assert "remove it" in caught.value.remedy
    assert victim.read_bytes() == before


@pytest.mark.parametrize("hard", [True, False])
def test_a_planted_lock_is_not_written_through(tmp_path: Path, hard: bool) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    lock = run / "journal.lock"
    lock.hardlink_to(victim) if hard else lock.symlink_to(victim)
    for attempt in (partial(Journal.create, run, HEAD),):
        with pytest.raises(UsageError, match="link"):
            attempt()
    assert victim.read_text() == "precious"
    assert not (run / FILE).exists()


def test_what_creation_writes_first_is_not_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    (run / f"{FILE}.new").symlink_to(victim)
    (run / f"{FILE}.new-journal").symlink_to(victim)
    Journal.create(run, HEAD).close()
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can call sudo's names")
def test_a_run_with_sudo_belongs_to_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", "65533")
    monkeypatch.setenv("SUDO_GID", "65533")
    run = tmp_path / "results" / "run"
    with Journal.create(run, HEAD) as journal:
        journal.record(trial(0))
        assert {path.name for path in run.iterdir()} == {
            *(FILE + end for end in ("", "-wal", "-shm")),
            "journal.lock",
        }
        assert {path.stat().st_uid for path in (run.parent, run, *run.iterdir())} == {65533}
    assert {path.name for path in run.iterdir()} == {FILE, "journal.lock"}


VANISHING: Mapping[str, Callable[[Path], object]] = {
    "the directory": shutil.rmtree,
    "the directory, renamed": lambda run: run.rename(run.with_name("away")),
    "the journal": lambda run: (run / FILE).unlink(),
    "the journal, replaced": lambda run: (
        shutil.copy(run / FILE, run / "x") and (run / "x").replace(run / FILE)
    ),
    "its log": lambda run: (run / f"{FILE}-wal").unlink(),
    "its shared memory": lambda run: (run / f"{FILE}-shm").unlink(),
    "a second name": lambda run: (run / "more").hardlink_to(run / FILE),
    "the journal, cut": lambda run: os.truncate(run / FILE, 0),
    "its log, cut": lambda run: os.truncate(run / f"{FILE}-wal", 100),
}


@pytest.mark.parametrize("what", VANISHING)
def test_a_journal_that_vanishes_is_noticed(tmp_path: Path, what: str) -> None:
    run = tmp_path / "run"
    with Journal.create(run, HEAD) as journal:
        journal.record(trial(0))
        VANISHING[what](run)
        for write in (
            journal.refuse_vanished,
            partial(journal.record, trial(1)),
            partial(journal.finish, "done"),
        ):
            with pytest.raises(JournalError, match="so the run ends here") as caught:
                write()
            assert caught.value.remedy


@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_journal_that_was_overwritten_is_noticed_at_the_end(tmp_path: Path, end: str) -> None:
    """The open journal does not notice: SQLite reads pages from its cache."""
    run = tmp_path / "run"
    with Journal.create(run, HEAD) as journal:
        for number in range(attacks.TRIALS):
            journal.record(trial(number))
        journal.refuse_damaged()
        with (run / f"{FILE}{end}").open("r+b") as file:
            file.write(bytes(8192))
        with contextlib.suppress(JournalError):
            journal.finish("done")
        with pytest.raises(JournalError) as caught:
            journal.refuse_damaged()
        assert caught.value.remedy


@pytest.mark.parametrize("kind", ["pipe", "zero", "directory", "dangling"])
@pytest.mark.parametrize("end", ["", "-wal"])
def test_special_files_are_refused_at_once(say: Cli, tmp_path: Path, kind: str, end: str) -> None:
    run = attacks.made(tmp_path / "run")
    if not end:
        (run / FILE).unlink()
    plant(run / f"{FILE}{end}", kind, tmp_path)
    for words in (
        ("report", run),
        ("export", run),
        ("compare", run, run),
        ("bundle", run, "--out", tmp_path / "x.zip"),
    ):
        begun = cpu_s()
        said = say(*words)
        assert cpu_s() - begun < REFUSED_WITHIN_S
        said.refused(2)
    assert say("verify", run).code in (1, 2)


HOSTILE = [*attacks.SCHEMAS, *attacks.VALUES]


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_ends_soon_in_words(say: Cli, tmp_path: Path, name: str) -> None:
    make = attacks.with_schema if name in attacks.SCHEMAS else attacks.with_value
    run = make(tmp_path / "run", name)
    for words in (
        ("report", run),
        ("export", run),
        ("export", run, "--format", "csv"),
        ("compare", run, run),
        ("bundle", run, "--out", tmp_path / "x.zip"),
        ("verify", run),
    ):
        begun = cpu_s()
        said = say(*words)
        assert cpu_s() - begun < REFUSED_WITHIN_S, words
        assert said.code in (0, 1, 2), words
        assert "defect" not in said.err, (words, said.err)
        if said.code == 2:
            said.refused(2)
        (tmp_path / "x.zip").unlink(missing_ok=True)


@pytest.mark.parametrize("log", [b"", b"x"])
@pytest.mark.parametrize("claimed", [True, False])
def test_a_sparse_terabyte_takes_no_time(tmp_path: Path, log: bytes, claimed: bool) -> None:
    run = attacks.made(tmp_path / "run")
    with (run / FILE).open("r+b") as file:
        file.truncate(1 << 40)
        if claimed:  # pages in the file: https://sqlite.org/fileformat.html, 1.3
            file.seek(28)
            file.write((1 << 28).to_bytes(4, "big"))
    if log:
        (run / f"{FILE}-wal").write_bytes(log)
    begun = cpu_s()
    with contextlib.suppress(JournalError), Journal.open(run) as journal:
        assert journal.trials().height == attacks.TRIALS
    assert cpu_s() - begun < REFUSED_WITHIN_S


def test_json_never_holds_what_json_has_not(tmp_path: Path) -> None:
    run = attacks.made(tmp_path / "run")
    with Journal.open(run) as journal:
        rows = journal.rows()
    for value in (float("nan"), float("inf")):
        broken = rows.with_columns(value=value)
        with pytest.raises(ValueError, match="JSON"):
            export(broken, Format.JSON, tmp_path / "x.json")
        assert not (tmp_path / "x.json").exists()
