"""What the gateway alone used, and what all its clients and the generators used."""

from __future__ import annotations

import re

from culvert.probe.results import Accounted, parse
from culvert.results import Metric
from culvert.topology.graph import Role
from culvert.trial.accounting import EVERYBODY
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
    processes = [one for one in used.processes if one.label not in EVERYBODY]
    memory = sum(one.vm_hwm_bytes or 0 for one in processes)
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
        cpu_s = sum(one.run_ns or 0 for one in processes) / 1e9
        cpu_s += sum(one.run_ns or 0 for one in threads) / 1e9
        found += [
            Metric("gateway_cpu_percent", "%", 100 * cpu_s / max(seconds, 1e-9)),
            Metric("gateway_cpu_s_per_client", "s", cpu_s / clients),
        ]
        if bits:
            found.append(Metric("gateway_cpu_s_per_gbit", "s/Gbit", 1e9 * cpu_s / bits))
    return found


class ClientsUse:
    """The CPU time of the clients' processes, where one kernel has them all."""

    def __init__(self, session: Session) -> None:
        vpn, lab = session.vpn, session.lab
        self._task = None
        if not lab.shared_processes:
            return
        pids = [
            {"pid": process.pid, "label": "client"}
            for node in lab.of_role(Role.CLIENT)
            for process in vpn.processes[node.name]
        ]
        self._task = session.a.begin("accounting", pids=pids)
        self._task.ready()
        self._session = session

    def end(self) -> list[Metric]:
        """Of the clients, and the share of all CPU time that the probe of the clients used."""
        if self._task is None:
            return []
        used = parse(Accounted, self._task.stop())
        clients_s = sum(one.run_ns or 0 for one in used.processes) / 1e9
        probe_s = used.probe.run_ns / 1e9 if used.probe else 0.0
        busy_s = busy_of([used]).seconds
        found = [Metric("clients_cpu_s", "s", clients_s)]
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
