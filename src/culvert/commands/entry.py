"""Entry point of the ``culvert`` command: streams, signals, errors and their exit codes."""

from __future__ import annotations

import errno
import gc
import os
import sys
from contextlib import suppress

from culvert import interruption
from culvert.commands.app import InterruptionError, OutputError, app
from culvert.console import accept_any_text, err, give_up_output, nobody_reads
from culvert.defect import as_error, show_if_wanted, write_error
from culvert.errors import CulvertError

_MANY_OBJECTS = 100_000
"""New objects after which Python searches for cycles. Modules and tables have none: with its own
threshold of 700 the searches take a tenth of a report's CPU time."""

_NO_MEMORY = b"""\
error: culvert: no memory is left, or a limit does not give it any (ulimit -v)
remedy: free some, or raise the limit; then run it again
"""


def main() -> None:
    """Run the command; errors are reported in a few lines."""
    _open_standard_streams()
    _compute_in_one_thread()
    gc.set_threshold(_MANY_OBJECTS)
    accept_any_text()
    interruption.listen()
    try:
        code = _code()
    except MemoryError:  # then neither a traceback nor the console can be relied on
        with suppress(OSError):
            os.write(2, _NO_MEMORY)
        code = CulvertError.exit_code
    _flush()
    gc.freeze()  # else Python searches all objects twice for cycles before it ends
    sys.exit(code)


def _flush() -> None:
    """What cannot be written now is given up: at its end Python would try again, and return 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        give_up_output()


def _code() -> int:
    """Run the requested command and report its error; its exit code."""
    try:
        with interruption.interrupted_first():
            return _run()
    except CulvertError as error:
        return _tell(error)
    except (InterruptionError, KeyboardInterrupt):
        # Whoever presses Ctrl-C twice gets no traceback: all is removed, only words are left.
        interruption.refuse_more()
        err.print("interrupted", style="yellow")
        return interruption.INTERRUPTED
    except MemoryError:
        raise
    except Exception as error:
        show_if_wanted(error)
        return _tell(as_error(error, "culvert"))


def _run() -> int:
    """Run the requested command; its exit code."""
    try:
        try:
            app()
        except SystemExit as end:
            if sys.stdout is not None:
                sys.stdout.flush()
            if end.code:
                interruption.unless_interrupted(end)  # Typer's own code for it is 1
            return end.code if isinstance(end.code, int) else 0
    except OutputError as error:
        cause = error.__cause__ or error
        if not nobody_reads():
            raise cause from None
        give_up_output()  # head and less have seen enough: no error
    except BrokenPipeError:
        give_up_output()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT) or error.filename is not None:
            raise
        give_up_output()
        raise CulvertError(
            "standard output", f"it cannot be written: {error.strerror}", "free some space"
        ) from error
    return 0


def _tell(error: CulvertError) -> int:
    err.print(f"error: {error}", markup=False, style="bold red")
    err.print(f"remedy: {error.remedy}", markup=False)
    write_error(error)
    return error.exit_code


def _compute_in_one_thread() -> None:
    """NumPy's BLAS has a thread for each CPU, which wait in a loop: for matrices as small as ours
    that takes ten times the CPU time of one thread. It reads the variable when it is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _open_standard_streams() -> None:
    """Where one of them is closed, the next file to be opened would take its place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
