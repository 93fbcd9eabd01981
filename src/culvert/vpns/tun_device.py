"""What a VPN in user space is missing of /dev/net/tun."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from culvert.vpns.base import Missing

DEVICE = Path("/dev/net/tun")


def missing_tun() -> Iterator[Missing]:
    """The device, or the right to open it: an ordinary user has it where its mode is 0666."""
    if not DEVICE.exists():
        yield Missing(str(DEVICE), "modprobe tun")
    elif not os.access(DEVICE, os.R_OK | os.W_OK):
        yield Missing(f"the right to open {DEVICE}", f"sudo chmod 666 {DEVICE}")
