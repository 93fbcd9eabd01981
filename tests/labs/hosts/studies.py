"""Studies of a few seconds."""

from __future__ import annotations

from pathlib import Path


def round_trips(
    directory: Path, *, vpns: str = '"none"', lab: str = "", probes: int = 200, blocks: int = 1
) -> Path:
    """A study of round trips only; ``lab`` are lines of ``[lab]``."""
    path = directory / "round-trips.toml"
    path.write_text(
        f'name = "round-trips"\nvpns = [{vpns}]\n[lab]\n{lab}\n[[measurement]]\nkind = "rtt"\n'
        f'rate = "500/s"\nprobes = {probes}\n[plan]\nblocks = {blocks}\n'
    )
    return path
