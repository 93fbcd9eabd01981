"""WireGuard's variants and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from culvert.vpns.authoring import DataCipher, Host, Missing, Variant
from culvert.vpns.parts import kill_switch
from culvert.vpns.wireguard.device import (
    BORINGTUN,
    DISTRIBUTIONS,
    GOTATUN,
    IN_KERNEL,
    QUIET,
    Program,
)
from culvert.vpns.wireguard.packet import Format
from culvert.vpns.wireguard.uapi import Pair

DEVICE: Final = "wg0"
PORT: Final = 51820
KERNEL: Final = "kernel"
NO_OFFLOADS: Final = "nogso"
PSK: Final = "psk"
ROSENPASS: Final = "rosenpass"
MARK: Final = PORT
"""Of its own packets, and the number of the routing table of a full tunnel, as with wg-quick."""
UNDERLAY_ROOM = 80
"""Bytes that wg-quick reserves for the outer headers (those of IPv6, so that any underlay fits)."""
SEGMENTATION = ("tso", "gso", "tx-udp-segmentation")
"""If off, the kernel passes single packets to the program, which sends them one by one."""

_FACTS = {
    "cipher": "ChaCha20-Poly1305",
    "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
    "transport": f"UDP {PORT}",
}
_IN_KERNEL = {
    "initiation": "creation of the interface, wg addconf",
    "CPU accounting": "kworkers encrypt (wg-crypt): all of this kernel count; the rest is softirq",
}
_DISGUISE = {"disguise": "junk and random bytes before handshakes, other message types"}


def _variant(name: str, summary: str, facts: Mapping[str, str] | None = None) -> Variant:
    return Variant(name, summary, {**_FACTS, **(facts or {})}, cipher=DataCipher.CHACHA20)


VARIANTS: tuple[Variant, ...] = (
    _variant("go", "the current Go module, at a pinned version"),
    _variant("go-debian", "the distribution's package, without UDP GSO and GRO"),
    _variant("boringtun", "Cloudflare's, in Rust"),
    _variant("gotatun", "Mullvad's fork of BoringTun, in Rust"),
    _variant("amneziawg", "AmneziaWG, a fork of wireguard-go, without disguise"),
    _variant("amneziawg-disguised", "AmneziaWG, not to be recognised as WireGuard", _DISGUISE),
    _variant(KERNEL, "the kernel's WireGuard", _IN_KERNEL),
)
AMNEZIA = Program(
    "amneziawg-go",
    environment=QUIET,
    sockets="/run/amneziawg",
    remedy="build https://github.com/amnezia-vpn/amneziawg-go and put it on PATH",
)
"""Not every registry of Go's modules has it, so the host's user builds it."""
_JUNK_PACKETS = 4
_LEAST, _MOST = 40, 70
_FORMAT = Format(
    types=(1_316_174_001, 877_312_609, 1_903_457_218, 502_664_387),
    prefixes=(24, 40, 0, 0),
    junk=(_LEAST, _MOST),
)
"""What all its versions have; any types above 4 do. Nothing is put before data: version 3.1 puts it
before all but the first packet after the setting, which is lost."""


def _settings() -> tuple[Pair, ...]:
    junk = (("jc", str(_JUNK_PACKETS)), ("jmin", str(_LEAST)), ("jmax", str(_MOST)))
    prefixes = ((f"s{number}", str(size)) for number, size in enumerate(_FORMAT.prefixes, start=1))
    types = ((f"h{number}", str(kind)) for number, kind in enumerate(_FORMAT.types, start=1))
    return (*junk, *prefixes, *types)


DISGUISED = replace(AMNEZIA, format=_FORMAT, settings=_settings())
PROGRAMS: dict[str, Program] = {
    "go-debian": DISTRIBUTIONS,
    "boringtun": BORINGTUN,
    "gotatun": GOTATUN,
    "amneziawg": AMNEZIA,
    "amneziawg-disguised": DISGUISED,
    KERNEL: IN_KERNEL,
}
"""By variant, those that are not the current wireguard-go."""
OPTIONS: Mapping[str, str] = {
    NO_OFFLOADS: "without segmentation offload: no super-packets in or out of the tunnel",
    PSK: "a pre-shared key in addition to the key pairs",
    ROSENPASS: "a pre-shared key that Rosenpass exchanges, with post-quantum algorithms",
    kill_switch.OPTION: kill_switch.HELP,
}


def chosen(variant: Variant, options: frozenset[str]) -> Variant:
    """The variant with options."""
    facts = dict(variant.facts)
    if NO_OFFLOADS in options:
        facts["segmentation offload"] = f"off ({DEVICE})"
    if PSK in options:
        facts["pre-shared key"] = "yes"
    if ROSENPASS in options:
        facts["pre-shared key"] = "by Rosenpass (Classic McEliece 460896, Kyber-512)"
    return replace(variant, facts=facts)


def missing_for(options: frozenset[str], program: Program, host: Host, vpn: str) -> list[Missing]:
    """What the options need."""
    missing = []
    if PSK in options and ROSENPASS in options:
        missing.append(Missing("two pre-shared keys", f"leave +{PSK} or +{ROSENPASS} out"))
    if NO_OFFLOADS in options and not program.offloads:
        what = "segmentation offload (this version has none)"
        missing.append(Missing(what, f"leave +{NO_OFFLOADS} out"))
    if NO_OFFLOADS in options and host.find("ethtool") is None:
        missing.append(Missing.to_install("ethtool", vpn))
    return missing
