"""What a driver declares: variants, missing requirements, where packets are encrypted, routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from culvert.errors import shortened
from culvert.labs.host import Host, install_command
from culvert.topology.graph import Role

KEPT_RELAYED_BY = "kept relayed by"
"""The fact of a variant whose paths all are relayed, although they could be direct."""
OWN_SWITCH = "the VPN's own switch: "
"""How that fact begins."""


def kept_relayed(switch: str) -> dict[str, str]:
    """The fact of a variant that a switch of the VPN's own keeps relayed."""
    return {KEPT_RELAYED_BY: f"{OWN_SWITCH}{switch}"}


LEAVE_OUT = "leave this event out for this VPN"


class DataPath(StrEnum):
    """Where packets are encrypted: determined from the kernel, never assumed."""

    NONE = "none"
    USER = "user space"
    KERNEL = "kernel"


class Carried(StrEnum):
    """What crosses the tunnel of the packets that enter it."""

    PACKETS = "IP packets"
    PAYLOAD = "the payload of TCP and UDP"
    """As through a proxy, which ends connections on the near node and opens others on the far one:
    no header, no acknowledgement and no ICMP crosses."""


class DataCipher(StrEnum):
    """The cipher of the data: the key exchange may use another one."""

    NONE = "none"
    AES = "AES"
    CHACHA20 = "ChaCha20"
    OTHER = "another cipher than AES"


@dataclass(frozen=True)
class Variant:
    """One way to run a VPN. ``facts`` are its properties for the reader (cipher, key exchange
    ...)."""

    name: str
    summary: str
    facts: Mapping[str, str] = field(default_factory=dict)
    cipher: DataCipher | None = None
    """None: not declared. Only of a declared one can a condition's ``aes`` be verified."""
    encrypts: bool = True
    integrity_only: bool = False
    """It protects integrity but not confidentiality (AH, ESP without a cipher): its packets must be
    on the underlay, and clear text in them is expected."""
    needs: tuple[Role, ...] = ()
    """Servers in addition to the members, in the order in which they start."""
    overlay_mtu: int | None = None
    """MTU in bytes of the pods of a cluster over it, whatever the study's; of clusters only."""

    @property
    def of_clusters(self) -> bool:
        """Whether only a cluster can measure it."""
        return self.overlay_mtu is not None


@dataclass(frozen=True)
class Missing:
    """Something that a driver needs and a machine lacks."""

    what: str
    remedy: str
    vpn: str | None = None
    """The VPN whose installation provides it; None: none does, as for a feature of the kernel."""

    def __post_init__(self) -> None:
        for name in ("what", "remedy"):
            object.__setattr__(self, name, shortened(getattr(self, name)))

    @property
    def installable(self) -> bool:
        """Whether an installation provides it."""
        return self.vpn is not None

    @classmethod
    def to_install(cls, what: str, vpn: str) -> Missing:
        """Something that ``culvert install`` of that VPN provides."""
        return cls(what, install_command(vpn), vpn)

    def on(self, host: Host) -> Self:
        """What is missing, with the remedy for that host."""
        return self if self.vpn is None else replace(self, remedy=host.how_to_install(self.vpn))


def in_words(missing: Sequence[Missing]) -> tuple[str, str]:
    """All that is missing, and all remedies, each once."""
    what = ", ".join(dict.fromkeys(each.what for each in missing))
    return what, "; ".join(dict.fromkeys(each.remedy for each in missing))


@dataclass(frozen=True)
class Route:
    """The route of a path's packets: direct, or through the node ``via``, which ``decrypts`` them
    and encrypts them again, or passes ciphertext on."""

    via: str | None = None
    decrypts: bool = False

    def __str__(self) -> str:
        if self.via is None:
            return "direct"
        return f"relayed through {self.via}" + (", which decrypts" if self.decrypts else "")


DIRECT = Route()


@dataclass(frozen=True)
class RouteCount:
    """Packets that a VPN's program has sent, by its own counters."""

    direct: int
    relayed: int

    def since(self, before: RouteCount) -> RouteCount:
        """Those after an earlier count."""
        return RouteCount(self.direct - before.direct, self.relayed - before.relayed)
