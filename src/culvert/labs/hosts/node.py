"""A node that is a host."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path, PurePosixPath
from typing import Any

from culvert.errors import HostLost, LabError, NotPossible, UsageError
from culvert.labs.capability import TUNNEL, Capability, limit_to
from culvert.labs.host import Completed, Variables
from culvert.labs.hosts.facts import device as facts
from culvert.labs.hosts.facts.surroundings import Surroundings
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.links.network import passages
from culvert.labs.hosts.remote.agent import encoded
from culvert.labs.hosts.remote.pipes import CHUNK, dial
from culvert.labs.hosts.remote.process import RemoteProcess
from culvert.labs.namespace import sysctls
from culvert.labs.node import Node, mode_of
from culvert.labs.passage import PASSAGES
from culvert.labs.process import Process
from culvert.topology.graph import Role
from culvert.topology.ip import Interface
from culvert.topology.plan import Attachment


class SshNode(Node):
    """All that it creates is registered with the host's guard, which removes it at the end."""

    def __init__(
        self,
        host: SshHost,
        name: str,
        role: Role,
        underlay: Attachment,
        *,
        cpus: tuple[int, ...] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.host = host
        self.name = name
        self.role = role
        self.underlay = underlay
        self.cpus = cpus
        self.directory = Path(host.directory)
        self.peers: Mapping[str, str] = {}
        """Nodes at the other ends of its paths, with their addresses."""
        self._variables = dict(variables or {})
        self._changed_sysctls: set[str] = set()
        self._surroundings: Surroundings | None = None

    # -- programs ----------------------------------------------------------------------------------

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Variables | None = None,
        pipes: bool = False,
    ) -> Process:
        return RemoteProcess(
            self.host.agent,
            argv,
            name=name,
            env=self._environment(env),
            log=PurePosixPath(self.host.directory / "logs" / f"{name}.log"),
            pipes=pipes,
            cpus=self.cpus,
        )

    def daemon(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Variables | None = None,
        capabilities: AbstractSet[Capability] = TUNNEL,
    ) -> Process:
        program = self.require(argv[0], f"install {argv[0]} on it")
        probe = self.require("culvert-probe", "report it")
        words = [probe, "exec", limit_to(capabilities), "--", program, *argv[1:]]
        return self.spawn(words, name=name, env=env)

    def keep_changes(self, *paths: str) -> None:
        """In the mount namespace of the run's programs; the host's own stay as they are."""
        for path in sorted(paths):  # a directory before what is in it
            try:
                self.host.keep_changes(path)
            except HostLost:
                raise
            except LabError as error:
                raise NotPossible(
                    f"a private {path} on host {self.host.name}",
                    f"the VPN changes it, a host's own is not changed: {error.why}",
                    "modprobe overlay on the host, or measure this VPN in the lab netns",
                ) from error

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        return self.host.execute(argv, given, {**self._variables, **(env or {})}, timeout_s)

    @property
    def label(self) -> str:
        return self.host.label

    # -- files -------------------------------------------------------------------------------------

    def write(
        self, path: str, text: str | bytes, *, secret: bool = False, executable: bool = False
    ) -> Path:
        target = self.directory / path
        if ".." in target.parts or not target.is_relative_to(self.directory):
            raise UsageError(path, f"is not below {self.directory}", "use a relative path")
        content = text.encode() if isinstance(text, str) else text
        try:
            for start in range(0, max(len(content), 1), CHUNK):
                self.host.agent.call(
                    "write",
                    path=str(target),
                    data=encoded(content[start : start + CHUNK]),
                    mode=mode_of(secret=secret, executable=executable),
                    append=start > 0,
                )
        except OSError as error:
            raise LabError(
                f"host {self.host.name}, {target}",
                error.strerror or str(error),
                "a run's files may use a quarter of the host's memory: find the program that "
                "wrote them",
            ) from error
        return target

    def find(self, program: str) -> str | None:
        return self.host.find(program)

    def read(self, path: str) -> bytes:
        """In the view of the run's programs: /run is their own."""
        return self.host.read(str(self.directory / path))

    def exists(self, path: str) -> bool:
        return self.host.exists(str(self.directory / path))

    def remove(self, path: str) -> None:
        self.host.agent.call("remove", path=str(self.directory / path))

    def has(self, feature: str) -> bool:
        return self.host.has(feature)

    def dial(self, path: str) -> socket.socket:
        return dial(self.host.agent, str(self.directory / path))

    def monotonic_ns(self) -> int:
        return int(self.host.clocks()["monotonic_ns"])

    def realtime_ns(self) -> int:
        return int(self.host.clocks()["realtime_ns"])

    def clock(self) -> Mapping[str, int]:
        return asdict(self.host.clock_offset())

    def surroundings(self) -> Mapping[str, Any]:
        before, self._surroundings = self._surroundings, Surroundings.of(self.host)
        return self._surroundings.facts(before)

    # -- network: what is added is removed by the host's guard as well -----------------------------

    def add_address(self, device: str, address: Interface) -> None:
        if self._has_address(address):
            raise self._taken(f"the address {address.ip}")
        self.host.undo(["ip", "address", "delete", str(address), "dev", device])
        super().add_address(device, address)

    def add_link(self, device: str, kind: str, **attributes: object) -> None:
        if self.link(device) is not None:
            raise self._taken(f"the device {device}")
        self.host.undo(["ip", "link", "delete", "dev", device])
        super().add_link(device, kind, **attributes)

    def add_route(
        self,
        destination: IPv4Network,
        *,
        device: str | None = None,
        gateway: IPv4Address | None = None,
    ) -> None:
        words = ["via", str(gateway)] if gateway is not None else []
        words += ["dev", device] if device is not None else []
        if self.run([*self._ip(), "route", "show", "exact", str(destination)]).stdout.strip():
            raise self._taken(f"a route to {destination}")
        self.host.undo(["ip", "route", "delete", str(destination), *words])
        super().add_route(destination, device=device, gateway=gateway)

    def _note_sysctl(self, name: str, before: str) -> None:
        if name not in self._changed_sysctls:
            self.host.undo(self._write_sysctl(name, before))
            self._changed_sysctls.add(name)

    def device_facts(self, device: str) -> Mapping[str, Any]:
        return facts.of_device(self, device)

    def facts(self) -> Mapping[str, Any]:
        return {
            "host": self.host.name,
            "kernel": self.kernel_release,
            "cpus": list(self.cpus) if self.cpus else None,
            "underlay": self.device_facts(self.underlay.device),
            "sysctls": sysctls.recorded(self),
            **({PASSAGES: passages(self.host, self.peers)} if self.peers else {}),
            **({"variables": self._variables} if self._variables else {}),
        }

    def _has_address(self, address: Interface) -> bool:
        shown = self.run(
            [*self._ip(), f"-{address.version}", "-o", "address", "show", "to", str(address.ip)]
        )
        return bool(shown.stdout.strip())

    def _taken(self, what: str) -> LabError:
        return LabError(
            f"host {self.host.name}, {what}",
            "exists on the host already",
            "another VPN may run on the host: use another host, or stop it for the time of the run",
        )

    def _environment(self, env: Variables | None) -> dict[str, str]:
        return {
            **self.host.environment(),
            "CULVERT_RUN": self.host.run_id,
            "CULVERT_NODE": self.name,
            **self._variables,
            **(env or {}),
        }
