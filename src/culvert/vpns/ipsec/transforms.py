"""IPsec's transforms, and the modes in which the kernel applies them to packets.

The same for keys negotiated by IKE and for manual keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from culvert.vpns.authoring import (
    DataCipher,
    Host,
    Missing,
    OuterFlow,
    Variant,
    missing_from_kernel,
)
from culvert.vpns.ipsec import esp

IKE = OuterFlow(esp.UDP, frozenset({esp.IKE_PORT, esp.NAT_PORT}), messages=esp.IN_UDP)

_CRYPTO = "/proc/crypto"


@dataclass(frozen=True)
class Algorithm:
    """One of the kernel's algorithms: ``use`` is its type in ip-xfrm."""

    use: str
    name: str
    key_bytes: int
    """Salt included (RFC 4106, section 8.1; RFC 7634, section 2)."""
    icv_bits: int | None = None


@dataclass(frozen=True)
class Transform:
    """What is done to a packet. ``cipher`` is its name for people and doctor; ``proposal`` its name
    in IKE's configuration; ``shape`` is that of ESP, None for AH."""

    cipher: str
    proposal: str
    shape: esp.EspShape | None
    algorithms: tuple[Algorithm, ...]
    kind: DataCipher

    @property
    def encrypts(self) -> bool:
        return self.kind is not DataCipher.NONE

    @property
    def protocol(self) -> int:
        return esp.AH if self.shape is None else esp.ESP


_SHA256 = Algorithm("auth-trunc", "hmac(sha256)", 32, 128)
_AH_ICV_BYTES = 16


def _aead(name: str, key_bytes: int) -> tuple[Algorithm, ...]:
    return (Algorithm("aead", name, key_bytes + 4, 128),)


def _cbc(key_bytes: int) -> tuple[Algorithm, ...]:
    return (Algorithm("enc", "cbc(aes)", key_bytes), _SHA256)


_GCM, _CHACHA20 = "rfc4106(gcm(aes))", "rfc7539esp(chacha20,poly1305)"
_NULL = (Algorithm("enc", "ecb(cipher_null)", 0), _SHA256)

TRANSFORMS: Mapping[str, Transform] = {
    "esp-aes128cbc-sha256": Transform(
        "AES-128-CBC with SHA-256", "aes128-sha256", esp.CBC_SHA256, _cbc(16), DataCipher.AES
    ),
    "esp-aes256cbc-sha256": Transform(
        "AES-256-CBC with SHA-256", "aes256-sha256", esp.CBC_SHA256, _cbc(32), DataCipher.AES
    ),
    "esp-aes128gcm": Transform(
        "AES-128-GCM", "aes128gcm16", esp.GCM, _aead(_GCM, 16), DataCipher.AES
    ),
    "esp-aes256gcm": Transform(
        "AES-256-GCM", "aes256gcm16", esp.GCM, _aead(_GCM, 32), DataCipher.AES
    ),
    "esp-chacha20poly1305": Transform(
        "ChaCha20-Poly1305",
        "chacha20poly1305",
        esp.CHACHA20_POLY1305,
        _aead(_CHACHA20, 32),
        DataCipher.CHACHA20,
    ),
    "esp-null-sha256": Transform(
        "no cipher with SHA-256", "null-sha256", esp.NULL_SHA256, _NULL, DataCipher.NONE
    ),
    "ah-sha256": Transform("SHA-256", "sha256", None, (_SHA256,), DataCipher.NONE),
}
"""By the names of variants."""


def variant(name: str, facts: Mapping[str, str]) -> Variant:
    """The variant that uses the transform of that name."""
    transform = TRANSFORMS[name]
    summary = f"{'ESP' if transform.shape else 'AH'} with {transform.cipher}"
    cipher = {"cipher": transform.cipher if transform.encrypts else f"none ({transform.cipher})"}
    return Variant(
        name,
        summary,
        {**cipher, **facts},
        cipher=transform.kind,
        encrypts=transform.encrypts,
        integrity_only=not transform.encrypts,
    )


@dataclass(frozen=True)
class Carriage:
    """A transform, and how it is applied to packets.

    ``transport``: mode without an inner IP header. ``route``: through an xfrm interface, instead
    of policies that select packets to the underlay. ``in_udp``: ESP in UDP.
    """

    transform: Transform
    transport: bool = False
    route: bool = False
    in_udp: bool = False

    def outer_length(self, inner_length: int) -> int:
        """Length in bytes of the outer IP packet."""
        if self.transform.shape is None:
            return esp.ah_length(_AH_ICV_BYTES, inner_length, transport=self.transport)
        return esp.esp_length(
            self.transform.shape, inner_length, in_udp=self.in_udp, transport=self.transport
        )

    def outer_flow(self, *beside: OuterFlow) -> OuterFlow:
        """The kernel's packets, and those of the key exchange."""
        shown = not self.route
        if self.in_udp:
            return replace(IKE, decrypts_there=shown)
        messages = (esp.ENCRYPTED,) if self.transform.encrypts else ()
        return OuterFlow(
            self.transform.protocol, also=beside, messages=messages, decrypts_there=shown
        )

    def contradictions(self) -> Iterator[Missing]:
        """Combinations that no machine supports."""
        if self.transport and self.route:
            yield Missing("an xfrm interface in transport mode", "leave +transport or +route out")
        if self.in_udp and self.transform.shape is None:
            yield Missing("AH in UDP, which does not exist", "leave +encap out")

    def missing_from_kernel(self, host: Host) -> Iterator[Missing]:
        """What a machine's kernel does not have for it, from doctor's trials."""
        if self.transform.shape is None:
            yield from missing_from_kernel(host, "ah", "AH in the kernel")
        elif no_esp := missing_from_kernel(host, "esp", "ESP in the kernel"):
            yield from no_esp
        else:
            cipher = self.transform.cipher
            yield from missing_from_kernel(host, f"esp:{cipher}", f"{cipher} in the kernel's ESP")
        if self.route:
            yield from missing_from_kernel(host, "xfrm-interface", "xfrm interfaces in the kernel")

    def kernel_version(self, host: Host) -> str:
        """The kernel's version, and its cipher drivers, which show whether AES instructions are
        used."""
        drivers = _drivers(host.text(_CRYPTO))
        used = (drivers.get(algorithm.name) for algorithm in self.transform.algorithms)
        return ", ".join([f"Linux {host.kernel_release}", *filter(None, used)])


def _drivers(text: str) -> dict[str, str]:
    """The driver that the kernel prefers for each algorithm, from /proc/crypto."""
    best: dict[str, tuple[int, str]] = {}
    for block in text.split("\n\n"):
        fields = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in block.splitlines())
        }
        if {"name", "driver", "priority"} <= fields.keys():
            offer = int(fields["priority"]), fields["driver"]
            best[fields["name"]] = max(best.get(fields["name"], offer), offer)
    return {name: driver for name, (_, driver) in best.items()}
