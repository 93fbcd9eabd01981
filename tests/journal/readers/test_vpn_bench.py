"""vpn-bench's tree of results: documents of iperf3 in an envelope."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.journal.journal import Journal
from culvert.journal.readers.formats import ForeignFormat, reader
from culvert.results import Status
from tests.cli import Cli

from .files import figures, found_in
from .samples import IPERF3, enclosed

PING = {
    "rtt_min_ms": {"min": 0.8, "average": 0.9, "max": 1.0},
    "rtt_avg_ms": {"min": 1.2, "average": 1.25, "max": 1.3},
    "rtt_max_ms": {"min": 1.35, "average": 1.36, "max": 1.4},
    "packet_loss_percent": {"min": 0, "average": 1.5, "max": 3},
}
ERROR = {"status": "error", "error_type": "CmdOut", "error": {"msg": "timed out after 120 s"}}


def put(tree: Path, place: str, content: object) -> Path:
    path = tree / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_an_envelope_is_opened(tmp_path: Path) -> None:
    (alone,) = found_in(tmp_path, ForeignFormat.IPERF3, IPERF3["udp"]).runs
    (run,) = found_in(tmp_path, ForeignFormat.IPERF3, enclosed(IPERF3["udp"])).runs
    assert (run.metrics, run.parameters) == (alone.metrics, alone.parameters)
    assert run.reported["path"] == "h1>h2"
    found = found_in(tmp_path, ForeignFormat.IPERF3, enclosed(IPERF3["udp"], pairs=3))
    assert not found.lost
    assert [one.reported["path"] for one in found.runs] == ["h0>h1", "h1>h2", "h2>h3"]
    assert {one.parameters["pairs"] for one in found.runs} == {3}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (ERROR, "timed out after 120 s"),
        ({"status": "error", "error_type": "Odd"}, "Odd"),
        ({**ERROR, "error": {"stdout": '{"start": {}, "error": "no route"}'}}, "no route"),
        (
            {"status": "success", "data": {"pairs": [{"error": "long", "error_type": "Clan"}]}},
            "Clan",
        ),
    ],
)
def test_an_error_is_a_failed_run_with_its_words(
    tmp_path: Path, document: object, reason: str
) -> None:
    found = found_in(tmp_path, ForeignFormat.IPERF3, json.dumps(document))
    (run,) = found.runs
    assert (found.lost, run.status, run.reason) == ([], Status.FAILED, f"iperf3: {reason}")


def test_ping_is_the_round_trips_of_its_calls(tmp_path: Path) -> None:
    path = put(tmp_path, "Tinc/baseline/0_a/ping.json", {"status": "success", "data": PING})
    (run,) = reader(ForeignFormat.VPN_BENCH)(path).runs
    assert (run.status, run.measurement, run.name) == (Status.OK, "rtt", "tinc")
    got = figures(run)
    assert [got["rtt_min_us"], got["rtt_mean_us"], got["rtt_max_us"]] == [800, 1250, 1400]
    assert got["loss_ratio"] == 0.015


def test_a_tree_has_its_vpns_and_profiles(say: Cli, tmp_path: Path) -> None:
    tree = tmp_path / "18.12.2025"
    for number, host in enumerate(("0_a", "1_b")):
        for minutes, vpn in enumerate(("Internal", "Wireguard")):
            document = json.loads(IPERF3["tcp-bidirectional"])
            document["start"]["timestamp"]["timesecs"] += number + 60 * minutes
            content = enclosed(json.dumps(document).encode())
            put(tree, f"{vpn}/baseline/{host}/tcp_iperf3.json", content)
    put(tree, "Wireguard/high_impairment/0_a/udp_iperf3.json", ERROR)
    put(tree, "Wireguard/high_impairment/tc_settings.json", {"alias": "high_impairment"})
    put(tree, "General/comparison/baseline/tcp_iperf3.json", {"status": "success", "data": {}})
    said = say("import", "vpn-bench", tree, "--out", tmp_path / "o")
    assert said.code == 0, said.out
    assert "9 runs imported: 8 ok, 1 failed; lost: nothing" in said.out
    with Journal.open(tmp_path / "o") as journal:
        trials = journal.trials()
    assert set(trials["vpn"]) == {"none", "wireguard"}
    assert set(trials["condition"]) == {"clean", "high"}
    assert set(trials.filter(trials["status"] == "failed")["measurement"]) == {"udp"}
