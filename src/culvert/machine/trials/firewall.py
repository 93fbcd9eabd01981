"""nftables in the kernel: the router's firewall, and the NATs that mesh VPNs must cross."""

from __future__ import annotations

from pyroute2.nftables.main import NFTables

from culvert.machine.check import FeatureFinding, present

NFPROTO_IPV4 = 2
ACCEPT = 1


def filtering() -> FeatureFinding:
    """A table and a filter chain can be created."""
    _make_chain("forward", "filter")
    return present("a table and a chain on the forward hook were created")


def translating() -> FeatureFinding:
    """A chain of type nat can be created."""
    _make_chain("postrouting", "nat")
    return present("a chain of type nat was created")


def _make_chain(hook: str, kind: str) -> None:
    with NFTables(nfgen_family=NFPROTO_IPV4) as nft:
        nft.table("add", name="scratch")
        nft.chain("add", table="scratch", name="scratch", hook=hook, type=kind, policy=ACCEPT)
