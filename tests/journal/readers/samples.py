"""Small whole files of every format, as their tools write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from culvert.journal.readers.formats import ForeignFormat

HERE = Path(__file__).parent / "data"

KNB_HEADER = (
    "benchmark-name,benchmark-type,server-node,client-node,socket-buffer-size,mtu,bandwidth,"
    "client-ram,client-cpu,server-ram,server-cpu,transport-protocol,loss,delay"
)
KNB_CSV = f"""{KNB_HEADER}
11-native,idle,s,c,2M,1230,0.0,727,2.47,795,2.47,idle,0,0
11-native,pod2pod,s,c,2M,1230,710.0,733,7.09,798,9.74,tcp,0,0
11-native,pod2pod,s,c,2M,1230,706.5,733,7.09,798,9.74,tcp,0,0
31-netbird-direct,pod2pod,s,c,2M,1230,508.0,733,14.82,802,15.98,tcp,0,0
31-netbird-direct,pod2pod,s,c,2M,1230,12.0,735,7.21,805,9.86,udp,5,250
31-netbird-direct,pod2svc,s,c,2M,1230,14.0,735,7.21,805,9.86,udp,0,50
"""


def _knb_call(date: str, bandwidth: float) -> dict[str, object]:
    node = {"cpu": {"total": 13.4, "user": 1.2, "system": 11.9}, "ram": 637}
    run = {"bandwidth": bandwidth, "client": node, "server": node}
    return {
        "metadata": {
            "name": "knb-1374",
            "generator": "knb",
            "version": "1.5.0",
            "date": date,
            "server-node": "s",
            "client-node": "c",
            "socket-buffer-size": "2M",
        },
        "data": {
            "mtu": "1450",
            "kernel": "5.15.0",
            "idle": run | {"bandwidth": 0},
            "pod2pod": {"tcp": run},
        },
    }


KNB_JSON = json.dumps(
    [_knb_call("2023-05-27 10:10:48", 771), _knb_call("2023-05-27 08:36:19", 767)]
)

HEY = """response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0656,0.0367,0.0040,0.0000,0.0213,0.0075,200,0.1014
0.1271,0.0435,0.0034,0.0000,0.0801,0.0034,200,0.1017
0.0100,0.0000,0.0000,0.0000,0.0801,0.0034,200,0.2000
0.0300,0.0000,0.0000,0.0000,0.0801,0.0034,500,0.3000
"""

PING = """PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
[1795183239.688615] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.100 ms
[1795183240.712130] 64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=0.300 ms
[1795183240.712990] 64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=0.900 ms (DUP!)
no answer yet for icmp_seq=3
[1795183242.739984] 64 bytes from 10.0.0.2: icmp_seq=4 ttl=64 time=0.200 ms

--- 10.0.0.2 ping statistics ---
4 packets transmitted, 3 received, +1 duplicates, 25% packet loss, time 3051ms
rtt min/avg/max/mdev = 0.100/0.200/0.300/0.082 ms
"""
PING_BUSYBOX = """PING 10.0.0.2 (10.0.0.2): 56 data bytes
64 bytes from 10.0.0.2: seq=0 ttl=64 time=0.050 ms
64 bytes from 10.0.0.2: seq=1 ttl=64 time=0.070 ms

--- 10.0.0.2 ping statistics ---
2 packets transmitted, 2 packets received, 0% packet loss
round-trip min/avg/max = 0.050/0.060/0.070 ms
"""
PING_QUIET = """PING fd00::2(fd00::2) 56 data bytes

--- fd00::2 ping statistics ---
10 packets transmitted, 10 received, 0% packet loss, time 9051ms
rtt min/avg/max/mdev = 0,013/0,022/0,030/0,007 ms
"""

FLENT = json.dumps(
    {
        "version": 3,
        "metadata": {
            "NAME": "rrul",
            "TITLE": "wireguard",
            "TIME": "2024-03-01T10:00:00.000000Z",
            "FLENT_VERSION": "2.1.1",
            "LENGTH": 60,
            "TOTAL_LENGTH": 70,
        },
        "x_values": [0.0, 0.2, 0.4],
        "results": {
            "Ping (ms) ICMP": [1.0, None, 3.0],
            "TCP download sum": [900.0, 910.0, 920.0],
            "TCP upload::1": [None, None, None],
        },
        "raw_values": {"Ping (ms) ICMP": [{"seq": 0, "t": 1709287200.0, "val": 1.0}]},
    },
    indent=2,
    sort_keys=True,
)

IPERF3 = {
    name: (HERE / f"iperf3-{name}.json").read_bytes()
    for name in (
        "udp",
        "tcp-reverse-omit",
        "tcp-bidirectional",
        "udp-bidirectional",
        "error",
    )
}


def stream(document: bytes) -> bytes:
    """The same as ``--json-stream`` writes it."""
    whole = json.loads(document)
    events = [{"event": "start", "data": whole["start"]}]
    events += [{"event": "interval", "data": one} for one in whole["intervals"]]
    events += [{"event": "end", "data": whole["end"]}]
    return "\n".join(map(json.dumps, events)).encode()


def enclosed(document: bytes, *, pairs: int = 0) -> bytes:
    """The same in vpn-bench's envelope, alone or as several pairs of hosts."""
    data = json.loads(document)
    if pairs:
        hosts = [{"source": f"h{n}", "target": f"h{n + 1}", "result": data} for n in range(pairs)]
        return json.dumps({"status": "success", "data": {"pairs": hosts}}).encode()
    meta = {"source": "h1", "target": "h2"}
    return json.dumps({"status": "success", "data": data, "meta": meta}).encode()


SAMPLES: dict[ForeignFormat, list[bytes]] = {
    ForeignFormat.KNB: [KNB_CSV.encode(), KNB_JSON.encode()],
    ForeignFormat.IPERF3: [
        *IPERF3.values(),
        stream(IPERF3["udp"]),
        enclosed(IPERF3["tcp-bidirectional"], pairs=2),
    ],
    ForeignFormat.HEY: [HEY.encode()],
    ForeignFormat.PING: [PING.encode(), PING_BUSYBOX.encode(), PING_QUIET.encode()],
    ForeignFormat.FLENT: [FLENT.encode(), gzip.compress(FLENT.encode(), mtime=0)],
    ForeignFormat.VPN_BENCH: [enclosed(IPERF3["udp"])],
}
"""Whole files, by format."""
