"""Manual keys: the commands of ``ip -batch`` that set and remove them (ip-xfrm(8))."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from culvert.topology.ip import Address
from culvert.vpns.authoring import LabError, Node, TunnelVpn, VpnError, underlay_address
from culvert.vpns.ipsec import esp
from culvert.vpns.ipsec import inner as ipsec_inner
from culvert.vpns.ipsec.transforms import Algorithm, Carriage

Keys = Mapping[str, list[str]]
"""For each algorithm one, in hexadecimal, by the node that sends with them."""
_SOURCES_SPI, _TARGETS_SPI = 0x1001, 0x1002
"""SPIs of the packets that each end sends."""
_REQUEST = 1
_FIRST, _PRIORITY = 1, 1000
_UP, _DOWN = "xfrm/up", "xfrm/down"
FACTS = {
    "key exchange": "none",
    "anti-replay": "off, because of manual keys (RFC 4303, section 3.3.3)",
    "initiation": "none",
    "CPU accounting": "the kernel encrypts in softirq and in the sender's own time",
}
NO_INITIATION = "it has no initiation: its keys are manual, and no handshake packet is sent"


@dataclass(frozen=True)
class Commands:
    """For the two nodes of a VPN."""

    vpn: TunnelVpn
    carriage: Carriage
    protocol: int | None = None
    """Encrypted are the packets of this IP protocol between the nodes' addresses on the underlay;
    None: all between the inner addresses."""

    def write(self) -> None:
        """Random keys, and for each node the commands that set and remove them, in files."""
        (source,) = self.vpn.sources
        ends = ((source, self.vpn.target), (self.vpn.target, source))
        keys = {
            node.name: [
                secrets.token_hex(each.key_bytes) for each in self.carriage.transform.algorithms
            ]
            for node, _ in ends
        }
        for node, peer in ends:
            node.write(_UP, self.up(node, peer, keys), secret=True)
            node.write(_DOWN, self.down(node, peer))

    def set(self, node: Node) -> None:
        """Set a node's keys: packets are encrypted from now on."""
        try:
            ipsec_inner.ip(node, "-batch", str(node.directory / _UP))
        except LabError as error:
            self.unset(node)
            raise VpnError(self.vpn.id, error.why, "see culvert doctor for this kernel") from error

    def unset(self, node: Node) -> None:
        """Remove a node's keys; no error if it has none."""
        down = str(node.directory / _DOWN)
        if node.exists(down):
            ipsec_inner.ip(node, "-force", "-batch", down, check=False)

    def up(self, node: Node, peer: Node, keys: Keys) -> str:
        """Associations, policies and a route of a node."""
        return _batch(
            [
                *self._associations(node, peer, keys),
                *self._policies(node, peer),
                *self._routes(node, peer, "replace"),
            ]
        )

    def down(self, node: Node, peer: Node) -> str:
        return _batch(self._removals(node, peer))

    def _outer(self, node: Node) -> Address:
        return self._selected(node) if self.carriage.transport else underlay_address(node)

    def _selected(self, node: Node) -> Address:
        return self.vpn.inner(node).ip if self.protocol is None else underlay_address(node)

    def _identity(self, sender: Node, receiver: Node) -> str:
        """The arguments that identify an association."""
        return (
            f"src {self._outer(sender)} dst {self._outer(receiver)} "
            f"proto {'esp' if self.carriage.transform.shape else 'ah'} spi {self._spi(sender):#x}"
        )

    def _spi(self, sender: Node) -> int:
        return _TARGETS_SPI if sender.name == self.vpn.target.name else _SOURCES_SPI

    def _selector(self, sender: Node, receiver: Node, direction: str) -> str:
        """The arguments that identify a policy."""
        ends = f"src {self._selected(sender)}/32 dst {self._selected(receiver)}/32"
        protocol = "" if self.protocol is None else f" proto {self.protocol}"
        return f"{ends}{protocol} dir {direction}{self._if_id()}"

    def _if_id(self) -> str:
        return f" if_id {ipsec_inner.INTERFACE_ID}" if self.carriage.route else ""

    def _encap(self) -> str:
        ports = f"{esp.NAT_PORT} {esp.NAT_PORT}"
        return f" encap espinudp {ports} 0.0.0.0" if self.carriage.in_udp else ""

    def _mode(self) -> str:
        return "transport" if self.carriage.transport else "tunnel"

    def _associations(self, node: Node, peer: Node, keys: Mapping[str, list[str]]) -> Iterator[str]:
        for sender, receiver in ((node, peer), (peer, node)):
            used = zip(self.carriage.transform.algorithms, keys[sender.name], strict=True)
            algorithms = " ".join(_words(algorithm, key) for algorithm, key in used)
            # By default the kernel aligns AH to 8 bytes, which only IPv6 requires (RFC 4302).
            flag = "" if self.carriage.transform.shape else " flag align4"
            yield (
                f"xfrm state add {self._identity(sender, receiver)} reqid {_REQUEST} "
                f"mode {self._mode()} {algorithms}{flag}{self._encap()}{self._if_id()}"
            )

    def _policies(self, node: Node, peer: Node) -> Iterator[str]:
        for selector, (sender, receiver) in self._selectors(node, peer):
            protocol = "esp" if self.carriage.transform.shape else "ah"
            ends = f"src {self._outer(sender)} dst {self._outer(receiver)} "
            yield (
                f"xfrm policy add {selector} priority {_PRIORITY} "
                f"tmpl {'' if self.carriage.transport else ends}proto {protocol} "
                f"reqid {_REQUEST} mode {self._mode()}"
            )

        for selector in self._let_in(node, peer):
            yield f"xfrm policy add {selector} priority {_FIRST} action allow"

    def _let_in(self, node: Node, peer: Node) -> Iterator[str]:
        """In transport mode ESP in UDP has the inner addresses, and the inbound policy would
        require ESP for it as well. By number: /etc/protocols may be missing."""
        if self.carriage.transport and self.carriage.in_udp:
            ends = f"src {self.vpn.inner(peer).ip}/32 dst {self.vpn.inner(node).ip}/32"
            yield f"{ends} proto {esp.UDP} dport {esp.NAT_PORT} dir in"

    def _selectors(self, node: Node, peer: Node) -> Iterator[tuple[str, tuple[Node, Node]]]:
        yield self._selector(node, peer, "out"), (node, peer)
        yield self._selector(peer, node, "in"), (peer, node)

    def _routes(self, node: Node, peer: Node, what: str) -> Iterator[str]:
        """In tunnel mode a policy selects packets only if a route sends them to the underlay."""
        if self.carriage.transport or self.carriage.route:
            return
        printed = ipsec_inner.ip(node, "route", "get", str(underlay_address(peer))).stdout
        via = re.search(r" via \S+", printed)
        yield (
            f"route {what} {self.vpn.inner(peer).ip}/32{via[0] if via else ''} "
            f"dev {node.underlay.device} src {self.vpn.inner(node).ip}"
        )

    def _removals(self, node: Node, peer: Node) -> Iterator[str]:
        for selector, _ in self._selectors(node, peer):
            yield f"xfrm policy delete {selector}"
        for selector in self._let_in(node, peer):
            yield f"xfrm policy delete {selector}"
        for sender, receiver in ((node, peer), (peer, node)):
            yield f"xfrm state delete {self._identity(sender, receiver)}"
        yield from self._routes(node, peer, "delete")


def _words(algorithm: Algorithm, key: str) -> str:
    icv = "" if algorithm.icv_bits is None else f" {algorithm.icv_bits}"
    return f'{algorithm.use} "{algorithm.name}" {f"0x{key}" if key else chr(34) * 2}{icv}'


def _batch(commands: Iterable[str]) -> str:
    return "".join(f"{command}\n" for command in commands)
