"""The criteria of the framework: those of kjorveziroski2024 (section 3.1) and further ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Importance(StrEnum):
    """Who names a criterion, and how it counts there."""

    ESSENTIAL = "essential in kjorveziroski2024"
    PART = "part of the advanced connectivity options of kjorveziroski2024"
    OPTIONAL = "optional in kjorveziroski2024"
    FURTHER = "further criterion"


class Criterion(StrEnum):
    """A criterion, by its name in files and JSON."""

    OPEN_SOURCE = "open-source"
    RECENT_RELEASE = "recent-release"
    MESH = "mesh"
    UNATTENDED = "unattended"
    ACL = "acl"
    ARCHITECTURES = "architectures"
    CONNECTIVITY = "connectivity"
    NAT_TRAVERSAL = "nat-traversal"
    RELAY = "relay"
    RELAY_TCP = "relay-tcp"
    END_TO_END = "end-to-end"
    GRANULAR_ACL = "granular-acl"
    SUBNET_ROUTER = "subnet-router"
    DIRECT = "direct"
    NO_CENTRE = "no-centre"
    IDENTITY = "identity"
    KEY_ROTATION = "key-rotation"
    MTU = "mtu"
    IPV6_INSIDE = "ipv6-inside"
    IPV6_OUTSIDE = "ipv6-outside"


@dataclass(frozen=True)
class Meaning:
    """``head`` is the heading of a narrow column, with a line feed where it may break; ``text``
    states when the criterion holds."""

    head: str
    importance: Importance
    text: str


MEANINGS: dict[Criterion, Meaning] = {
    Criterion.OPEN_SOURCE: Meaning(
        "open\nsource",
        Importance.ESSENTIAL,
        "All parts, the control server too, are open source and can run on one's own machines.",
    ),
    Criterion.RECENT_RELEASE: Meaning(
        "recent\nrelease",
        Importance.ESSENTIAL,
        "A release in the last six months, counted from the date of the source.",
    ),
    Criterion.MESH: Meaning(
        "mesh", Importance.ESSENTIAL, "Every member reaches every other one, each directly."
    ),
    Criterion.UNATTENDED: Meaning(
        "unatt.\njoin", Importance.ESSENTIAL, "A new member joins by a command, without a person."
    ),
    Criterion.ACL: Meaning(
        "ACL", Importance.ESSENTIAL, "A policy decides which members may communicate."
    ),
    Criterion.ARCHITECTURES: Meaning(
        "x86\nARM", Importance.ESSENTIAL, "Clients for x86 and for ARM."
    ),
    Criterion.CONNECTIVITY: Meaning(
        "ACO",
        Importance.ESSENTIAL,
        "Advanced connectivity options: NAT traversal, relays over UDP and over TCP, and "
        "encryption from end to end on all of them. Derived from the four parts where all that "
        "decide it are known.",
    ),
    Criterion.NAT_TRAVERSAL: Meaning(
        "NAT",
        Importance.PART,
        "Two members behind port-restricted NATs reach each other directly.",
    ),
    Criterion.RELAY: Meaning(
        "relay",
        Importance.PART,
        "Two members behind symmetric NATs, where no direct path exists, reach each other through "
        "a relay.",
    ),
    Criterion.RELAY_TCP: Meaning(
        "relay\nTCP",
        Importance.PART,
        "A member whose UDP is blocked reaches another one through a relay.",
    ),
    Criterion.END_TO_END: Meaning(
        "end to\nend",
        Importance.PART,
        "Only the two members can read the data; a relay carries ciphertext.",
    ),
    Criterion.GRANULAR_ACL: Meaning(
        "ports\nin ACL", Importance.OPTIONAL, "The policy distinguishes protocols and ports."
    ),
    Criterion.SUBNET_ROUTER: Meaning(
        "subnet\nrouter",
        Importance.OPTIONAL,
        "A member is the gateway of machines that do not run the VPN.",
    ),
    Criterion.DIRECT: Meaning(
        "direct",
        Importance.FURTHER,
        "Between two members without NAT the packets go directly: none of them crosses a server.",
    ),
    Criterion.NO_CENTRE: Meaning(
        "no\ncentre",
        Importance.FURTHER,
        "No central point in the data path: a path that is up carries packets after all servers "
        "were killed.",
    ),
    Criterion.IDENTITY: Meaning(
        "ident-\nity",
        Importance.FURTHER,
        "A member that was killed and started again is the same member: it keeps its address and "
        "is reached.",
    ),
    Criterion.KEY_ROTATION: Meaning(
        "new\nkeys",
        Importance.FURTHER,
        "Session keys are renewed while the path is up, and packets go on.",
    ),
    Criterion.MTU: Meaning(
        "MTU\nfound",
        Importance.FURTHER,
        "On a path whose MTU is below the expected one, large packets get through without "
        "fragments outside, or the sender is notified.",
    ),
    Criterion.IPV6_INSIDE: Meaning(
        "IPv6\nin", Importance.FURTHER, "Members have IPv6 addresses inside the VPN."
    ),
    Criterion.IPV6_OUTSIDE: Meaning(
        "IPv6\nout", Importance.FURTHER, "Members reach each other over an IPv6 underlay."
    ),
}

PARTS = tuple(name for name, one in MEANINGS.items() if one.importance is Importance.PART)
"""The criteria from which CONNECTIVITY follows."""
