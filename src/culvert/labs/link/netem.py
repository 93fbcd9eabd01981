"""A veth pair with impairments by the kernel's emulator (tc-netem(8)).

netem treats each socket buffer as one packet, and with offloads a buffer may hold packets of 64 kB
in total: so a link of this kind never has offloads. A request that netem cannot fulfil exactly is
refused, not approximated; the wire supports all of them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace

from culvert import tools
from culvert.errors import LabError, UsageError
from culvert.labs.link import veth
from culvert.labs.process import not_ended
from culvert.topology.link.impairment import OneWay
from culvert.topology.link.netem import USE_THE_WIRE, options
from culvert.topology.link.spec import LinkSpec

TC_DEADLINE_S = 5.0


def connect(left: veth.CableEnd, right: veth.CableEnd, spec: LinkSpec) -> None:
    """Create the cable. Raises UsageError for unsupported requests."""
    if spec.offloads:
        raise UsageError(
            "offloads on a netem link",
            "netem would lose and delay super-packets of up to 64 kB as if they were one packet",
            "leave offloads out, or " + USE_THE_WIRE,
        )
    words = [_words(one_way, spec.rate_bps) for one_way in spec.impairment.ways]
    veth.connect(left, right, replace(spec, rate_bps=None))
    for end, chosen in zip((left, right), words, strict=True):
        _impair(end, chosen)


def _words(one_way: OneWay, link_rate_bps: int | None) -> list[str]:
    rate_bps = one_way.rate_on(link_rate_bps)
    rate = [] if rate_bps is None else ["rate", f"{rate_bps}bit"]
    return [*options(one_way, link_rate_bps), *rate]


def _impair(end: veth.CableEnd, words: Sequence[str]) -> None:
    tc = tools.require("tc", "apt install iproute2, or " + USE_THE_WIRE)
    argv = [str(tc), "qdisc", "add", "dev", end.device, "root", "handle", "1:", "netem", *words]

    def add() -> subprocess.CompletedProcess[str]:
        # a child of the namespace's thread runs in the namespace
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=TC_DEADLINE_S, check=False
        )

    try:
        done = end.namespace.call(add)
    except subprocess.TimeoutExpired:
        raise not_ended(f"netem on {end.device}", TC_DEADLINE_S) from None
    if done.returncode:
        why = done.stderr.strip() or f"tc ended with {done.returncode}"
        raise LabError(f"netem on {end.device}", why, USE_THE_WIRE)
