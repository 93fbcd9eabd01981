"""The first contact with a host, which has a POSIX shell and may have nothing else."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from culvert.errors import LabError, NotPossible
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import last_line

FREE_KB = 16 * 1024
"""Room for the probe, configuration and logs."""
DIRECTORIES = ("/tmp", "/var/tmp", "$HOME", "/dev/shm", "/root", "/opt")  # noqa: S108
"""Searched for one with room in which programs may be executed; not below /run, of which the run's
programs have a view of their own."""
PREFIX = "culvert-"
LOGIN_S = 45.0
"""A login shell's start files (pyenv, nvm) may take long on a busy host."""

_SCRIPT = r"""
LC_ALL=C; export LC_ALL; umask 077
say() { printf '%s\t%s\n' "$1" "$2"; }
directory=; trap '' PIPE
echo
say machine "$(uname -m)"
say release "$(uname -r)"
say user "$(id -u)"
say time "$(date +%s)"
say client "${SSH_CONNECTION:-}"
say boot "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
if [ "$(id -u)" = 0 ]; then say escalation root
elif sudo -n true 2>/dev/null; then say escalation sudo
elif doas -n true 2>/dev/null; then say escalation doas
elif command -v sudo >/dev/null 2>&1; then say escalation password
elif command -v doas >/dev/null 2>&1; then say escalation terminal
else say escalation none; fi
found=$(command -v culvert-probe 2>/dev/null) && say probe "$found"
for place in @PLACES@; do
  [ -d "$place" ] || continue
  for old in "$place"/@PREFIX@*; do
    [ ! -L "$old" ] && [ -O "$old" ] || continue
    [ -f "$old/lock" ] && [ -f "$old/culvert-probe" ] && say stale "$old"
  done
done
for place in @PLACES@; do
  [ -d "$place" ] || continue
  free=$(df -Pk "$place" 2>/dev/null | awk 'NR > 1 { print $(NF-2) }')
  if [ "${free:-@FREE@}" -lt @FREE@ ]; then say refused "$place has ${free} kB free"; continue; fi
  directory=$place/@PREFIX@@RUN@
  if ! why=$(mkdir "$directory" 2>&1); then directory=; say refused "${why##*mkdir: }"; continue; fi
  printf '#!/bin/sh\nexit 0\n' > "$directory/try" && chmod 700 "$directory/try"
  if "$directory/try" 2>/dev/null; then
    rm -f "$directory/try"; say directory "$directory"; break
  fi
  rm -rf "$directory"; say refused "$place is mounted noexec"
done
say end ""
# No answer comes after an error, of a controller that was killed, and of a connection that ended.
read -r answer || rm -rf "$directory"
"""


class Escalation(StrEnum):
    """How the agent becomes root."""

    ROOT = "root"
    SUDO = "sudo"
    DOAS = "doas"
    PASSWORD = "password"  # noqa: S105 - a kind, no secret
    TERMINAL = "terminal"
    """doas reads a password from a terminal only."""
    NONE = "none"


@dataclass(frozen=True)
class FirstContact:
    """What the host has reported. ``machine`` is uname -m; ``user`` is the id of the user that logs
    in; ``clock_offset_s`` how much its clock is ahead of ours, to a second; ``client`` and
    ``server`` are the addresses and ports of the SSH connection as the host sees them. ``stale``
    are directories of other runs there."""

    machine: str
    release: str
    user: int
    boot: str
    escalation: Escalation
    clock_offset_s: float
    client: tuple[str, int] | None
    server: tuple[str, int] | None
    directory: str
    probe: str | None
    stale: tuple[str, ...]


_END = "end\t\n"
"""The last line that the first script prints."""
_MOST_LINES = 200
"""More than the script prints: those before are of start files."""


def script_of(run_id: str, places: Sequence[str]) -> str:
    """The first script, for a POSIX shell's standard input."""
    return (
        _SCRIPT.replace("@PLACES@", " ".join(f'"{place}"' for place in places))
        .replace("@FREE@", str(FREE_KB))
        .replace("@PREFIX@", PREFIX)
        .replace("@RUN@", run_id)
    )


@contextmanager
def first_contact(connection: SshConnection, run_id: str) -> Iterator[FirstContact]:
    """Look at the host, and make the run's directory there. It stays if the body succeeds: the host
    removes it after an error, and if the connection or this process ends meanwhile.

    Raises HostLost, LabError if the host has no POSIX shell, NotPossible without a usable place.
    """
    host, sent_s = f"host {connection.entry.name}", time.time()
    with connection.start("exec sh -s") as session:
        assert session.stdin is not None
        assert session.stdout is not None
        to_host = session.stdin.fileno()
        with suppress(BrokenPipeError):  # it has ended, and what it printed has the reason
            os.write(to_host, script_of(run_id, DIRECTORIES).encode())
        printed = _until_end(session)
        answered_s = time.time()
        if _END not in printed:
            if connection.has_ended():
                raise connection.lost()
            said = last_line("".join(printed)) or last_line(connection.errors())
            raise LabError(
                host,
                f"its shell did not end the first script: {said or 'no reason'}",
                "see whether `ssh HOST sh -s` runs commands from its standard input",
            )
        yield _contact(host, printed, sent_s, answered_s)
        with suppress(BrokenPipeError):  # whoever uses the connection notices its end
            os.write(to_host, b"heard\n")


def _until_end(session: subprocess.Popen[bytes]) -> Sequence[str]:
    """The last lines of a session, up to the script's last or the session's; the session is ended
    if they take too long."""
    assert session.stdout is not None
    printed = deque[str](maxlen=_MOST_LINES)
    patience = threading.Timer(LOGIN_S, session.kill)
    patience.daemon = True
    patience.start()
    try:
        while _END not in printed and (line := session.stdout.readline()):
            printed.append(line.decode(errors="replace"))
    finally:
        patience.cancel()
    return printed


def _contact(host: str, printed: Sequence[str], sent_s: float, answered_s: float) -> FirstContact:
    """From the lines of the first script, each a key, a tab and a value, and of start files."""
    values: dict[str, list[str]] = defaultdict(list)
    for line in printed:
        key, _, value = line.partition("\t")
        values[key].append(value.strip())
    if "directory" not in values:
        raise NotPossible(
            host,
            f"no directory can hold the run: {'; '.join(values['refused']) or 'none exists'}",
            f"free {FREE_KB >> 10} MB in a directory without noexec: {', '.join(DIRECTORIES)}",
        )
    one = {key: found[-1] for key, found in values.items()}
    there = one["time"]
    client, server = _connection(one["client"])
    return FirstContact(
        machine=one["machine"],
        release=one["release"],
        user=int(one["user"] or 0),
        boot=one["boot"],
        escalation=Escalation(one["escalation"]),
        clock_offset_s=_offset_s(int(there), sent_s, answered_s) if there.isdigit() else 0.0,
        client=client,
        server=server,
        directory=one["directory"],
        probe=one.get("probe"),
        stale=tuple(path for path in values["stale"] if path != one["directory"]),
    )


def _offset_s(there_s: int, sent_s: float, answered_s: float) -> float:
    """0 if the host's whole second fits between sending the script and its answer."""
    if sent_s - 1 <= there_s <= answered_s:
        return 0.0
    return there_s - (sent_s if there_s < sent_s else answered_s)


def _connection(text: str) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    """SSH_CONNECTION (ssh(1)): client address and port, server address and port."""
    words = text.split()
    if len(words) != 4:
        return None, None
    return (words[0], int(words[1])), (words[2], int(words[3]))
