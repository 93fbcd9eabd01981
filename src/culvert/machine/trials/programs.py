"""Programs that labs, VPNs and measurements run."""

from __future__ import annotations

from collections.abc import Callable

from culvert.machine.check import Feature, FeatureFinding, FeatureGroup, missing, present
from culvert.machine.remedies import install
from culvert.tools import find


def program(name: str) -> Callable[[], FeatureFinding]:
    """A trial that searches a program in the same directories as Culvert."""

    def trial() -> FeatureFinding:
        path = find(name)
        return missing("not found") if path is None else present(str(path))

    return trial


def _vpn(name: str, vpn: str, *needed_by: str) -> Feature:
    remedy = f"sudo culvert install {vpn}"
    return Feature(name, FeatureGroup.PROGRAM, needed_by or (vpn,), remedy, program(name))


def _package(name: str, package: str, *needed_by: str) -> Feature:
    return Feature(name, FeatureGroup.PROGRAM, needed_by, install(package), program(name))


def _own(name: str, *needed_by: str) -> Feature:
    return Feature(name, FeatureGroup.PROGRAM, needed_by, "make setup", program(name))


PROGRAMS = (
    _own("culvert-probe", "every lab and measurement"),
    _own("culvert-wire", "the link wire"),
    _vpn("wireguard-go", "wireguard", "wireguard/go", "wireguard/go-debian"),
    _vpn("openvpn", "openvpn"),
    _vpn("charon-systemd", "strongswan"),
    _vpn("swanctl", "strongswan"),
    _package("nft", "nftables", "topology routed"),
    _package("iperf3", "iperf3", "make bench"),
)
