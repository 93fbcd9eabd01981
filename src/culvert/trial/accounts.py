"""The accounting of a trial as part of its outcome: metrics, withheld figures, marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from culvert.labs.base import Lab
from culvert.metrics import EVERY_TRIAL
from culvert.probe.results import Accounted
from culvert.results import Metric, measured
from culvert.trial.accounting import cpu_s, peak_bytes
from culvert.trial.cpu import cpu_figures
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.trial.surroundings import add_surroundings

NONE: Mapping[str, Accounted] = MappingProxyType({})


def add_accounts(
    session: Session,
    outcome: Outcome,
    accounted: Mapping[str, Accounted],
    others: Mapping[str, Accounted] = NONE,
) -> None:
    """Add what both ends of the path used, the source first, and ``others``: servers, relays,
    routers, other members."""
    used = cpu_figures(
        accounted,
        goodput_bytes=outcome.goodput_bytes,
        shared_kernel=session.lab.shared_kernel,
        attributable=session.vpn.cpu_attributable,
    )
    outcome.metrics += [*used.metrics, *_of_others(others, session.lab)]
    outcome.withheld += used.withheld
    add_surroundings(outcome, accounted, shared_kernel=session.lab.shared_kernel)


def _of_others(others: Mapping[str, Accounted], lab: Lab) -> Iterator[Metric]:
    """CPU time and peak memory of the VPN's processes on each node, and the traffic that it
    received."""
    for name, used in others.items():
        labels = {"node": name, "role": str(lab.nodes[name].role)}
        underlay = {end.device for end in lab.attachments(name)}
        links = [device for device in used.devices if device.name in underlay]
        runs = bool(used.processes)
        values = {
            "node_cpu_s": cpu_s(used.processes) if runs else None,
            "node_memory_peak_bytes": peak_bytes(used.processes) if runs else None,
            "node_received_packets": sum(device.rx_packets for device in links),
            "node_received_bytes": sum(device.rx_bytes for device in links),
        }
        yield from measured(EVERY_TRIAL, values, labels)
