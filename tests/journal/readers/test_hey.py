from __future__ import annotations

from pathlib import Path

import pytest

from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.results import Status

from .files import figures, found_in
from .samples import HEY


def read(directory: Path, content: bytes | str) -> Found:
    return found_in(directory, ForeignFormat.HEY, content)


def test_a_file_is_a_run(tmp_path: Path) -> None:
    (run,) = read(tmp_path, HEY).runs
    assert (run.status, run.measurement) == (Status.OK, "http")
    got = figures(run)
    assert got["response_p50_ms"] == pytest.approx(65.6)
    assert not {"response_p90_ms", "response_p99_ms"} & set(got)  # of three requests
    assert got["response_mean_ms"] == pytest.approx((65.6 + 127.1 + 10) / 3)
    assert got["response_max_ms"] == pytest.approx(127.1)
    assert (got["requests"], got["error_ratio"]) == (4, 0.25)
    assert list(run.series[0].values) == [0.0656, 0.1271, 0.01]
    assert list(run.series[0].t_ns) == [101_400_000, 101_700_000, 200_000_000]


def test_cut_off_in_the_middle_of_a_row(tmp_path: Path) -> None:
    found = read(tmp_path, HEY[: HEY.index(",500")])
    assert figures(found.runs[0])["requests"] == 3
    (lost,) = found.lost
    assert (lost.line, lost.why) == (5, "6 of 8 columns: the row is truncated or damaged")


def test_cut_off_in_the_middle_of_a_number_is_not_seen(tmp_path: Path) -> None:
    """0.3000 that became 0.3 is a whole row: nothing tells it from one that was so written."""
    found = read(tmp_path, HEY[:-4])
    assert (figures(found.runs[0])["requests"], found.lost) == (4, [])


def test_old_versions_have_no_offset(tmp_path: Path) -> None:
    lines = [line.rpartition(",")[0] for line in HEY.splitlines()]
    (run,) = read(tmp_path, "\n".join(lines)).runs
    assert figures(run)["requests"] == 4


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("-0.1,0,0,0,0,0,200,1", "line 6: response-time is -0.1"),
        ("1e6,0,0,0,0,0,200,1", "response-time is 1e+06"),
        ("0.1,0,0,0,0,0,999,1", "status-code is 999"),
        ("0.1,0,0,0,0,0,200,-1", "offset is -1"),
    ],
)
def test_an_impossible_request_makes_the_run_invalid(tmp_path: Path, row: str, words: str) -> None:
    (run,) = read(tmp_path, f"{HEY}{row}\n").runs
    assert run.status is Status.INVALID
    assert words in run.reason


@pytest.mark.parametrize("row", ["nan,0,0,0,0,0,200,1", "0.1,0,0,0,0,0,OK,1", "0.1", "a,b"])
def test_a_row_that_is_none_is_lost(tmp_path: Path, row: str) -> None:
    found = read(tmp_path, f"{HEY}{row}\n")
    assert [lost.line for lost in found.lost] == [6]
    assert found.runs[0].status is Status.OK


def test_empty_runs_fail(tmp_path: Path) -> None:
    header = HEY.splitlines()[0]
    for content in ("", "\n\n", header, f"{header}\n0.1,0,0,0,0,0,500,1\n"):
        (run,) = read(tmp_path, content).runs
        assert run.status is Status.FAILED
        assert run.reason


def test_another_header_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, "response-time,size\n0.1,5\n")
    assert (found.runs, found.lost[0].line) == ([], 1)
