"""A program that carries load needs CPU time: less than it can possibly need was not its work, or
was done by processes that nobody counts."""

from __future__ import annotations

from culvert.trial.accounting import cpu_s, of_the_vpn
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.vpns.variant import DataPath

LEAST_NS_PER_BYTE = 0.05
"""A VPN in user space copies each byte from the kernel and back and encrypts it in between: 20 GB/s
for all three on one core is several times what processors of 2026 reach."""
LEAST_NS_PER_PACKET = 20
"""A header, a nonce and a tag: some hundred cycles at the least. Super-packets count as one."""
LEAST_LOAD_NS = 500_000
"""Loads that need less are not judged: clocks of processes are exact, but what is counted begins
and ends at different moments for packets and for processes."""


def load_costs_time(session: Session, watched: Watched) -> list[Check]:
    """One check for each end, of a VPN in user space whose processes can be counted."""
    vpn = session.vpn
    if vpn.outer_flow is None or vpn.data_path is not DataPath.USER or not vpn.cpu_attributable:
        return []
    checks = []
    for node in (session.source, session.target):
        used = watched.nodes[node.name].accounted
        link = used.counts(node.underlay.device)
        packets = link.rx_packets + link.tx_packets
        carried_bytes = link.rx_bytes + link.tx_bytes
        least_ns = LEAST_NS_PER_BYTE * carried_bytes + LEAST_NS_PER_PACKET * packets
        if least_ns < LEAST_LOAD_NS:
            continue
        found_s = cpu_s(of_the_vpn(used))
        checks.append(
            Check(
                f"the load costs CPU time, node {node.name}",
                found_s * 1e9 >= least_ns,
                f"the VPN's processes used {1e3 * found_s:.2f} ms for {packets:,} packets of "
                f"{carried_bytes:,} bytes, which take {least_ns / 1e6:.2f} ms at the least",
                "a process outside of the node does the work, or the kernel does: declare the data "
                "path as it is, and start the VPN's programs on their node",
                {"used_s": found_s, "least_s": least_ns / 1e9},
            )
        )
    return checks
