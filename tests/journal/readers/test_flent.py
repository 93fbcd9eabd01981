from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.results import Status

from .files import figures, found_in
from .samples import FLENT


def read(directory: Path, content: bytes | str) -> Found:
    return found_in(directory, ForeignFormat.FLENT, content)


def test_plain_and_compressed_are_one(tmp_path: Path) -> None:
    plain = read(tmp_path, FLENT)
    packed = read(tmp_path, gzip.compress(FLENT.encode()))
    assert plain == packed
    (run,) = plain.runs
    assert (run.status, run.name, run.measurement) == (Status.OK, "wireguard", "flent")
    assert run.parameters == {"test": "rrul"}
    assert run.started_at == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert figures(run) == {
        "rtt_loaded_p50_us": 2000,
        "goodput_down_bps": 910e6,
        "flent_median@Ping (ms) ICMP": 2.0,
        "flent_median@TCP download sum": 910.0,
    }
    ping = next(one for one in run.series if one.labels["series"] == "Ping (ms) ICMP")
    assert (list(ping.t_ns), list(ping.values)) == ([0, 400_000_000], [1.0, 3.0])


def test_cut_off_within_the_compression(tmp_path: Path) -> None:
    packed = gzip.compress(FLENT.encode())
    found = read(tmp_path, packed[:-20])
    assert "its compressed data is truncated" in [lost.why for lost in found.lost]
    assert all(run.status is Status.FAILED for run in found.runs)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    assert read(tmp_path, FLENT.replace('"version": 3', '"version": 4')).runs
    found = read(tmp_path, FLENT.replace('"version": 3', '"version": 5'))
    assert not found.runs
    assert "its format 5 is newer than 4" in found.lost[0].why


def test_what_may_be_negative(tmp_path: Path) -> None:
    document = json.loads(FLENT)
    document["results"]["qdisc_stats::drop_next"] = [-5.0, 0.0, -1.0]
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.status is Status.OK
    assert figures(run)["flent_median@qdisc_stats::drop_next"] == -1.0


def test_impossible_values_of_flent_are_invalid(tmp_path: Path) -> None:
    document = json.loads(FLENT)
    document["results"]["TCP download sum"] = [-1.0, 2.0]
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.status is Status.INVALID
    assert "2 values for 3 times" in run.reason
    assert "negative value" in run.reason


def test_a_flent_file_without_values_is_a_failed_run(tmp_path: Path) -> None:
    document = json.loads(FLENT) | {"results": {}}
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert (run.status, run.reason) == (Status.FAILED, "no series of it has a value")


def test_json_of_another_program_is_no_flent_run(tmp_path: Path) -> None:
    found = read(tmp_path, '{"a": 1}')
    assert (found.runs, len(found.lost)) == ([], 1)


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_values_whose_sum_is_infinite(tmp_path: Path, value: float) -> None:
    document = json.loads(FLENT)
    name = "TCP download sum"
    document["results"][name] = [value] * len(document["x_values"])
    (run,) = read(tmp_path, json.dumps(document)).runs
    assert run.status is Status.INVALID
    assert f"{name!r} has a value beyond 1e+18" in run.reason
    assert all(abs(figure) < 1e18 for figure in figures(run).values())
