"""``culvert wire``, ``probe`` and ``shell``: other programs that replace this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from culvert import tools


def become(program: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by ``program``: signals, terminal and exit code are its own.

    Raises NotPossible if it is not installed.
    """
    path = tools.require(program, "run `make setup`")
    os.execv(path, [str(path), *(arguments or ["--help"])])  # noqa: S606  no shell is wanted


def become_any(argv: Sequence[str]) -> NoReturn:
    """Replace this process by any program. Raises NotPossible if it is not installed."""
    path = tools.require(argv[0], f"install {argv[0]}")
    os.execv(path, list(argv))  # noqa: S606  no shell is wanted
