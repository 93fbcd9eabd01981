"""The first contact with a host, which has a POSIX shell and may have nothing else."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from culvert.errors import LabError, NotPossible
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.printed import last_line

FREE_KB = 16 * 1024
"""Room for the probe, configuration and logs."""
DIRECTORIES = ("/tmp", "/var/tmp", "$HOME", "/dev/shm", "/root", "/opt")  # noqa: S108
"""Searched for one with room in which programs may be executed; not below /run, of which the run's
programs have a view of their own."""
PREFIX = "culvert-"

_SCRIPT = r"""
LC_ALL=C; export LC_ALL; umask 077
say() { printf '%s\t%s\n' "$1" "$2"; }
directory=; trap '' PIPE
say machine "$(uname -m)"
say release "$(uname -r)"
say user "$(id -u)"
say time "$(date +%s)"
say client "${SSH_CONNECTION:-}"
# EI_DATA of ELF (elf(5)); routers have no od.
say endian "$(dd if=/proc/self/exe bs=1 skip=5 count=1 2>/dev/null | tr '\001\002' 'lb')"
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
# A controller that was killed does not answer, and its watcher's farewell may be over by now.
read -r answer || rm -rf "$directory"
"""

_BIG_ENDIAN = {"l": False, "b": True}


def farewell(run_id: str) -> str:
    """For a shell there: removes the run's directory, unless a guard does."""
    places = " ".join(f'"{place}"' for place in DIRECTORIES)
    directory = f'"$place/{PREFIX}{run_id}"'
    return (
        f"for place in {places}; do [ -d {directory} ] && [ ! -e {directory}/lock ] "
        f"&& rm -rf {directory}; done"
    )


class Escalation(StrEnum):
    """How the agent becomes root."""

    ROOT = "root"
    SUDO = "sudo"
    DOAS = "doas"
    PASSWORD = "password"  # noqa: S105 - a kind, no secret
    TERMINAL = "terminal"
    """doas reads a password from a terminal only."""
    NONE = "none"


_SHAPES = {
    "machine": r"[\w.-]{1,32}",
    "release": r"[\x21-\x7e]{1,128}",
    "user": r"[0-9]{1,10}",
    "time": r"[0-9]{0,12}",
    "client": r"([0-9a-fA-F.:%\w]{1,80} [0-9]{1,5} ?){0,2}",
    "endian": r"[^\n]{0,8}",
    "boot": r"[\w-]{0,64}",
    "directory": r"/[\x20-\x7e]{1,500}",
    "probe": r"(/[\x20-\x7e]{1,500})?",
    "escalation": "|".join(Escalation),
}
"""Of what a host reports, which may be anything."""
_WORDS = {"machine": "uname -m", "release": "uname -r", "user": "id -u", "time": "date +%s"}


@dataclass(frozen=True)
class FirstContact:
    """What the host has reported. ``machine`` is uname -m; ``big_endian`` None: unknown; ``user``
    is the id of the user that logs in; ``clock_offset_s`` how much its clock is ahead of ours, to a
    second; ``client`` and ``server`` are the addresses and ports of the SSH connection as the host
    sees them. ``stale`` are directories of other runs there."""

    machine: str
    big_endian: bool | None
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


def script_of(run_id: str, places: Sequence[str]) -> str:
    """The first script, for a POSIX shell's standard input."""
    return (
        _SCRIPT.replace("@PLACES@", " ".join(f'"{place}"' for place in places))
        .replace("@FREE@", str(FREE_KB))
        .replace("@PREFIX@", PREFIX)
        .replace("@RUN@", run_id)
    )


def first_contact(connection: SshConnection, run_id: str) -> FirstContact:
    """Look at the host, and make the run's directory there. The connection is watched already:
    whoever watches removes the directory if the connection ends.

    Raises HostLost, LabError if the host has no POSIX shell, NotPossible without a usable place.
    """
    sent_s = time.time()
    script = script_of(run_id, DIRECTORIES).encode()
    done = connection.run("exec sh -s", script, last=b"\nend\t")
    answered_s = time.time()
    reported = _Reported(f"host {connection.entry.name}", done.stdout)
    reported.require_end(done.stderr)
    one = reported.one
    there = one("time")
    client, server = _connection(one("client"))
    return FirstContact(
        machine=one("machine"),
        big_endian=_BIG_ENDIAN.get(one("endian")),
        release=one("release"),
        user=int(one("user") or 0),
        boot=one("boot"),
        escalation=Escalation(one("escalation")),
        clock_offset_s=_offset_s(int(there), sent_s, answered_s) if there.isdigit() else 0.0,
        client=client,
        server=server,
        directory=one("directory"),
        probe=one("probe") or None,
        stale=tuple(path for path in reported.values["stale"] if path != one("directory")),
    )


class _Reported:
    """What a host's first script printed: lines of a key, a tab and a value."""

    def __init__(self, host: str, printed: bytes) -> None:
        self.host = host
        self.values: dict[str, list[str]] = defaultdict(list)
        for line in printed.decode(errors="replace").splitlines():
            key, tab, value = line.partition("\t")
            if tab:
                self.values[key].append(value.strip())

    def require_end(self, errors: bytes) -> None:
        """Raise an error unless the script ended, with a directory for the run."""
        if "end" not in self.values:
            raise LabError(
                self.host,
                f"its shell did not end the first script: {last_line(errors) or 'no reason'}",
                "see whether `ssh HOST sh -s` runs commands from its standard input",
            )
        if "directory" not in self.values:
            refused = [last_line(why.encode()) for why in self.values["refused"]]
            raise NotPossible(
                self.host,
                f"no directory can hold the run: {'; '.join(refused) or 'none exists'}",
                f"free {FREE_KB >> 10} MB in a directory without noexec: {', '.join(DIRECTORIES)}",
            )

    def one(self, key: str) -> str:
        """The first value; raises LabError if it is not of the key's form."""
        value = next(iter(self.values[key]), "")
        if not re.fullmatch(_SHAPES[key], value):
            what = f"'{last_line(value.encode())[:60]}'" if value else "nothing"
            why = f"for {_WORDS.get(key, key)} it reports {what}, which cannot be"
            raise LabError(self.host, why, "see which programs of that name it finds first")
        return value


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
