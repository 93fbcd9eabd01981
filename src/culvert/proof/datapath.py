"""User space or kernel: as the kernel reports it, compared with the variant's claim."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.labs.node import Node
from culvert.trial.check import Check
from culvert.vpns.base import Vpn


def judge_data_path(vpn: Vpn, ends: Iterable[Node]) -> Check:
    """A kernel VPN that silently falls back to user space, or the reverse, is another VPN."""
    found = {node.name: vpn.determine_data_path(node) for node in ends}
    passed = all(path == vpn.data_path for path in found.values())
    found_on = ", ".join(f"{path} on {name}" for name, path in found.items())
    return Check(
        "data path",
        passed,
        f"packets are handled in {found_on}; {vpn.id} claims {vpn.data_path}",
        "the VPN uses another data path: check its log and the kernel's modules",
        {name: str(path) for name, path in found.items()},
    )
