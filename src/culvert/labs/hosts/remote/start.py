"""From a connection to an agent that runs as root in the run's directory."""

from __future__ import annotations

import hashlib
import re
import shlex

from culvert.errors import LabError, NotPossible
from culvert.labs.hosts.remote.agent import Agent
from culvert.labs.hosts.ssh.bootstrap import Escalation, FirstContact
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import last_line
from culvert.labs.probes import PROBE, Architecture, probe_for

OLDEST_KERNEL = (3, 4)
"""PR_SET_CHILD_SUBREAPER (prctl(2))."""
COPY_S = 120.0
START_S = 30.0
SILENCE_S = 20
"""A host that hears nothing for so long removes everything."""
IN_USE = 5
"""The exit code of a clean-up of a run that goes on (crates/probe/src/host/mod.rs)."""

_SUDO = ("sudo", "-k", "-S", "-p", "", "--")
"""-k: with a password that sudo remembers it would leave ours for the agent to read."""

_COPY = (
    'umask 077; cat > "$0" && chmod 700 "$0" && '
    '{ sha256sum < "$0" || openssl dgst -sha256 -r < "$0" || cat "$0"; } 2>/dev/null'
)
_TAKE = 'umask 077; sha256sum < "$1" && cp "$1" "$0" && chmod 700 "$0"'


def place_probe(connection: SshConnection, contact: FirstContact) -> str:
    """Put the probe into the run's directory, verified; returns its path there.

    Raises NotPossible without a probe for the architecture, LabError if it does not arrive whole.
    """
    name = connection.entry.name
    content = probe_for(f"host {name}", Architecture.of(contact.machine)).read_bytes()
    digest = hashlib.sha256(content).hexdigest().encode()
    target = f"{contact.directory}/{PROBE}"
    if contact.probe is not None:
        words = f"{shlex.quote(target)} {shlex.quote(contact.probe)}"
        done = connection.run(f"exec sh -c {shlex.quote(_TAKE)} {words}")
        if done.returncode == 0 and digest in done.stdout:
            return target
    done = connection.run(
        f"exec sh -c {shlex.quote(_COPY)} {shlex.quote(target)}",
        content,
        timeout_s=COPY_S,
    )
    if digest in done.stdout or content in done.stdout:
        return target
    raise LabError(
        f"host {name}",
        f"the probe did not arrive whole in {contact.directory}: "
        + (last_line(done.stderr) or "its checksum differs"),
        "free some space on the host, then repeat",
    )


def require_kernel(contact: FirstContact, name: str) -> None:
    """Raise NotPossible for a kernel on which programs could escape their guard."""
    found = re.match(r"(\d+)\.(\d+)", contact.release)
    if found and (int(found[1]), int(found[2])) < OLDEST_KERNEL:
        oldest = ".".join(map(str, OLDEST_KERNEL))
        raise NotPossible(
            f"host {name}",
            f"its kernel {contact.release} is older than Linux {oldest}: programs that lose their "
            "parent could not be ended on the host",
            f"use Linux {oldest} or newer on the host, or leave it out",
        )


def require_root(connection: SshConnection, contact: FirstContact) -> None:
    """Raise NotPossible without a way to become root: sudo would wait for another password."""
    entry = connection.entry
    words, first = _as_root(contact, entry.name, entry.sudo_password)
    if not first:
        return
    done = connection.run(shlex.join(["exec", *words, "true"]), first)
    if done.returncode != 0:
        said = last_line(done.stderr)
        raise NotPossible(
            f"host {entry.name}",
            "sudo on the host refuses the password" + (f": {said}" if said else ""),
            "give the right one with --ask-sudo-password or ansible_become_password, and see "
            "whether sudoers has the user",
        )


def start_agent(connection: SshConnection, contact: FirstContact, probe: str) -> Agent:
    """Start the agent as root.

    Raises NotPossible without a way to become root, LabError if it does not start.
    """
    entry = connection.entry
    command = [*_host(contact, probe, contact.directory), "--silence-s", str(SILENCE_S)]
    words, first = _as_root(contact, entry.name, entry.sudo_password)
    # On a line of its own, whatever start files print.
    agent = Agent(entry.name, connection, f"echo; {shlex.join(['exec', *words, *command])}")
    try:
        agent.start(first, timeout_s=START_S)
    except BaseException:
        agent.close(wait_s=0)
        raise
    return agent


def clean_stale(connection: SshConnection, contact: FirstContact, probe: str) -> None:
    """Remove what crashed runs have left there; directories of runs that go on stay.

    Raises LabError if some of it remains.
    """
    for directory in contact.stale:
        clean(connection, contact, probe, directory)


def clean(connection: SshConnection, contact: FirstContact, probe: str, directory: str) -> bool:
    """Remove what a run has left whose guard ended before that; False for one that goes on.

    Raises LabError if some of it remains.
    """
    entry = connection.entry
    words, first = _as_root(contact, entry.name, entry.sudo_password)
    command = [*words, *_host(contact, probe, directory), "--clean"]
    done = connection.run(shlex.join(["exec", *command]), first)
    if done.returncode not in (0, IN_USE):
        by_hand = [*_host(contact, f"{directory}/{PROBE}", directory), "--clean"]
        raise LabError(
            f"host {entry.name}, {directory}",
            "files of a run cannot be removed: "
            + (last_line(done.stderr) or f"the clean-up ended with {done.returncode}"),
            f"look on the host, as root: {shlex.join(by_hand)}; "
            "or remove what that run left, and the directory, by hand",
        )
    return done.returncode == 0


def _host(contact: FirstContact, probe: str, directory: str) -> list[str]:
    """The agent's command, for a directory of the user that logs in."""
    return [probe, "host", "--directory", directory, "--owner", str(contact.user)]


def _as_root(contact: FirstContact, name: str, password: str | None) -> tuple[list[str], bytes]:
    match contact.escalation:
        case Escalation.ROOT:
            return [], b""
        case Escalation.SUDO:
            return ["sudo", "-n", "--"], b""
        case Escalation.DOAS:
            return ["doas", "-n", "--"], b""
        case Escalation.PASSWORD if password is not None:
            return list(_SUDO), f"{password}\n".encode()
        case Escalation.PASSWORD:
            raise NotPossible(
                f"host {name}",
                "sudo on the host requires a password",
                "give it with --ask-sudo-password, or set ansible_become_password in a vault",
            )
        case Escalation.NONE:
            raise NotPossible(
                f"host {name}",
                "its user is not root, and it has neither sudo nor doas",
                "connect as root, or install sudo on the host",
            )
        case Escalation.TERMINAL:
            raise NotPossible(
                f"host {name}",
                "doas on the host needs a terminal to ask its user for a password",
                "permit the user on the host (doas.conf: permit nopass USER), install sudo, or "
                "connect as root",
            )
