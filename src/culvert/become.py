"""``culvert wire`` and ``culvert probe``: the native programs by hand."""

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
