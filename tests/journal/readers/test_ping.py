from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from culvert.analysis.latency import decode
from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.results import Status

from .files import figures, found_in
from .samples import PING, PING_BUSYBOX, PING_QUIET


def read(directory: Path, content: bytes | str) -> Found:
    return found_in(directory, ForeignFormat.PING, content)


def test_iputils_with_times_duplicates_and_loss(tmp_path: Path) -> None:
    found = read(tmp_path, PING)
    (run,) = found.runs
    assert (found.lost, run.status, run.measurement) == ([], Status.OK, "rtt")
    assert run.parameters == {"packet_size": 84, "protocol": "icmp"}
    got = figures(run)
    assert [got["probes_sent"], got["probes_lost"], got["duplicate_packets"]] == [4, 1, 1]
    assert got["loss_ratio"] == 0.25
    assert got["rtt_p50_us"] == pytest.approx(200)
    assert (got["rtt_min_us"], got["rtt_max_us"]) == pytest.approx((100, 300))
    assert run.started_at == datetime.fromtimestamp(1795183239.688615, UTC)
    assert decode(run.histograms[0].hdr_v2).total == 3


def test_no_percentile_without_a_round_trip_beyond_it(tmp_path: Path) -> None:
    begin, reply, *_ = PING_BUSYBOX.splitlines()
    for count, shown in ((9, {"p50"}), (10, {"p50", "p90"}), (100, {"p50", "p90", "p99"})):
        (run,) = read(tmp_path, "\n".join([begin, *[reply] * count])).runs
        names = {f"rtt_{name}_us" for name in shown}
        assert names == {name for name in figures(run) if name.startswith("rtt_p")}


def test_busybox_ping_is_read(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING_BUSYBOX).runs
    assert figures(run)["rtt_mean_us"] == pytest.approx(60)
    assert (run.started_at, run.parameters["packet_size"]) == (None, 84)


def test_quiet_ipv6_with_decimal_commas(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING_QUIET).runs
    got = figures(run)
    assert (got["rtt_min_us"], got["rtt_mean_us"], got["rtt_max_us"]) == pytest.approx((13, 22, 30))
    assert "rtt_p50_us" not in got
    assert run.parameters["packet_size"] == 104


def test_statistics_that_are_no_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, PING_QUIET.replace("0,022", "1e999"))
    assert [run.status for run in found.runs] == [Status.FAILED]
    assert [lost.line for lost in found.lost] == [5]


def test_several_runs_in_a_file(tmp_path: Path) -> None:
    found = read(tmp_path, f"{PING}{PING_BUSYBOX}{PING_QUIET}")
    assert [run.status for run in found.runs] == [Status.OK] * 3
    assert [run.line for run in found.runs] == [1, 11, 18]
    assert not found.lost


def test_truncated_ping_output_has_no_loss_figure(tmp_path: Path) -> None:
    found = read(tmp_path, PING[: PING.index(" ttl=64 time=0.200")])
    (run,) = found.runs
    assert run.status is Status.OK
    assert "loss_ratio" not in figures(run)
    assert [(lost.line, lost.why) for lost in found.lost] == [
        (6, "a line that ping does not print, or an incomplete one"),
        (1, "its statistics are missing: it is truncated"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "status", "words"),
    [
        ("time=0.300", "time=-5", Status.INVALID, "line 3: seq 2 is -5 ms"),
        ("4 packets transmitted, 3", "4 packets transmitted, 5", Status.INVALID, "5 answers to 4"),
        ("transmitted, 3", "transmitted, 1", Status.INVALID, "too few"),
        ("transmitted, 3", "transmitted, 0", Status.FAILED, "none of 4"),
        ("4 packets transmitted, 3", "0 packets transmitted, 0", Status.FAILED, "sent no probe"),
    ],
)
def test_runs_that_do_not_count(
    tmp_path: Path, old: str, new: str, status: Status, words: str
) -> None:
    assert old in PING
    (run,) = read(tmp_path, PING.replace(old, new)).runs
    assert run.status is status
    assert words in run.reason


def test_a_run_without_answers_fails(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING.splitlines()[0]).runs
    assert (run.status, run.reason) == (Status.FAILED, "it has no round trip")


def test_text_of_another_program_is_no_ping_run(tmp_path: Path) -> None:
    found = read(tmp_path, "hello\n\nworld\n")
    assert (found.runs, [lost.line for lost in found.lost]) == ([], [1, 3])


def test_counts_that_no_run_reaches(tmp_path: Path) -> None:
    found = read(tmp_path, PING_QUIET.replace("10 received", f"{10**25} received"))
    assert 4 in [lost.line for lost in found.lost]
    assert "probes_lost" not in {metric.name for metric in found.runs[0].metrics}
