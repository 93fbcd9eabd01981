"""The contract test's observer on a node. Started by its path, not imported.

::

    agent.py capture DEVICE     prints "ready", then packets; to "mark" on stdin it replies
                                "mark" after all earlier packets
    agent.py serve              prints "ready", then answers these requests on stdin:
      ping ADDRESS LENGTH N     number of N pings, IP packets of LENGTH bytes, that came back
      state                     network objects that a VPN could leave, and the namespace

Packets and answers are JSON, one per line.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress

SO_TIMESTAMPNS = 35
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
NETLINK_XFRM, NLM_F_REQUEST = 6, 1
GETSADINFO, GETSPDINFO = 0x23, 0x25
"""linux/xfrm.h; the number of each answer is one less."""
ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800
PORT_PROTOCOLS = {socket.IPPROTO_TCP, socket.IPPROTO_UDP}
KEPT_PAYLOAD = 64
RECEIVE_BUFFER = 8 << 20
SO_RCVBUFFORCE = 33
ANSWER_WITHIN_S = 2.0
BODIES = (struct.pack("!HH", os.getpid() & 0xFFFF, n & 0xFFFF) for n in itertools.count())
"""Identifier and sequence number of echo requests."""


def capture(device: str) -> None:
    """Print the IPv4 packets that pass a device until stdin ends."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as wire:
        wire.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        try:
            wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        except PermissionError:  # without root net.core.rmem_max is the most
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        wire.bind((device, ETH_P_ALL))
        wire.setblocking(False)
        print("ready", flush=True)
        stdin = sys.stdin.fileno()
        while True:
            readable, _, _ = select.select([wire, stdin], [], [])
            marks = os.read(stdin, 4096).count(b"mark") if stdin in readable else None
            drain(wire)
            if marks == 0:
                return
            print("mark\n" * (marks or 0), end="", flush=True)


def drain(wire: socket.socket) -> None:
    """Print the packets in the socket's queue."""
    while True:
        try:
            data, ancillary, _, address = wire.recvmsg(65535, 64)
        except BlockingIOError:
            return
        if address[1] == ETH_P_IP and len(data) >= 20:
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
            described = describe(data)
            described["timestamp_ns"] = seconds * 1_000_000_000 + nanoseconds
            described["outgoing"] = address[2] == socket.PACKET_OUTGOING
            print(json.dumps(described))


def describe(packet: bytes) -> dict[str, object]:
    """The fields of ``OuterPacket`` that are in an IPv4 packet."""
    header = (packet[0] & 0x0F) * 4
    protocol = packet[9]
    first_fragment = not int.from_bytes(packet[6:8]) & 0x1FFF
    ports = (0, 0)
    start = header
    if protocol in PORT_PROTOCOLS and first_fragment and len(packet) >= header + 8:
        ports = struct.unpack_from("!HH", packet, header)
        tcp = protocol == socket.IPPROTO_TCP and len(packet) >= header + 20
        start += (packet[header + 12] >> 4) * 4 if tcp else 8
    return {
        "protocol": protocol,
        "source_port": ports[0],
        "destination_port": ports[1],
        "length": int.from_bytes(packet[2:4]),
        "payload": packet[start : start + KEPT_PAYLOAD].hex(),
    }


def ping(address: str, length: int, count: int) -> int:
    """Number of ``count`` echo requests of ``length`` bytes (with the IP header) that came back."""
    answered = 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        for _ in range(count):
            # Each number only once, so that a late answer does not match another request.
            body = next(BODIES) + b"\x5a" * (length - 28)
            unsummed = b"\x08\x00\x00\x00" + body
            try:
                icmp.sendto(b"\x08\x00" + checksum(unsummed) + body, (address, 0))
            except OSError:  # no route, or the tunnel is down
                continue
            answered += echoed(icmp, body)
    return answered


def echoed(icmp: socket.socket, body: bytes) -> bool:
    """Whether the answer to a request with this body arrives in time."""
    end = time.monotonic() + ANSWER_WITHIN_S
    while (left := end - time.monotonic()) > 0:
        icmp.settimeout(left)
        try:
            data = icmp.recv(65535)
        except OSError:
            return False
        message = data[(data[0] & 0x0F) * 4 :]
        if message[:1] == b"\x00" and message[4:] == body:
            return True
    return False


def checksum(message: bytes) -> bytes:
    """The Internet checksum (RFC 1071)."""
    padded = message + b"\0" * (len(message) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    total = (total & 0xFFFF) + (total >> 16)
    return (~(total + (total >> 16)) & 0xFFFF).to_bytes(2)


def state() -> dict[str, object]:
    """Objects that a VPN could leave in a network namespace, as comparable texts."""
    from pyroute2 import IPRoute  # noqa: PLC0415  the other tasks start faster without it

    found: list[str] = []
    with IPRoute() as route:
        for link in route.get_links():
            up = "up" if link["flags"] & 1 else "down"
            mtu = link.get_attr("IFLA_MTU")
            found.append(f"link {link.get_attr('IFLA_IFNAME')} {up} mtu {mtu}")
        for address in route.get_addr(family=socket.AF_INET):
            prefix = f"{address.get_attr('IFA_ADDRESS')}/{address['prefixlen']}"
            found.append(f"address {prefix} on {address.get_attr('IFA_LABEL')}")
        for address in route.get_addr(family=socket.AF_INET6):
            if permanent(prefix := f"{address.get_attr('IFA_ADDRESS')}/{address['prefixlen']}"):
                found.append(f"address {prefix} on device {address['index']}")
        for family, version in ((socket.AF_INET, ""), (socket.AF_INET6, " of IPv6")):
            for entry in route.get_routes(family=family):
                destination = f"{entry.get_attr('RTA_DST')}/{entry['dst_len']}"
                if permanent(destination):
                    table = entry.get_attr("RTA_TABLE")
                    found.append(f"route{version} {destination} in table {table}")
            for rule in route.get_rules(family=family):
                priority, table = rule.get_attr("FRA_PRIORITY"), rule.get_attr("FRA_TABLE")
                found.append(f"rule{version} {priority} to table {table}")
    namespace = os.stat("/proc/thread-self/ns/net").st_ino  # noqa: PTH116
    return {"namespace": namespace, "objects": sorted([*found, *firewall(), *ipsec()])}


def permanent(prefix: str) -> bool:
    """Whether it is of no addresses that the kernel gives each device and takes back later."""
    return not prefix.startswith(("fe80:", "ff"))


def firewall() -> list[str]:
    """Tables of nftables; empty without nft."""
    nft = shutil.which("nft", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if nft is None:
        return []
    listed = subprocess.run([nft, "list", "tables"], capture_output=True, text=True, check=False)
    return [f"nft {line}" for line in listed.stdout.splitlines()]


def ipsec() -> list[str]:
    """Numbers of associations and policies; empty without IPsec."""
    found: list[str] = []
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_XFRM) as xfrm:
        for what, request, numbers in (
            ("associations", GETSADINFO, 1),
            ("policies", GETSPDINFO, 6),
        ):
            xfrm.send(struct.pack("=IHHIII", 20, request, NLM_F_REQUEST, 1, 0, 0))
            reply = xfrm.recv(4096)
            if struct.unpack_from("=H", reply, 4)[0] == request - 1:  # an answer, not an error
                # After the message's header, its flags, and the header of its first attribute.
                counts = struct.unpack_from(f"={numbers}I", reply, 24)
                found += [f"{sum(counts)} xfrm {what}"] if any(counts) else []
    return found


def serve() -> None:
    """Answer the tasks on stdin until it ends."""
    print("ready", flush=True)
    for line in sys.stdin:
        task, *rest = line.split()
        answer = ping(rest[0], int(rest[1]), int(rest[2])) if task == "ping" else state()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "capture":
        capture(sys.argv[2])
    else:
        serve()
