"""A lab of a package of its own: a pair of namespaces, made by iproute2's ``ip netns`` alone.

It uses what Culvert's labs implement, and no lab of Culvert's.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.host import Completed, Host, Variables
from culvert.labs.kind import InNamespaces, OnThisMachine, Place
from culvert.labs.node import Node, mode_of
from culvert.labs.process import Process
from culvert.labs.room import Machine
from culvert.labs.this_machine import ThisMachine
from culvert.runid import new_run_id
from culvert.study.study import Study
from culvert.topology.plan import plan
from culvert.topology.spec import LabSpec

OWN_RUN = 'mount --bind "$0" /run && exec "$@"'
"""A /run for each node: `ip netns exec` gives a program a mount namespace."""


class Program(Process):
    def __init__(self, argv: Sequence[str], name: str, log: Path, *, pipes: bool) -> None:
        self.name, self.log = name, log
        self.started_monotonic_ns = time.monotonic_ns()
        with log.open("wb") as errors:
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else errors,
                stderr=errors,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid  # `ip netns exec` becomes the program

    @property
    def stdin(self) -> IO[bytes]:
        assert self._popen.stdin is not None
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self._popen.stdout is not None
        return self._popen.stdout

    def alive(self) -> bool:
        return self.returncode() is None

    def returncode(self) -> int | None:
        return self._popen.poll()

    def stop(self, *, grace_s: float = 2.0) -> None:
        self._popen.terminate()
        try:
            self._popen.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


class NestedNode(Node):
    cpus = None

    def __init__(self, lab: NestedLab, name: str) -> None:
        self.name = name
        self.role = lab.spec.topology.node(name).role
        (self.underlay,) = lab.attachments(name)
        self.namespace = f"{lab.run_id}-{name}"
        self._machine = ThisMachine()
        self._programs: list[Program] = []

    def open(self, directory: Path) -> None:
        self.directory = directory
        (directory / "run").mkdir(mode=0o700, parents=True)
        self._machine.run(["ip", "netns", "add", self.namespace])
        self.set_link("lo", up=True)

    def close(self) -> None:
        for program in self._programs:
            program.stop()
        self._machine.run(["ip", "netns", "delete", self.namespace], check=False)

    def _within(self, argv: Sequence[str]) -> list[str]:
        own_run = ["sh", "-c", OWN_RUN, str(self.directory / "run")]
        return ["ip", "netns", "exec", self.namespace, *own_run, *argv]

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        pipes: bool = False,
    ) -> Process:
        if self.find(argv[0]) is None:
            raise NotPossible(argv[0], f"is not installed on {self.name}", f"install {argv[0]}")
        words = ["env", *(f"{key}={value}" for key, value in (env or {}).items()), *argv]
        log = self.directory / f"{len(self._programs)}-{name}.log"
        self._programs.append(Program(self._within(words), name, log, pipes=pipes))
        return self._programs[-1]

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        return self._machine.execute(self._within(argv), given, env, timeout_s)

    def find(self, program: str) -> str | None:
        return self._machine.find(program)

    def has(self, feature: str) -> bool:
        return self._machine.has(feature)

    def exists(self, path: str) -> bool:
        return self.run(["test", "-e", str(self.directory / path)], check=False).returncode == 0

    def read(self, path: str) -> bytes:
        done = self.run(["cat", str(self.directory / path)], check=False)
        if done.returncode != 0:
            raise FileNotFoundError(path)
        return done.stdout.encode()

    def write(
        self, path: str, text: str | bytes, *, secret: bool = False, executable: bool = False
    ) -> Path:
        file = self.directory / path
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=mode_of(secret=secret, executable=executable))
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def remove(self, path: str) -> None:
        (self.directory / path).unlink(missing_ok=True)

    def dial(self, path: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.directory / path.removeprefix("/var").removeprefix("/")))
        return connection

    def facts(self) -> Mapping[str, Any]:
        link = self.link(self.underlay.device)
        return {"underlay": {"device": self.underlay.device, "mtu": link.mtu if link else None}}


class NestedLab(Lab):
    shared_kernel = True

    def __init__(self, spec: LabSpec) -> None:
        if spec.link.impairment or spec.link.kind != "veth" or len(spec.topology.nodes) != 2:
            raise NotPossible("the lab nested", "it has one link without impairment", "use a pair")
        self.spec, self.run_id = spec, new_run_id()
        self._nodes = {node.name: NestedNode(self, node.name) for node in spec.topology.nodes}

    @property
    def nodes(self) -> Mapping[str, Node]:
        return self._nodes

    @property
    def hosts(self) -> Sequence[Host]:
        return (ThisMachine(),)

    def open(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="nested-")
        try:
            for name, node in self._nodes.items():
                node.open(Path(self._directory.name, name))
            (cable,) = plan(self.spec.topology).cables
            ends: list[str] = []
            for plug in (cable.left, cable.right):
                namespace = self._nodes[plug.node].namespace
                ends += ["name", plug.attachment.device, "netns", namespace, "type", "veth", "peer"]
            ThisMachine().run(["ip", "link", "add", *ends[:-3]])
            for plug in (cable.left, cable.right):
                node, device = self._nodes[plug.node], plug.attachment.device
                node.add_address(device, plug.attachment.address)
                node.set_link(device, up=True, mtu=self.spec.link.mtu)
                # No super-packets.
                node.run(["ip", "link", "set", device, "gso_max_segs", "1"])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for node in self._nodes.values():
            with suppress(OSError):
                node.close()
        self._directory.cleanup()


class Nested(InNamespaces, OnThisMachine):
    name = "nested"
    summary = "namespaces by ip netns"
    seen_at = "on the nested link"

    @contextmanager
    def open(self, study: Study) -> Iterator[Place]:
        del study
        here = Machine.here()
        yield Place(NestedLab, here.cores, require=here.require)
