"""A journal is data: whatever it holds, it is read or refused, soon, in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from culvert.bundle.write import bundle
from culvert.errors import JournalError
from culvert.journal.export import export
from culvert.journal.format import Format
from culvert.journal.journal import FILE, Journal
from tests.cli import Cli
from tests.effort import cpu_s
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
        read_all(run)
    assert cpu_s() - begun < REFUSED_WITHIN_S
    said = str(caught.value)
    if name != "text that is no UTF-8":
        assert table in said
        assert column in said or table in ("series", "histogram")
    assert len(said) < 500


def read_all(run: Path) -> None:
    with Journal.open(run) as journal:
        journal.run()
        journal.rows()
        journal.series()
        journal.histograms()


@pytest.mark.parametrize(
    "read", [read_all, lambda run: bundle(run, run.parent / "x.zip")], ids=["open", "bundle"]
)
def test_readers_leave_nothing_and_need_no_right_to_write(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    run = attacks.made(tmp_path / "run")
    assert sorted(path.name for path in run.iterdir()) == ["journal.lock", FILE]
    before = {path.name: path.stat().st_mtime_ns for path in run.iterdir()}
    run.chmod(0o555)
    read(run)
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir()} == before


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


def test_json_never_holds_what_json_has_not(tmp_path: Path) -> None:
    run = attacks.made(tmp_path / "run")
    with Journal.open(run) as journal:
        rows = journal.rows()
    for value in (float("nan"), float("inf")):
        broken = rows.with_columns(value=value)
        with pytest.raises(ValueError, match="JSON"):
            export(broken, Format.JSON, tmp_path / "x.json")
        assert not (tmp_path / "x.json").exists()
