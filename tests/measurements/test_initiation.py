"""What becomes of stamps and packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from culvert.labs.base import Node, Process, Usage
from culvert.measurements.base import Outcome
from culvert.measurements.initiation import Initiation, InitiationParameters
from tests.measurements.fakes import NOTHING_CAPTURED, Tunnel, session

MS = 10**6
START_NS = 5_000 * MS


@dataclass
class Started:
    """A process that was executed at a moment."""

    started_monotonic_ns: int
    name: str = "vpn"
    pid: int = 7

    def usage(self) -> Usage:
        return Usage(2_000_000, 3, 1, 4096)


class Slow(Tunnel):
    """Starts two processes; the first is executed at START_NS."""

    connects = 0
    disconnects = 0

    def connect(self, a: Node) -> None:
        self.connects += 1
        started = [Started(START_NS), Started(START_NS + 3 * MS)]
        self.processes["a"] = cast("list[Process]", started)

    def disconnect(self, a: Node) -> None:
        self.disconnects += 1


def packet(at_ns: int, payload: bytes) -> dict[str, Any]:
    return {
        "realtime_ns": at_ns,
        "outgoing": True,
        "protocol": 17,
        "source_port": 7,
        "length": 100,
        "payload": payload.hex(),
    }


HANDSHAKE = [packet(MS, b"H1"), packet(3 * MS, b"H2"), packet(4 * MS, b"data")]


def initiate(
    answered_ns: int, recorded: list[dict[str, Any]], cycles: int = 3
) -> tuple[Slow, Outcome]:
    vpn = Slow(Tunnel.variants[0])
    answer = {"first_sent_ns": START_NS, "answered_ns": answered_ns, "attempts": 4}
    counts = {"packets": 3, "bytes": 300}
    capture = NOTHING_CAPTURED | counts | {"matching": {"out": counts}, "recorded": recorded}
    made = session({"first_answer": answer, "capture": capture}, vpn=vpn)
    return vpn, Initiation().run(made, InitiationParameters(cycles=cycles))


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_what_all_cold_starts_used_is_added_up_by_name() -> None:
    _, outcome = initiate(START_NS + 20 * MS, HANDSHAKE, cycles=3)
    used = {
        (metric.name, metric.labels.get("kind")): metric.value
        for metric in outcome.metrics
        if metric.labels.get("process") == "vpn"
    }
    assert used["cpu_process_s", None] == pytest.approx(3 * 2 * 0.002)
    assert used["context_switches", "voluntary"] == 18
    assert used["memory_peak_bytes", None] == 4096


def test_total_is_from_the_first_execution_to_the_answer() -> None:
    vpn, outcome = initiate(START_NS + 20 * MS, HANDSHAKE)
    assert values(outcome)["total_ms"] == pytest.approx(20)
    assert (vpn.connects, vpn.disconnects) == (3, 2)  # each start but the first after an end
    assert [len(series.values) for series in outcome.series] == [3, 3]


def test_the_handshake_is_from_its_first_to_its_last_packet() -> None:
    found = values(initiate(START_NS + 20 * MS, HANDSHAKE)[1])
    assert found["handshake_ms"] == pytest.approx(2)
    assert found["handshake_packets"] == 2


@pytest.mark.parametrize("recorded", [[], HANDSHAKE[:1], HANDSHAKE[2:]])
def test_without_two_packets_there_is_no_handshake_time(recorded: list[dict[str, Any]]) -> None:
    outcome = initiate(START_NS + 20 * MS, recorded)[1]
    assert "handshake_ms" not in values(outcome)
    assert [series.name for series in outcome.series] == ["total_ms"]


@pytest.mark.parametrize("early_ns", [0, 1, 50 * MS])
def test_an_answer_before_the_command_is_doubted(early_ns: int) -> None:
    outcome = initiate(START_NS - early_ns, HANDSHAKE, cycles=1)[1]
    doubts = [check for check in outcome.doubts if "after the command" in check.name]
    assert [check.passed for check in doubts] == [False]
    assert "routes" in doubts[0].remedy
