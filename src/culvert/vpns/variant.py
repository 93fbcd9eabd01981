"""What a driver declares: variants, missing requirements, where packets are encrypted, routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LEAVE_OUT = "leave this event out for this VPN"


class DataPath(StrEnum):
    """Where packets are encrypted: determined from the kernel, never assumed."""

    NONE = "none"
    USER = "user space"
    KERNEL = "kernel"


@dataclass(frozen=True)
class Variant:
    """One way to run a VPN. ``facts`` are its properties for the reader (cipher, key exchange
    ...)."""

    name: str
    summary: str
    facts: Mapping[str, str] = field(default_factory=dict)
    encrypts: bool = True
    integrity_only: bool = False
    """It protects integrity but not confidentiality (AH, ESP without a cipher): its packets must be
    on the underlay, and clear text in them is expected."""


@dataclass(frozen=True)
class Missing:
    """Something that a driver needs and a machine does not have."""

    what: str
    remedy: str

    @property
    def installable(self) -> bool:
        """Whether ``culvert install`` provides it; it does not for a feature of the kernel, for
        example."""
        return self.remedy.startswith("culvert install")


@dataclass(frozen=True)
class Route:
    """The route of a path's packets: direct, or through the node ``via``."""

    via: str | None = None

    def __str__(self) -> str:
        return "direct" if self.via is None else f"relayed through {self.via}"


DIRECT = Route()
