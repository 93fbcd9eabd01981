from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.results import Status

from .files import figures, found_in
from .samples import IPERF3, stream


def read(directory: Path, content: bytes | str) -> Found:
    return found_in(directory, ForeignFormat.IPERF3, content)


def test_reverse_with_omitted_seconds(tmp_path: Path) -> None:
    found = read(tmp_path, IPERF3["tcp-reverse-omit"])
    (run,) = found.runs
    end = json.loads(IPERF3["tcp-reverse-omit"])["end"]
    assert not found.lost
    assert (run.status, run.measurement) == (Status.OK, "tcp")
    assert run.parameters == {
        "direction": "down",
        "streams": 2,
        "duration": 2,
        "warmup": 1,
        "congestion_control": "bbr",
    }
    assert figures(run)["goodput_bps"] == end["sum_received"]["bits_per_second"]
    assert figures(run)["retransmitted_segments"] == 5
    assert run.started_at == datetime.fromtimestamp(1795183232, UTC)
    assert run.duration_s == pytest.approx(2, abs=0.1)
    assert len(run.series[0].values) == 2  # the omitted second is left out


def test_iperf3_udp_has_rate_loss_and_jitter(tmp_path: Path) -> None:
    (run,) = read(tmp_path, IPERF3["udp"]).runs
    assert (run.measurement, run.parameters["payload_bytes"]) == ("udp", 32768)
    assert run.parameters["rate"] == "1Mbit/s"
    got = figures(run)
    assert got["goodput_bps"] == pytest.approx(1_048_019.5)
    assert (got["loss_ratio"], got["offered_packets"]) == (0, 4)
    assert got["jitter_ms"] == pytest.approx(0.0037353515625)


@pytest.mark.parametrize(
    ("start", "parameters"),
    [
        ({"target_bitrate": 0}, {"rate": None}),
        ({"target_bitrate": 10_000_000, "num_streams": 4}, {"rate": "40Mbit/s"}),
        ({"target_bitrate": None}, {}),
        ({"target_bitrate": -1}, {}),
        ({"target_bitrate": 1e300}, {}),
        ({"target_bitrate": 1, "num_streams": 1e300}, {"rate": "128bit/s"}),
    ],
)
def test_whether_the_rate_was_open(
    tmp_path: Path, start: dict[str, Any], parameters: dict[str, Any]
) -> None:
    document = json.loads(IPERF3["udp"])
    document["start"]["test_start"] |= start
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert {key: value for key, value in run.parameters.items() if key == "rate"} == parameters


def test_udp_of_versions_that_do_not_tell_what_the_receiver_got(tmp_path: Path) -> None:
    document = json.loads(IPERF3["udp"])
    del document["end"]["sum_received"], document["end"]["sum_sent"]
    document["end"]["sum"] |= {"lost_packets": 1, "lost_percent": 25.0}
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert figures(run)["goodput_bps"] == pytest.approx(0.75 * 1_048_482.685)
    assert figures(run)["loss_ratio"] == 0.25


@pytest.mark.parametrize("name", ["tcp-bidirectional", "udp-bidirectional"])
def test_each_direction_is_a_run(tmp_path: Path, name: str) -> None:
    up, down = read(tmp_path, IPERF3[name]).runs
    end = json.loads(IPERF3[name])["end"]
    for run, key, way in (
        (up, "sum_received", "up"),
        (down, "sum_received_bidir_reverse", "down"),
    ):
        assert (run.status, run.parameters["direction"]) == (Status.OK, way)
        assert run.parameters["bidirectional"] is True
        assert figures(run)["goodput_bps"] == end[key]["bits_per_second"]


def test_an_error_is_a_failed_run(tmp_path: Path) -> None:
    (run,) = read(tmp_path, IPERF3["error"]).runs
    assert run.status is Status.FAILED
    assert "unable to connect to server: Connection refused" in run.reason


def test_a_stream_of_events_is_the_same_run(tmp_path: Path) -> None:
    (whole,) = read(tmp_path, IPERF3["udp"]).runs
    found = read(tmp_path, stream(IPERF3["udp"]))
    (run,) = found.runs
    assert not found.lost
    assert (run.metrics, run.series) == (whole.metrics, whole.series)


def test_a_stream_that_is_cut_off(tmp_path: Path) -> None:
    lines = stream(IPERF3["udp"]).splitlines()
    found = read(tmp_path, b"\n".join([*lines[:-1], *lines]))
    failed, ok = found.runs
    assert (failed.status, ok.status) == (Status.FAILED, Status.OK)
    assert "it is truncated: the receiver's counts are missing" in failed.reason


def test_a_document_that_is_cut_off_keeps_its_intervals(tmp_path: Path) -> None:
    text = IPERF3["tcp-reverse-omit"].decode()
    found = read(tmp_path, text[: text.index('"end": {\n  "streams"')])
    (run,) = found.runs
    assert run.status is Status.FAILED
    assert "the receiver's counts are missing" in run.reason
    assert run.series[0].values
    assert found.lost[0].why == "the file is truncated here"


def test_documents_behind_one_another_and_in_an_array(tmp_path: Path) -> None:
    whole = IPERF3["udp"].decode()
    found = read(tmp_path, f"{whole}garbage\n{whole}\n[{whole},{whole}]")
    assert len(found.runs) == 4
    assert [lost.why for lost in found.lost] == ["7 characters that are not JSON"]
    assert found.lost[0].line == whole.count("\n") + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bits_per_second": -1.0}, "bits_per_second is -1"),
        ({"bits_per_second": 1e30}, "impossible"),
        ({"seconds": 0}, "seconds is 0"),
        ({"lost_packets": 5}, "5 packets lost of 4"),
        ({"lost_packets": -3}, "-3 packets lost of 4"),
        ({"jitter_ms": -1}, "jitter_ms is -1"),
    ],
)
def test_what_cannot_be_is_invalid(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    document = json.loads(IPERF3["udp"])
    document["end"]["sum_received"] |= change
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.status is Status.INVALID
    assert words in run.reason


@pytest.mark.parametrize("value", ["NaN", "1e999", '"fast"', "null", "true", "1" * 400])
def test_a_goodput_that_is_no_number_is_no_figure(tmp_path: Path, value: str) -> None:
    document = json.loads(IPERF3["tcp-reverse-omit"])
    document["end"]["sum_received"]["bits_per_second"] = "@"
    (run,) = read(tmp_path, json.dumps(document).replace('"@"', value)).runs
    assert run.status is Status.FAILED
    assert "goodput_bps" not in figures(run)
