"""What instruments print is read, or refused with a reason; nothing else comes of any text."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.instruments import iperf2, iperf3, nuttcp, ping
from culvert.measurements.instruments.base import InstrumentError, Load, ToolReport

TCP = Load(to="198.19.0.2", udp=False, duration_s=1, size=131072, congestion_control="cubic")
UDP = Load(to="198.19.0.2", udp=True, duration_s=1, size=1000)
TWO = Load(to="198.19.0.2", udp=True, duration_s=1, size=1000, streams=2)

# As iperf 2.1.8, nuttcp 6.1.2, iperf 3.12 and iputils 20221126 printed them.
IPERF2_TCP = "19700101000000,127.0.0.1,46918,127.0.0.1,5001,1,0.0-1.0,3469606972,27717773715\n"
IPERF2_UDP = (
    "19700101000000,127.0.0.1,57709,127.0.0.1,5001,1,0.0-1.0,"
    "5473000,43771306,0.000,781,6254,12.488,0\n"
)
NUTTCP_TCP = (
    "megabytes=1925.5387 real_seconds=1.00 rate_Mbps=16153.0582 "
    "tx_cpu=12 rx_cpu=62 retrans=3 rtt_ms=0.04\n"
)
NUTTCP_UDP = (
    "megabytes=5.7020 real_seconds=1.00 rate_Mbps=47.8278 tx_cpu=44 rx_cpu=2 "
    "drop=271 pkt=6250 data_loss=4.33688\n"
)
IPERF3_UDP = {
    "start": {"test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1000}},
    "end": {
        "sum": {"lost_packets": 25, "packets": 125, "lost_percent": 20.0, "jitter_ms": 0.01},
        "sum_received": {"seconds": 1.0, "bytes": 100000, "bits_per_second": 800000.0},
    },
}
PING = """PING 198.19.0.2 (198.19.0.2) 56(84) bytes of data.
64 bytes from 198.19.0.2: icmp_seq=1 ttl=64 time=0.100 ms
64 bytes from 198.19.0.2: icmp_seq=2 ttl=64 time=0.300 ms

--- 198.19.0.2 ping statistics ---
3 packets transmitted, 2 received, 33.3333% packet loss, time 2ms
rtt min/avg/max/mdev = 0.100/0.200/0.300/0.100 ms
"""
LINES = st.lists(
    st.lists(st.sampled_from(["1", "-1", "0", "nan", "1e400", "x", "", "7.5"]), max_size=15).map(
        ",".join
    ),
    max_size=4,
).map("\n".join)
PAIRS = st.lists(
    st.tuples(
        st.sampled_from(["rate_Mbps", "megabytes", "pkt", "drop", "retrans", "other"]),
        st.sampled_from(["1", "-1", "0", "nan", "inf", "x", "7.5", "1e400"]),
    ).map("=".join),
    max_size=8,
).map(" ".join)


def test_iperf2_output_is_read() -> None:
    assert iperf2.parse(TCP, IPERF2_TCP) == ToolReport(27717773715, 3469606972)
    told = iperf2.parse(UDP, IPERF2_UDP)
    assert (told.goodput_bps, told.sent_packets, told.lost_packets) == (43771306, 6254, 781)


def test_iperf2_adds_streams_and_leaves_the_sum_out() -> None:
    second = IPERF2_UDP.replace(",57709,", ",57710,").replace(",1,0.0-1.0", ",2,0.0-1.0")
    total = IPERF2_UDP.replace(",1,0.0-1.0", ",-1,0.0-1.0")
    assert not iperf2.finished(TWO, IPERF2_UDP + total)
    assert iperf2.finished(TWO, IPERF2_UDP + second + total)
    assert iperf2.parse(TWO, IPERF2_UDP + second + total).sent_packets == 2 * 6254
    with pytest.raises(InstrumentError, match="1 of 2 streams"):
        iperf2.parse(TWO, IPERF2_UDP)


def test_nuttcp_output_is_read() -> None:
    told = nuttcp.parse(TCP, NUTTCP_TCP)
    assert told.goodput_bps == pytest.approx(16153058200)
    assert told.retransmits == 3
    assert told.received_bytes == pytest.approx(1925.5387 * (1 << 20))
    told = nuttcp.parse(UDP, NUTTCP_UDP)
    assert (told.sent_packets, told.lost_packets) == (6250, 271)


def test_nuttcp_that_failed_is_quoted() -> None:
    with pytest.raises(InstrumentError, match="Connection refused"):
        nuttcp.parse(TCP, "nuttcp-t: Error: connect: Connection refused\n")


def test_iperf3_output_is_read() -> None:
    told = iperf3.parse(UDP, json.dumps(IPERF3_UDP))
    assert (told.goodput_bps, told.sent_packets, told.lost_packets) == (800000, 125, 25)
    with pytest.raises(InstrumentError, match="unable to connect"):
        iperf3.parse(UDP, '{"start": {}, "error": "unable to connect"}')


def test_ping_output_is_read() -> None:
    told = ping.parse(PING)
    assert (told.sent_packets, told.lost_packets) == (3, 1)
    found = {metric.name: metric.value for metric in told.metrics}
    assert found["rtt_min_us"] == pytest.approx(100)
    assert found["rtt_max_us"] == pytest.approx(300)
    with pytest.raises(InstrumentError):
        ping.parse("ping: connect: Network is unreachable\n")


def possible(told: ToolReport) -> None:
    assert told.goodput_bps >= 0
    assert told.received_bytes >= 0
    if told.sent_packets is not None:
        assert 0 <= (told.lost_packets or 0) <= told.sent_packets


@given(LINES | st.text(max_size=200), st.sampled_from([TCP, UDP, TWO]))
def test_no_text_makes_iperf2_impossible(text: str, load: Load) -> None:
    with suppress(InstrumentError):
        possible(iperf2.parse(load, text))


@given(PAIRS | st.text(max_size=200), st.sampled_from([TCP, UDP]))
def test_no_text_makes_nuttcp_impossible(text: str, load: Load) -> None:
    with suppress(InstrumentError):
        possible(nuttcp.parse(load, text))


@given(text=st.text(max_size=300), cut=st.integers(0, 400))
def test_no_text_makes_the_others_impossible(text: str, cut: int) -> None:
    whole = json.dumps(IPERF3_UDP)
    for content in (text, whole[:cut], whole[:cut] + text):
        with suppress(InstrumentError):
            possible(iperf3.parse(UDP, content))
    with suppress(InstrumentError):
        possible(ping.parse(PING[:cut] + text))


@pytest.mark.parametrize("module", [iperf2, iperf3])
def test_socket_buffers_are_given_in_bytes(module: object) -> None:
    load = Load(to="x", udp=False, duration_s=1, size=100, socket_buffer_bytes=2 << 20)
    words = module.client(load)  # type: ignore[attr-defined]
    assert words[words.index("-w") + 1] == "2097152"
    assert "-w" not in module.client(UDP)  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", [iperf2, iperf3])
def test_a_rate_is_shared_by_the_streams(module: object) -> None:
    load = Load(to="x", udp=True, duration_s=1, size=100, streams=4, rate_bps=8e6)
    words = module.client(load)  # type: ignore[attr-defined]
    assert words[words.index("-b") + 1] == "2000000"
    assert words[words.index("-P") + 1] == "4"
