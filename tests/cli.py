"""The ``culvert`` command as users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CULVERT = Path(sys.executable).with_name("culvert")
TRACE = "Traceback (most recent call last)"
SMALL = """
name = "small"
title = "Small"
vpns = [{vpns}]
[[measurement]]
kind = "rtt"
rate = "1000/s"
probes = {probes}
[plan]
blocks = {blocks}
"""


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    def refused(self, code: int, *words: str) -> None:
        """An error of one to three lines with a remedy, and nothing on standard output."""
        assert (self.code, TRACE in self.err) == (code, False), self.err
        lines = self.err.strip().splitlines()
        assert lines[0].startswith("error: ")
        assert lines[-1].startswith("remedy: ")
        assert len(lines[-1]) > len("remedy: ")
        assert len(lines) <= 3
        for word in words:
            assert word in self.err


Cli = Callable[..., Said]
"""Of the fixture ``say``."""


def culvert(
    *words: str | Path,
    before: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout_s: float = 60,
) -> Said:
    """Run it to its end; ``before`` is what stands before it on the command line."""
    done = subprocess.run(
        [*before, str(CULVERT), *map(str, words)],
        capture_output=True,
        check=False,
        timeout=timeout_s,
        env={**os.environ, **(env or {})},
    )
    return Said(
        done.returncode,
        done.stdout.decode(errors="surrogateescape"),
        done.stderr.decode(errors="surrogateescape"),
    )


def small_study(path: Path, *vpns: str, probes: int = 30, blocks: int = 1) -> Path:
    """Write a study of round trips that takes a moment."""
    words = ", ".join(f'"{vpn}"' for vpn in vpns or ("none",))
    path.write_text(SMALL.format(vpns=words, probes=probes, blocks=blocks))
    return path
