"""A host that OpenSSH reaches: the primitives, each a request to its agent."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from culvert.errors import CulvertError, DeadlineExceeded, HostLost, LabError
from culvert.labs.host import Completed, Host, Variables
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.remote import features
from culvert.labs.hosts.remote.agent import END_S, Agent, decoded
from culvert.labs.hosts.remote.process import RemoteProcess
from culvert.labs.hosts.remote.start import (
    clean,
    clean_stale,
    place_probe,
    require_kernel,
    require_root,
    start_agent,
)
from culvert.labs.hosts.ssh.bootstrap import FirstContact, first_contact
from culvert.labs.hosts.ssh.command import ALIVE_COUNT, ALIVE_S
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.probes import PROBE
from culvert.waiting import wait_until

_KEEP = """\
mkdir -p "$2"
mount -t tmpfs -o mode=0755 tmpfs "$2"
if [ -d "$1" ]; then
  mkdir "$2/changes" "$2/work"
  mount -t overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" overlay "$1"
else
  cp "$1" "$2/copy"
  mount --bind "$2/copy" "$1"
fi
"""
CLOCK_ROUNDS = 8
SILENT_S = ALIVE_S * ALIVE_COUNT + 5.0
"""After this time OpenSSH has given up the connection."""
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/libexec"


@dataclass(frozen=True)
class Offset:
    """``ahead_ns`` of CLOCK_REALTIME, by at most ``uncertainty_ns`` wrong: half of the shortest
    round trip, whose two ways need not take equally long."""

    ahead_ns: int
    uncertainty_ns: int


class SshHost(Host):
    """One connection and one agent; ``open`` connects again if either was lost."""

    def __init__(self, entry: HostEntry, run_id: str, connection: SshConnection) -> None:
        self.entry = entry
        self.name = entry.name
        self.run_id = run_id
        self.connection = connection
        self._agent: Agent | None = None
        self._contact: FirstContact | None = None
        self._features: dict[str, bool] = {}
        self._programs: dict[str, str] = {}
        self._kept: list[str] = []

    # -- its life ----------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect, copy the probe, start the agent; nothing if all of that is there.

        Raises HostLost, LabError, NotPossible; then nothing remains on the host.
        """
        if self._agent is not None and self._agent.alive():
            return
        self.close()
        self._features.clear()
        self._programs.clear()
        self._kept.clear()
        self.connection.open()
        try:
            with first_contact(self.connection, self.run_id) as contact:
                require_kernel(contact, self.name)
                require_root(self.connection, contact)
                probe = place_probe(self.connection, contact)
                if contact.stale:
                    clean_stale(self.connection, contact, probe)
                self._agent = start_agent(self.connection, contact, probe)
                self._contact = contact
        except BaseException:
            self.connection.close()
            raise

    def require_answer(self) -> None:
        """Raise HostLost if it is connected but does not answer; a silent connection is given
        up."""
        if self._agent is None:
            return
        try:
            self._agent.call("beat", timeout_s=SILENT_S)
        except DeadlineExceeded:
            self.connection.kill()
            self._agent.give_up()
            raise HostLost(
                f"host {self.name}",
                f"it has not answered for {SILENT_S:g} s",
                "see whether the host is up and the network to it; then continue with --resume",
            ) from None

    def close(self) -> list[str]:
        """End of the connection: the host removes everything. Returns what it says remains."""
        agent, self._agent = self._agent, None
        problems = agent.close() if agent is not None else []
        if agent is not None and not agent.has_removed and self.connection.alive():
            problems = self._cleaned(problems)
        self.connection.close()
        return problems

    def _cleaned(self, problems: list[str]) -> list[str]:
        """Remove the run in place of a guard that was killed; what remains, with its problems."""
        directory = self.contact.directory
        probe = f"{directory}/{PROBE}"
        try:
            wait_until(
                lambda: clean(self.connection, self.contact, probe, directory),
                what=f"the run's programs on host {self.name} had ended",
                deadline_s=END_S,
            )
        except CulvertError as error:
            return [*problems, str(error)]
        return []

    @property
    def agent(self) -> Agent:
        if self._agent is None:
            raise LabError(f"host {self.name}", "is not connected", "open it first")
        return self._agent

    @property
    def contact(self) -> FirstContact:
        """What the host reported at the first contact."""
        if self._contact is None:
            raise LabError(f"host {self.name}", "is not connected", "open it first")
        return self._contact

    @property
    def directory(self) -> PurePosixPath:
        """The run's files there, as its programs see them: root's own."""
        return self.agent.directory

    def reset(self) -> None:
        """End all programs there and undo everything; the agent and the connection stay."""
        if self._kept:
            # By no command that is kept for the end: after a crash it would run in the host's view.
            self.run(["umount", "-l", *reversed(self._kept)], check=False)
            self._kept.clear()
        done = self.agent.call("reset")
        if not done["gone"] or done["failures"]:
            raise LabError(
                f"host {self.name}",
                "programs or changes of the run are left on it: "
                + ("; ".join(done["failures"]) or "processes do not end after SIGKILL"),
                "check whether the host is overloaded, then repeat",
            )

    # -- programs and files ------------------------------------------------------------------------

    def find(self, program: str) -> str | None:
        """The run's own probe, then Culvert's tools there, then the system's programs."""
        if program not in self._programs:
            found = self.agent.call("find", program=program, path=self.path)
            if found is None:
                return None
            self._programs[program] = str(found)
        return self._programs[program]

    @property
    def label(self) -> str:
        return f"host {self.name}"

    def how_to_install(self, vpn: str) -> str:
        return f"culvert hosts install {vpn} --inventory {shlex.quote(str(self.entry.inventory))}"

    @property
    def path(self) -> str:
        return f"{self.contact.directory}:{self.entry.tools}/bin:{SYSTEM}"

    def environment(self) -> dict[str, str]:
        return {"PATH": self.path, "HOME": str(self.directory), "LC_ALL": "C.UTF-8"}

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        process = RemoteProcess(
            self.agent,
            argv,
            name=f"{argv[0]} on {self.name}",
            env={**self.environment(), **(env or {})},
            log=None,
            pipes=True,
            once=True,
        )
        printed, errors = process.communicate(given, timeout_s=timeout_s)
        return Completed.decoded(argv, process.returncode(), printed, errors)

    def read(self, path: str) -> bytes:
        return decoded(self.agent.call("read", path=path))

    def exists(self, path: str) -> bool:
        return bool(self.agent.call("exists", path=path))

    def has(self, feature: str) -> bool:
        if feature not in self._features:
            self._features[feature] = features.has(self, feature)
        return self._features[feature]

    def keep_changes(self, path: str) -> None:
        """Programs see a copy of this file, or the host's files below changes of their own in this
        directory, until ``reset``: in the mount namespace of the run. Raises LabError."""
        if path in self._kept:
            return
        place = f"{self.directory}/kept/{path.strip('/').replace('/', '-')}"
        self.run(["sh", "-ec", _KEEP, "sh", path, place])
        self._kept += [place, path]

    def undo(self, argv: Sequence[str]) -> None:
        """Run a command at the end, however it comes."""
        program = self.require(argv[0], f"install {argv[0]} on it")
        self.agent.call("undo", argv=[program, *argv[1:]])

    def clocks(self) -> dict[str, Any]:
        """The host's clocks in ns: ``monotonic_ns``, ``realtime_ns``."""
        return dict(self.agent.call("beat"))

    def clock_offset(self) -> Offset:
        """By the request with the shortest round trip."""
        found = []
        for _ in range(CLOCK_ROUNDS):
            asked_ns = time.time_ns()
            there_ns = int(self.clocks()["realtime_ns"])
            answered_ns = time.time_ns()
            found.append((answered_ns - asked_ns, there_ns - (asked_ns + answered_ns) // 2))
        round_trip_ns, ahead_ns = min(found)
        return Offset(ahead_ns, round_trip_ns // 2)
