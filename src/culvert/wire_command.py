"""``culvert wire``: the emulated link by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from culvert import tools


def become_wire(arguments: Sequence[str]) -> NoReturn:
    """Run ``culvert-wire`` in our place: signals, terminal and exit code are its own.

    Raises NotPossible if it is not installed.
    """
    program = tools.require("culvert-wire", "run `make setup`")
    os.execv(program, [str(program), *(arguments or ["--help"])])  # noqa: S606  no shell is wanted
