"""The far end of the link when senders are compared: what it costs is no sender's.

A veth hands a packet over in its sender's context, so that a sender would pay for the receiver's
half of the kernel: receive packet steering (RPS) puts that half onto the receiver's CPUs. And a
receiver that is slow, or that requests a time stamp on every packet, slows down who sends to it:
floods are thrown away as soon as the link has carried them. Both are so for every contestant alike.
"""

from __future__ import annotations

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.cpu import steering
from culvert.topology.spec import Steering

SPARED_PER_S = 50
"""The packets by which a peer's client and server find each other are few, and pass."""


def keep_out_of_the_account(lab: Lab, size: int, *, steer: bool = True) -> None:
    """Steer what node b receives to its own CPUs (unless ``steer`` is False), and drop floods.

    A flood is UDP in packets of ``size``.

    The nodes must have CPUs of their own.
    """
    if not lab.b.cpus:
        raise NotPossible("steering received packets", "the nodes share all CPUs", "use two CPUs")
    device = lab.b.underlay.device
    if steer:
        steering.apply(lab.b, device, Steering(rps=True), lab.b.cpus)
    lab.b.run(["nft", "-f", "-"], stdin=_bin(device, size))


def join_received(lab: Lab, on: bool) -> None:
    """Whether node b's device joins received packets of one flow (GRO) where a socket takes them
    so."""
    lab.b.run(["ethtool", "-K", lab.b.underlay.device, "gro", "on" if on else "off"])


def _bin(device: str, size: int) -> str:
    return f"""
table netdev bin {{
    chain in {{
        type filter hook ingress device "{device}" priority filter; policy accept;
        ip protocol udp ip length {size} limit rate over {SPARED_PER_S}/second drop
    }}
}}
"""
