"""Commands with which a user gets what is missing."""

from __future__ import annotations

from functools import cache

from culvert.machine.record.kernel import read_distribution
from culvert.machine.tree import Tree

KERNELS = {
    "debian": "sudo apt-get install linux-image-$(dpkg --print-architecture)",
    "ubuntu": "sudo apt-get install linux-image-generic linux-modules-extra-$(uname -r)",
    "fedora": "sudo dnf install kernel kernel-modules-extra",
    "arch": "sudo pacman -S linux",
    "alpine": "sudo apk add linux-lts",
}
INSTALLERS = {
    "debian": "sudo apt-get install",
    "ubuntu": "sudo apt-get install",
    "fedora": "sudo dnf install",
    "arch": "sudo pacman -S",
    "alpine": "sudo apk add",
}

INFERNO = "cargo install inferno && sudo install ~/.cargo/bin/inferno-* /usr/local/bin"
"""Profiles need root, whose PATH lacks a user's ~/.cargo/bin."""


@cache
def _distribution() -> str:
    return read_distribution().id or ""


def install(package: str) -> str:
    """The command that installs a package of this distribution; only its name if the command is
    unknown."""
    installer = INSTALLERS.get(_distribution())
    return f"{installer} {package}" if installer else f"install the package {package}"


def kernel(module: str, option: str, instead: str | None = None) -> str:
    """How to get a kernel feature, and the alternatives without it."""
    ways: list[str] = []
    tree = Tree()
    # without modules for the running kernel, modprobe can only fail
    if tree.exists(f"/lib/modules/{tree.text('/proc/sys/kernel/osrelease')}"):
        ways.append(f"sudo modprobe {module}")
    package = KERNELS.get(_distribution())
    ways.append(f"boot a kernel with {option}{f' ({package})' if package else ''}")
    if instead:
        ways.append(f"use {instead}")
    return ", or ".join(ways)
