"""The probe for other machines, hosts and pods: static, for each architecture."""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass
from pathlib import Path

from culvert import tools
from culvert.errors import NotPossible

PROBE = "culvert-probe"
FOLDER = "probes"
"""In Culvert's tool directory: ``culvert-probe-aarch64`` and so on (make probe-static)."""

_TARGETS = {
    "x86_64": ("x86_64", "x86_64-unknown-linux-musl"),
    "aarch64": ("aarch64", "aarch64-unknown-linux-musl"),
    "arm64": ("aarch64", "aarch64-unknown-linux-musl"),
    "armv7l": ("armv7", "armv7-unknown-linux-musleabihf"),
    "armv8l": ("armv7", "armv7-unknown-linux-musleabihf"),
}
_MACHINES = {62: "x86_64", 183: "aarch64", 40: "armv7"}
"""e_machine of ELF (elf(5))."""
_PT_INTERP = 3


@dataclass(frozen=True)
class Architecture:
    """Of a program, and the target of Rust's compiler that makes it."""

    name: str
    target: str

    @classmethod
    def of(cls, machine: str) -> Architecture:
        """From ``uname -m``."""
        return cls(*_TARGETS.get(machine, (machine, f"{machine}-unknown-linux-musl")))


def probe_for(what: str, architecture: Architecture) -> Path:
    """The program to copy: a static one, else this machine's own if it is of that architecture.
    ``what`` is named in an error.

    Raises NotPossible with the command that builds it.
    """
    static = static_for(architecture)
    if static is not None:
        return static
    own = tools.require(PROBE, "run `make setup`")
    if program_architecture(own) == architecture.name:
        return own
    raise NotPossible(
        what,
        f"it is {architecture.name}, which has no probe (this machine is {platform.machine()})",
        f"make probe-static TARGET={architecture.target}",
    )


def static_for(architecture: Architecture) -> Path | None:
    """The static probe that ``make probe-static`` has built, or this program's own, which is static
    in a wheel; None if there is neither."""
    for directory in tools.tool_directories():
        path = directory / FOLDER / f"{PROBE}-{architecture.name}"
        if path.is_file() and program_architecture(path) == architecture.name:
            return path
    own = tools.find(PROBE)
    if own is not None and program_architecture(own) == architecture.name and _is_static(own):
        return own
    return None


def static_probe(purpose: str) -> bytes:
    """The static probe for this machine; ``purpose`` is named in an error. Raises NotPossible if
    there is none."""
    path = static_for(Architecture.of(platform.machine()))
    if path is None:
        why = "the static probe for this machine is missing, and other builds need shared libraries"
        raise NotPossible(purpose, why, "make probe-static")
    return path.read_bytes()


def program_architecture(path: Path) -> str:
    """The architecture of an ELF file; the empty text for other files."""
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return ""
    (machine,) = struct.unpack_from("<H", head, 18)
    return _MACHINES.get(machine, "")


def _is_static(path: Path) -> bool:
    """Whether an ELF file of a wheel's platforms names no dynamic loader (elf(5))."""
    with path.open("rb") as file:
        head = file.read(4096)
    if head[4:6] != b"\x02\x01":  # 64 bits, little-endian
        return False
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    kinds = {struct.unpack_from("<I", head, offset + i * size)[0] for i in range(count)}
    return _PT_INTERP not in kinds
