"""/dev/net/tun, tried by creating interfaces in the scratch namespace."""

from __future__ import annotations

import fcntl
import os
import struct
from io import FileIO
from pathlib import Path

from culvert.machine.check import FeatureFinding, degraded, missing, present

DEVICE = Path("/dev/net/tun")
MAKE_IT = "sudo sh -c 'mkdir -p /dev/net; mknod -m 666 /dev/net/tun c 10 200; modprobe tun'"

# if_tun.h
TUNSETIFF = 0x400454CA
TUNSETOFFLOAD = 0x400454D0
IFF_TUN = 0x0001
IFF_TAP = 0x0002
IFF_MULTI_QUEUE = 0x0100
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_USO4, TUN_F_USO6 = 0x01, 0x02, 0x04, 0x20, 0x40
TSO = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
USO = TUN_F_USO4 | TUN_F_USO6


def tun() -> FeatureFinding:
    """User-space VPNs need a TUN interface."""
    return _make(IFF_TUN, "TUN")


def tap() -> FeatureFinding:
    """The wire holds a TAP interface in each node."""
    return _make(IFF_TAP, "TAP")


def multi_queue() -> FeatureFinding:
    """Some VPNs read one interface from several threads."""
    return _make(IFF_TUN | IFF_MULTI_QUEUE, "TUN with several queues")


def offloads() -> FeatureFinding:
    """Whether super-packets can cross a TUN: TCP's (TSO), and UDP's (USO, since Linux 6.2)."""
    if (absent := _absent()) is not None:
        return absent
    with DEVICE.open("r+b", buffering=0) as device:
        _set_interface(device, IFF_TUN | IFF_VNET_HDR)
        try:
            fcntl.ioctl(device, TUNSETOFFLOAD, TSO | USO)
        except OSError:
            fcntl.ioctl(device, TUNSETOFFLOAD, TSO)
            return degraded("TCP super-packets only: no UDP segmentation (USO)")
    return present("TCP and UDP super-packets (TSO, USO)")


def _make(flags: int, what: str) -> FeatureFinding:
    if (absent := _absent()) is not None:
        return absent
    with DEVICE.open("r+b", buffering=0) as device:
        _set_interface(device, flags)
    return present(f"an interface was created: {what}")


def _absent() -> FeatureFinding | None:
    if not DEVICE.exists():
        return missing(f"{DEVICE} does not exist")
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return missing(f"this user may not open {DEVICE}", f"sudo chmod 666 {DEVICE}")
    return None


def _set_interface(device: FileIO, flags: int) -> None:
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"cvscratch0", flags | IFF_NO_PI))
