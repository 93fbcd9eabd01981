"""What a lab must not change: the host's side of everything it touches."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from culvert.labs.netns.node import NetnsNode
from culvert.machine import cgroup

FLEETING = "netfilter"
"""Settings that appear when a firewall is first used, whose module is then loaded."""


def snapshot() -> dict[str, object]:
    """Interfaces, addresses, routes, rules, sysctls, resolver of the host."""
    with IPRoute() as netlink:
        return {
            "links": sorted(link.get_attr("IFLA_IFNAME") for link in netlink.get_links()),
            "addresses": sorted(_address(one) for one in netlink.get_addr()),
            "routes": sorted(_route(one) for one in netlink.get_routes()),
            "rules": len(list(netlink.get_rules())),
            "qdiscs": sorted((one["index"], one.get_attr("TCA_KIND")) for one in _qdiscs(netlink)),
            "sysctls": _sysctls(),
            "resolver": Path("/etc/resolv.conf").read_bytes(),
        }


def left_of(run_id: str) -> list[str]:
    """All traces of a run on this machine."""
    traces = [str(path) for path in Path("/run/netns").glob(f"*{run_id}*")]
    traces += [str(path) for path in Path("/run/culvert").glob(f"*{run_id}*")]
    traces += [str(path) for path, run in cgroup.runs().items() if run == run_id]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    traces += [line for line in mounts if run_id in line]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if f"CULVERT_RUN={run_id}".encode() in (process / "environ").read_bytes():
                traces.append(str(process))
    return traces


def _qdiscs(netlink: Any) -> list[Any]:
    return list(netlink.get_qdiscs())


def _address(message: Any) -> str:
    return f"{message['index']} {message.get_attr('IFA_ADDRESS')}/{message['prefixlen']}"


def _route(message: Any) -> str:
    names = ("RTA_TABLE", "RTA_DST", "RTA_GATEWAY", "RTA_OIF", "RTA_PRIORITY")
    return f"{message['dst_len']} {[message.get_attr(name) for name in names]}"


def _sysctls() -> dict[str, str]:
    values = {}
    for path in Path("/proc/sys/net").rglob("*"):
        if path.is_file() and path.stat().st_mode & 0o200 and FLEETING not in path.parts:
            try:
                values[str(path)] = path.read_text()
            except (OSError, UnicodeDecodeError):
                continue  # write-only in spite of its mode
    return values


def process_on(node: NetnsNode, number: int) -> Path:
    """The folder in /proc of the process that has this id among the node's own."""
    namespace = Path(f"/proc/{node.init()}/ns/pid")
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            ids = re.search(r"^NSpid:.*\t(\d+)$", (folder / "status").read_text(), re.M)
            if ids and int(ids[1]) == number and (folder / "ns/pid").samefile(namespace):
                return folder
    raise LookupError(f"no process {number} on node {node.name}")
