"""Installs an OpenVPN beside the distribution's older one: it uses the kernel's data channel, and
its OpenSSL has post-quantum groups.

``python -m culvert.vpns.openvpn.fetch TOOLS``, as the Ansible role calls it.
"""

from __future__ import annotations

from pathlib import Path

from culvert.labs.this_machine import ThisMachine
from culvert.vpns.openvpn.program import BESIDE, IN_TREE, drives
from culvert.vpns.parts.newer import Newer

OPENVPN = Newer(BESIDE, "OpenVPN", ("openvpn",), {BESIDE: "usr/sbin/openvpn"}, (2, 7))


def fetch(tools: Path) -> str:
    """Install it into the tools directory; returns the version."""

    def why_not(tree: Path) -> str | None:
        if drives(ThisMachine(), str(tree / BESIDE), IN_TREE):
            return None
        return "does not run here or has no data channel offload"

    return OPENVPN.fetch(tools, why_not)


if __name__ == "__main__":
    OPENVPN.main(fetch)
