"""Other runs on this machine: they share its processors, so each disturbs the other.

A run is seen by a socket with a name that begins as those of all runs, which the kernel removes
with the process: such names belong to the network namespace, which runs with and without root,
and ``culvert up`` share, while files of /run and process ids do not leave their namespaces.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from culvert.journal.marks import Disturber, Mark
from culvert.privilege import id_outside

_NAME = "culvert-run"
_NAMED = re.compile(
    rf"\s@{_NAME}\.(\d{{1,20}})\.(\d{{1,10}})\.(\d{{1,10}})\.[0-9a-f]{{8}}$", re.MULTILINE
)
_SOCKETS = Path("/proc/net/unix")


@contextmanager
def announced() -> Iterator[None]:
    """While the body runs, other runs see this process as one, between its trials as well."""
    name = f"{_NAME}.{_process_ids()}.{os.getpid()}.{id_outside()}.{secrets.token_hex(4)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as seen:
        seen.bind(f"\0{name}")  # nothing listens
        yield


def warning() -> str | None:
    """What to warn of before a run begins; None if it is alone."""
    found = others()
    if not found:
        return None
    return (
        f"warning: another run uses this machine ({', '.join(sorted(found))}): they disturb each "
        "other, and the trials of both are marked; wait for it to end, or end it"
    )


def others() -> set[str]:
    """The runs of other processes, in words: each once."""
    mine = _process_ids()
    found: set[str] = set()
    try:
        sockets = _SOCKETS.read_text(errors="replace")
    except OSError:
        return found
    for namespace, pid, seen_as in _NAMED.findall(sockets):
        if namespace != mine or int(pid) != os.getpid():
            found.add(f"process {seen_as}")
    return found


def marks(seen: Collection[str]) -> list[Mark]:
    """The mark of a trial during which these other runs were seen."""
    return [Mark(Disturber.RUN, len(seen), 0)] if seen else []


def _process_ids() -> str:
    """The namespace in which this process has its id."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)
