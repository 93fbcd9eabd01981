"""Impairments of a real link by the hosts' own queueing disciplines, on each end's device.

::

    htb (all other packets pass) ── class of one peer ── tbf ── netem

tbf limits the rate, and splits super-packets, which netem would lose and delay as one packet:
packets larger than its ``mtu`` are segmented (net/sched/sch_tbf.c). Only packets to the other end's
address are impaired; the host's guard removes all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from culvert.errors import LabError, NotPossible
from culvert.labs import iproute
from culvert.labs.hosts.host import SshHost
from culvert.labs.link.token_bucket import token_bucket
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.netem import options
from culvert.topology.link.spec import ETHERNET_HEADER

HANDLE = "7c75"
"""Of the discipline, in hexadecimal: its classes are its peers, whose own disciplines follow."""
_NO_LIMIT_BPS = 20_000_000_000
_PEAK_BPS = 2 * _NO_LIMIT_BPS
_REMEDY = "measure this condition in the lab netns, or leave it out"
_MORE_THAN_ONE = 1.5
"""Frames that tbf passes whole: its ticks of 64 ns are coarse, but two frames must be split."""
PINGS = 5


@dataclass(frozen=True)
class Towards:
    """Packets of a host to a peer's address: what is requested of the link, the rate included."""

    peer: IPv4Address
    requested: OneWay
    rate_bps: int | None
    mtu: int

    @property
    def impaired(self) -> bool:
        return self.rate_bps is not None or self.emulated

    @property
    def emulated(self) -> bool:
        """Whether netem is necessary: anything but a rate and its queue is requested."""
        rest = replace(self.requested, rate_bps=None, queue_bytes=None, queue_packets=None)
        return rest != OneWay()

    def commands(self, device: str, number: int) -> list[list[str]]:
        """Arguments of ``tc``; ``number`` is that of the class. Raises UsageError for what netem
        cannot do."""
        of_class, leaf = f"{HANDLE}:{number:x}", f"{int(HANDLE, 16) + number:x}:"
        dev = ["dev", device]
        bucket = token_bucket(self.rate_bps or _NO_LIMIT_BPS, self.mtu)
        frame = self.mtu + ETHERNET_HEADER
        limit = bucket.limit_bytes
        if self.requested.queue_bytes is not None:
            limit = bucket.burst_bytes + self.requested.queue_bytes
        if self.requested.queue_packets is not None:
            limit = bucket.burst_bytes + self.requested.queue_packets * frame
        root = ["class", "add", *dev, "parent", f"{HANDLE}:", "classid", of_class]
        shaper = ["qdisc", "add", *dev, "parent", of_class, "handle", leaf, "tbf"]
        shaper += ["rate", f"{8 * bucket.rate_bytes_per_s}bit", "burst", str(bucket.burst_bytes)]
        shaper += ["limit", str(limit), "peakrate", f"{_PEAK_BPS}bit"]
        shaper += ["mtu", str(round(frame * _MORE_THAN_ONE))]
        made = [[*root, "htb", "rate", f"{_PEAK_BPS}bit", "quantum", "60000"], shaper]
        if self.emulated:
            words = options(self.requested, self.rate_bps)
            made.append(["qdisc", "add", *dev, "parent", f"{leaf}1", "netem", *words])
        match = ["u32", "match", "ip", "dst", f"{self.peer}/32", "flowid", of_class]
        made.append(["filter", "add", *dev, "parent", f"{HANDLE}:", "protocol", "ip", *match])
        return made


def impair(host: SshHost, device: str, ways: Sequence[Towards]) -> None:
    """Make what is requested on a host's device. Nothing is changed if the device has a discipline
    that somebody chose. Raises NotPossible, LabError."""
    ways = [way for way in ways if way.impaired]
    if not ways:
        return
    tc = host.require("tc", "install iproute2 on the host")
    _require_default(host, tc, device)
    if any(way.emulated for way in ways) and not host.has("netem"):
        raise NotPossible(
            f"impairments on host {host.name}",
            "its kernel has no netem (sch_netem)",
            f"modprobe sch_netem on the host, or {_REMEDY}",
        )
    client = host.contact.client
    if client is not None and any(str(way.peer) == client[0] for way in ways):
        raise NotPossible(
            f"impairments on host {host.name}",
            f"its SSH connection comes from {client[0]}, over the link to impair",
            "reach the host by another link, or without that jump host",
        )
    host.undo([tc, "qdisc", "delete", "dev", device, "root", "handle", f"{HANDLE}:"])
    root = ["qdisc", "add", "dev", device, "root", "handle", f"{HANDLE}:", "htb", "default", "0"]
    for words in (root, *(w for n, way in enumerate(ways, 1) for w in way.commands(device, n))):
        done = host.run([tc, *words], check=False)
        if done.returncode:
            raise NotPossible(
                f"impairments on host {host.name}, {device}",
                f"tc {' '.join(words[:2])} ({words[-1] if words[0] == 'filter' else _kind(words)}) "
                f"failed: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else '?'}",
                f"modprobe sch_htb sch_tbf cls_u32 on the host, or {_REMEDY}",
            )


def round_trip_ns(host: SshHost, peer: IPv4Address) -> int:
    """The least of a few, to be counted as a part of the delay that is requested. Raises
    LabError."""
    ping = host.require("ping", "install iputils-ping on the host")
    argv = [ping, "-n", "-q", "-c", str(PINGS), "-i", "0.1", "-W", "2", str(peer)]
    printed = host.run(argv, check=False, timeout_s=PINGS * 3).stdout
    found = re.search(r"= ([\d.]+)/", printed)
    if found is None:
        raise LabError(
            f"host {host.name}",
            f"no answer to a ping of {peer}, with which the delay of the link is found",
            "let the hosts' firewalls pass ICMP",
        )
    return round(float(found[1]) * 1e6)


def less_the_own(requested: OneWay, round_trip: int) -> OneWay:
    """The delay to add to a link that has half of ``round_trip`` in ns each way."""
    return replace(requested, delay_ns=max(requested.delay_ns - round_trip // 2, 0))


def _require_default(host: SshHost, tc: str, device: str) -> None:
    printed = host.run([tc, "-j", "qdisc", "show", "dev", device]).stdout
    shown = iproute.entries(printed, host.name)
    chosen = [
        str(one.get("kind")) for one in shown if one.get("root") and one.get("handle") != "0:"
    ]
    if chosen:
        raise NotPossible(
            f"host {host.name}, queueing discipline of {device}",
            f"Culvert does not change it: it is set to {chosen[0]}",
            "remove it on the host, or run without --allow-impairment",
        )


def _kind(words: Sequence[str]) -> str:
    return next((word for word in words if word in ("htb", "tbf", "netem")), "?")
