"""What a driver declares of a VPN: its variants, what is missing, where packets are encrypted."""

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
    """One way to run a VPN. ``facts`` are what a reader should know (cipher, key exchange ...)."""

    name: str
    summary: str
    facts: Mapping[str, str] = field(default_factory=dict)
    encrypts: bool = True
    integrity_only: bool = False
    """It is meant to protect against changes and not against readers (AH, ESP without cipher): its
    packets are proved, and their clear text is expected."""


@dataclass(frozen=True)
class Missing:
    """Something that a driver needs and a machine does not have."""

    what: str
    remedy: str

    @property
    def installable(self) -> bool:
        """Whether installing the VPN brings it; a feature of the kernel, for one, it does not."""
        return self.remedy.startswith("culvert install")


@dataclass(frozen=True)
class Route:
    """Which way a path's packets travel: direct, or through the node ``via``."""

    via: str | None = None

    def __str__(self) -> str:
        return "direct" if self.via is None else f"relayed through {self.via}"


DIRECT = Route()
