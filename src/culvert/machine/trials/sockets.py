"""Socket options that the probe needs, tried on the loopback of the scratch namespace."""

from __future__ import annotations

import socket
import struct

from pyroute2 import IPRoute

from culvert.machine.check import FeatureFinding, Trial, missing, present

DEADLINE_S = 1.0

# Python's socket module has no names for these (asm-generic/socket.h, linux/udp.h, if_packet.h)
SO_TIMESTAMPNS = 35
SOL_UDP = 17
UDP_SEGMENT = 103
UDP_GRO = 104
SOL_PACKET = 263
PACKET_VERSION = 10
TPACKET_V3 = 2
ETH_P_ALL = 0x0003


def congestion_control(name: str) -> Trial:
    """A trial that sets the algorithm on a TCP socket, which loads its module if needed."""

    def trial() -> FeatureFinding:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            taken = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        taken = taken.split(b"\0")[0]
        if taken != name.encode():
            return missing(f"the kernel set {taken.decode(errors='replace')} instead")
        return present("a socket accepted it")

    return trial


def capture() -> FeatureFinding:
    """A packet on a packet socket, with a kernel timestamp in nanoseconds."""
    _raise_loopback()
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as tap,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        tap.settimeout(DEADLINE_S)
        tap.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        tap.bind(("lo", ETH_P_ALL))
        tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sender.sendto(b"scratch", ("127.0.0.1", 9))
        _data, ancillary, _flags, _address = tap.recvmsg(2048, 64)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS) and len(data) == 16:
            seconds, nanoseconds = struct.unpack("=qq", data)
            if seconds > 0 and 0 <= nanoseconds < 1_000_000_000:
                return present("a packet was captured, with the kernel's timestamp in nanoseconds")
    return missing("a packet was captured, but without a kernel timestamp")


def segmentation() -> FeatureFinding:
    """One send that leaves as two datagrams (UDP GSO, since Linux 4.18)."""
    _raise_loopback()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.settimeout(DEADLINE_S)
        receiver.bind(("127.0.0.1", 0))
        sender.setsockopt(SOL_UDP, UDP_SEGMENT, 500)
        sender.sendto(bytes(1000), receiver.getsockname())
        sizes = [len(receiver.recv(2000)) for _ in range(2)]
    if sizes != [500, 500]:
        return missing(f"1000 bytes in segments of 500 arrived as {sizes}")
    return present("one send left as two datagrams")


def coalescing() -> FeatureFinding:
    """Receiving several datagrams in one read (UDP GRO, since Linux 5.0)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(SOL_UDP, UDP_GRO, 1)
    return present("a socket accepted the option")


def _raise_loopback() -> None:
    with IPRoute() as ip:
        (index,) = ip.link_lookup(ifname="lo")
        ip.link("set", index=index, state="up")
