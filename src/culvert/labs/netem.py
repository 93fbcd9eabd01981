"""A veth pair whose packets the kernel's emulator impairs (tc-netem(8)).

netem decides about socket buffers, and with offloads on one of them may be 64 kB of packets: so a
link of this kind never has offloads. What it cannot do as it was asked is refused, not
approximated; the wire can do all of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from culvert.doctor import features
from culvert.errors import NotPossible, UsageError
from culvert.labs import veth
from culvert.labs.base import LinkSpec
from culvert.labs.links import index_of
from culvert.labs.netem_options import USE_THE_WIRE, options


def connect(left: veth.End, right: veth.End, spec: LinkSpec) -> None:
    """Make the cable. Raises NotPossible without netem, UsageError for what netem cannot do."""
    asked = {left: spec.impairment.a_to_b, right: spec.impairment.b_to_a}
    if spec.offloads:
        raise UsageError(
            "offloads on a netem link",
            "netem would lose and delay super-packets of up to 64 kB as if they were one packet",
            "leave offloads out, or " + USE_THE_WIRE,
        )
    parameters = {end: options(one_way, spec.rate_bps) for end, one_way in asked.items()}
    if not features.has("netem"):
        raise NotPossible(
            "the link netem",
            "this kernel has no sch_netem",
            "modprobe sch_netem, or " + USE_THE_WIRE,
        )
    veth.connect(left, right, replace(spec, rate_bps=None))
    for end, chosen in parameters.items():
        _impair(end, chosen)


def _impair(end: veth.End, chosen: dict[str, Any]) -> None:
    def add(netlink: Any) -> None:
        index = index_of(netlink, end.device)
        netlink.tc("add", "netem", index=index, handle=0x10000, **chosen)

    end.namespace.netlink(add, f"netem on {end.device}")
