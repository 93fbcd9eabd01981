"""Properties of a node's end of the underlay, read from the kernel to verify the requested ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from culvert.labs.link import offloads
from culvert.labs.link.offloads import makes_super_packets
from culvert.labs.namespace.interfaces import index_of
from culvert.labs.namespace.sysctls import RECORDED


def of_device(netlink: Any, device: str) -> dict[str, Any]:
    """MTU, queueing and offloads of an interface; in the namespace of the calling thread."""
    index = index_of(device)
    (link,) = netlink.get_links(index)
    features = offloads.read(device)
    return {
        "device": device,
        "mtu": link.get_attr("IFLA_MTU"),
        "queueing": [qdisc.get_attr("TCA_KIND") for qdisc in netlink.get_qdiscs(index)],
        "offloads_on": sorted(
            name for name, on in features.items() if on and makes_super_packets(name)
        ),
        "checksum_offload": any(on and "checksum" in name for name, on in features.items()),
    }


def sysctls() -> dict[str, str | None]:
    """Settings of the calling thread's network namespace; None for missing ones."""
    return {name: _read(Path("/proc/sys") / name.replace(".", "/")) for name in RECORDED}


def _read(path: Path) -> str | None:
    try:
        return " ".join(path.read_text().split())
    except OSError:
        return None
