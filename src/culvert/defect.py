"""What nobody thought of: an exception that is not ours, told as an error, not as a traceback."""

from __future__ import annotations

import errno
import os
import traceback
from pathlib import Path

from culvert.errors import CulvertError

TRACEBACK_VARIABLE = "CULVERT_TRACEBACK"
"""Set in the environment, it makes tracebacks appear, for those who repair."""

_USED_UP = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""The machine's fault, not ours: space, memory, file descriptors."""
PACKAGE = Path(__file__).parent
MOST_CHARACTERS = 200
"""Of the exception's own words: some hold all that they could not digest."""


def as_error(error: Exception, what: str) -> CulvertError:
    """The error that tells of it; ``what`` names the thing that was being done."""
    if isinstance(error, OSError) and error.errno in _USED_UP:
        where = f" ({error.filename})" if error.filename else ""
        return CulvertError(what, f"{error.strerror}{where}", "free some of it, then run it again")
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    told = dict.fromkeys(map(_place, (*ours[-1:], *frames[-1:])))  # where we were, and where it was
    place = f" at {', '.join(told)}" if told else ""
    said = " ".join(str(error).split())[:MOST_CHARACTERS]
    return CulvertError(
        what,
        f"a defect: {type(error).__name__}{f': {said}' if said else ''}{place}",
        f"report it with what {TRACEBACK_VARIABLE}=1 shows",
    )


def _place(frame: traceback.FrameSummary) -> str:
    return f"{Path(frame.filename).name}:{frame.lineno}"


def show_if_wanted(error: Exception) -> None:
    """Print the traceback to standard error if the environment asks for it."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
