from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.sides import joined
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


@pytest.mark.parametrize("name", ["tcp-bidirectional", "udp-bidirectional"])
@pytest.mark.parametrize("server", [False, True])
def test_versions_that_write_both_directions_under_one_key(
    tmp_path: Path, name: str, server: bool
) -> None:
    text = IPERF3[name].decode()
    if server:
        text = text.replace('"connecting_to"', '"accepted_connection"')
    old = text.replace('_bidir_reverse"', '"')
    assert old != text
    assert read(tmp_path, old).runs == read(tmp_path, text).runs
    assert not read(tmp_path, old).lost


def test_a_third_value_of_a_key_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, '{"start": {}, "end": {"sum": 1, "sum": 2, "sum": 3}}')
    assert not found.runs
    assert "the key 'sum_bidir_reverse' has two values" in found.lost[0].why


def sided(name: str, **test: Any) -> dict[str, Any]:
    """A document as the server writes it: of its client's counts it has zeros."""
    document: dict[str, Any] = json.loads(IPERF3[name])
    document["start"]["accepted_connection"] = document["start"].pop("connecting_to")
    document["start"]["test_start"] |= test
    for key, one in document["end"].items():
        if key.startswith("sum"):
            one["sender"] = key.endswith("_bidir_reverse") or bool(test.get("reverse"))
            if one["sender"] == key.startswith("sum_received"):
                one |= {"bytes": 0, "bits_per_second": 0}
    document["end"]["cpu_utilization_percent"] |= {"remote_total": 0}
    return document


def test_a_server_knows_what_it_sent_but_not_what_arrived(tmp_path: Path) -> None:
    document = sided("tcp-reverse-omit", reverse=1)
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert (run.status, run.parameters["direction"]) == (Status.OK, "down")
    got = figures(run)
    assert got["sent_bps"] == document["end"]["sum_sent"]["bits_per_second"]
    assert "goodput_bps" not in got
    assert [key for key in got if "cpu" in key] == ["iperf3_cpu_percent@b"]
    assert "import the client's file" in run.note


@pytest.mark.parametrize("name", ["tcp-bidirectional", "udp-bidirectional"])
def test_each_direction_of_a_server_has_its_own_side(tmp_path: Path, name: str) -> None:
    document = sided(name, bidir=1)
    up, down = read(tmp_path, json.dumps(document)).runs
    assert (up.parameters["direction"], down.parameters["direction"]) == ("up", "down")
    assert figures(up)["goodput_bps"] == document["end"]["sum_received"]["bits_per_second"]
    assert "retransmitted_segments" not in figures(up)  # the client's
    assert {"goodput_bps", "loss_ratio"}.isdisjoint(figures(down))
    assert figures(down)["sent_bps"] > 0


@pytest.mark.parametrize(
    ("cookie", "test"),
    [("q3d5ga7v", "q3d5ga7v"), ("0" * 36, ""), ("", ""), (None, ""), (7, "")],
)
def test_a_cookie_that_was_overwritten_names_no_test(
    tmp_path: Path, cookie: object, test: str
) -> None:
    document = json.loads(IPERF3["udp"])
    document["start"]["cookie"] = cookie
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.test == test


@pytest.mark.parametrize(
    "name", ["tcp-reverse-omit", "udp", "tcp-bidirectional", "udp-bidirectional"]
)
def test_both_files_of_a_test_are_its_runs_once(tmp_path: Path, name: str) -> None:
    document = json.loads(IPERF3[name])
    reverse = document["start"]["test_start"]["reverse"]
    server = sided(name, reverse=reverse)
    for one in (document, server):
        one["start"]["cookie"] = "q3d5ga7v"
    client = read(tmp_path, json.dumps(document)).runs
    runs, notes = joined([*client, *read(tmp_path, json.dumps(server)).runs])
    assert [run.parameters for run in runs] == [run.parameters for run in client]
    assert len(notes) == len(runs)
    assert [figures(run)["goodput_bps"] for run in runs] == [
        figures(run)["goodput_bps"] for run in client
    ]


@pytest.mark.parametrize(
    ("server", "sends", "direction"),
    [(False, True, "up"), (False, False, "down"), (True, False, "up"), (True, True, "down")],
)
def test_of_udp_the_sum_says_which_way(
    tmp_path: Path, server: bool, sends: bool, direction: str
) -> None:
    document = sided("udp") if server else json.loads(IPERF3["udp"])
    document["end"]["sum"]["sender"] = sends
    document["end"]["sum_sent"]["sender"] = True  # its own side, as iperf3 writes it
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.parameters["direction"] == direction


def test_a_server_of_udp_whose_sums_are_the_clients_has_its_intervals(tmp_path: Path) -> None:
    document = sided("udp")
    del document["end"]["sum_received"], document["end"]["sum_sent"]
    document["end"]["sum"] |= {"bytes": 0, "bits_per_second": 0, "sender": False}
    size = sum(one["sum"]["bytes"] for one in document["intervals"])
    seconds = sum(one["sum"]["seconds"] for one in document["intervals"])
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert (run.status, run.parameters["direction"]) == (Status.OK, "up")
    assert figures(run)["goodput_bps"] == pytest.approx(8 * size / seconds)


def test_the_sums_say_which_way_where_the_test_does_not(tmp_path: Path) -> None:
    document = sided("tcp-reverse-omit", reverse=1)
    document["start"]["test_start"]["reverse"] = 0
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.parameters["direction"] == "down"


@pytest.mark.parametrize(
    ("start", "test", "parameters"),
    [
        ({}, {"bytes": 65536, "duration": 0}, {"bytes": 65536, "duration": None}),
        ({}, {"blocks": 10, "duration": 0}, {"blocks": 10, "duration": None}),
        ({}, {"target_bitrate": 5_000_000}, {"rate": "10Mbit/s"}),
        ({}, {"target_bitrate": 0}, {"rate": None}),
        ({"sock_bufsize": 2_097_152}, {}, {"socket_buffer_bytes": 2_097_152}),
        ({"tcp_mss": 1200}, {}, {"mss_bytes": 1200}),
        ({}, {"tos": 184}, {"tos": 184}),
        ({}, {"fqrate": 1_000_000}, {"fq_rate_bps": 1_000_000}),
        ({}, {"blksize": 1000}, {"write_size": 1000}),
    ],
)
def test_what_changes_the_meaning_is_a_parameter(
    tmp_path: Path, start: dict[str, Any], test: dict[str, Any], parameters: dict[str, Any]
) -> None:
    document = json.loads(IPERF3["tcp-reverse-omit"])
    (plain,) = read(tmp_path, json.dumps(document)).runs
    assert not {"rate", "bytes", "blocks", "tos", "write_size"} & set(plain.parameters)
    document["start"] |= start
    document["start"]["test_start"] |= test
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert {key: run.parameters.get(key) for key in parameters} == parameters


def test_a_rate_that_only_the_start_states(tmp_path: Path) -> None:
    document = json.loads(IPERF3["tcp-reverse-omit"])
    del document["start"]["test_start"]["target_bitrate"]
    document["start"]["target_bitrate"] = 5_000_000
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.parameters["rate"] == "10Mbit/s"


def test_some_bytes_pass_in_less_than_a_millisecond(tmp_path: Path) -> None:
    document = json.loads(IPERF3["tcp-reverse-omit"])
    document["end"]["sum_received"]["seconds"] = 0.000532
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert (run.status, run.duration_s) == (Status.OK, 0.000532)


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
