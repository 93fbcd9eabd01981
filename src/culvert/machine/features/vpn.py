"""Features of the kernel and the processor that VPNs need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import ipsec, links, steadiness, tun

VPN: tuple[Feature, ...] = (
    Feature(
        "wireguard",
        FeatureGroup.VPN,
        ("wireguard/kernel",),
        kernel("wireguard", "CONFIG_WIREGUARD", "wireguard/go"),
        links.link("wireguard"),
        scratch=True,
    ),
    Feature(
        "ovpn",
        FeatureGroup.VPN,
        ("openvpn with data channel offload",),
        kernel("ovpn", "CONFIG_OVPN", "openvpn in user space"),
        links.first_of("ovpn", "ovpn-dco-v2", "ovpn-dco"),
        scratch=True,
    ),
    Feature(
        "xfrm",
        FeatureGroup.VPN,
        ("strongswan in the kernel",),
        kernel("xfrm_user", "CONFIG_XFRM_USER", "strongswan in user space"),
        ipsec.xfrm,
        scratch=True,
    ),
    Feature(
        "esp",
        FeatureGroup.VPN,
        ("strongswan in the kernel",),
        kernel("esp4", "CONFIG_INET_ESP", "strongswan in user space"),
        ipsec.esp,
        scratch=True,
    ),
    Feature(
        "ah",
        FeatureGroup.VPN,
        ("AH as a baseline",),
        kernel("ah4", "CONFIG_INET_AH"),
        ipsec.ah,
        scratch=True,
    ),
    Feature(
        "xfrm-interface",
        FeatureGroup.VPN,
        ("route-based IPsec",),
        kernel("xfrm_interface", "CONFIG_XFRM_INTERFACE", "policies instead of routes"),
        links.link("xfrm", xfrm_link=1, xfrm_if_id=1),
        scratch=True,
    ),
    Feature(
        "vxlan",
        FeatureGroup.VPN,
        ("vxlan",),
        kernel("vxlan", "CONFIG_VXLAN"),
        links.link("vxlan", vxlan_id=1, vxlan_port=4789),
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
