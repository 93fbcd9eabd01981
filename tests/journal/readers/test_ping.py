from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from culvert.analysis.latency import decode
from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat
from culvert.results import Status

from .files import figures, found_in
from .samples import PING, PING_BUSYBOX, PING_QUIET


def read(directory: Path, content: bytes | str) -> Found:
    return found_in(directory, ForeignFormat.PING, content)


def test_iputils_with_times_duplicates_and_loss(tmp_path: Path) -> None:
    found = read(tmp_path, PING)
    (run,) = found.runs
    assert (found.lost, run.status, run.measurement) == ([], Status.OK, "rtt")
    assert run.parameters == {"packet_size": 84, "protocol": "icmp"}
    got = figures(run)
    assert [got["probes_sent"], got["probes_lost"], got["duplicate_packets"]] == [4, 1, 1]
    assert got["loss_ratio"] == 0.25
    assert got["rtt_p50_us"] == pytest.approx(200)
    assert (got["rtt_min_us"], got["rtt_max_us"]) == pytest.approx((100, 300))
    assert run.started_at == datetime.fromtimestamp(1795183239.688615, UTC)
    assert decode(run.histograms[0].hdr_v2).total == 3


def test_no_percentile_without_a_round_trip_beyond_it(tmp_path: Path) -> None:
    begin, reply, *_ = PING_BUSYBOX.splitlines()
    for count, shown in ((9, {"p50"}), (10, {"p50", "p90"}), (100, {"p50", "p90", "p99"})):
        (run,) = read(tmp_path, "\n".join([begin, *[reply] * count])).runs
        names = {f"rtt_{name}_us" for name in shown}
        assert names == {name for name in figures(run) if name.startswith("rtt_p")}


def test_busybox_ping_is_read(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING_BUSYBOX).runs
    assert figures(run)["rtt_mean_us"] == pytest.approx(60)
    assert (run.started_at, run.parameters["packet_size"]) == (None, 84)


def test_quiet_ipv6_with_decimal_commas(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING_QUIET).runs
    got = figures(run)
    assert (got["rtt_min_us"], got["rtt_mean_us"], got["rtt_max_us"]) == pytest.approx((13, 22, 30))
    assert "rtt_p50_us" not in got
    assert run.parameters["packet_size"] == 104


MACOS = """PING 198.51.100.7 (198.51.100.7): 1472 data bytes
556 bytes from 192.0.2.254: frag needed and DF set (MTU 1420)
Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src      Dst
 4  5  00 dc05 1f2e   0 0000  3e  01 4f4a 192.0.2.10  198.51.100.7

ping: sendto: Message too long
Request timeout for icmp_seq 0
92 bytes from 192.0.2.254: Time to live exceeded
36 bytes from 192.0.2.254: Redirect Host(New addr: 192.0.2.253)
load: 1.44  cmd: ping 512 waiting 0.00u 0.00s
1/2 packets received (50.0%) 20.100 min / 20.100 avg / 20.100 max
1480 bytes from 198.51.100.7: icmp_seq=1 ttl=60 time=20.100 ms
10:11:12.131415 1480 bytes from 198.51.100.7: icmp_seq=2 ttl=60 time=21.200 ms

--- 198.51.100.7 ping statistics ---
3 packets transmitted, 2 packets received, 33.3% packet loss
round-trip min/avg/max/stddev = 20.100/20.650/21.200/0.550 ms
"""
IPUTILS = """PATTERN: 0xff
PING 192.0.2.1 (192.0.2.1) from 192.0.2.9 eth10: 56(84) bytes of data.
From 192.0.2.9 icmp_seq=1 Destination Host Unreachable
From 192.0.2.254: icmp_seq=2 Redirect Host(New nexthop: 192.0.2.253)
192.0.2.254 icmp_seq=3 Time to live exceeded
64 bytes from 192.0.2.1: icmp_seq=2 ttl=61 time=20 ms
RR: 	192.0.2.9
	192.0.2.1

64 bytes from 192.0.2.1: icmp_seq=3 ttl=61 time=21.2 ms (BAD CHECKSUM!)	(same route)
wrong data byte #16 should be 0x10 but was 0x11
#16	11 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f
2/3 packets, 33% loss, min/avg/ewma/max = 20.000/20.600/20.150/21.200 ms
ping: sendmsg: Network is unreachable

--- 192.0.2.1 ping statistics ---
3 packets transmitted, 2 received, +1 errors, 33.3333% packet loss, time 2014ms
rtt min/avg/max/mdev = 20.000/20.600/21.200/0.600 ms, pipe 3
"""
BSD_6 = """PING6(56=40+8+8 bytes) fe80::1%en0 --> fe80::2%en0
16 bytes from fe80::2%en0, icmp_seq=0 hlim=64 time=0.500 ms
16 bytes from fe80::2%en0, icmp_seq=1 hlim=64 time=0.700 ms

--- fe80::2%en0 ping6 statistics ---
2 packets transmitted, 2 packets received, 0.0% packet loss
round-trip min/avg/max/std-dev = 0.500/0.600/0.700/0.100 ms
"""
SMALL = """PING 10.0.0.2 (10.0.0.2) 8(36) bytes of data.
16 bytes from 10.0.0.2: icmp_seq=1 ttl=64
16 bytes from 10.0.0.2: icmp_seq=2 ttl=64

--- 10.0.0.2 ping statistics ---
2 packets transmitted, 2 received, 0% packet loss, time 1001ms
"""


@pytest.mark.parametrize(
    ("text", "size", "loss", "maximum_us"),
    [(MACOS, 1500, 1 / 3, 21200), (IPUTILS, 84, 1 / 3, 21200), (BSD_6, 56, 0, 700)],
)
def test_lines_between_the_replies_are_no_results(
    tmp_path: Path, text: str, size: int, loss: float, maximum_us: float
) -> None:
    found = read(tmp_path, text)
    (run,) = found.runs
    got = figures(run)
    assert (found.lost, run.status, run.parameters["packet_size"]) == ([], Status.OK, size)
    assert (got["loss_ratio"], got["rtt_max_us"]) == pytest.approx((loss, maximum_us))
    assert decode(run.histograms[0].hdr_v2).total == 2


def test_replies_without_a_time(tmp_path: Path) -> None:
    found = read(tmp_path, SMALL)
    assert (found.lost, figures(found.runs[0])["loss_ratio"]) == ([], 0)
    assert found.runs[0].reason == "it has no round trip"


def test_fewer_replies_than_the_statistics_count_are_lost(tmp_path: Path) -> None:
    found = read(
        tmp_path, PING.replace("64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time", "6#4 bytXs")
    )
    assert [lost.why for lost in found.lost] == ["it has 2 of 3 replies"]
    found = read(tmp_path, PING.replace(PING.splitlines()[1] + "\n", ""))
    assert [str(lost) for lost in found.lost] == ["file:1: it has 2 of 3 replies"]


def test_statistics_that_are_no_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, PING_QUIET.replace("0,022", "1e999"))
    assert [run.status for run in found.runs] == [Status.FAILED]
    assert [lost.line for lost in found.lost] == [5]


def test_several_runs_in_a_file(tmp_path: Path) -> None:
    found = read(tmp_path, f"{PING}{PING_BUSYBOX}{PING_QUIET}")
    assert [run.status for run in found.runs] == [Status.OK] * 3
    assert [run.line for run in found.runs] == [1, 11, 18]
    assert not found.lost


def test_truncated_ping_output_has_no_loss_figure(tmp_path: Path) -> None:
    found = read(tmp_path, PING[: PING.index(" ttl=64 time=0.200")])
    (run,) = found.runs
    assert run.status is Status.OK
    assert "loss_ratio" not in figures(run)
    assert [(lost.line, lost.why) for lost in found.lost] == [
        (6, "a reply or statistics that cannot be read"),
        (1, "its statistics are missing: it is truncated"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "status", "words"),
    [
        ("time=0.300", "time=-5", Status.INVALID, "line 3: seq 2 is -5 ms"),
        ("4 packets transmitted, 3", "4 packets transmitted, 5", Status.INVALID, "5 answers to 4"),
        ("transmitted, 3", "transmitted, 1", Status.INVALID, "too few"),
        ("transmitted, 3", "transmitted, 0", Status.FAILED, "none of 4"),
        ("4 packets transmitted, 3", "0 packets transmitted, 0", Status.FAILED, "sent no probe"),
    ],
)
def test_runs_that_do_not_count(
    tmp_path: Path, old: str, new: str, status: Status, words: str
) -> None:
    assert old in PING
    (run,) = read(tmp_path, PING.replace(old, new)).runs
    assert run.status is status
    assert words in run.reason


def test_a_run_without_answers_fails(tmp_path: Path) -> None:
    (run,) = read(tmp_path, PING.splitlines()[0]).runs
    assert (run.status, run.reason) == (Status.FAILED, "it has no round trip")


def test_text_of_another_program_is_no_ping_run(tmp_path: Path) -> None:
    found = read(tmp_path, "hello\n\nworld\n")
    assert (found.runs, [lost.line for lost in found.lost]) == ([], [1, 3])


def test_counts_that_no_run_reaches(tmp_path: Path) -> None:
    found = read(tmp_path, PING_QUIET.replace("10 received", f"{10**25} received"))
    assert 4 in [lost.line for lost in found.lost]
    assert "probes_lost" not in {metric.name for metric in found.runs[0].metrics}
