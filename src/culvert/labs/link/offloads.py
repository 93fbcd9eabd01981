"""Offloads of a link: without them, all its packets could also be sent on a real wire.

A virtual link has no wire, so the kernel hands "packets" of up to 64 kB from one end to the other
where segmentation is offloaded to the device: TCP's, those of UDP senders with UDP_SEGMENT, and
those of tunnels. Checksum offload stays: it changes no packet, and UDP_SEGMENT needs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyroute2.ethtool.ioctl import IoctlEthtool

from culvert.errors import LabError

SUPER_PACKETS = re.compile(r"tx-.*segmentation|tx-gso-.*|rx-gro.*|rx-lro|rx-udp-gro-forwarding")
"""Names of features that make, pass or build packets longer than the MTU, as ethtool shows them."""


def makes_super_packets(feature: str) -> bool:
    """Whether a feature creates super-packets, and must be off on a link without offloads."""
    return SUPER_PACKETS.fullmatch(feature) is not None


def described(features: Mapping[str, bool]) -> dict[str, object]:
    """Which of a device's features are on, for the record."""
    return {
        "offloads_on": sorted(
            name for name, on in features.items() if on and makes_super_packets(name)
        ),
        "checksum_offload": any(on and "checksum" in name for name, on in features.items()),
    }


def switch_off(device: str) -> None:
    """Switch the super-packet features off, in the calling thread's network namespace.

    Raises LabError if one stays on.
    """
    ethtool = IoctlEthtool(device)
    try:
        features = ethtool.get_features()
        for name, _, available, *_ in features:
            if available and makes_super_packets(name):
                features.set_value(name, False)
        ethtool.set_features(features)
        left = [name for name, on in read(device).items() if on and makes_super_packets(name)]
    except OSError as error:
        raise LabError(
            f"offloads of {device}",
            error.strerror or str(error),
            "run the study with offloads on, and read its results as such",
        ) from error
    finally:
        ethtool.close()
    if left:
        raise LabError(
            f"offloads of {device}",
            f"the kernel keeps {', '.join(left)} on",
            "run the study with offloads on, and read its results as such",
        )


def read(device: str) -> dict[str, bool]:
    """Each feature that the kernel lists, and whether it is active."""
    ethtool = IoctlEthtool(device)
    try:
        features = ethtool.get_features()
        return {name: bool(active) for name, active, *_ in features if name}
    finally:
        ethtool.close()
