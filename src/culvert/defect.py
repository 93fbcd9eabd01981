"""What ends a command: unexpected exceptions, shown as an error instead of a traceback, and errors
for the program that started it."""

from __future__ import annotations

import errno
import json
import os
import resource
import traceback
from pathlib import Path

from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.json_text import read_json

TRACEBACK_VARIABLE = "CULVERT_TRACEBACK"
"""If it is set in the environment, tracebacks are shown, for developers."""
FILE_VARIABLE = "CULVERT_ERROR_FILE"
"""In the environment: the file into which a command writes the error that ends it."""

_USED_UP = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Resources of the machine that are used up: space, memory, file descriptors."""
PACKAGE = Path(__file__).parent
MOST_CHARACTERS = 200
"""Limit of the exception's own text: some contain their whole input."""


def as_error(error: Exception, what: str) -> CulvertError:
    """The error to show; ``what`` names the operation."""
    if isinstance(error, MemoryError):
        return CulvertError(what, "no memory is left", "free some, then run it again")
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if isinstance(error, ImportError) and limit_bytes != resource.RLIM_INFINITY:
        return CulvertError(
            what,
            f"a library cannot be loaded, and a limit of memory holds ({limit_bytes >> 20} MiB)",
            "raise the limit (ulimit -v unlimited); then run it again",
        )
    if isinstance(error, OSError) and error.errno in _USED_UP:
        where = f" ({error.filename})" if error.filename else ""
        return CulvertError(what, f"{error.strerror}{where}", "free some, then run it again")
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    places = dict.fromkeys(map(_place, (*ours[-1:], *frames[-1:])))  # last of ours, last of all
    place = f" at {', '.join(places)}" if places else ""
    text = text_of(error)
    return CulvertError(
        what,
        f"a defect: {type(error).__name__}{f': {text}' if text else ''}{place}",
        f"report it with what {TRACEBACK_VARIABLE}=1 shows",
    )


def text_of(error: BaseException) -> str:
    """Its own words in one line: short, and without a failure of their own."""
    try:
        return " ".join(str(error).split())[:MOST_CHARACTERS]
    except Exception as broken:
        return f"its text raises {type(broken).__name__}"


def _place(frame: traceback.FrameSummary) -> str:
    return f"{Path(frame.filename).name}:{frame.lineno}"


def show_if_wanted(error: Exception) -> None:
    """Print the traceback to standard error if the environment requests it."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)


def write_error(error: CulvertError) -> None:
    """Write the error that ends a command for the program that started it, if that wants it."""
    if path := os.environ.get(FILE_VARIABLE):
        fields = {"what": error.what, "why": error.why, "remedy": error.remedy}
        Path(path).write_text(json.dumps({"exit_code": error.exit_code, **fields}))


def written_error(path: Path) -> CulvertError | None:
    """The error that a command has written, of the first type with its exit code; None if no error
    has ended it."""
    if not path.exists():
        return None
    fields = read_json(path.read_bytes())
    types = {one.exit_code: one for one in (CulvertError, UsageError, NotPossible)}
    return types[fields.pop("exit_code")](**fields)
