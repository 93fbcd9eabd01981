"""Refuses a lab that no machine, or not this machine, can build, before anything is created."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from culvert.errors import NotPossible, UsageError
from culvert.labs.cpu import aes
from culvert.labs.link.token_bucket import MAX_RATE_BPS
from culvert.labs.link.wire.cable import LONGEST_MTU as WIRE_LONGEST_MTU
from culvert.labs.link.wire.cable import RATES_BPS as WIRE_RATES_BPS
from culvert.labs.namespace.sysctls import IPV6
from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

MTU_RANGE = range(68, 65536)
"""From the smallest of RFC 791 to the largest of a veth."""


def check(spec: LabSpec) -> None:
    """Raise UsageError if no machine can build the lab, NotPossible if this one cannot."""
    nodes = tuple(node.name for node in spec.topology.nodes)
    for link in {id(link): link for link in (spec.link, *spec.links.values())}.values():
        _check_link(link)
    _check_processors(spec, nodes)
    wanted = {spec.underlay: "an underlay of", spec.inner: "packets inside of"}
    if IpVersion.V6 in wanted and not Path("/proc/sys", IPV6).exists():
        raise NotPossible(
            f"{wanted[IpVersion.V6]} IPv6",
            "this kernel has no IPv6",
            "boot it without ipv6.disable=1",
        )
    available = os.sched_getaffinity(0)
    for name, cpus in (spec.cpus or {}).items():
        if name not in nodes:
            raise UsageError(f"cpus of node '{name}'", "no such node", f"use {', '.join(nodes)}")
        if not cpus or not available.issuperset(cpus):
            raise NotPossible(
                f"CPUs {list(cpus)} for node {name}",
                f"this machine has {sorted(available)}",
                "choose among these",
            )


def _check_link(link: LinkSpec) -> None:
    if link.mtu not in MTU_RANGE:
        raise UsageError(f"MTU {link.mtu}", "is not between 68 and 65535", "use 1500")
    rates = WIRE_RATES_BPS if link.kind == "wire" else range(8000, MAX_RATE_BPS + 1)
    if link.rate_bps is not None and link.rate_bps not in rates:
        raise UsageError(
            f"rate {link.rate_bps} bit/s",
            f"is not between {rates[0]} bit/s and {rates[-1] / 1e9:.0f} Gbit/s",
            "leave it out for a link without a limit",
        )
    link.impairment.check()
    if link.kind == "veth" and link.impairment:
        raise UsageError(
            "impairments of a veth link",
            "a veth supports no impairments",
            'use the link kind "wire", or "netem" if the kernel has it',
        )
    if link.kind == "wire" and link.mtu > WIRE_LONGEST_MTU:
        raise UsageError(
            f"MTU {link.mtu}", f"a wire carries up to {WIRE_LONGEST_MTU}", "use less, or veth"
        )


def _check_processors(spec: LabSpec, nodes: tuple[str, ...]) -> None:
    for name, quota in spec.processors.quota.items():
        if name not in nodes or not 0 < quota <= 1:
            raise UsageError(
                f"a CPU quota of {quota:.0%} for node '{name}'",
                "the node does not exist, or the share is not above 0 and up to 100 %",
                f"use {', '.join(nodes)}",
            )
    if spec.processors.aes and aes.has_instructions() is False:
        raise NotPossible("aes = true", "this processor has no AES instructions", "use aes = false")
    if spec.processors.aes is False and platform.machine() != "x86_64":
        raise NotPossible(
            "aes = false", f"is not supported on {platform.machine()}", "leave it out here"
        )
