"""Files that strangers reported, for those who have them beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.journal.readers.foreign_run import ForeignRun
from culvert.journal.readers.formats import ForeignFormat, reader
from culvert.journal.readers.reading import name_of
from culvert.results import Status

from .files import figures
from .published import SHARED

CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"no reported files in {CASES}")


def runs(form: ForeignFormat, name: str) -> list[ForeignRun]:
    found = reader(form)(CASES / name)
    assert not found.lost
    assert {run.status for run in found.runs} == {Status.OK}
    return found.runs


def test_both_directions_of_3_9() -> None:
    up, down = runs(ForeignFormat.IPERF3, "iperf3-3.9-bidir.json")
    assert (up.parameters["direction"], down.parameters["direction"]) == ("up", "down")
    retransmitted = [figures(run)["retransmitted_segments"] for run in (up, down)]
    assert retransmitted == [0, 1]


def test_an_amount_of_bytes_is_a_parameter() -> None:
    (small,) = runs(ForeignFormat.IPERF3, "iperf3-bytes-64K.json")
    (large,) = runs(ForeignFormat.IPERF3, "iperf3-bytes-4M.json")
    assert (small.parameters["bytes"], large.parameters["bytes"]) == (64 << 10, 4 << 20)
    assert "duration" not in small.parameters


def test_a_server_that_sent() -> None:
    (run,) = runs(ForeignFormat.IPERF3, "iperf3-server-side-reverse.json")
    assert run.parameters["direction"] == "down"
    assert figures(run)["sent_bps"] == pytest.approx(20.9e6, rel=0.01)


@pytest.mark.parametrize(("name", "size"), [("ping-sigquit.txt", 84), ("ping-bsd-frag.txt", 1500)])
def test_lines_that_ping_prints(name: str, size: int) -> None:
    (run,) = runs(ForeignFormat.PING, name)
    assert run.parameters["packet_size"] == size
    assert figures(run)["loss_ratio"] == pytest.approx(1 / 3)


def test_versions_are_two_names() -> None:
    assert {name_of(path) for path in Path(CASES, "versions").iterdir()} == {
        "tailscale-1.98.2",
        "tailscale-1.102.2",
    }
