"""Refuses a lab that no machine, or not this machine, can build, before anything is created.

What the study's tables validate is not validated again.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from culvert.errors import NotPossible, UsageError
from culvert.labs.cpu import aes
from culvert.labs.link.token_bucket import MAX_RATE_BPS
from culvert.labs.link.wire.cable import LONGEST_MTU as WIRE_LONGEST_MTU
from culvert.labs.link.wire.cable import RATES_BPS as WIRE_RATES_BPS
from culvert.labs.namespace.sysctls import IPV6
from culvert.machine import features
from culvert.machine.check import FeatureStatus
from culvert.topology.ip import LEAST_MTU_IPV6, IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec


def check(spec: LabSpec) -> None:
    """Raise UsageError if no machine can build the lab, NotPossible if this one cannot."""
    links = list({id(link): link for link in (spec.link, *spec.links.values())}.values())
    for link in links:
        _check_link(link)
    _require_features(links)
    if spec.underlay is IpVersion.V6 and spec.mtu < LEAST_MTU_IPV6:
        raise NotPossible(
            "an underlay of IPv6",
            f"a link has an MTU of {spec.mtu}",
            f"IPv6 needs {LEAST_MTU_IPV6} (RFC 8200): use a larger MTU",
        )
    wanted = {spec.underlay: "an underlay of", spec.inner: "packets inside of"}
    if IpVersion.V6 in wanted and not Path("/proc/sys", IPV6).exists():
        raise NotPossible(
            f"{wanted[IpVersion.V6]} IPv6",
            "this kernel has no IPv6",
            "boot it without ipv6.disable=1",
        )
    if spec.processors.aes and aes.has_instructions() is False:
        raise NotPossible("aes = true", "this processor has no AES instructions", "use aes = false")
    if spec.processors.aes is False and platform.machine() != "x86_64":
        raise NotPossible(
            "aes = false", f"is not supported on {platform.machine()}", "leave it out here"
        )


def _require_features(links: Iterable[LinkSpec]) -> None:
    """Raise NotPossible for a feature that this kernel lacks."""
    names = {"wire": "tap", "netem": "netem", "veth": "veth"}
    needed = {names[link.kind] for link in links}
    if any(link.kind == "veth" and link.rate_bps is not None for link in links):
        needed.add("tbf")
    for name in sorted(needed):
        found = features.check(name)
        if found.status is FeatureStatus.MISSING:
            raise NotPossible(f"links that need {name}", found.detail, found.remedy or "")


def _check_link(link: LinkSpec) -> None:
    rates = WIRE_RATES_BPS if link.kind == "wire" else range(8000, MAX_RATE_BPS + 1)
    if link.rate_bps is not None and link.rate_bps not in rates:
        raise UsageError(
            f"rate {link.rate_bps} bit/s",
            f"is not between {rates[0]} bit/s and {rates[-1] / 1e9:.0f} Gbit/s",
            "leave it out for a link without a limit",
        )
    if link.kind == "wire" and link.mtu > WIRE_LONGEST_MTU:
        raise UsageError(
            f"MTU {link.mtu}", f"a wire carries up to {WIRE_LONGEST_MTU}", "use less, or veth"
        )
