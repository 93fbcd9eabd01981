"""``culvert wire``, ``probe`` and ``shell``: other programs in our place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from culvert import tools


def become(program: str, arguments: Sequence[str]) -> NoReturn:
    """Run ``program`` in our place: signals, terminal and exit code are its own.

    Raises NotPossible if it is not installed.
    """
    path = tools.require(program, "run `make setup`")
    os.execv(path, [str(path), *(arguments or ["--help"])])  # noqa: S606  no shell is wanted


def become_any(argv: Sequence[str]) -> NoReturn:
    """Run any program in our place. Raises NotPossible if it is not installed."""
    path = tools.require(argv[0], f"install {argv[0]}")
    os.execv(path, list(argv))  # noqa: S606  no shell is wanted
