"""Requests and responses over TCP."""

from __future__ import annotations

from culvert.probe.results.base import Result
from culvert.probe.results.tcp import TcpInfo
from culvert.probe.results.times import Times


class Transacted(Times):
    """Result of ``tcp_rr`` and ``tcp_crr``; its own times are those of transactions."""

    transactions: int
    per_second: float
    errors: dict[str, int] = {}
    """By name of the error."""
    connect: Times | None = None
    tcp_info: TcpInfo | None = None
    """Of all connections together; None of none."""

    @property
    def failed(self) -> int:
        """Transactions without a response."""
        return sum(self.errors.values())


class Responded(Result):
    """Result of ``tcp_responder``."""

    connections: int
    responses: int
    tcp_info: TcpInfo | None = None
    """Of all connections together; None of none."""
