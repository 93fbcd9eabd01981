"""The connections of a run, kept from trial to trial."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from culvert.console import err
from culvert.errors import CulvertError, HostLost, UsageError
from culvert.files.plain import open_plain
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.listed.inventory import HostEntry, Inventory
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.together import at_once

_PREFIX = "culvert-ssh-"
_LOCK = "lock"
T = TypeVar("T")


class Fleet:
    """A context manager: leaving it ends every connection, and so everything on the hosts; what
    remains there is a warning."""

    def __init__(self, inventory: Inventory, run_id: str) -> None:
        self.inventory = inventory
        self.run_id = run_id
        _remove_dead()
        self._directory = Path(tempfile.mkdtemp(prefix=_PREFIX))  # mode 0700
        self._lock = (self._directory / _LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        print(run_id, file=self._lock, flush=True)
        self._hosts = {
            entry.name: SshHost(entry, run_id, SshConnection(entry, self._directory / str(number)))
            for number, entry in enumerate(inventory.hosts)
        }
        self._beginning: threading.Thread | None = None
        self._closed = False
        atexit.register(self.close)

    def host(self, entry: HostEntry) -> SshHost:
        """The host of an entry, connected or not."""
        return self._hosts[entry.name]

    def try_to_connect(self, entries: Iterable[HostEntry]) -> list[SshHost | CulvertError]:
        """Connect to these hosts at the same time, unless they are connected and answer; errors are
        outcomes."""
        self._await_beginning()
        return self.each([self.host(entry) for entry in entries], _connected)

    def begin(self, entries: Iterable[HostEntry]) -> None:
        """Start to connect to these hosts; ``try_to_connect`` tries again after an error."""
        hosts = [self.host(entry) for entry in entries]

        def opened(host: SshHost) -> None:
            if not self._closed:
                host.open()

        self._beginning = threading.Thread(
            target=lambda: self.each(hosts, opened), name="connecting", daemon=True
        )
        self._beginning.start()

    def _await_beginning(self) -> None:
        if self._beginning is not None:
            self._beginning.join()

    def each(
        self, hosts: Sequence[SshHost], work: Callable[[SshHost], T]
    ) -> list[T | CulvertError]:
        """Do something on several hosts at the same time; errors are outcomes."""

        def tried(host: SshHost) -> T | CulvertError:
            try:
                return work(host)
            except CulvertError as error:
                return error

        return at_once(tried, hosts)

    def close(self) -> list[str]:
        """End all connections. Returns what hosts say remains there. Idempotent."""
        atexit.unregister(self.close)
        self._closed = True
        if self._beginning is not None and self._beginning.is_alive():
            for host in self._hosts.values():
                host.connection.close()
        self._await_beginning()
        outcomes = self.each(list(self._hosts.values()), lambda host: host.close())
        shutil.rmtree(self._directory, ignore_errors=True)
        self._lock.close()
        problems = []
        for host, outcome in zip(self._hosts.values(), outcomes, strict=True):
            reported = [str(outcome)] if isinstance(outcome, CulvertError) else outcome
            problems += [f"host {host.name}: {line}" for line in reported]
        return problems

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for problem in self.close():
            err.print(f"warning: {problem}", markup=False, style="yellow")


def _connected(host: SshHost) -> SshHost:
    host.open()
    try:
        host.require_answer()
    except HostLost:
        host.open()
    return host


def _remove_dead() -> None:
    """Directories of sockets whose controller was killed. Others may have made some of that name,
    with a pipe or a link in them."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, UsageError):
            status = directory.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            with open_plain(directory / _LOCK) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock.fileno()).st_size:  # else its controller is about to hold it
                    shutil.rmtree(directory, ignore_errors=True)
