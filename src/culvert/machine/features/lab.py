"""Features that nodes and links need."""

from __future__ import annotations

from culvert.machine.check import Feature, FeatureGroup
from culvert.machine.remedies import kernel
from culvert.machine.trials import accounting, privileges, tun
from culvert.machine.trials.commands import feature

ALL_LABS = ("every lab",)
USER_SPACE = ("wireguard/go", "openvpn", "strongswan in user space")
GIVE_CAPABILITIES = "in a container: docker run --privileged, or --cap-add for each of them"

PRIVILEGES: tuple[Feature, ...] = (
    Feature("root", FeatureGroup.PRIVILEGES, ALL_LABS, privileges.GIVE_NAMESPACES, privileges.root),
    Feature(
        "user-namespaces",
        FeatureGroup.PRIVILEGES,
        ("labs without root",),
        privileges.GIVE_ROOT,
        privileges.user_namespaces,
    ),
    Feature(
        "capabilities",
        FeatureGroup.PRIVILEGES,
        ALL_LABS,
        GIVE_CAPABILITIES,
        privileges.capabilities,
    ),
)

LAB: tuple[Feature, ...] = (
    Feature(
        "network-namespaces",
        FeatureGroup.LAB,
        ("lab netns",),
        kernel("veth", "CONFIG_NET_NS"),
        privileges.network_namespaces,
    ),
    Feature(
        "mount-namespaces",
        FeatureGroup.LAB,
        ("lab netns",),
        "use a kernel with CONFIG_NAMESPACES; in a container: docker run --privileged",
        privileges.mount_namespaces,
    ),
    feature("veth", FeatureGroup.LAB, "lab netns", kernel("veth", "CONFIG_VETH", 'link = "wire"')),
    Feature("tun", FeatureGroup.LAB, USER_SPACE, tun.MAKE_IT, tun.tun, scratch=True),
    Feature("tap", FeatureGroup.LAB, ("link wire",), tun.MAKE_IT, tun.tap, scratch=True),
    feature(
        "nftables", FeatureGroup.LAB, "topology routed", kernel("nf_tables", "CONFIG_NF_TABLES")
    ),
    feature(
        "nat",
        FeatureGroup.LAB,
        "routers that translate addresses",
        kernel("nft_chain_nat", "CONFIG_NFT_NAT"),
    ),
    Feature(
        "kvm",
        FeatureGroup.LAB,
        ("lab vm",),
        "sudo modprobe kvm_intel || sudo modprobe kvm_amd; in a guest, enable nested "
        "virtualisation",
        accounting.kvm,
    ),
)
