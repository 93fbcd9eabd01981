"""The programs that are WireGuard in user space: which is which, and of what version."""

from __future__ import annotations

import subprocess
from pathlib import Path

from culvert import tools
from culvert.vpns.gobuild import read_go_build
from culvert.vpns.packages import package_version

PROGRAM = "wireguard-go"
_DISTRIBUTIONS = Path("/usr/bin/wireguard-go")


def distributions() -> Path | None:
    """The distribution's."""
    return _DISTRIBUTIONS if _DISTRIBUTIONS.exists() else None


def current() -> Path | None:
    """The current one. The distribution's must not pass for it: it is five times slower."""
    found = tools.find(PROGRAM)
    return None if found == _DISTRIBUTIONS else found


def version(program: Path) -> str:
    """The module's version, else the package's, else its own words; and the compiler's."""
    build = read_go_build(program)
    compiler = f" ({build.go})" if build else ""
    if build and build.version:
        return build.version + compiler
    return (package_version(PROGRAM) or _told(program)) + compiler


def _told(program: Path) -> str:
    """Such as 0.0.20220316."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    first = told.stdout.partition("\n")[0]
    return first.removeprefix(f"{PROGRAM} ").removeprefix("v") or "unknown"
