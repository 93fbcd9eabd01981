"""The command line of OpenSSH's client."""

from __future__ import annotations

from culvert import tools
from culvert.labs.hosts.listed.inventory import HostEntry

CONNECT_S = 15
ALIVE_S = 5
ALIVE_COUNT = 3
"""A connection without an answer for ALIVE_S x ALIVE_COUNT seconds is given up."""
KNOWN_KEYS_ONLY = ("StrictHostKeyChecking=yes", "UpdateHostKeys=no")
"""Unknown and changed host keys are refused, and none is added to known_hosts."""
_OPTIONS = (
    "BatchMode=yes",
    *KNOWN_KEYS_ONLY,
    f"ConnectTimeout={CONNECT_S}",
    f"ServerAliveInterval={ALIVE_S}",
    f"ServerAliveCountMax={ALIVE_COUNT}",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "LogLevel=ERROR",
)
"""They come first, so that nothing in the user's configuration weakens them (ssh_config(5): the
first value counts)."""


def ssh_command(entry: HostEntry, *words: str, options: tuple[str, ...]) -> list[str]:
    """``ssh`` to a host, to which a command can be appended; ``options`` are of ssh_config(5)."""
    argv = [str(tools.require("ssh", "apt-get install openssh-client")), *words]
    for option in (*_OPTIONS, *options):
        argv += ["-o", option]
    if entry.port is not None:
        argv += ["-p", str(entry.port)]
    if entry.user is not None:
        argv += ["-l", entry.user]
    if entry.key_file is not None:
        argv += ["-i", entry.key_file]
    return [*argv, *entry.arguments, "--", entry.destination]
