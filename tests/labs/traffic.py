"""Traffic and captures for tests of labs, with sockets opened inside the nodes."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address

from culvert.labs.netns.node import NetnsNode

ETH_P_ALL = 0x0003
ETHERNET_HEADER_BYTES = 14
SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103
PATIENCE_S = 5.0


@contextmanager
def udp_pair(
    sender: NetnsNode, receiver: NetnsNode, *, port: int = 5001
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A UDP socket on one node connected to one on the other."""
    with ExitStack() as stack:
        far = stack.enter_context(receiver.inside(lambda: _socket(socket.SOCK_DGRAM)))
        near = stack.enter_context(sender.inside(lambda: _socket(socket.SOCK_DGRAM)))
        far.bind((str(receiver.underlay.address.ip), port))
        near.connect(far.getsockname())
        yield near, far


@contextmanager
def tcp_pair(
    sender: NetnsNode, receiver: NetnsNode, *, port: int = 5001, to: IPv4Address | None = None
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A TCP connection from one node to the other, to that address of it or on the underlay."""
    with ExitStack() as stack:
        listener = stack.enter_context(receiver.inside(lambda: _socket(socket.SOCK_STREAM)))
        near = stack.enter_context(sender.inside(lambda: _socket(socket.SOCK_STREAM)))
        listener.bind((str(to or receiver.underlay.address.ip), port))
        listener.listen()
        near.connect(listener.getsockname())
        far = stack.enter_context(listener.accept()[0])
        far.settimeout(PATIENCE_S)
        yield near, far


@contextmanager
def capture(node: NetnsNode, device: str) -> Iterator[socket.socket]:
    """A packet socket that sees everything on the device, with room for all of a test's packets."""

    def tap() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        made.bind((device, ETH_P_ALL))
        return made

    with node.inside(tap) as made:
        yield made


def captured_lengths(tap: socket.socket) -> list[int]:
    """Lengths in bytes of the IP packets captured so far."""
    lengths = []
    while select.select([tap], [], [], 0)[0]:
        length = tap.recv_into(bytearray(1), 1, socket.MSG_TRUNC)
        lengths.append(length - ETHERNET_HEADER_BYTES)
    return lengths


def can_reach(sender: NetnsNode, receiver: NetnsNode, *, port: int) -> bool:
    """True if a UDP datagram arrives within a short while."""
    with udp_pair(sender, receiver, port=port) as (near, far):
        far.settimeout(0.3)
        near.send(b"hello")
        try:
            return far.recv(100) == b"hello"
        except TimeoutError:
            return False


def _socket(kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    made.settimeout(PATIENCE_S)
    return made
