"""The devices by which a node's packets leave it."""

from __future__ import annotations

from culvert.proof.cluster import devices

DEV = """\
Inter-|   Receive  |  Transmit
 face |bytes packets
    lo: 0 0
  eth0: 1 2
   wg0: 1 2
vxlan.calico: 0 0
cali0123456789a: 0 0
"""
ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t010012C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
wg0\t000013C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
vxlan.calico\t0000F40A\t0000F40A\t0003\t0\t0\t0\tC0FFFFFF\t0\t0\t0
cali0123456789a\t4200F40A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""


def made(name: str, **texts: str) -> devices.Device:
    told = {"kind": texts.get("kind", ""), "hardware": texts.get("hardware"),
            "tun": texts.get("tun")}  # fmt: skip
    return devices.device(name, told, ROUTES)


def test_the_loopback_is_none() -> None:
    assert devices.names(DEV) == ["eth0", "wg0", "vxlan.calico", "cali0123456789a"]


def test_a_virtual_link_with_a_network_is_the_nodes_own() -> None:
    assert made("eth0").is_own
    assert made("ens3", hardware="DRIVER=virtio_net").is_own


def test_overlays_tunnels_and_pods_devices_are_not() -> None:
    assert not made("vxlan.calico", kind="DEVTYPE=vxlan\nINTERFACE=vxlan.calico").is_own
    assert not made("wg0", tun="0x1001").is_own
    assert not made("wg0", kind="DEVTYPE=wireguard").is_own
    assert not made("cali0123456789a").is_own
