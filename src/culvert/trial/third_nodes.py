"""Resource use of nodes beside the measured path: servers, relays, routers, other members."""

from __future__ import annotations

from collections.abc import Mapping

from culvert.labs.base import Lab
from culvert.probe.results import Accounted
from culvert.results import Metric


def third_node_metrics(others: Mapping[str, Accounted], lab: Lab) -> list[Metric]:
    """CPU time and peak memory of the VPN's processes on each node, and the traffic that it
    received.

    Labels are the node's name and its role.
    """
    metrics = []
    for name, used in others.items():
        labels = {"node": name, "role": str(lab.nodes[name].role)}
        underlay = {end.device for end in lab.attachments(name)}
        links = [device for device in used.devices if device.name in underlay]
        if used.processes:
            run_ns = sum(process.run_ns or 0 for process in used.processes)
            peak = sum(process.vm_hwm_bytes or 0 for process in used.processes)
            metrics += [
                Metric("node_cpu_s", "s", run_ns / 1e9, labels),
                Metric("node_memory_peak_bytes", "bytes", peak, labels),
            ]
        metrics += [
            Metric("node_received_packets", "packets", sum(d.rx_packets for d in links), labels),
            Metric("node_received_bytes", "bytes", sum(d.rx_bytes for d in links), labels),
        ]
    return metrics
