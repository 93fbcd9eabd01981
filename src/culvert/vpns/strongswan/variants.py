"""strongSwan's variants and options, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from culvert.vpns.authoring import Missing, Variant
from culvert.vpns.ipsec import transforms as ipsec
from culvert.vpns.ipsec.transforms import TRANSFORMS, Carriage, Transform
from culvert.vpns.parts import kill_switch
from culvert.vpns.strongswan import config
from culvert.vpns.strongswan.charon import DISTRIBUTIONS, NEWER, Programs
from culvert.vpns.strongswan.config import IKE_PROPOSAL, Upkeep

KERNEL = "kernel"
_CERT = "cert"
DPD = "dpd"
MOBIKE = "mobike"
_ROUTE = "route"
_TRANSPORT = "transport"
_ENCAP = "encap"
_GROUPS: Mapping[str, str] = {
    "x25519": IKE_PROPOSAL,
    "mlkem768": f"{IKE_PROPOSAL}-ke1_mlkem768",
}
"""Proposals of the newer strongSwan, by option: they differ in the key exchange alone."""
_OF_THE_KERNEL = (_ROUTE, _TRANSPORT, _ENCAP)

OPTIONS: Mapping[str, str] = {
    _CERT: "Ed25519 certificates instead of a pre-shared key",
    KERNEL: "ESP or AH by the kernel instead of kernel-libipsec",
    _ROUTE: "an xfrm interface and a route instead of policies that select packets (+kernel)",
    _TRANSPORT: "transport mode instead of tunnel mode (+kernel)",
    _ENCAP: "ESP in UDP, even without a NAT (+kernel; always in user space)",
    DPD: f"dead peer detection, after {config.DPD_S} s of silence",
    MOBIKE: "MOBIKE: the initiator's address may change",
    "x25519": "a newer strongSwan than the distribution's, to compare with +mlkem768",
    "mlkem768": "ML-KEM-768 in addition to X25519 (RFC 9370), by that newer strongSwan",
    kill_switch.OPTION: kill_switch.HELP,
}
_FACTS = {
    "key exchange": f"IKEv2, {IKE_PROPOSAL}",
    "perfect forward secrecy": "none for the first child SA, whose keys come from the IKE SA",
    "initiation": "start of charon, swanctl --load-all, swanctl --initiate",
    "interface": "in user space ipsec0 with the plugin's MTU of 1400",
    "rekeying": "off",
    "dead peer detection": "off",
    "MOBIKE": "off",
    "cookies": "off",
    "retransmission": "default (first after 4 s)",
}


def _variant(name: str, transform: Transform) -> Variant:
    return ipsec.variant(name, {"proposal": transform.proposal, **_FACTS})


VARIANTS = tuple(_variant(name, transform) for name, transform in TRANSFORMS.items())


@dataclass(frozen=True)
class Choice:
    """A variant with options."""

    name: str
    options: frozenset[str]
    carriage: Carriage
    upkeep: Upkeep = field(default_factory=Upkeep)

    @classmethod
    def of(cls, variant: str, options: frozenset[str]) -> Self:
        """From the names of a variant and its options."""
        carriage = Carriage(
            TRANSFORMS[variant],
            transport=_TRANSPORT in options,
            route=_ROUTE in options,
            in_udp=_ENCAP in options or KERNEL not in options,
        )
        upkeep = Upkeep(dead_peer_detection=DPD in options, mobike=MOBIKE in options)
        return cls(variant, options, carriage, upkeep)

    @property
    def certificates(self) -> bool:
        return _CERT in self.options

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel has ESP or AH, instead of charon."""
        return KERNEL in self.options

    @property
    def group(self) -> str | None:
        """The option that names the key exchange."""
        return next((group for group in _GROUPS if group in self.options), None)

    @property
    def programs(self) -> Programs:
        return NEWER if self.group else DISTRIBUTIONS

    @property
    def ike_proposal(self) -> str:
        """The only one of the IKE SA."""
        return _GROUPS[self.group] if self.group else IKE_PROPOSAL

    def contradictions(self) -> Iterator[Missing]:
        """What no machine supports."""
        if _GROUPS.keys() <= self.options:
            yield Missing("two key exchanges", f"leave one of +{', +'.join(_GROUPS)} out")
        if self.in_kernel:
            yield from self.carriage.contradictions()
            return
        for option in _OF_THE_KERNEL:
            if option in self.options:
                yield Missing(f"+{option} in user space", f"add +{KERNEL}, or leave it out")
        if not self.carriage.transform.encrypts:
            yield Missing(f"{self.name} in user space", f"add +{KERNEL}")

    def facts(self) -> dict[str, str]:
        """Facts that differ from the variant's own."""
        facts = {
            "authentication": "Ed25519 certificates" if self.certificates else "pre-shared key"
        }
        if self.group:
            facts["key exchange"] = f"IKEv2, {self.ike_proposal}"
        if self.in_kernel:
            facts["mode"] = "transport" if self.carriage.transport else "tunnel"
            facts["interface"] = (
                "an xfrm interface" if self.carriage.route else "none: policies select packets"
            )
            facts["CPU accounting"] = "the kernel encrypts in softirq and in the sender's own time"
        if self.upkeep.dead_peer_detection:
            each, times = config.DPD_RETRANSMIT_S, config.DPD_RETRANSMISSIONS
            facts["dead peer detection"] = (
                f"after {config.DPD_S} s; restart then, and when the peer closes"
            )
            facts["retransmission"] = f"every {each} s, {times} times"
        if self.upkeep.mobike:
            facts["MOBIKE"] = "on"
        return facts
