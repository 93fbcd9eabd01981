"""In which kind of packet others are carried, by its protocol, ports and first bytes. Pure.

IANA's port of VXLAN is 4789 (RFC 7348), Linux's older one 8472; Geneve's is 6081 (RFC 8926);
ESP in UDP has 4500 (RFC 3948). WireGuard has no port of its own: its data packets begin with
04 00 00 00.
"""

from __future__ import annotations

from enum import StrEnum

from culvert.vpns.outer import OuterPacket

_UDP = 17
_PROTOCOLS = {4: "IPIP", 47: "GRE", 50: "ESP"}
_VXLAN_PORTS = frozenset({4789, 8472})
_GENEVE_PORT = 6081
_ESP_PORT = 4500
_WIREGUARD_DATA = bytes((4, 0, 0, 0))
_VXLAN_FLAGS = 0x08


class Encapsulation(StrEnum):
    """What carries the packets of pods on the nodes' interfaces."""

    NONE = "no encapsulation"
    VXLAN = "VXLAN"
    GENEVE = "Geneve"
    IPIP = "IPIP"
    GRE = "GRE"
    WIREGUARD = "WireGuard"
    ESP = "ESP"
    ESP_IN_UDP = "ESP in UDP"
    UDP = "UDP of another kind"
    TCP = "TCP"


def of(packet: OuterPacket) -> Encapsulation:
    """By the outermost header."""
    if packet.protocol != _UDP:
        return Encapsulation(_PROTOCOLS.get(packet.protocol, "TCP"))
    return _of_udp(packet)


def _of_udp(packet: OuterPacket) -> Encapsulation:
    ports = {packet.source_port, packet.destination_port}
    payload = packet.payload
    if payload.startswith(_WIREGUARD_DATA):
        return Encapsulation.WIREGUARD
    if ports & _VXLAN_PORTS and payload[:1] and payload[0] & _VXLAN_FLAGS:
        return Encapsulation.VXLAN
    if _GENEVE_PORT in ports:
        return Encapsulation.GENEVE
    return Encapsulation.ESP_IN_UDP if _ESP_PORT in ports else Encapsulation.UDP
