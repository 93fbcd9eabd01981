"""The probe of a wheel is static: other machines of its architecture get it as it is."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from culvert.labs.probes import PROBE, Architecture, static_for

X86_64 = 62
LOAD, INTERP = 1, 3
"""p_type of elf(5)."""


def elf(machine: int, *segments: int) -> bytes:
    """A program of 64 bits with these segments."""
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    return ident + head + b"".join(struct.pack("<I", one).ljust(56, b"\0") for one in segments)


@pytest.mark.parametrize(("segments", "static"), [((LOAD,), True), ((INTERP, LOAD), False)])
def test_its_own_program_is_used_if_it_is_static(
    segments: tuple[int, ...], static: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    own = tmp_path / "bin" / PROBE  # searched before what is beside Python
    own.parent.mkdir()
    own.write_bytes(elf(X86_64, *segments))
    own.chmod(0o755)
    assert static_for(Architecture.of("x86_64")) == (own if static else None)
    assert static_for(Architecture.of("aarch64")) is None
