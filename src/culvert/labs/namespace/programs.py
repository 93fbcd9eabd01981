"""The programs on a node that is a namespace: started in its thread, ended with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from culvert import tools
from culvert.labs.capability import Capability
from culvert.labs.host import Completed, Variables
from culvert.labs.namespace.launch import Launcher, Stream
from culvert.labs.namespace.places import RUN_VARIABLE
from culvert.labs.namespace.process import LocalProcess
from culvert.labs.namespace.processes import ProcessNamespace
from culvert.labs.namespace.thread import NamespaceThread

KEEP_ENVIRONMENT = ("TZ", "TERM")
"""Environment variables that a program on a node inherits."""


def environment(run_id: str, node: str, directory: Path) -> dict[str, str]:
    """The environment of each program on a node."""
    return {
        **{name: os.environ[name] for name in KEEP_ENVIRONMENT if name in os.environ},
        "PATH": tools.search_path(),
        "HOME": str(directory),
        "LC_ALL": "C.UTF-8",
        RUN_VARIABLE: run_id,
        "CULVERT_NODE": node,
    }


class Programs:
    """Those of one node; ``launcher`` starts them.

    A VPN's daemons, and commands with all that they leave, are in a PID namespace of the node if
    ``apart``; instruments are not."""

    def __init__(
        self, node: str, namespace: NamespaceThread, launcher: Launcher, *, apart: bool
    ) -> None:
        self.launcher = launcher
        self._node = node
        self._namespace = namespace
        self._processes: list[LocalProcess] = []
        self._own = ProcessNamespace() if apart else None

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        log: Path,
        env: Variables | None,
        pipes: bool = False,
        capabilities: AbstractSet[Capability] | None = None,
    ) -> LocalProcess:
        """Start a program; its output goes to the log, with ``pipes`` only its errors. One with all
        capabilities is an instrument."""
        log.unlink(missing_ok=True)  # an earlier process of that name may still write to its log
        with log.open("xb") as sink:
            return self._start(
                argv,
                name=name,
                log=log,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else sink.fileno(),
                stderr=sink.fileno(),
                env=env,
                capabilities=capabilities,
                instrument=capabilities is None,
            )

    def init(self) -> int | None:
        """Process 1 of the PID namespace, by its id here; None without one."""
        own = self._namespace.call(self._own_processes)
        return None if own is None else own.init

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        process = self._start(
            argv,
            name=f"{argv[0]} on node {self._node}",
            log=Path(os.devnull),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        try:
            out, err = process.communicate(given, timeout_s=timeout_s)
        finally:
            process.stop(grace_s=0)
            self._processes.remove(process)
        return Completed.decoded(argv, process.returncode(), out, err)

    def kill(self) -> None:
        # The last first: process 1 ends when all in its namespace have been waited for.
        for process in reversed(self._processes):
            process.stop(grace_s=0)
        self._processes.clear()

    def _start(
        self,
        argv: Sequence[str],
        *,
        name: str,
        log: Path,
        stdin: Stream,
        stdout: Stream,
        stderr: Stream,
        env: Variables | None,
        capabilities: AbstractSet[Capability] | None = None,
        instrument: bool = False,
    ) -> LocalProcess:
        program = tools.require(argv[0], f"install {argv[0]}, or see `culvert doctor`")

        def start() -> LocalProcess:
            started = self.launcher.start(
                [str(program), *argv[1:]],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=env,
                capabilities=capabilities,
                processes=None if instrument else self._own_processes(),
            )
            process = LocalProcess(name, started, log)
            self._processes.append(process)  # here, so that an interrupted caller cannot lose it
            return process

        # In the node's thread, which exists as long as the lab: programs end with their thread.
        return self._namespace.call(start)

    def _own_processes(self) -> ProcessNamespace | None:
        """The PID namespace, which begins with the first program that is to be in it. In the node's
        thread."""
        if self._own is not None and self._own.init is None:
            started = self.launcher.start(
                [str(self.launcher.probe), "init"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                processes=self._own,
            )
            name = f"process 1 on node {self._node}"
            self._processes.append(LocalProcess(name, started, Path(os.devnull)))
            self._own.init = started.popen.pid
        return self._own
