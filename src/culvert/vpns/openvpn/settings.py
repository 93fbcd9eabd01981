"""OpenVPN's performance settings, as options of a variant: openvpn(8), and its gigabit guide.

The guide (https://community.openvpn.net/openvpn/wiki/Gigabit_Networks_Linux) raises the tunnel's
MTU, so that each system call carries more data, and leaves fragmentation to the kernel. It tries
6000 to 60,000 bytes; the option uses its first value. Its "fragment 0" is the default, and
OpenVPN 2.6 rejects it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

GIGABIT = "gigabit"
GIGABIT_TUN_MTU = 6000
FAST_IO = "fast-io"
PROCESSES = "processes"

OPTIONS: Mapping[str, str] = {
    GIGABIT: f"OpenVPN's gigabit guide: tun-mtu {GIGABIT_TUN_MTU}, no fragment, mssfix 0",
    "tun-mtu-N": "an MTU of N bytes inside the tunnel",
    "fragment-N": "UDP datagrams of at most N bytes: longer packets are split inside the tunnel",
    "mssfix-N": "limits TCP segments so that outer packets have at most N bytes; 0: off",
    "buffers-N": "socket buffers of N bytes (sndbuf and rcvbuf)",
    "txqueuelen-N": "a queue of N packets at the tunnel device",
    f"{PROCESSES}-N": "N server processes, each with a port, a device and a part of the clients",
    FAST_IO: "write to UDP sockets without polling them first",
}
_LIMITS: Mapping[str, tuple[int, int]] = {
    "tun-mtu": (576, 65535),
    "fragment": (200, 65535),  # at most 25 fragments, headers included (fragment.h)
    "mssfix": (0, 65535),
    "buffers": (4096, 1 << 30),
    "txqueuelen": (1, 1_000_000),
    PROCESSES: (2, 64),
}
_NUMBERED = re.compile(r"([a-z-]+)-(0|[1-9]\d*)")


@dataclass(frozen=True)
class Settings:
    """The settings; None is OpenVPN's default. In bytes, except ``txqueuelen``, which is in
    packets, and ``processes`` of the server, which an administrator starts."""

    tun_mtu: int | None = None
    fragment: int | None = None
    mssfix: int | None = None
    buffers: int | None = None
    txqueuelen: int | None = None
    processes: int | None = None
    fast_io: bool = False

    @classmethod
    def of(cls, options: Iterable[str]) -> Settings:
        """From the options of a variant; an explicit option overrides the guide's value."""
        chosen = frozenset(options)
        found = cls(fast_io=FAST_IO in chosen)
        if GIGABIT in chosen:
            found = replace(found, tun_mtu=GIGABIT_TUN_MTU, mssfix=0)
        for name, value in _numbered(chosen):
            found = replace(found, **{name.replace("-", "_"): value})  # type: ignore[arg-type]
        return found

    def lines(self) -> list[str]:
        settings = {
            "tun-mtu": self.tun_mtu,
            "fragment": self.fragment,
            "mssfix": self.mssfix,
            "sndbuf": self.buffers,
            "rcvbuf": self.buffers,
            "txqueuelen": self.txqueuelen,
        }
        lines = [f"{name} {value}" for name, value in settings.items() if value is not None]
        return [*lines, *(["fast-io"] if self.fast_io else [])]

    def facts(self) -> dict[str, str]:
        """Values that differ from the default, as facts of the variant."""
        found: dict[str, str] = {}
        if self.tun_mtu is not None:
            found["tunnel MTU"] = str(self.tun_mtu)
        if self.fragment is not None:
            found["fragment"] = f"{self.fragment} bytes, 4 more in each packet"
            found["mssfix"] = f"{self.fragment} (as fragment)"
        if self.mssfix is not None:
            found["mssfix"] = "off" if self.mssfix == 0 else str(self.mssfix)
        if self.buffers is not None:
            found["socket buffers"] = f"{self.buffers} bytes requested (the system's limit applies)"
        if self.txqueuelen is not None:
            found["txqueuelen"] = f"{self.txqueuelen} packets"
        if self.processes is not None:
            found["server processes"] = f"{self.processes}, at most one a client; clients in turn"
        if self.fast_io:
            found["fast-io"] = "on"
        return found


def refused(options: Iterable[str], *, udp: bool, offloaded: bool) -> list[tuple[str, str]]:
    """Requested settings that are not possible: the reason, and the option."""
    chosen = sorted(options)
    found = []
    values = [name for name, _ in _numbered(chosen)]
    for name, value in _numbered(chosen):
        low, high = _LIMITS[name]
        if not low <= value <= high:
            found.append((f"{name} between {low} and {high}", f"{name}-{value}"))
        elif values.count(name) > 1:
            found.append((f"one value of {name}", f"{name}-{value}"))
    if offloaded or not udp:
        where = "in the kernel" if offloaded else "over TCP"
        only = [option for option in chosen if option == FAST_IO or option.startswith("fragment-")]
        found += [(f"{option}, which does not exist {where}", option) for option in only]
    return found


def _numbered(options: Iterable[str]) -> list[tuple[str, int]]:
    matches = (_NUMBERED.fullmatch(option) for option in options)
    # Its first ten digits are beyond every limit; Python converts no more than 4,300.
    return [(match[1], int(match[2][:10])) for match in matches if match and match[1] in _LIMITS]
