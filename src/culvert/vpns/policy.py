"""Which flows between members a VPN permits: what a driver's ``apply_policy`` gets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Protocol(StrEnum):
    """Protocols that a policy distinguishes."""

    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"


@dataclass(frozen=True)
class Permit:
    """New flows from one member to another, by their names; answers follow. ``port`` None: any
    port, or a protocol without ports."""

    source: str
    target: str
    protocol: Protocol
    port: int | None = None


@dataclass(frozen=True)
class Policy:
    """``everything``: no flow is forbidden. Otherwise what no permit permits is forbidden."""

    permits: tuple[Permit, ...] = ()
    everything: bool = False


OPEN = Policy(everything=True)
"""As every VPN starts."""
