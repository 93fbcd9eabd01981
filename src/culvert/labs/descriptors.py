"""Open files of this process: each node of a lab takes a few."""

from __future__ import annotations

import resource

OF_A_NODE = 6
"""A namespace and its sockets (4 measured), a process of the VPN, a moment's pipe."""
OF_ITS_OWN = 256
"""The journal, probes, and what starts at the same time."""


def descriptors_of(nodes: int) -> int:
    """How many a lab of so many nodes takes."""
    return OF_ITS_OWN + OF_A_NODE * nodes


def nodes_within(descriptors: int) -> int:
    """The most nodes that fit."""
    return (descriptors - OF_ITS_OWN) // OF_A_NODE


def permit(nodes: int) -> None:
    """Raise this process's own limit, as far as it may, for a lab of so many nodes. Most systems
    permit 1,024 by default and many more on request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(descriptors_of(nodes), hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
