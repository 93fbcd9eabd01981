"""A host that OpenSSH reaches: the primitives, each a request to its agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from culvert.errors import LabError
from culvert.labs.host import Completed, Host
from culvert.labs.hosts import features
from culvert.labs.hosts.agent import Agent, decoded
from culvert.labs.hosts.bootstrap import FirstContact, first_contact
from culvert.labs.hosts.connection import Connection
from culvert.labs.hosts.entry import HostEntry
from culvert.labs.hosts.process import RemoteProcess
from culvert.labs.hosts.start import (
    clean_stale,
    discard,
    place_probe,
    require_root,
    start_agent,
)

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/libexec"


class SshHost(Host):
    """One connection and one agent; ``open`` connects again if either was lost."""

    def __init__(self, entry: HostEntry, run_id: str, connection: Connection) -> None:
        self.entry = entry
        self.name = entry.name
        self.run_id = run_id
        self.connection = connection
        self._agent: Agent | None = None
        self._contact: FirstContact | None = None
        self._features: dict[str, bool] = {}

    # -- its life ----------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect, copy the probe, start the agent; nothing if all of that is there.

        Raises HostLost, LabError, NotPossible; then nothing remains on the host.
        """
        if self._agent is not None and self._agent.alive():
            return
        self.close()
        self.connection.open()
        contact = None
        try:
            contact = first_contact(self.connection, self.run_id)
            require_root(self.connection, contact)
            probe = place_probe(self.connection, contact)
            if contact.stale:
                clean_stale(self.connection, contact, probe)
            self._agent = start_agent(self.connection, contact, probe)
            self._contact = contact
        except BaseException:
            if contact is not None and self.connection.alive():
                discard(self.connection, contact)
            self.connection.close()
            raise

    def close(self) -> list[str]:
        """End of the connection: the host removes everything. Returns what it says remains."""
        problems = self._agent.close() if self._agent is not None else []
        self._agent = None
        self.connection.close()
        return problems

    @property
    def agent(self) -> Agent:
        """The agent of an open host."""
        if self._agent is None:
            raise LabError(f"host {self.name}", "is not connected", "open it first")
        return self._agent

    @property
    def contact(self) -> FirstContact:
        """What the host said at the first contact."""
        if self._contact is None:
            raise LabError(f"host {self.name}", "is not connected", "open it first")
        return self._contact

    @property
    def directory(self) -> PurePosixPath:
        """The run's directory there."""
        return PurePosixPath(self.contact.directory)

    def reset(self) -> None:
        """End all programs there and undo everything; the agent and the connection stay."""
        self.agent.call("reset", timeout_s=10)

    # -- programs and files ------------------------------------------------------------------------

    def find(self, program: str) -> str | None:
        """The run's own probe, then Culvert's tools there, then the system's programs."""
        found = self.agent.call("find", program=program, path=self.path)
        return None if found is None else str(found)

    @property
    def path(self) -> str:
        """The directories that are searched for programs."""
        return f"{self.directory}:{self.entry.tools}/bin:{SYSTEM}"

    def environment(self) -> dict[str, str]:
        """All variables of a program there."""
        return {"PATH": self.path, "HOME": str(self.directory), "LC_ALL": "C.UTF-8"}

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 10.0,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program there until it ends; raises LabError if ``check`` and it fails."""
        process = RemoteProcess(
            self.agent,
            argv,
            name=f"{argv[0]} on {self.name}",
            env={**self.environment(), **(env or {})},
            log=None,
            pipes=True,
            once=True,
        )
        given = None if stdin is None else stdin.encode()
        printed, complained = process.communicate(given, timeout_s=timeout_s)
        done = Completed.decoded(argv, process.returncode(), printed, complained)
        if check:
            done.require_success(f"host {self.name}")
        return done

    def read(self, path: str) -> bytes:
        """A file there; raises OSError."""
        return decoded(self.agent.call("read", path=path))

    def exists(self, path: str) -> bool:
        """Whether a path exists there."""
        return bool(self.agent.call("exists", path=path))

    def has(self, feature: str) -> bool:
        """Tried there, once a run."""
        if feature not in self._features:
            self._features[feature] = features.has(self, feature)
        return self._features[feature]

    def undo(self, argv: Sequence[str]) -> None:
        """Run a command at the end, however it comes."""
        program = self.require(argv[0], f"install {argv[0]} there")
        self.agent.call("undo", argv=[program, *argv[1:]])

    def clocks(self) -> dict[str, Any]:
        """The host's clocks in ns: ``monotonic_ns``, ``realtime_ns``."""
        return dict(self.agent.call("beat"))
