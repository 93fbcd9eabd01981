"""The figures of a gateway under load: of all clients, of the slowest, of the gateway alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from culvert.measurements.ceiling import CEILING_METRICS
from culvert.measurements.gateway.crowd import CrowdTrial, Load, Transport
from culvert.measurements.gateway.use import gateway_metrics
from culvert.measurements.tcp.tcp import fairness
from culvert.measurements.udp.losses import LOSS_METRICS, Losses
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import Accounted, RttResult
from culvert.results import Metric, measured
from culvert.topology.graph import Role
from culvert.trial.session import Session
from culvert.trial.watch import Watched

MORE, LESS = Better.MORE, Better.LESS
PERCENTILES = ("p50", "p90", "p99")

METRICS: tuple[MetricSpec, ...] = (
    MetricSpec(
        "goodput_bps",
        "bit/s",
        "Goodput of all clients together",
        MORE,
        Weight.MAIN,
        column=HeadlineColumn(
            "Goodput of many clients",
            key="gateway",
            place=50,
            superlative="Highest goodput of many clients",
            sentence="carries {} of many clients",
            largest="clients",
        ),
    ),
    MetricSpec("received_pps", "packets/s", "Received packets per second", MORE),
    MetricSpec("offered_pps", "packets/s", "Offered packets per second", offered=True),
    MetricSpec("loss_ratio", "1", "Share of packets lost", LESS),
    MetricSpec("connected_clients", "clients", "Clients that are connected"),
    MetricSpec("active_clients", "clients", "Clients that send"),
    MetricSpec("fairness", "1", "Fairness between clients (Jain)", MORE, Weight.KEY, drawn=True),
    MetricSpec("slowest_share", "1", "Slowest client's part of an equal share", MORE),
    MetricSpec("client_goodput_bps", "bit/s", "Goodput of a client, at quantiles", MORE),
    *(
        replace(one, drawn="p99" in one.name)
        for one in family(
            "rtt_loaded_{}_us", "us", "Round trip beside the load", PERCENTILES, LESS, ways=2
        )
    ),
    MetricSpec("probe_loss_ratio", "1", "Share of echo requests lost", LESS),
    MetricSpec("retransmitted_segments", "segments", "Segments sent again", LESS),
    MetricSpec("gateway_cpu_percent", "%", "CPU of the gateway", LESS, drawn=True),
    MetricSpec("gateway_cpu_s_per_gbit", "s/Gbit", "CPU of the gateway per gigabit", LESS),
    MetricSpec("gateway_cpu_s_per_client", "s", "CPU of the gateway per client", LESS),
    MetricSpec("gateway_memory_bytes", "bytes", "Memory of the gateway", LESS),
    MetricSpec(
        "gateway_memory_bytes_per_client", "bytes", "Memory of the gateway per client", LESS
    ),
    MetricSpec("gateway_context_switches", "switches", "Context switches of the gateway", LESS),
    MetricSpec("gateway_sockets", "sockets", "Sockets on the gateway", LESS),
    MetricSpec("clients_cpu_s", "s", "CPU time of the clients' VPN"),
    MetricSpec("generators_cpu_share", "1", "Share of the CPU time used by the clients' probe"),
    *LOSS_METRICS,
    *CEILING_METRICS,
    MetricSpec("ceiling_goodput_bps", "bit/s", "Goodput beside the tunnel"),
)
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def locate_losses(session: Session, watched: Watched, trial: CrowdTrial) -> Losses:
    """Attribute each lost packet to the first counter that counts a loss: sockets of the sinks,
    queues of the senders and of the core, the gateway's devices, also the one to hosts behind it,
    and the VPN's own sockets there.

    The clients' own devices are not watched: what they drop is unattributed.
    """
    gateway = gateway_accounted(session, watched)
    node = next(node for node in session.lab.nodes.values() if node.role is Role.GATEWAY)
    outer = gateway.counts(node.underlay.device)
    names = [name for name in session.vpn.interfaces(node) if name != outer.name]
    inner = [each for each in gateway.devices if each.name in names]
    forwarding = [each for each in gateway.devices if each.name not in (outer.name, *names)]
    forwarding += [
        device
        for name, used in watched.others.items()
        if session.lab.nodes[name].role is Role.ROUTER
        for device in used.devices
    ]
    at_gateway = sum(
        one.sunk.socket_drops or 0 for one in trial.carried if one.talk.target.role is Role.GATEWAY
    )
    refused = sum(one.sent.offered - one.sent.packets for one in trial.carried)
    own_sockets = gateway.udp.rcvbuf_errors - at_gateway + gateway.udp.sndbuf_errors
    return Losses.attributed(
        max(trial.offered - trial.unique, 0),
        socket=trial.socket_drops,
        qdisc=refused + sum(each.qdisc_drops for each in (outer, *inner, *forwarding)),
        interface=sum(each.rx_dropped + each.tx_dropped for each in (outer, *forwarding)),
        link=0,
        tunnel=sum(each.rx_dropped + each.tx_dropped for each in inner) + own_sockets
        if names
        else 0,
    )


def gateway_accounted(session: Session, watched: Watched) -> Accounted:
    """What the gateway used and its devices counted."""
    (gateway,) = session.lab.of_role(Role.GATEWAY)
    return watched.accounted.get(gateway.name) or watched.others[gateway.name]


def figures(
    session: Session, clients: int, load: Load, trial: CrowdTrial, watched: Watched
) -> list[Metric]:
    """Of all clients, of each at quantiles, and of the gateway."""
    rates_bps = sorted(trial.goodput_bps(load))
    values: dict[str, float] = {
        "goodput_bps": sum(rates_bps),
        "connected_clients": clients,
        "active_clients": len(rates_bps),
        "fairness": fairness(rates_bps),
        "slowest_share": slowest_share(rates_bps),
    }
    if load.transport is Transport.UDP:
        values |= {
            "offered_pps": trial.offered / max(trial.seconds, 1e-9),
            "received_pps": trial.forwarded.pps,
            "loss_ratio": max(trial.offered - trial.unique, 0) / max(trial.offered, 1),
        }
    else:
        values["retransmitted_segments"] = sum(one.sent.retransmits for one in trial.carried)
    found = measured(METRICS, values)
    for quantile in QUANTILES:
        labels = {"quantile": f"{quantile:g}"}
        found += measured(METRICS, {"client_goodput_bps": at(quantile, rates_bps)}, labels)
    used = gateway_accounted(session, watched)
    bits = 8 * sum(one.sunk.unique_bytes for one in trial.carried)
    return [*found, *gateway_metrics(session, used, clients, bits, trial.seconds)]


def at(quantile: float, ordered: Sequence[float]) -> float:
    """Between two clients on the line between their values."""
    below, part = divmod(quantile * (len(ordered) - 1), 1)
    low, high = ordered[int(below)], ordered[math.ceil(below + part)]
    return low + part * (high - low)


def slowest_share(rates: Sequence[float]) -> float:
    """The least rate as a part of the mean: 1 if all are equal, 0 if one gets nothing."""
    total = sum(rates)
    return min(rates) * len(rates) / total if total else 0.0


def rtt_metrics(rtt: RttResult) -> list[Metric]:
    """Of the echo requests beside the load."""
    times = {f"rtt_loaded_{name}_us": rtt.us(name) for name in PERCENTILES}
    return measured(METRICS, {"probe_loss_ratio": rtt.lost / max(rtt.sent, 1), **times})
