"""The same rows in every format."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from culvert.errors import UsageError
from culvert.journal.export import export
from culvert.journal.format import ROWS, Format
from culvert.journal.journal import Journal
from culvert.report.exported import EXPORTED_SCHEMA, exported
from tests.cli import Cli
from tests.journal.dummies import HEAD, failed, trial
from tests.journal.readers.samples import PING


@pytest.fixture
def rows(tmp_path: Path) -> pl.DataFrame:
    with Journal.create(tmp_path / "journal", HEAD) as journal:
        for number in range(4):
            journal.record(trial(number))
        journal.record(failed(4))
        return exported(journal)


def test_parquet_and_csv_come_back(rows: pl.DataFrame, tmp_path: Path) -> None:
    export(rows, Format.PARQUET, tmp_path / "x.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "x.parquet"), rows)
    export(rows, Format.CSV, tmp_path / "x.csv")
    back = pl.read_csv(tmp_path / "x.csv", schema=rows.schema)
    assert back["value"].to_list() == rows["value"].to_list()
    assert back["labels"].to_list() == rows["labels"].to_list()
    assert back.columns == list(EXPORTED_SCHEMA)


def test_json_is_a_list_of_rows_with_objects_inside(rows: pl.DataFrame, tmp_path: Path) -> None:
    export(rows, Format.JSON, tmp_path / "x.json")
    back = json.loads((tmp_path / "x.json").read_text())
    assert len(back) == len(rows)
    assert list(back[0]) == list(EXPORTED_SCHEMA)
    assert back[0]["parameters"] == {"packet_size": 64}
    assert back[1]["labels"] == {"node": "a", "process": "é"}
    assert [row["value"] for row in back] == rows["value"].to_list()
    assert back[-1]["metric"] is None


def test_a_row_says_which_run_cell_time_hosts_and_what_disturbed_it(tmp_path: Path) -> None:
    marks = [{"by": by, "value": 2, "bound": 1} for by in ("clock step", "another run")]
    underlay = {"a": {"host": "m1"}, "b": {"host": "m2"}}
    disturbed = replace(trial(0), evidence={"marks": marks, "underlay": underlay})
    runs = set()
    for seed in (1, 2):
        with Journal.create(tmp_path / str(seed), replace(HEAD, seed=seed)) as journal:
            journal.record(disturbed)
            journal.record(trial(1))
            found = exported(journal)
        runs |= set(found["run"])
        assert found["cell"].unique().to_list() == ["UDP, 64 byte packets"]
        assert found["started_at"].unique().to_list() == ["2026-01-02T03:04:05.000678+00:00"]
        of_trials = found.unique("trial", maintain_order=True)
        assert of_trials["hosts"].to_list() == ["m1, m2", ""]
        assert of_trials["disturbed"].to_list() == ["another run, clock step", ""]
    assert len(runs) == 2


def test_no_rows_are_an_empty_list(rows: pl.DataFrame, tmp_path: Path) -> None:
    export(rows.clear(), Format.JSON, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == []


def test_an_import_has_the_columns_and_types_of_a_run(
    say: Cli, rows: pl.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    done = say("import", "ping", tmp_path / "ping.txt", "--out", tmp_path / "imported")
    assert done.code == 0, done.err
    with Journal.open(tmp_path / "imported") as journal:
        imported = exported(journal)
    assert imported.height > 0
    for name, found in (("run", rows), ("import", imported)):
        export(found, Format.PARQUET, tmp_path / f"{name}.parquet")
        export(found, Format.JSON, tmp_path / f"{name}.json")
        assert pl.read_parquet(tmp_path / f"{name}.parquet").schema == EXPORTED_SCHEMA
        for row in json.loads((tmp_path / f"{name}.json").read_text()):
            assert list(row) == list(EXPORTED_SCHEMA)


def test_the_documentation_has_these_columns_in_this_order() -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    told = re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE)
    names: dict[object, str] = {pl.String: "text", pl.Int64: "integer", pl.Float64: "real"}
    assert told == [(name, names[kind]) for name, kind in EXPORTED_SCHEMA.items()]


@pytest.mark.parametrize("format", sorted(ROWS))
def test_standard_output_gets_the_same_bytes(
    rows: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    export(rows, format, tmp_path / "x")
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    export(rows, format, None)
    assert out.buffer.getvalue() == (tmp_path / "x").read_bytes()


def test_a_terminal_is_not_controlled(
    rows: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    escaped = json.dumps({"\u202e": "\x9b1m"})
    hostile = rows.with_columns(reason=pl.lit("\x1b[2Jred\u202e\x07"), labels=pl.lit(escaped))
    for format in (Format.CSV, Format.JSON):
        export(hostile, format, tmp_path / "x")
        assert "\u202e" in (tmp_path / "x").read_text()  # a file is exact
        buffer = io.BytesIO()
        out = io.TextIOWrapper(buffer)
        monkeypatch.setattr(out, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdout", out)
        export(hostile, format, None)
        shown = buffer.getvalue().decode()
        assert "[2Jred" in shown
        assert not {"\x1b", "\u202e", "\x07", "\x9b"} & set(shown)


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "-1", "\t=1", "\r=1", "\n=1", 'a"b', "a,b"])
def test_a_text_is_exact_in_csv(rows: pl.DataFrame, tmp_path: Path, text: str) -> None:
    export(rows.with_columns(vpn=pl.lit(text)), Format.CSV, tmp_path / "x.csv")
    back = pl.read_csv(tmp_path / "x.csv", schema=rows.schema)
    assert set(back["vpn"]) == {text}
    assert back["value"].to_list() == rows["value"].to_list()


def test_parquet_is_not_written_to_a_terminal(
    rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(UsageError, match="not text for a terminal"):
        export(rows, Format.PARQUET, None)


@pytest.mark.parametrize("format", sorted(ROWS))
def test_a_file_is_written_whole_or_not_at_all(
    rows: pl.DataFrame, tmp_path: Path, format: Format
) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        export(rows, format, tmp_path / "none" / "x")
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        export(rows, format, tmp_path / "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal", "x"]


@pytest.mark.parametrize("format", sorted(ROWS))
def test_a_reader_that_has_enough_is_no_error(
    rows: pl.DataFrame, tmp_path: Path, format: Format
) -> None:
    code = (
        "import sys; import polars as pl\n"
        "from culvert.commands import main\n"
        "from culvert.journal.journal import Journal\n"
        "rows = Journal.rows\n"
        "Journal.rows = lambda journal: pl.concat([rows(journal)] * 2000)\n"
        "sys.argv[1:1] = ['export', '--format']\n"
        "main()\n"
    )
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code, str(format), tmp_path / "journal"],
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as child:
        os.close(writing)
        os.read(reading, 100)
        os.close(reading)
        _, complaint = child.communicate()
    assert (child.returncode, complaint) == (0, b"")
