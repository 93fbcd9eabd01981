"""A node that is a network namespace of this machine, with its own view of the files."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, TypeVar

from culvert import tools
from culvert.errors import LabError, NotPossible, UsageError
from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.cpu import steering
from culvert.labs.endpoint import LinkState
from culvert.labs.host import Completed, Variables
from culvert.labs.namespace import interfaces as links
from culvert.labs.namespace import sysctls
from culvert.labs.namespace.launch import Launcher
from culvert.labs.namespace.places import namespace_name, run_directory
from culvert.labs.namespace.programs import Programs, environment
from culvert.labs.namespace.thread import NamespaceThread
from culvert.labs.namespace.view import NodeView
from culvert.labs.netns import facts
from culvert.labs.node import Enterable, Node, Steerable, mode_of
from culvert.labs.process import Process
from culvert.labs.this_machine import ThisMachine
from culvert.machine import cgroup, features
from culvert.topology.graph import Role
from culvert.topology.ip import Interface
from culvert.topology.plan import Attachment
from culvert.topology.spec import Steering

T = TypeVar("T")

_OF_THE_NAMESPACE = ("/proc/sys/net/", "/proc/net/", "/sys/class/net/")


class NetnsNode(Node, Enterable, Steerable):
    """A namespace, its thread, and its processes."""

    def __init__(
        self,
        run_id: str,
        name: str,
        role: Role,
        attachments: Sequence[Attachment],
        *,
        cpus: tuple[int, ...] | None,
        quota: float | None = None,
        variables: Mapping[str, str] | None = None,
        apart: bool = True,
    ) -> None:
        """``quota`` is the share of each of its CPUs for its programs; ``variables`` are added to
        the environment of each program; ``apart``: its programs change no file of the machine."""
        self.name = name
        self.role = role
        self.directory = run_directory(run_id) / name
        self.attachments = tuple(attachments)
        """Its ends of cables; the first is its underlay."""
        self.underlay = self.attachments[0]
        self.cpus = cpus
        self.namespace = NamespaceThread(run_id, name)
        self.netns_path = self.namespace.path
        self._view = NodeView(self.directory)
        self._run_id = run_id
        self._quota = quota
        self._variables = dict(variables or {})
        self._apart = apart
        self._group: cgroup.ControlGroup | None = None
        self._programs: Programs | None = None
        self._steered: list[str] = []
        self._machine = ThisMachine()

    @property
    def namespace_file(self) -> str:
        """That of its thread: the mounted one is hidden from programs of other nodes."""
        return self.namespace.file

    # -- its life ----------------------------------------------------------------------------------

    def open(self, settings: Mapping[str, str]) -> None:
        """Create namespace and directories, apply sysctls, bring the loopback up."""
        self._view.make()
        if self._apart:
            self._view = self._view.apart()
        self.namespace.open()
        self.namespace.call(lambda: sysctls.apply(settings))
        self.namespace.call(sysctls.prefer_congestion_control)
        links.change(self.namespace, "lo", up=True, mtu=None)
        if self._quota is not None:
            self._group = cgroup.make(namespace_name(self._run_id, self.name))
            self._group.limit(self._quota * len(self.usable_cpus))
        launcher = Launcher(
            probe=tools.require("culvert-probe", "run `make setup`"),
            netns=self.netns_path,
            binds=self._view.binds(),
            apart=self._apart and features.has(features.READ_ONLY_MACHINE),
            cpus=self.cpus,
            environment=environment(self._run_id, self.name, self.directory) | self._variables,
            group=None if self._group is None else self._group.members,
        )
        self._programs = Programs(self.name, self.namespace, launcher, apart=self._apart)

    def close(self) -> None:
        """Kill its processes, leave the namespace. Files remain. Idempotent."""
        self.namespace.close()  # first: afterwards no process can be started
        if self._programs is not None:
            self._programs.kill()

    # -- programs ----------------------------------------------------------------------------------

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Variables | None = None,
        pipes: bool = False,
    ) -> Process:
        return self.programs.spawn(argv, name=name, log=self._log(name), env=env, pipes=pipes)

    def daemon(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Variables | None = None,
        capabilities: AbstractSet[Capability] = TUNNEL,
    ) -> Process:
        return self.programs.spawn(
            argv, name=name, log=self._log(name), env=env, capabilities=capabilities
        )

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        return self.programs.execute(argv, given, env, timeout_s)

    def init(self) -> int | None:
        """What is spawned is outside of its namespace; daemons are in it, and commands."""
        return self.programs.init()

    def kill(self, process: int, number: signal.Signals) -> None:
        """Ids are those of this machine, which a command on the node does not see."""
        os.kill(process, number)

    @property
    def programs(self) -> Programs:
        """Those that were started on it; raises LabError before it is open."""
        if self._programs is None:
            raise LabError(f"node {self.name}", "is not open", "open the lab first")
        return self._programs

    def _log(self, program: str) -> Path:
        return self.directory / "logs" / f"{program}.log"

    # -- files -------------------------------------------------------------------------------------

    def write(
        self, path: str, text: str | bytes, *, secret: bool = False, executable: bool = False
    ) -> Path:
        target = (self.directory / path).resolve()
        if not target.is_relative_to(self.directory):
            raise UsageError(path, f"is not below {self.directory}", "use a relative path")
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        # Created with its mode: a secret is never readable by others.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(target, flags, mode_of(secret=secret, executable=executable))
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return target

    def find(self, program: str) -> str | None:
        """The programs of a node are those of this machine."""
        return self._machine.find(program)

    def read(self, path: str) -> bytes:
        if path.startswith(_OF_THE_NAMESPACE):
            # /proc/net is that of the process, whose other threads are in the host's namespace.
            own = Path(path.replace("/proc/net/", "/proc/thread-self/net/", 1))
            return self.inside(own.read_bytes)
        return self.file(path).read_bytes()

    def exists(self, path: str) -> bool:
        return self.file(path).exists()

    def remove(self, path: str) -> None:
        self.file(path).unlink(missing_ok=True)

    def has(self, feature: str) -> bool:
        return self._machine.has(feature)

    def dial(self, path: str) -> socket.socket:
        """Connect to a unix socket in the node's view; raises OSError if no process listens."""
        target = self.file(path)
        # Through the directory's descriptor: paths of a node's files can be longer than an address.
        directory = os.open(target.parent, os.O_PATH | os.O_DIRECTORY)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(f"/proc/self/fd/{directory}/{target.name}")
        except OSError:
            connection.close()
            raise
        finally:
            os.close(directory)
        return connection

    def file(self, path: str) -> Path:
        """The host's path of a path in the node's view (such as /run/x.sock)."""
        return self._view.file(str(self.directory / path))

    def keep_changes(self, *paths: str) -> None:
        """A copy of a file; an overlay of a directory. Both end with the lab."""
        programs = self.programs
        for path in paths:
            try:
                self._view = self._view.keeping(Path(path))
            except OSError as error:
                raise NotPossible(
                    f"a private {path} for node {self.name}",
                    f"{error.strerror}",
                    "modprobe overlay, or use a kernel that has it (CONFIG_OVERLAY_FS)",
                ) from error
        programs.launcher = replace(programs.launcher, binds=self._view.binds())

    # -- network -----------------------------------------------------------------------------------

    def link(self, device: str) -> LinkState | None:
        return links.read(self.namespace, device)

    def addresses(self) -> Sequence[tuple[str, Interface]]:
        """Over netlink: a program for each of a thousand nodes would take a minute."""
        return links.addresses(self.namespace)

    def add_address(self, device: str, address: Interface) -> None:
        links.add_address(self.namespace, device, address)

    def set_link(self, device: str, *, up: bool | None = None, mtu: int | None = None) -> None:
        links.change(self.namespace, device, up=up, mtu=mtu)

    def add_link(self, device: str, kind: str, **attributes: object) -> None:
        links.add(self.namespace, device, kind, attributes)

    def del_link(self, device: str) -> None:
        links.remove(self.namespace, device)

    def add_route(
        self,
        destination: IPv4Network,
        *,
        device: str | None = None,
        gateway: IPv4Address | None = None,
    ) -> None:
        links.add_route(self.namespace, destination, device=device, gateway=gateway)

    def inside(self, work: Callable[[], T]) -> T:
        """Run ``work``, such as opening a socket or reading /proc/thread-self/net, in the thread of
        the node's network namespace. ``work`` must be short: other calls wait for it."""
        return self.namespace.call(work)

    @property
    def usable_cpus(self) -> tuple[int, ...]:
        """The CPUs that its programs may use."""
        return self.cpus or tuple(sorted(os.sched_getaffinity(0)))

    def steer(self, device: str, requested: Steering) -> None:
        steering.apply(self, device, requested, self.usable_cpus)
        self._steered.append(device)

    def device_facts(self, device: str) -> Mapping[str, Any]:
        """MTU, queueing and offloads of an interface; empty if there is none of that name."""
        if self.link(device) is None:
            return {}
        return self.namespace.netlink(
            lambda netlink: facts.of_device(netlink, device), f"facts of {device}"
        )

    def facts(self) -> Mapping[str, Any]:
        """CPUs, the underlay's device, and the settings of the network stack."""
        return {
            **self._processor_facts(),
            "cpus": list(self.cpus) if self.cpus else None,
            "underlay": self.device_facts(self.underlay.device),
            "sysctls": sysctls.recorded(self),
        }

    def _processor_facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._group is not None:
            quota_us, period_us = self._group.read()
            found["cpu_quota"] = (
                f"emulated: {quota_us} us in each {period_us} us, for its programs "
                f"(cgroup version {self._group.version})"
            )
        if self._variables:
            found["variables"] = dict(self._variables)
        if self._steered:
            found["steering"] = {each: dict(steering.read(self, each)) for each in self._steered}
        return found
