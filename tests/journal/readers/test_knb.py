from __future__ import annotations

import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.knb import condition
from culvert.results import Status

from .files import figures, found_in
from .samples import KNB_CSV, KNB_HEADER, KNB_JSON

KNB = ForeignFormat.KNB


def test_a_row_is_a_run(tmp_path: Path) -> None:
    found = found_in(tmp_path, KNB, KNB_CSV)
    assert not found.lost
    idle, first, *_, lossy, delayed = found.runs
    assert (idle.measurement, idle.status, len(found.runs)) == ("idle", Status.OK, 6)
    assert (first.name, first.measurement, first.condition, first.line) == (
        "11-native",
        "tcp",
        "clean",
        3,
    )
    assert first.parameters == {"path": "pod2pod", "socket_buffer_bytes": 2 << 20}
    assert figures(first) == {
        "goodput_bps": 710e6,
        "node_cpu_percent@a": 7.09,
        "node_memory_bytes@a": 733e6,
        "node_cpu_percent@b": 9.74,
        "node_memory_bytes@b": 798e6,
    }
    assert (lossy.measurement, lossy.condition) == ("udp", "loss-5-delay-250ms")
    assert (delayed.condition, delayed.parameters["path"]) == ("delay-50ms", "pod2svc")


@pytest.mark.parametrize(
    ("cells", "status", "words"),
    [
        ("x,pod2pod,s,c,2M,1,-1,7,1,7,1,tcp,0,0", Status.FAILED, "no bandwidth (-1)"),
        ("x,pod2pod,s,c,2M,1,,7,1,7,1,tcp,0,0", Status.FAILED, "not a number"),
        ("x,pod2pod,s,c,2M,1,nan,7,1,7,1,tcp,0,0", Status.FAILED, "not a number"),
        ("x,pod2pod,s,c,2M,1,0,7,1,7,1,tcp,0,0", Status.FAILED, "nothing arrived"),
        ("x,pod2pod,s,c,2M,1,1e12,7,1,7,1,tcp,0,0", Status.INVALID, "impossible"),
        ("x,pod2pod,s,c,2M,1,10,-1,1,7,1,tcp,0,0", Status.INVALID, "client-ram is -1 MB"),
        ("x,pod2pod,s,c,2M,1,10,7,1,7,101,tcp,0,0", Status.INVALID, "server-cpu is 101 %"),
        ("x,pod2pod,s,c,2M,1,10,7,?,7,1,tcp,0,0", Status.INVALID, "client-cpu is '?'"),
    ],
)
def test_runs_without_a_figure_fail_and_impossible_ones_are_invalid(
    tmp_path: Path, cells: str, status: Status, words: str
) -> None:
    (run,) = found_in(tmp_path, KNB, f"{KNB_HEADER}\n{cells}\n").runs
    assert run.status is status
    assert words in run.reason


def test_rows_that_are_cut_off_are_counted_with_their_line(tmp_path: Path) -> None:
    cut = KNB_CSV[: KNB_CSV.rindex(",udp")]
    found = found_in(tmp_path, KNB, cut)
    assert len(found.runs) == 5
    (lost,) = found.lost
    assert (lost.line, "11 of 14 columns" in lost.why) == (7, True)


def test_another_table_is_refused(tmp_path: Path) -> None:
    found = found_in(tmp_path, KNB, "a,b\n1,2\n")
    assert not found.runs
    assert "no column benchmark-name" in found.lost[0].why


def test_raw_data_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("VERSION=1.5.0\n")
    with tarfile.open(tmp_path / "1.knbdata", "w:gz") as archive:
        archive.add(tmp_path / "env", "env")
    found = found_in(tmp_path, KNB, (tmp_path / "1.knbdata").read_bytes())
    assert found.runs == []
    assert [lost.why for lost in found.lost] == [
        "this is KNB's raw data: convert it into JSON with knb --from-data FILE -o json"
    ]


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    text = "transport-protocol,bandwidth,benchmark-type,benchmark-name\nudp,5,pod2pod,me\n"
    (run,) = found_in(tmp_path, KNB, text.replace("\n", "\r\n")).runs
    assert (run.name, run.measurement, run.condition) == ("me", "udp", "")
    assert figures(run) == {"goodput_bps": 5e6}


def test_json_of_several_calls(tmp_path: Path) -> None:
    found = found_in(tmp_path, KNB, KNB_JSON)
    assert not found.lost
    assert [run.measurement for run in found.runs] == ["idle", "tcp", "idle", "tcp"]
    assert figures(found.runs[1])["goodput_bps"] == 771e6
    assert found.runs[1].started_at == datetime(2023, 5, 27, 10, 10, 48, tzinfo=UTC)
    assert figures(found.runs[0]) == {
        "node_cpu_percent@a": 13.4,
        "node_memory_bytes@a": 637e6,
        "node_cpu_percent@b": 13.4,
        "node_memory_bytes@b": 637e6,
    }


def test_knb_loss_becomes_a_condition() -> None:
    assert [condition("0", "0"), condition("", ""), condition("0.5", "")] == [
        "clean",
        "",
        "loss-0.5",
    ]
