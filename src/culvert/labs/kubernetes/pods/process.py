"""A program in a pod as a process of a lab's node."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from culvert.errors import LabError
from culvert.labs.kubernetes.api.programs import InputPipe, PodProgram
from culvert.labs.process import Process

LOST = -1
"""The exit code of a program whose connection was lost."""


class PodProcess(Process):
    """Its streams pass through the API server."""

    def __init__(self, name: str, program: PodProgram) -> None:
        self.name = name
        self.log = Path(os.devnull)
        self.started_monotonic_ns = time.monotonic_ns()
        self._program = program
        self._stdin = InputPipe(program)

    @property
    def pid(self) -> int:
        """Not known: the API does not report it."""
        raise LabError(self.name, "the process id in a pod is not known", "report this")

    @property
    def stdin(self) -> IO[bytes]:
        """Each write is sent at once."""
        return cast("IO[bytes]", self._stdin)

    @property
    def stdout(self) -> IO[bytes]:
        return self._program.stdout

    def alive(self) -> bool:
        """True while it runs, as far as the API server knows."""
        return self._program.code is None

    def returncode(self) -> int | None:
        """Exit code; ``LOST`` if the connection was lost."""
        return self._program.code

    def stop(self, *, grace_s: float = 2.0) -> None:
        """End its input, which ends the agent; then the connection. Idempotent."""
        if self._program.code is None and grace_s > 0:
            self._stdin.close()
            self._program.wait(grace_s)
        self._program.close()

    def stopped(self) -> Sequence[int]:
        return ()

    def log_text(self) -> str:
        """Its standard error, and why its connection ended."""
        text = bytes(self._program.stderr).decode(errors="replace")
        code = self._program.code
        return f"{text}\n{self._program.reason}" if code == LOST else text
