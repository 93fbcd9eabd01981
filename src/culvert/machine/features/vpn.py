"""Features of the kernel and the processor that VPNs need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import steadiness, tun
from culvert.machine.trials.commands import trial

VPN: tuple[Feature, ...] = (
    Feature(
        "wireguard",
        FeatureGroup.VPN,
        ("wireguard/kernel",),
        kernel("wireguard", "CONFIG_WIREGUARD", "wireguard/go"),
        trial("wireguard"),
        scratch=True,
    ),
    Feature(
        "ovpn",
        FeatureGroup.VPN,
        ("openvpn with data channel offload",),
        kernel("ovpn", "CONFIG_OVPN", "openvpn in user space"),
        trial("ovpn"),
        scratch=True,
    ),
    Feature(
        "xfrm",
        FeatureGroup.VPN,
        ("strongswan in the kernel",),
        kernel("xfrm_user", "CONFIG_XFRM_USER", "strongswan in user space"),
        trial("xfrm"),
        scratch=True,
    ),
    Feature(
        "esp",
        FeatureGroup.VPN,
        ("strongswan in the kernel",),
        kernel("esp4", "CONFIG_INET_ESP", "strongswan in user space"),
        trial("esp"),
        scratch=True,
    ),
    Feature(
        "ah",
        FeatureGroup.VPN,
        ("AH as a baseline",),
        kernel("ah4", "CONFIG_INET_AH"),
        trial("ah"),
        scratch=True,
    ),
    Feature(
        "xfrm-interface",
        FeatureGroup.VPN,
        ("route-based IPsec",),
        kernel("xfrm_interface", "CONFIG_XFRM_INTERFACE", "policies instead of routes"),
        trial("xfrm-interface"),
        scratch=True,
    ),
    Feature(
        "vxlan",
        FeatureGroup.VPN,
        ("vxlan",),
        kernel("vxlan", "CONFIG_VXLAN"),
        trial("vxlan"),
        scratch=True,
    ),
    Feature(
        "tun-offloads",
        FeatureGroup.VPN,
        ("wireguard/go at its best", "link wire"),
        "use Linux 6.2 or newer",
        tun.offloads,
        scratch=True,
    ),
    Feature(
        "tun-multi-queue",
        FeatureGroup.VPN,
        ("VPNs that read from several threads",),
        "use Linux 3.8 or newer",
        tun.multi_queue,
        scratch=True,
    ),
    Feature(
        "aes-instructions",
        FeatureGroup.VPN,
        ("AES variants at their best",),
        "choose a chacha20-poly1305 variant, or another machine",
        steadiness.aes,
    ),
)
