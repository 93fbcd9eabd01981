"""What becomes of stamps and packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from culvert.labs.node import Node
from culvert.labs.process import Process, Usage
from culvert.measurements.tunnel.initiation import TIMES, Initiation, InitiationParameters, _of_all
from culvert.topology.graph import Path
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.vpns.variant import Variant
from tests.measurements.fakes import NOTHING_CAPTURED, Tunnel, session

MS = 10**6
START_NS = 5_000 * MS
REALTIME_NS = 1_700_000_000_000 * MS
"""What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC."""


@dataclass
class Started:
    """A process that was executed at a moment."""

    started_monotonic_ns: int
    name: str = "vpn"
    pid: int = 7

    def usage(self) -> Usage:
        return Usage(2_000_000, 3, 1, 4096)


class Slow(Tunnel):
    """Of two ends: starts two processes; the first is executed at START_NS."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self.done: list[str] = []

    def _start(self, node: str) -> None:
        started = [Started(START_NS), Started(START_NS + 3 * MS)]
        self.processes[node] = cast("list[Process]", started)

    def join(self, member: Node) -> None:
        self.done.append(f"join {member.name}")
        if member.name == "b":
            self._start("b")

    def reach(self, path: Path) -> None:
        self.done.append(f"reach {path}")
        self._start(path.source)

    def leave(self, node: Node) -> None:
        self.done.append(f"leave {node.name}")

    def crash(self, node: Node) -> None:
        self.done.append(f"crash {node.name}")

    def drop(self, path: Path) -> None:
        self.done.append(f"drop {path}")

    def resume(self, path: Path) -> None:
        self.done.append(f"resume {path}")

    def outer_length(self, inner_length: int) -> int | None:
        return inner_length + 60


def packet(
    after_ns: int, payload: bytes, length: int = 100, *, outgoing: bool = True
) -> dict[str, Any]:
    return {
        "realtime_ns": REALTIME_NS + START_NS + after_ns,
        "outgoing": outgoing,
        "protocol": 17,
        "source_port": 7,
        "length": length,
        "payload": payload.hex(),
    }


COLD = ["join a", "reach a>b"]
REQUEST = 64 + 60
HANDSHAKE = [
    packet(MS // 2, b"data", REQUEST),  # of the tunnel that was, as is the next
    packet(MS, b"H1"),
    packet(2 * MS, b"data", REQUEST),
    packet(3 * MS, b"H2", outgoing=False),
    packet(4 * MS, b"data", 92),  # a keepalive
    packet(4 * MS, b"data", REQUEST, outgoing=False),
    packet(5 * MS + 1000, b"data", REQUEST),
    packet(6 * MS, b"data", REQUEST),
]


def initiate(
    answered_ns: int,
    recorded: list[dict[str, Any]],
    cycles: int = 3,
    start: str = "cold",
    driver: type[Slow] = Slow,
    **answered: Any,
) -> tuple[Slow, Outcome]:
    vpn = driver(Tunnel.variants[0])
    answer = {
        "first_sent_ns": START_NS,
        "answered_ns": answered_ns,
        "answered_realtime_ns": answered_ns + REALTIME_NS,
        "attempts": 4,
        **answered,
    }
    counts = {"packets": 3, "bytes": 300}
    capture = NOTHING_CAPTURED | counts | {"matching": {"out": counts}, "recorded": recorded}
    made = session({"first_answer": answer, "capture": capture}, vpn=vpn)
    parameters = InitiationParameters.model_validate({"cycles": cycles, "start": start})
    return vpn, Initiation().run(made, parameters)


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
    assert vpn.done == [*COLD, *2 * ["leave a", *COLD]]
    assert {series.name: len(series.values) for series in outcome.series} == {
        spec.name: 3 for spec in TIMES
    }


def test_the_handshake_is_from_its_first_to_its_last_packet() -> None:
    found = values(initiate(START_NS + 20 * MS, HANDSHAKE)[1])
    assert found["handshake_ms"] == pytest.approx(2)
    assert found["handshake_packets"] == 2


def test_a_fragment_belongs_to_the_packet_before_it_that_has_the_ports() -> None:
    old, first, *others = HANDSHAKE
    later = packet(MS, b"H?", 400) | {"source_port": 0}
    found = values(initiate(START_NS + 20 * MS, [old, later, first, later, later, *others])[1])
    assert found["handshake_packets"] == 4
    assert found["handshake_fragments"] == 3
    assert found["handshake_bytes"] == 2 * 100 + 2 * 400


def test_the_phases_are_since_the_command_to_the_microsecond() -> None:
    found = values(initiate(START_NS + 20 * MS, HANDSHAKE)[1])
    assert found["first_handshake_ms"] == pytest.approx(1)
    assert found["last_handshake_ms"] == pytest.approx(3)
    assert found["first_inner_ms"] == pytest.approx(5.001)


@pytest.mark.parametrize(
    ("start", "done"),
    [
        ("warm", ["reach a>b", *3 * ["drop a>b", "resume a>b"]]),
        ("restart-self", ["reach a>b", *3 * ["crash a", *COLD]]),
        ("restart-peer", ["reach a>b", *3 * ["crash b", "join b"]]),
    ],
)
def test_each_start_follows_an_end_of_its_kind(start: str, done: list[str]) -> None:
    vpn, _ = initiate(START_NS + 20 * MS, HANDSHAKE, start=start)
    assert vpn.done == done


def test_who_was_restarted_is_who_used_the_time() -> None:
    for start, node in (("restart-self", "a"), ("restart-peer", "b")):
        _, outcome = initiate(START_NS + 20 * MS, HANDSHAKE, start=start)
        used = [metric for metric in outcome.metrics if metric.labels.get("process") == "vpn"]
        assert {metric.labels["node"] for metric in used} == {node}


@pytest.mark.parametrize("start", ["cold", "warm", "restart-self", "restart-peer"])
@pytest.mark.parametrize(("where", "doubted"), [("other", True), ("about_flow", False)])
def test_icmp_errors_are_excused_if_they_are_about_the_tunnel(
    start: str, where: str, doubted: bool
) -> None:
    errors = {"packets": 1, "bytes": 99}
    vpn = Slow(Tunnel.variants[0])
    counts = {"packets": 3, "bytes": 300}
    capture = NOTHING_CAPTURED | counts | {"matching": {"out": counts}, where: errors}
    answer = {"first_sent_ns": START_NS, "answered_ns": START_NS + 9, "attempts": 1}
    made = session({"first_answer": answer, "capture": capture}, vpn=vpn)
    parameters = InitiationParameters.model_validate({"cycles": 1, "start": start})
    outcome = Initiation().run(made, parameters)
    failed = [check.name for check in outcome.doubts if not check.passed]
    assert any("beside" in name for name in failed) == doubted


def test_a_thousand_alike_are_told_once_and_a_failure_is_never_lost() -> None:
    checks = [Check("x", True, "fine"), Check("x", False, "bad"), Check("y", True, "fine")] * 9
    kept = {check.name: check for check in _of_all(checks, 9)}
    assert (kept["x"].passed, kept["x"].detail) == (False, "bad")
    assert (kept["y"].passed, len(kept)) == (True, 2)
    assert "9 cycles" in kept["y"].detail


@pytest.mark.parametrize("recorded", [[], HANDSHAKE[:3], HANDSHAKE[4:]])
def test_without_two_packets_there_is_no_handshake_time(recorded: list[dict[str, Any]]) -> None:
    outcome = initiate(START_NS + 20 * MS, recorded)[1]
    assert "handshake_ms" not in values(outcome)
    assert "handshake_ms" not in {series.name for series in outcome.series}


@pytest.mark.parametrize("early_ns", [0, 1, 50 * MS])
def test_an_answer_before_the_command_is_doubted(early_ns: int) -> None:
    outcome = initiate(START_NS - early_ns, HANDSHAKE, cycles=1)[1]
    doubts = [check for check in outcome.doubts if "after the command" in check.name]
    assert [check.passed for check in doubts] == [False]
    assert "routes" in doubts[0].remedy


class OnDemand(Slow):
    on_demand = True


def failed(outcome: Outcome) -> list[str]:
    return [check.name for check in outcome.doubts if not check.passed]


def test_on_demand_the_first_request_is_the_command() -> None:
    vpn, outcome = initiate(
        *(START_NS + 20 * MS, HANDSHAKE, 1, "warm"),
        driver=OnDemand,
        started_ns=START_NS + MS // 2,
    )
    assert vpn.done == ["reach a>b", "drop a>b"]
    assert values(outcome)["total_ms"] == pytest.approx(19.5)
    assert not failed(outcome)


def test_a_handshake_before_the_command_of_a_warm_start_names_the_echoes() -> None:
    # Now is long after START_NS, when the recorded handshake was on the link.
    outcome = initiate(START_NS + 20 * MS, HANDSHAKE, cycles=1, start="warm")[1]
    assert failed(outcome)[0] == "the command started the handshake"
    first = next(check for check in outcome.doubts if not check.passed)
    assert "on_demand" in first.remedy


def test_other_starts_may_have_a_handshake_before_the_command() -> None:
    late = initiate(START_NS + 20 * MS, [packet(-5 * MS, b"H0"), *HANDSHAKE], cycles=1)[1]
    assert not failed(late)


@pytest.mark.parametrize(
    ("previous_ns", "resolution_ms"),
    [(START_NS + 9 * MS, 0.25), (None, 0.0), (START_NS - MS, 9.25)],
)
def test_the_resolution_is_the_interval_before_the_answered_request(
    previous_ns: int | None, resolution_ms: float
) -> None:
    outcome = initiate(
        *(START_NS + 20 * MS, HANDSHAKE, 1),
        first_sent_ns=START_NS + 9 * MS + MS // 4,
        previous_sent_ns=previous_ns,
    )[1]
    assert values(outcome)["total_resolution_ms"] == pytest.approx(resolution_ms)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("outgoing", [True, False])
def test_request_and_answer_have_the_length_of_the_tunnel(outgoing: bool, missing: bool) -> None:
    """Without packets of that length on one of the ways, the echo did not go through it."""

    def wrong(one: dict[str, Any]) -> dict[str, Any]:
        of_the_way = one["outgoing"] is outgoing and one["length"] == REQUEST
        return {**one, "length": REQUEST + 1} if missing and of_the_way else one

    outcome = initiate(START_NS + 20 * MS, [wrong(one) for one in HANDSHAKE], cycles=1)[1]
    expected = ["lengths reconcile (during initiation)"] if missing else []
    assert failed(outcome) == expected
