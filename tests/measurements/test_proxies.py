"""Through a proxy no IP packet crosses: what is refused, and which figures are not of the path."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.measurements.mtu.mtu import Mtu, MtuParameters
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.measurements.tcp.transactions import TcpCrr, TransactionParameters
from culvert.vpns.variant import Carried
from tests.measurements.fakes import Tunnel, session
from tests.measurements.test_tcp import SENT, SUNK
from tests.measurements.test_transactions import RESPONDED, TIMES, TRANSACTED


class Proxy(Tunnel):
    carries = Carried.PAYLOAD


PROXY = Proxy(Proxy.variants[0])


@pytest.mark.parametrize("parameters", [{"protocol": "icmp"}, {"instrument": "ping"}])
def test_pings_through_a_proxy_are_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(NotPossible, match="carries the payload of TCP and UDP only, not ICMP"):
        Rtt().run(session(vpn=PROXY), RttParameters.model_validate(parameters))


def test_a_proxy_has_no_largest_packet() -> None:
    with pytest.raises(NotPossible, match="the packets whose size is searched"):
        Mtu().run(session(vpn=PROXY), MtuParameters())


def test_figures_of_the_connection_to_the_proxy_are_left_out() -> None:
    made = session({"tcp_source": SENT}, {"tcp_sink": SUNK}, vpn=PROXY)
    outcome = Tcp().run(made, TcpParameters.model_validate({"duration": "1s"}))
    assert {metric.name for metric in outcome.metrics} <= {"goodput_bps", "ceiling_goodput_bps"}
    assert {series.name for series in outcome.series} == {"received_bytes"}


def test_the_time_to_connect_to_the_proxy_is_left_out() -> None:
    marked = {"sent": 20, "received": 20, "lost": 0}
    answers = {"tcp_crr": TRANSACTED | {"connect": TIMES}, "rtt": marked}
    made = session(answers, {"tcp_responder": RESPONDED, "echo": {"packets": 20}}, vpn=PROXY)
    outcome = TcpCrr().run(made, TransactionParameters())
    assert not [metric.name for metric in outcome.metrics if "connect" in metric.name]
    assert [histogram.name for histogram in outcome.histograms] == ["transaction_ns"]
