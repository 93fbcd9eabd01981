"""This machine as a host, before a lab creates nodes on it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from culvert import tools
from culvert.errors import LabError
from culvert.labs.host import Completed, Host, Variables
from culvert.labs.process import not_ended
from culvert.machine import features


class ThisMachine(Host):
    """The programs, files and kernel of this machine."""

    name = "this machine"

    def find(self, program: str) -> str | None:
        """Searches Culvert's own tools, then the directory of Python, then the system's."""
        found = tools.find(program)
        return None if found is None else str(found)

    def execute(
        self, argv: Sequence[str], given: bytes | None, env: Variables | None, timeout_s: float
    ) -> Completed:
        """Outside of any node, such as to read its version."""
        try:
            done = subprocess.run(
                [*argv],
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                env=None if env is None else dict(env),
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise not_ended(argv[0], timeout_s) from None
        except OSError as error:
            raise LabError(argv[0], error.strerror or str(error), f"install {argv[0]}") from error
        return Completed.decoded(argv, done.returncode, done.stdout, done.stderr)

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def has(self, feature: str) -> bool:
        """Tested by doctor's probe of the feature, once per process."""
        return features.has(feature)
