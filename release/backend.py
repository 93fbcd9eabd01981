"""The build backend of pyproject.toml, by PEP 517, with the locked packages of this environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_CALL = """
import sys
from setuptools import build_meta
hook, out_dir, answer = sys.argv[1:]  # setup.py gets others
name = getattr(build_meta, hook)(out_dir)
with open(answer, "w") as file:
    file.write(name)
"""


class BackendCall(StrEnum):
    """The hooks of PEP 517 that build."""

    SDIST = "build_sdist"
    WHEEL = "build_wheel"


def call(hook: BackendCall, tree: Path, out_dir: Path, env: Mapping[str, str]) -> str:
    """The name of the file that it built in ``out_dir``. Raises CalledProcessError."""
    answer = out_dir.parent / f"{hook}.name"
    subprocess.run(
        [sys.executable, "-c", _CALL, hook, out_dir.resolve(), answer.resolve()],
        cwd=tree,
        env={**os.environ, **env},
        check=True,
        umask=0o022,  # a wheel keeps the modes of its files
        stdout=subprocess.DEVNULL,
    )
    return answer.read_text()
