"""Disables AES instructions for programs: crypto libraries read CPU feature masks from variables.

The kernel's own code ignores them: for a kernel VPN the registered cipher driver determines it.
"""

from __future__ import annotations

from collections.abc import Mapping

from culvert.machine.record.cpu import parse_cpuinfo
from culvert.machine.tree import Tree

OPENSSL = "OPENSSL_ia32cap"
GO = "GODEBUG"

OFF: Mapping[str, str] = {
    # OPENSSL_ia32cap(3): AES-NI is bit 57, PCLMULQDQ bit 33; VAES bit 41, VPCLMULQDQ bit 42 of the
    # second word.
    OPENSSL: "~0x200000200000000:~0x60000000000",
    # https://pkg.go.dev/internal/cpu: options of the form cpu.name=off.
    GO: "cpu.aes=off,cpu.pclmulqdq=off",
}


def has_instructions() -> bool | None:
    """Whether the processor has AES instructions; None if the kernel does not report it."""
    return lists_instructions(Tree().text("/proc/cpuinfo") or "")


def lists_instructions(text: str) -> bool | None:
    """Whether the content of /proc/cpuinfo lists AES instructions; None if it lists no flags."""
    flags = parse_cpuinfo(text).flags
    return "aes" in flags if flags else None
