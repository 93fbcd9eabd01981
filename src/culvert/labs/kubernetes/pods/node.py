"""A pod as a node of a lab: the probe runs in it, over the API's exec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Interface, ip_address
from typing import Any

from culvert.errors import LabError, NotPossible
from culvert.exchange import Exchange
from culvert.labs.endpoint import Endpoint, LinkState
from culvert.labs.host import Completed, Variables
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.programs import PodProgram
from culvert.labs.kubernetes.image import PROBE_PATH
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.kubernetes.pods.manifests import CONTAINER
from culvert.labs.process import Process, not_ended
from culvert.topology.graph import Role
from culvert.topology.plan import Attachment

PROBE = "culvert-probe"
DEVICE = "eth0"
"""The device of a pod's network, as every container runtime names it."""
ANSWER_S = 15.0
_MISSING = frozenset({-1, 126, 127})
"""Exit codes of a program that is not there, or cannot be executed."""


@dataclass(frozen=True)
class PodAddress:
    """A running pod: where the API finds it, and its address."""

    namespace: str
    pod: str
    container: str
    address: IPv4Address
    host_network: bool = False

    @classmethod
    def of(cls, pod: Any, container: str = CONTAINER) -> PodAddress:
        """From a V1Pod that runs. Raises NotPossible if it has no IPv4 address."""
        return cls(
            pod.metadata.namespace,
            pod.metadata.name,
            container,
            address_of_pod(pod),
            bool(pod.spec.host_network),
        )


class PodNode(Endpoint):
    """``host`` is the cluster's node that it is on; ``program`` the probe's path in it."""

    cpus = None
    role = Role.MEMBER

    def __init__(
        self,
        name: str,
        api: Api,
        where: PodAddress,
        host: ClusterNodeInfo,
        *,
        program: str = PROBE_PATH,
    ) -> None:
        self.name = name
        self.where = where
        self.host = host
        self._api = api
        self._program = program
        self._mtu: int | None = None
        self._processes: list[PodProgram] = []

    @cached_property
    def underlay(self) -> Attachment:  # type: ignore[override]
        device = DEVICE
        if self.where.host_network:
            routes = self.read("/proc/net/route").decode()
            device = device_of(routes, self.where.address)
        return Attachment(device, IPv4Interface(f"{self.where.address}/32"))

    @cached_property
    def end(self) -> int | None:
        """The index of the device in the node's network that leads to the pod; None of a pod that
        is in that network itself."""
        if self.where.host_network:
            return None
        return int(self.read(f"/sys/class/net/{DEVICE}/iflink"))

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Variables | None = None,
        pipes: bool = False,
    ) -> Process:
        """Start a program of the pod; its output is a pipe in any case."""
        del pipes
        self._refuse(name, env)
        process = self._start(argv, f"{name} on node {self.name}")
        self._processes.append(process)
        return process

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        self._refuse(argv[0], env)
        program = self._start(argv)
        try:
            with suppress(BrokenPipeError):  # it has ended: its exit code and its reason follow
                for start in range(0, len(given or b""), 1 << 16):
                    program.write((given or b"")[start : start + (1 << 16)])
            program.close_input()
            code = program.wait(timeout_s)
            if code is None:
                raise not_ended(f"{argv[0]} on node {self.name}", timeout_s)
            out = program.stdout.read()
            err = bytes(program.stderr) or program.reason.encode()
        finally:
            program.close()
            program.stdout.close()
        return Completed.decoded(argv, code, out, err)

    def find(self, program: str) -> str | None:
        """The probe, or a program that runs there: an image of the probe alone has no other."""
        if program == PROBE:
            return self._program
        try:
            done = self.run([program, "-h"], check=False)
        except LabError:
            return None
        return None if done.returncode in _MISSING else program

    def read(self, path: str) -> bytes:
        """A file below /proc or /sys, by the probe; raises OSError."""
        return self.read_all([path])[path].encode()

    def read_all(self, paths: Sequence[str]) -> dict[str, str]:
        """Files below /proc and /sys, by path; raises OSError for the first that cannot be read."""
        found: dict[str, str] = {}
        for file in self._ask("read", paths=list(paths))["files"]:
            if file["text"] is None:
                raise OSError(f"{file['path']} on node {self.name}: {file['error']}")
            found[file["path"]] = file["text"]
        return found

    def exists(self, path: str) -> bool:
        return path == self._program

    def has(self, feature: str) -> bool:
        """Unknown, and not needed: no VPN is installed in a pod."""
        del feature
        return False

    def facts(self) -> Mapping[str, Any]:
        return {
            "pod": f"{self.where.namespace}/{self.where.pod}",
            "address": str(self.where.address),
            "network": "the node's" if self.where.host_network else "the pod's",
            "mtu": self._mtu,
            "node": self.host.name,
            "node_address": self.host.address,
            "kernel": self.host.kernel,
            "runtime": self.host.runtime,
            "kubelet": self.host.version,
        }

    @property
    def kernel_release(self) -> str:
        return self.host.kernel

    def link(self, device: str) -> LinkState | None:
        """The pod's own device, or that of the node's network with the node's address."""
        if device != self.underlay.device:
            return None
        if self._mtu is None:
            self._mtu = int(self.read(f"/sys/class/net/{device}/mtu"))
        return LinkState(device, "", self._mtu, True, (self.underlay.address,))

    def close(self) -> None:
        for process in self._processes:
            process.stop(grace_s=0)
            if not process.alive():  # else close() may wait without an end for what reads it
                process.stdout.close()
        self._processes.clear()

    def _start(self, argv: Sequence[str], name: str = "") -> PodProgram:
        where = self.where
        return PodProgram(self._api, where.namespace, where.pod, where.container, argv, name)

    def _ask(self, do: str, **parameters: Any) -> dict[str, Any]:
        program = self._start([self._program, "agent"])

        def lost(during: str) -> LabError:
            program.wait(ANSWER_S)
            why = bytes(program.stderr).decode(errors="replace").strip() or program.reason
            return LabError(
                f"the probe on node {self.name}", f"{during}: {why}", "see `kubectl describe pod`"
            )

        agent = Exchange(program.stdin, program.stdout, f"node {self.name}", lost)
        agent.begin()
        try:
            return dict(agent.open(do, **parameters).next(ANSWER_S, "done")["result"])
        finally:
            program.close()
            agent.join(ANSWER_S)

    @staticmethod
    def _refuse(name: str, env: Variables | None) -> None:
        if env:
            raise NotPossible(name, "exec passes no environment to a pod", "report this")


def device_of(routes: str, address: IPv4Address) -> str:
    """The device whose network an address is in, from the kernel's table of routes
    (/proc/net/route: little-endian hexadecimal numbers). Raises LabError if there is none."""
    best, found = -1, None
    for line in routes.splitlines()[1:]:
        fields = line.split()
        network, mask = (int.from_bytes(bytes.fromhex(fields[at]), "little") for at in (1, 7))
        if int(address) & mask == network and mask > best:
            best, found = mask, fields[0]
    if found is None:
        raise LabError(f"the address {address}", "no route of the node leads to it", "report this")
    return found


def address_of_pod(pod: Any) -> IPv4Address:
    """Of a V1Pod that runs. Raises NotPossible if it has none."""
    status = pod.status
    given = [status.pod_ip, *(one.ip for one in status.pod_ips or ())]
    return _first_of_ipv4("pods with IPv6 only", f"pod {pod.metadata.name}", given)


def address_of_service(service: Any) -> IPv4Address:
    """Of a V1Service with an address in the cluster. Raises NotPossible if it has none."""
    spec = service.spec
    given = [spec.cluster_ip, *(spec.cluster_ips or ())]
    return _first_of_ipv4("services with IPv6 only", f"service {service.metadata.name}", given)


def _first_of_ipv4(what: str, owner: str, given: Iterable[str | None]) -> IPv4Address:
    words = list(dict.fromkeys(filter(None, given)))
    for word in words:
        address = ip_address(word)
        if isinstance(address, IPv4Address):
            return address
    raise NotPossible(
        what,
        f"{owner} has {', '.join(words) or 'no address'}, and marked packets are of IPv4",
        "use a cluster whose pods and services have IPv4 addresses (IPv4, or both)",
    )
