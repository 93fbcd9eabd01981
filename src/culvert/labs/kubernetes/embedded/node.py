"""A node of the embedded cluster: namespaces of its own inside a lab's network namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from culvert.errors import LabError
from culvert.labs.host import Completed, Variables
from culvert.labs.kubernetes.embedded import groups
from culvert.labs.namespace.usage import children, usage_of
from culvert.labs.netns.node import NetnsNode
from culvert.labs.process import Process, Usage
from culvert.waiting import wait_until

START_DEADLINE_S = 15.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FOLDER = "cluster"


@dataclass(frozen=True)
class Underlay:
    """The device by which a node reaches the others, its address there, and its MTU in bytes."""

    device: str
    address: IPv4Address
    mtu: int


class ClusterNode:
    """``name`` is that of the Kubernetes node, ``at`` the lab's node in whose network it is."""

    def __init__(self, run_id: str, at: NetnsNode, underlay: Underlay, tree: Path) -> None:
        self.name = at.name
        self.at = at
        self.underlay = underlay
        self.group = groups.name_of(run_id, at.name)
        self.directory = at.directory / _FOLDER
        self._tree = tree
        self._init: Process | None = None
        self.pid = 0
        """The first process of its namespaces, as the machine numbers it."""
        self.programs: dict[str, Process] = {}

    def start(self, hosts: Mapping[str, IPv4Address]) -> None:
        """Start its first process; ``hosts`` are the names of all nodes."""
        lines = ["127.0.0.1 localhost", *(f"{ip} {name}" for name, ip in hosts.items())]
        self.write("hosts", "\n".join(lines) + "\n")
        self.write("resolv.conf", "# no resolver in the lab\n")
        hierarchies = groups.make(self.group)
        script = self.write("node-init", _script())
        unshare = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        self._init = self.at.spawn(
            [
                *(*unshare, "--propagation", "private", "/bin/sh", str(script)),
                *(self.name, str(self._tree), str(self.directory), *hierarchies),
            ],
            name="cluster-init",
            env={"PATH": PATH},
        )

    def wait_ready(self) -> None:
        """Wait until its namespaces are made. Raises LabError with what went wrong."""
        init = self._init
        assert init is not None  # it is started

        def ready() -> int | None:
            if not init.alive():
                raise LabError(
                    f"node {self.name} of the cluster",
                    init.log_text().strip()[-300:] or "its first process has ended",
                    "run `culvert doctor`; see which mount this kernel refuses",
                )
            is_ready = (self.directory / "ready").exists()
            return next(iter(children(init.pid)), None) if is_ready else None

        self.pid = wait_until(
            ready,
            what=f"the namespaces of node {self.name}",
            deadline_s=START_DEADLINE_S,
            poll_s=0.01,
        )

    def write(self, path: str, text: str | bytes, *, secret: bool = False) -> Path:
        """Write a file that has the same path inside and outside of the node."""
        return self.at.write(f"{_FOLDER}/{path}", text, secret=secret)

    def secret(self, name: str, content: str | bytes) -> str:
        """The path of a new file of mode 0600."""
        return str(self.write(f"pki/{name}", content, secret=True))

    def spawn(self, name: str, argv: Sequence[str], env: Variables | None = None) -> Process:
        process = self.at.spawn(
            [*self._enter(), *argv], name=name, env={"PATH": PATH, **(env or {})}
        )
        self.programs[name] = process
        return process

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Variables | None = None,
        timeout_s: float = 30.0,
        **how: Any,
    ) -> Completed:
        """``how`` is as for a node of a lab."""
        env = {"PATH": PATH, **(env or {})}
        return self.at.run([*self._enter(), *argv], env=env, timeout_s=timeout_s, **how)

    def usage(self) -> dict[str, Usage]:
        """What each of its programs has used until now, with the processes that it started."""
        found = {}
        for name, process in self.programs.items():
            usages = [usage for pid in _family(process.pid) if (usage := usage_of(pid)) is not None]
            if usages:
                found[name] = Usage(
                    sum(usage.cpu_ns for usage in usages),
                    sum(usage.voluntary_switches for usage in usages),
                    sum(usage.involuntary_switches for usage in usages),
                    sum(usage.peak_memory_bytes for usage in usages),
                )
        return found

    def dead(self) -> LabError | None:
        """The error of the first program that has ended; None if all run."""
        for name, process in self.programs.items():
            if not process.alive():
                return LabError(
                    f"{name} on node {self.name}",
                    f"it has ended: {process.last_line()[-300:] or 'it printed nothing'}",
                    "see its log; is there enough memory?",
                )
        return None

    def stop(self) -> None:
        """End its first process, and with it every process of its PID namespace. Idempotent."""
        for process in (*self.programs.values(), *([self._init] if self._init else [])):
            process.stop(grace_s=0)
        self.programs.clear()
        self._init = None
        groups.remove(self.group)

    def _enter(self) -> list[str]:
        target = ["--target", str(self.pid)]
        return ["nsenter", *target, "--mount", "--uts", "--ipc", "--pid", "--wd=/", "--"]


def _family(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        found += children(each)
    return found


def _script() -> str:
    with as_file(files("culvert.labs.kubernetes.embedded") / "node-init") as path:
        return path.read_text("utf-8")
