"""Features of a host's kernel, tried there by the commands of doctor's trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from culvert.errors import UsageError
from culvert.labs.cpu import aes
from culvert.labs.host import Host
from culvert.machine.trials.commands import Command, commands_of

TRIED = (
    *("tun", "netem", "aes-instructions", "xfrm", "esp", "ah"),
    *("wireguard", "ovpn", "vxlan", "gre", "xfrm-interface"),
)
"""The features that can be tried, without those with a parameter."""


def has(host: Host, feature: str) -> bool:
    """Whether the host has it. Raises UsageError for a feature that cannot be tried there."""
    match feature:
        case "tun":
            return _opens(host, "/dev/net/tun")
        case "aes-instructions":
            return aes.lists_instructions(host.text("/proc/cpuinfo")) is True
    commands = commands_of(feature)
    if not commands:
        raise UsageError(f"feature '{feature}'", "cannot be tried on a host", "leave it out")
    return any(_inside(host, command) for command in commands.values())


def _opens(host: Host, path: str) -> bool:
    shell = ["sh", "-c", 'exec 3<>"$0"', path]
    return host.exists(path) and host.run(shell, check=False).returncode == 0


def _inside(host: Host, command: Command) -> bool:
    """Whether it succeeds in a network namespace of its own."""
    program = host.find(command[0])
    probe = host.find("culvert-probe")
    if program is None or probe is None:
        return False
    words = [probe, "exec", "--own-network", "--", program, *command[1:]]
    return host.run(words, check=False).returncode == 0


_MODULES: Mapping[str, str] = {
    "tun": "tun",
    "netem": "sch_netem",
    "xfrm": "xfrm_user",
    "esp": "esp4",
    "ah": "ah4",
    "wireguard": "wireguard",
    "ovpn": "ovpn",
    "vxlan": "vxlan",
    "gre": "ip_gre",
    "xfrm-interface": "xfrm_interface",
}


def to_load(features: Iterable[str]) -> str:
    """How a host gets features that it lacks, as far as they are modules."""
    modules = [_MODULES[feature] for feature in features if feature in _MODULES]
    if not modules:
        return "use a host with a processor that has them"
    return f"modprobe -a {' '.join(modules)} on the host, or boot a kernel that has them"
