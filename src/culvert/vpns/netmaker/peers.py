"""WireGuard's own report of a member's peers: ``wg show DEVICE dump`` (wg(8))."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from culvert.errors import VpnError


@dataclass(frozen=True)
class Peer:
    """``networks`` are the inner addresses behind it; ``handshake`` is the time of the last one in
    seconds since 1970, 0 before the first."""

    networks: tuple[IPv4Network, ...]
    handshake: int


def parse(dump: str) -> list[Peer]:
    """The peers, after the device's own line. Raises VpnError for another form."""
    found = []
    for line in dump.splitlines()[1:]:
        try:
            _, _, _, allowed, handshake, _, _, _ = line.split("\t")
            inner = [text for text in allowed.split(",") if ":" not in text and text != "(none)"]
            found.append(Peer(tuple(map(IPv4Network, inner)), int(handshake)))
        except ValueError as error:
            reason = f"printed {line[:80]!r}"
            raise VpnError("wg show", reason, "install wireguard-tools") from error
    return found


def carrier(dump: str, address: IPv4Address) -> Peer | None:
    """The peer for an inner address, once it has had a handshake."""
    shaken = (each for each in parse(dump) if each.handshake)
    return next((each for each in shaken if any(address in one for one in each.networks)), None)
