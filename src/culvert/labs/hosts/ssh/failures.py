"""Failures of OpenSSH's client: it has one exit code for everything, so its messages decide. They
are not translated."""

from __future__ import annotations

import re
from enum import Enum

from culvert.errors import HostLost


class SshError(Enum):
    """A failure of a connection: messages of ssh (a regular expression), the reason and the
    remedy."""

    KEY_CHANGED = (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key differs from known_hosts",
        "ask its administrator; after a new installation remove the old: ssh-keygen -R {host}",
    )
    KEY_REVOKED = (
        "REVOKED HOST KEY",
        "its host key is revoked",
        "do not connect to it; see your known_hosts",
    )
    KEY_UNKNOWN = (
        "Host key verification failed|host key is known for",
        "its host key is unknown, and unknown keys are refused",
        "check its fingerprint and accept it once by hand: ssh {host}",
    )
    REFUSED_KEY = (
        "Permission denied",
        "it accepts none of your keys",
        "load your key into the agent (ssh-add), then see whether `ssh -o BatchMode=yes {host}` "
        "works",
    )
    NAME = (
        "Could not resolve hostname",
        "its name cannot be resolved",
        "correct ansible_host in the inventory",
    )
    CLOSED = (
        "Connection refused",
        "no sshd listens on its port",
        "start sshd on it, or correct ansible_port in the inventory",
    )
    UNREACHABLE = (
        "No route to host|Network is unreachable",
        "no route leads to it",
        "see whether the host is up: ping {host}",
    )
    SILENT = (
        "timed out",
        "it does not answer",
        "see whether the host is up and its firewall passes SSH",
    )
    RESET = (
        "Connection reset by",
        "the connection was reset",
        "see the log of its sshd: MaxStartups and MaxSessions may be too low",
    )
    BROKEN = (
        "Broken pipe",
        "the connection was lost",
        "see whether the host is up; then continue with --resume",
    )
    EXCHANGE = (
        "kex_exchange_identification",
        "its sshd closed the connection at once",
        "see the log of its sshd: MaxStartups may be too low, or the host is banned",
    )
    LONG_PATH = (
        "too long for Unix domain socket",
        "the path of the connection's control socket is too long",
        "set TMPDIR to a directory with a shorter path",
    )
    CONFIGURATION = (
        "Bad configuration option",
        "OpenSSH's configuration has an error",
        "see `ssh -G {host}`",
    )


class LoginRefused(HostLost):
    """Its sshd, or a jump host's, closed the connection before the login, as it does with some of
    many at the same time."""


def connection_error(name: str, destination: str, stderr: str) -> HostLost:
    """The error for what ssh printed."""
    for error in SshError:
        messages, why, remedy = error.value
        if re.search(messages, stderr):
            kind = LoginRefused if error in (SshError.RESET, SshError.EXCHANGE) else HostLost
            return kind(f"host {name}", why, remedy.format(host=destination))
    return HostLost(
        f"host {name}",
        last_line(stderr) or "the connection was lost",
        f"see whether the host is up: `ssh {destination} true`; then continue with --resume",
    )


def last_line(printed: bytes | str) -> str:
    """The last line that has words."""
    text = printed if isinstance(printed, str) else printed.decode(errors="replace")
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
