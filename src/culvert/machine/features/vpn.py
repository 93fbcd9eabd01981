"""Features of the kernel and the processor that VPNs need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import steadiness, tun
from culvert.machine.trials.commands import feature

VPN: tuple[Feature, ...] = (
    feature(
        "wireguard",
        FeatureGroup.VPN,
        "wireguard/kernel",
        kernel("wireguard", "CONFIG_WIREGUARD", "wireguard/go"),
    ),
    feature(
        "ovpn",
        FeatureGroup.VPN,
        "openvpn with data channel offload",
        kernel("ovpn", "CONFIG_OVPN", "openvpn in user space"),
    ),
    feature(
        "xfrm",
        FeatureGroup.VPN,
        "strongswan in the kernel",
        kernel("xfrm_user", "CONFIG_XFRM_USER", "strongswan in user space"),
    ),
    feature(
        "esp",
        FeatureGroup.VPN,
        "strongswan in the kernel",
        kernel("esp4", "CONFIG_INET_ESP", "strongswan in user space"),
    ),
    feature("ah", FeatureGroup.VPN, "AH as a baseline", kernel("ah4", "CONFIG_INET_AH")),
    feature(
        "xfrm-interface",
        FeatureGroup.VPN,
        "route-based IPsec",
        kernel("xfrm_interface", "CONFIG_XFRM_INTERFACE", "policies instead of routes"),
    ),
    feature("vxlan", FeatureGroup.VPN, "vxlan", kernel("vxlan", "CONFIG_VXLAN")),
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
