"""Properties of a node's end of the underlay, read from the kernel to verify the requested ones."""

from __future__ import annotations

from typing import Any

from culvert.labs.link import offloads
from culvert.labs.namespace.interfaces import index_of


def of_device(netlink: Any, device: str) -> dict[str, Any]:
    """MTU, queueing and offloads of an interface; in the namespace of the calling thread."""
    index = index_of(device)
    (link,) = netlink.get_links(index)
    return {
        "device": device,
        "mtu": link.get_attr("IFLA_MTU"),
        "queueing": [qdisc.get_attr("TCA_KIND") for qdisc in netlink.get_qdiscs(index)],
        **offloads.described(offloads.read(device)),
    }
