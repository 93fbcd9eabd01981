"""What silently changes a result, read from a tunnel that is up, to stand beside its figures."""

from __future__ import annotations

from pathlib import Path

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.vpns.aes import aes_use, require_requested_aes
from culvert.vpns.base import Vpn
from culvert.vpns.variant import DataPath


def traps(vpn: Vpn, lab: Lab) -> dict[str, str]:
    """AES instructions, threads and the tunnel's device, in words.

    Raises NotPossible where they are not what the condition asks.
    """
    if vpn.outer_flow is None:
        return {}
    use = aes_use(vpn)
    require_requested_aes(lab.spec.processors.aes, use)
    found = {"AES instructions": use.how}
    threads = _threads(vpn)
    if threads:
        found["threads"] = threads
    devices = {node.name: _device(vpn, node) for node in (lab.a, lab.b)}
    told = list(dict.fromkeys(filter(None, devices.values())))
    if len(told) == 1:
        found["tunnel device"] = told[0]
    elif told:
        found["tunnel device"] = "; ".join(f"{name}: {text}" for name, text in devices.items())
    return found


def refuse_without_effect(vpn: Vpn, lab: Lab) -> None:
    """Raise NotPossible for a CPU quota that does not reach the one that carries the data."""
    if vpn.data_path is DataPath.KERNEL and lab.spec.processors.quota:
        raise NotPossible(
            "router.quota",
            f"{vpn.id} works in the kernel, and a quota holds back programs only",
            "emulate the slow machine by fewer cores, or use a VPN in user space",
        )


def _threads(vpn: Vpn) -> str:
    told = []
    for name, processes in vpn.processes.items():
        for process in processes:
            count = sum(1 for _ in _tasks(process.pid))
            told.append(f"{process.name} on {name}: {count}")
    return ", ".join(told)


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _device(vpn: Vpn, node: Node) -> str:
    device = vpn.interface(node)
    if device == node.underlay.device:
        return ""
    link, facts = node.link(device), node.device_facts(device)
    if link is None:
        return ""
    offloads = " ".join(facts.get("offloads_on", ())) or "none"
    queueing = " ".join(facts.get("queueing", ())) or "none"
    return f"{link.kind}, MTU {link.mtu}, queueing {queueing}, super-packets: {offloads}"
