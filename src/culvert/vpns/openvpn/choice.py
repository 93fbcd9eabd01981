"""OpenVPN's variants and options, and the configuration that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from culvert.vpns.authoring import DataCipher, Variant
from culvert.vpns.openvpn import settings
from culvert.vpns.openvpn.packet import Framing
from culvert.vpns.parts import kill_switch

PORT = 1194
PING_S = 2
PING_RESTART_S = 10
"""The same detection time as a WireGuard peer, shorter than the manual's 10 and 60 seconds."""
RENEGOTIATION_S = 5
"""OpenVPN has no request for new keys, so the interval is short."""
PSK = "psk"
RENEG = "reneg"
_TCP = "tcp"
DPD = "dpd"
_DCO = "dco-"
_GROUPS: Mapping[str, str] = {"x25519": "X25519", "x25519mlkem768": "X25519MLKEM768"}
"""OpenSSL's names of groups, by option."""


class Cipher(Enum):
    """The data channel's ciphers, by OpenVPN's names; those without AEAD use HMAC-SHA256."""

    NONE = "none"
    AES_128_CBC = "AES-128-CBC"
    AES_256_CBC = "AES-256-CBC"
    AES_128_GCM = "AES-128-GCM"
    AES_256_GCM = "AES-256-GCM"
    CHACHA20_POLY1305 = "CHACHA20-POLY1305"

    @property
    def aead(self) -> bool:
        return self not in {Cipher.NONE, Cipher.AES_128_CBC, Cipher.AES_256_CBC}

    @property
    def kind(self) -> DataCipher:
        """The cipher without mode and key length."""
        match self:
            case Cipher.NONE:
                return DataCipher.NONE
            case Cipher.CHACHA20_POLY1305:
                return DataCipher.CHACHA20
            case _:
                return DataCipher.AES


class Transport(StrEnum):
    """What carries the tunnel."""

    UDP = "udp"
    TCP = "tcp"


OPTIONS: Mapping[str, str] = {
    _TCP: "carry the tunnel over TCP instead of UDP",
    PSK: "a static key instead of certificates (CBC variants, and none)",
    DPD: f"dead peer detection: keepalive {PING_S} {PING_RESTART_S}",
    RENEG: f"new keys every {RENEGOTIATION_S} s",
    **{
        option: f"the TLS group {group} alone, by an OpenVPN whose library has post-quantum groups"
        for option, group in _GROUPS.items()
    },
    kill_switch.OPTION: f"{kill_switch.HELP}, and persist-tun",
    **settings.OPTIONS,
}

_BOTH = {
    "tunnel MTU": "1500 (default)",
    "fragment": "off (default)",
    "mssfix": "default: TCP inside makes outer packets of at most 1492 bytes",
    "renegotiation": "off",
    "pings": "off",
    "compression": "none",
    "socket buffers": "the system's default",
}
_IN_USER_SPACE = {"data channel offload": "off"}
_IN_KERNEL = {
    "data channel offload": "on",
    "mssfix": "has no effect in the kernel: full packets are fragmented outside",
    "CPU accounting": "the kernel encrypts in softirq and in the sender's own time",
}
_CERTIFICATES = {
    "authentication": "certificates, ECDSA secp384r1",
    "key exchange": "TLS 1.3, the library's default group (X25519; OpenSSL 3.5: X25519MLKEM768)",
}


def _variant(cipher: Cipher) -> Variant:
    facts = {"cipher": cipher.value} | ({} if cipher.aead else {"authenticity": "HMAC-SHA256"})
    summary = cipher.value if cipher.aead else f"{cipher.value} with HMAC-SHA256"
    clear = cipher is Cipher.NONE
    return Variant(
        cipher.value.lower(),
        "no encryption, HMAC-SHA256" if clear else summary,
        facts | _BOTH | _IN_USER_SPACE | _CERTIFICATES,
        cipher=cipher.kind,
        encrypts=not clear,
        integrity_only=clear,
    )


def _offloaded(cipher: Cipher) -> Variant:
    facts = {"cipher": cipher.value} | _BOTH | _IN_KERNEL | _CERTIFICATES
    return Variant(
        _DCO + cipher.value.lower(),
        f"{cipher.value} in the kernel",
        facts,
        cipher=cipher.kind,
    )


_CHOICES = {
    variant.name: (variant, cipher, offloaded)
    for variant, cipher, offloaded in (
        *((_variant(cipher), cipher, False) for cipher in Cipher if cipher is not Cipher.NONE),
        (_variant(Cipher.NONE), Cipher.NONE, False),
        *((_offloaded(cipher), cipher, True) for cipher in Cipher if cipher.aead),
    )
}
VARIANTS = tuple(variant for variant, _, _ in _CHOICES.values())


@dataclass(frozen=True)
class Choice:
    """A variant with options. ``offloaded``: the data channel is in the kernel."""

    cipher: Cipher
    offloaded: bool
    options: frozenset[str]
    settings: settings.Settings

    @classmethod
    def of(cls, variant: str, options: frozenset[str]) -> Choice:
        """From the names of a variant and its options."""
        _, cipher, offloaded = _CHOICES[variant]
        return cls(cipher, offloaded, options, settings.Settings.of(options))

    @property
    def transport(self) -> Transport:
        return Transport.TCP if _TCP in self.options else Transport.UDP

    @property
    def static_key(self) -> bool:
        return PSK in self.options

    @property
    def keepalive(self) -> bool:
        """Whether it sends pings, and restarts if none arrive."""
        return DPD in self.options

    @property
    def renegotiates(self) -> bool:
        return RENEG in self.options

    @property
    def groups(self) -> tuple[str, ...]:
        """The named TLS groups; more than one contradict each other."""
        return tuple(group for option, group in _GROUPS.items() if option in self.options)

    @property
    def kill_switch(self) -> bool:
        return kill_switch.OPTION in self.options

    @property
    def framing(self) -> Framing:
        """The encapsulation, as far as it is known before the ends have negotiated."""
        if self.cipher.aead:
            return Framing.AEAD
        if self.cipher is Cipher.NONE:
            return Framing.CLEAR_STATIC_KEY if self.static_key else Framing.CLEAR
        return Framing.CBC_STATIC_KEY if self.static_key else Framing.CBC

    def facts(self) -> dict[str, str]:
        """Facts that differ from the variant's own."""
        facts = {"transport": f"{self.transport.upper()} {PORT}", **self.settings.facts()}
        if self.transport is Transport.TCP:
            facts["TCP_NODELAY"] = "off (default)"
        for group in self.groups:
            facts["key exchange"] = f"TLS 1.3, {group}"
        if self.static_key:
            facts |= {"authentication": "static key", "key exchange": "none"}
        if self.keepalive:
            facts["pings"] = (
                f"every {PING_S} s, restart after {PING_RESTART_S} s without "
                "(a server: after twice that)"
            )
        if self.renegotiates:
            facts["renegotiation"] = f"by the client, every {RENEGOTIATION_S} s"
        return facts
