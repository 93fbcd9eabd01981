"""Rates and times of transactions, and when too many of them fail."""

from __future__ import annotations

from typing import Any

import pytest

from culvert.measurements.tcp.transactions import TcpCrr, TcpRr, TransactionParameters
from culvert.results import Status
from culvert.trial.outcome import Outcome
from tests.measurements.fakes import asked, session
from tests.run import cells
from tests.run.cells import value, vpn

TIMES = {"min_ns": 1000, "p50_ns": 2000, "p99_ns": 3000, "max_ns": 4000, "histogram": "HIST"}
TRANSACTED: dict[str, Any] = {
    "transactions": 100,
    "per_second": 20.0,
    "tcp_info": {"segs_out": 203, "bytes_sent": 100, "segs_in": 202, "bytes_received": 100},
    **TIMES,
}
RESPONDED: dict[str, Any] = {"connections": 1, "responses": 100}
SIZES = [(1, 1), (100, 5000)]


def measure(kind: type[TcpRr | TcpCrr], **more: Any) -> Outcome:
    marked = {"sent": 20, "received": 20, "lost": 0}
    made = session(
        {kind.kind: TRANSACTED | more, "rtt": marked},
        {"tcp_responder": RESPONDED, "echo": {"packets": 20}},
    )
    outcome = kind().run(made, TransactionParameters.model_validate({"request_size": 7}))
    given = asked(made.a, kind.kind)
    assert (given["request_size"], given["response_size"]) == (7, 1)
    assert {metric.name for metric in outcome.metrics} <= {spec.name for spec in kind.metrics}
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_rate_and_times() -> None:
    outcome = measure(TcpRr)
    found = values(outcome)
    assert (found["transactions_per_s"], found["transaction_p50_us"]) == (20, 2)
    assert "transaction_p99_9_us" not in found  # 100 transactions have none
    assert [histogram.name for histogram in outcome.histograms] == ["transaction_ns"]
    assert outcome.traffic is not None
    assert outcome.traffic.a_to_b_sent.packets == 226


def test_connecting_has_times_of_its_own() -> None:
    outcome = measure(TcpCrr, connect=TIMES, errors={"ETIMEDOUT": 1})
    found = values(outcome)
    assert (found["connect_p50_us"], found["failed_transactions"]) == (2, 1)
    names = [histogram.name for histogram in outcome.histograms]
    assert names == ["transaction_ns", "connect_ns"]
    assert all(check.passed for check in outcome.doubts)


@pytest.mark.parametrize(
    "more", [{"transactions": 0}, {"errors": {"ETIMEDOUT": 2}}, {"errors": {"A": 1, "B": 1}}]
)
def test_many_failures_are_doubted(more: dict[str, Any]) -> None:
    failed = [check for check in measure(TcpCrr, **more).doubts if not check.passed]
    assert [check.name for check in failed] == ["requests are answered"]
    assert failed[0].remedy


@pytest.mark.lab
@pytest.mark.parametrize("kind", [TcpRr, TcpCrr])
@pytest.mark.parametrize(("request_size", "response_size"), SIZES)
def test_each_transaction_is_proved_on_a_bare_link(
    kind: type[TcpRr | TcpCrr], request_size: int, response_size: int
) -> None:
    sizes = {"request_size": request_size, "response_size": response_size}
    finding = cells.measure(vpn("none"), kind(), {"duration": "200ms", **sizes})
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "transactions") > 0
    assert value(finding, "transactions_per_s") > 0
