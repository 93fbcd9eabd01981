"""``culvert wire``, ``probe`` and ``shell``: other programs that replace this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from culvert import tools


def become(argv: Sequence[str], remedy: str) -> NoReturn:
    """Replace this process by a program: signals, terminal and exit code are its own.

    Raises NotPossible with the remedy if it is not installed.
    """
    os.execv(tools.require(argv[0], remedy), list(argv))  # noqa: S606  no shell is wanted
