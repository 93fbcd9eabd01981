"""The kernel's IPsec through NETLINK_XFRM (linux/xfrm.h): numbers of associations and policies,
and a new association.

pyroute2 does not support XFRM, and three messages are enough here.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from dataclasses import dataclass

NETLINK_XFRM = 6
XFRM_MSG_NEWSA = 0x10
XFRM_MSG_GETSADINFO = 0x23
XFRM_MSG_GETSPDINFO = 0x25
NLMSG_ERROR = 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL = 0x1, 0x4, 0x400, 0x200
NLM_F_ACK_TLVS = 0x200
SOL_NETLINK = 270
NETLINK_CAP_ACK, NETLINK_EXT_ACK = 10, 11
NLMSGERR_ATTR_MSG = 1
XFRMA_ALG_CRYPT, XFRMA_ALG_AEAD, XFRMA_ALG_AUTH_TRUNC = 2, 18, 20
XFRM_MODE_TUNNEL = 1
NO_LIMIT = 2**64 - 1
DEADLINE_S = 2.0


@dataclass(frozen=True)
class XfrmAlgorithm:
    """``kind`` is the attribute (XFRMA_ALG_...); ``bits`` is the length of the ICV, which follows
    the key's length in the attribute, or None for a plain cipher."""

    kind: int
    name: str
    key_bytes: int
    icv_bits: int | None

    def attribute(self) -> bytes:
        """The netlink attribute, with a random key."""
        numbers = (self.key_bytes * 8, *(() if self.icv_bits is None else (self.icv_bits,)))
        body = struct.pack(f"=64s{len(numbers)}I", self.name.encode(), *numbers)
        body += secrets.token_bytes(self.key_bytes)
        return struct.pack("=HH", len(body) + 4, self.kind) + body + bytes(-len(body) % 4)


def associations() -> int:
    """How many there are; raises OSError if the kernel has no XFRM."""
    return _count(XFRM_MSG_GETSADINFO, 1)


def policies() -> int:
    """How many there are: in, out and forward, and those of sockets."""
    return _count(XFRM_MSG_GETSPDINFO, 6)


def _count(message: int, numbers: int) -> int:
    """The sum of the numbers in the first attribute, which follows 4 bytes of flags."""
    answer = _talk(message, 0, struct.pack("=I", 0))
    return sum(struct.unpack_from(f"={numbers}I", answer, 16 + 4 + 4))


def add(protocol: int, algorithms: tuple[XfrmAlgorithm, ...]) -> None:
    """Add a tunnel-mode association with a random SPI and random keys to this namespace.

    Raises OSError with the kernel's errno and, if there is one, its reason.
    """
    _talk(
        XFRM_MSG_NEWSA,
        NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
        _association(protocol) + b"".join(algorithm.attribute() for algorithm in algorithms),
    )


def _association(protocol: int) -> bytes:
    """struct xfrm_usersa_info."""
    source, destination = (socket.inet_aton(f"198.18.0.{n}") + bytes(12) for n in (1, 2))
    # an SPI below 256 is reserved (RFC 4303, section 2.1)
    spi = 256 + secrets.randbelow(2**32 - 256)
    selector = struct.pack(
        "=16s16sHHHHHBBB3xiI", bytes(16), bytes(16), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    identity = struct.pack("!16sIB3x", destination, spi, protocol)
    lifetimes = struct.pack("=8Q", *[NO_LIMIT] * 4, *[0] * 4) + bytes(32)
    statistics = bytes(12)
    rest = struct.pack("=IIHBBB7x", 0, 0, socket.AF_INET, XFRM_MODE_TUNNEL, 0, 0)
    return selector + identity + source + lifetimes + statistics + rest


def _talk(message: int, flags: int, payload: bytes) -> bytes:
    """The kernel's answer; raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_XFRM) as s:
        s.settimeout(DEADLINE_S)
        s.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        s.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        s.bind((0, 0))
        header = struct.pack("=IHHII", 16 + len(payload), message, NLM_F_REQUEST | flags, 1, 0)
        s.send(header + payload)
        answer = s.recv(65536)
    _length, kind, answer_flags = struct.unpack_from("=IHH", answer)
    if kind != NLMSG_ERROR:
        return answer
    (code,) = struct.unpack_from("=i", answer, 16)
    if code != 0:
        reason = _reason(answer[36:]) if answer_flags & NLM_F_ACK_TLVS else None
        raise OSError(-code, reason or os.strerror(-code))
    return answer


def _reason(attributes: bytes) -> str | None:
    """The kernel's reason (NLMSGERR_ATTR_MSG), if there is one."""
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if length < 4:
            return None
        if kind == NLMSGERR_ATTR_MSG:
            return attributes[4:length].split(b"\0")[0].decode(errors="replace")
        attributes = attributes[(length + 3) & ~3 :]
    return None
