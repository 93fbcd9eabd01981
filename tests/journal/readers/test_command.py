"""``culvert import`` as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from culvert.errors import JournalError, UsageError
from culvert.journal.connection import NoRoomError
from culvert.journal.export import export
from culvert.journal.format import Format
from culvert.journal.frames import ROWS_SCHEMA
from culvert.journal.journal import Journal
from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.naming import Naming
from culvert.run.importing import ImportRequest, checked_condition, import_files
from tests.cli import Cli, culvert

from .samples import HEY, IPERF3, KNB_CSV, PING


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("import")
    (directory / "all.csv").write_text(KNB_CSV)
    said = culvert("import", "knb", directory / "all.csv", "--out", directory / "run")
    assert said.code == 0, said.err
    assert 'the baseline "none" is native' in said.out
    assert "6 runs imported: 6 ok; lost: nothing" in said.out
    assert "next: culvert report" in said.out
    return directory / "run"


def test_the_report_says_that_nothing_was_proved(say: Cli, imported: Path) -> None:
    said = say("report", imported)
    assert said.code == 0, said.err
    assert "Imported: not proved by Culvert: 6 of 6 runs count" in said.out
    page = (imported / "report.html").read_text()
    assert "Imported: not proved by Culvert" in page
    assert "All traffic proved" not in page


def test_the_export_has_the_columns_of_every_run(imported: Path) -> None:
    with Journal.open(imported) as journal:
        export(journal.rows(), Format.CSV, imported / "rows.csv")
    rows = pl.read_csv(imported / "rows.csv")
    assert rows.columns == list(ROWS_SCHEMA)
    goodput = rows.filter(pl.col("metric") == "goodput_bps").select("vpn", "block", "value")
    assert goodput.rows()[:2] == [("none", 1, 710e6), ("netbird-direct", 1, 508e6)]


def test_cut_off_files_are_told_with_line_and_exit_code(say: Cli, tmp_path: Path) -> None:
    (tmp_path / "run2.csv").write_text(HEY)
    (tmp_path / "run10.csv").write_text(HEY[: HEY.index(",500")])
    said = say("import", "hey", tmp_path, "--vpn", "wireguard/go", "--out", tmp_path / "o")
    assert said.code == 1
    assert "lost: run10.csv:5: 6 of 8 columns" in said.out
    with Journal.open(tmp_path / "o") as journal:
        trials = journal.trials()
    assert trials["vpn"].to_list() == ["wireguard/go"] * 2
    files = [json.loads(text)["imported"]["file"] for text in trials["evidence"]]
    assert files == ["run2.csv", "run10.csv"]


def test_import_reports_runs_and_losses_as_json(say: Cli, tmp_path: Path) -> None:
    for name, seconds in (("a", 1795183000), ("b", 1795183100)):
        document = json.loads(IPERF3["udp"])
        document["start"]["timestamp"]["timesecs"] = seconds
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(json.dumps(document))
    (tmp_path / "b" / "y.json").write_bytes(IPERF3["error"])
    (tmp_path / "b" / "z.json").write_bytes(b"")
    files = sorted(tmp_path.glob("*/*.json"))
    words = ("--baseline", "a", "--condition", "lossy", "--out", tmp_path / "o", "--json")
    said = say("import", "iperf3", *files, *words)
    assert said.code == 1
    told = json.loads(said.out)
    assert told["trials"] == {"ok": 2, "invalid": 0, "failed": 1, "unsupported": 0}
    assert told["lost"] == [
        {"file": "b/z.json", "line": 0, "why": "it contains no run", "count": 1}
    ]
    with Journal.open(tmp_path / "o") as journal:
        assert set(journal.trials()["vpn"]) == {"none", "b"}
        assert set(journal.trials()["condition"]) == {"lossy"}
        assert journal.run()["lab"] == "imported"


def test_two_copies_of_a_document_are_one_run(say: Cli, tmp_path: Path) -> None:
    for name in ("tunnel.json", "tunnel-copy.json", "nothing.txt", "nothing-2.txt"):
        (tmp_path / name).write_bytes(IPERF3["error" if name.endswith("txt") else "udp"])
    (tmp_path / "array.json").write_text(f"[{IPERF3['udp'].decode()}]")
    said = say("import", "iperf3", *sorted(tmp_path.iterdir()), "--out", tmp_path / "o")
    assert said.code == 0
    words = "tunnel-copy.json:1 is a copy of array.json:1, tunnel.json:1 is a copy of array.json:1"
    assert f"counted once: {words}" in " ".join(said.out.split())


def test_versions_are_names_of_their_own(say: Cli, tmp_path: Path) -> None:
    for number, version in enumerate(("1.98.2", "1.102.2")):
        document = json.loads(IPERF3["udp"])
        document["start"]["timestamp"]["timesecs"] = 1795183000 + number
        (tmp_path / f"tailscale-{version}.json").write_text(json.dumps(document))
    said = say("import", "iperf3", *sorted(tmp_path.glob("*.json")), "--out", tmp_path / "o")
    assert said.code == 0
    with Journal.open(tmp_path / "o") as journal:
        assert set(journal.trials()["vpn"]) == {"tailscale-1.98.2", "tailscale-1.102.2"}


def test_a_tree_is_read_without_what_lies_beside_the_data(say: Cli, tmp_path: Path) -> None:
    for folder in ("data/none/day 1", "data/netbird", "data/.git", "data/netbird/empty"):
        (tmp_path / folder).mkdir(parents=True)
    for place in ("none/day 1/run1.csv", "netbird/run2.csv", "netbird/run10.csv"):
        (tmp_path / "data" / place).write_text(HEY)
    for place in (".gitignore", ".git/config", "README.md", "none/LICENSE"):
        (tmp_path / "data" / place).write_text("no data\n")
    said = say("import", "hey", tmp_path / "data", "--out", tmp_path / "o")
    assert said.code == 0, said.err
    assert "3 runs imported: 3 ok; lost: nothing" in said.out
    assert "ignored, as they contain no run of hey: README.md, none/LICENSE" in said.out
    assert "git" not in said.out
    with Journal.open(tmp_path / "o") as journal:
        trials = journal.trials()
    files = [json.loads(text)["imported"]["file"] for text in trials["evidence"]]
    assert sorted(files) == ["netbird/run10.csv", "netbird/run2.csv", "none/day 1/run1.csv"]


def test_a_damaged_file_of_the_datas_kind_is_lost_in_a_tree_too(say: Cli, tmp_path: Path) -> None:
    (tmp_path / "data/a").mkdir(parents=True)
    (tmp_path / "data/a/run1.csv").write_text(HEY)
    (tmp_path / "data/a/run2.csv").write_text("<html>504 Gateway Time-out</html>\n")
    (tmp_path / "data/notes.txt").write_text("no data\n")
    said = say("import", "hey", tmp_path / "data", "--out", tmp_path / "o")
    assert said.code == 1
    assert "lost: a/run2.csv:1: this is not CSV from hey" in said.out
    assert "lost: notes.txt" not in said.out
    named = say("import", "hey", *sorted(tmp_path.glob("data/*")), "--out", tmp_path / "p")
    assert "lost: notes.txt:1" in named.out


@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        ("knb", "ping.txt", "no run was found in 1 file; ping.txt:1: this is not a KNB table"),
        ("ping", "missing.txt", "the file does not exist"),
        ("ping", "empty", "no run was found in 0 files"),
        ("ping", "ping.txt", "it already contains a journal"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ping.txt").write_text(PING)
    Path("empty").mkdir()
    Path("taken").mkdir()
    Path("taken/journal.sqlite").write_text("x")
    request = ImportRequest(ForeignFormat(form), [Path(name)], Path("taken"), Naming(), "")
    with pytest.raises(UsageError, match=said):
        import_files(request)


def test_wrong_use_of_the_command(say: Cli, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    say("import", "ping", tmp_path / "ping.txt", "--baseline", "x").refused(
        2, "the data does not contain this name", "it has ping"
    )
    with pytest.raises(UsageError, match="is not a name"):
        checked_condition("a b")


def test_names_that_are_no_text_do_not_spoil_the_journal(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.json")
    path.write_bytes(IPERF3["udp"].replace(b"Linux host", b"\\ud800 host"))
    request = ImportRequest(ForeignFormat.IPERF3, [path], tmp_path / "run", Naming(), "")
    import_files(request)
    with Journal.open(tmp_path / "run") as journal:
        told = [journal.run()["environment"], *map(json.loads, journal.trials()["evidence"])]
    assert "host" in json.dumps(told[1])
    assert json.dumps(told, ensure_ascii=False).encode()  # no half of a character


def test_a_full_disk_is_no_reason_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.txt").write_text(PING)

    def full(self: Journal, records: object) -> None:
        raise NoRoomError(str(tmp_path / "o"), "the disk is full", "continue with --resume")

    monkeypatch.setattr(Journal, "record_all", full)
    with pytest.raises(JournalError) as caught:
        import_files(
            ImportRequest(ForeignFormat.PING, [tmp_path / "p.txt"], tmp_path / "o", Naming(), "")
        )
    assert "--resume" not in caught.value.remedy
    assert caught.value.remedy.endswith("then import again")
