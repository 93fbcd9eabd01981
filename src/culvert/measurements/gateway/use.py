"""What the gateway alone used, and what all its clients and the generators used."""

from __future__ import annotations

import re

from culvert.probe.results import Accounted
from culvert.results import Metric
from culvert.topology.graph import Role
from culvert.trial.accounting import EVERYBODY, cpu_s, of_the_vpn, peak_bytes
from culvert.trial.busy import busy_of
from culvert.trial.session import Session

_SOCKSTAT = "/proc/net/sockstat"
_USED = re.compile(r"sockets: used (\d+)")


def gateway_metrics(
    session: Session, used: Accounted, clients: int, bits: float, seconds: float
) -> list[Metric]:
    """CPU time, memory and context switches of the VPN's processes on the gateway, which was loaded
    for ``seconds`` of the accounted time. Without CPU time where the kernel encrypts in softirq:
    zero would be too low."""
    processes = of_the_vpn(used)
    memory = peak_bytes(processes)
    switches = sum((one.voluntary or 0) + (one.involuntary or 0) for one in processes)
    found = []
    if processes:
        found += [
            Metric("gateway_memory_bytes", "bytes", memory),
            Metric("gateway_memory_bytes_per_client", "bytes", memory / clients),
            Metric("gateway_context_switches", "switches", switches),
        ]
    if session.vpn.cpu_attributable and session.vpn.outer_flow is not None:
        threads = [one for one in used.kernel_threads if not one.comm.startswith("ksoftirqd/")]
        if session.lab.shared_kernel and processes:
            threads = []  # of all nodes together
        used_s = cpu_s([*processes, *threads])
        found += [
            Metric("gateway_cpu_percent", "%", 100 * used_s / max(seconds, 1e-9)),
            Metric("gateway_cpu_s_per_client", "s", used_s / clients),
        ]
        if bits:
            found.append(Metric("gateway_cpu_s_per_gbit", "s/Gbit", 1e9 * used_s / bits))
    return found


def clients_metrics(session: Session, used: Accounted) -> list[Metric]:
    """The CPU time of the clients' processes, and the share of all CPU time that the probe of the
    clients used; nothing unless one kernel has them all. ``used`` is accounted at the source, with
    all processes of its kernel."""
    vpn, lab = session.vpn, session.lab
    if not lab.shared_processes:
        return []
    clients = {
        process.pid for node in lab.of_role(Role.CLIENT) for process in vpn.processes[node.name]
    }
    everybody = [one for one in used.processes if one.label in EVERYBODY and one.pid in clients]
    probe_s = used.probe.run_ns / 1e9 if used.probe else 0.0
    busy_s = busy_of([used]).seconds
    found = [Metric("clients_cpu_s", "s", cpu_s(everybody))]
    if busy_s > 0:
        found.append(Metric("generators_cpu_share", "1", min(probe_s / busy_s, 1.0)))
    return found


def sockets(session: Session) -> int:
    """Sockets on the gateway while all clients are connected and none sends: the VPN's, and the few
    of the probe."""
    (gateway,) = session.lab.of_role(Role.GATEWAY)
    probe = session.ends.get(gateway.name) or session.others[gateway.name]
    answer = probe.call("read", 5.0, paths=[_SOCKSTAT])
    text = answer["files"][0]["text"] or ""
    found = _USED.search(text)
    return int(found[1]) if found else 0
