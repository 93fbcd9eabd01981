"""OpenVPN's data channel in the kernel: which module exists, and which OpenVPN uses it.

``ovpn`` came with Linux 6.16 and requires OpenVPN 2.7; ``ovpn-dco-v2`` is built out of tree, for
2.6.
"""

from __future__ import annotations

from culvert.labs.host import Host

IN_TREE = "ovpn"
OUT_OF_TREE = "ovpn-dco-v2"


def kernel_kind(host: Host) -> str | None:
    """The kind of interface that a machine's kernel supports, in tree before out of tree; None if
    neither, or if it cannot be tested."""
    return next((kind for kind in (IN_TREE, OUT_OF_TREE) if host.has(f"kind:{kind}")), None)


def supports(version: tuple[int, int], kind: str) -> bool:
    """Whether an OpenVPN of that version uses that kind."""
    return version >= (2, 7) if kind == IN_TREE else version == (2, 6)
