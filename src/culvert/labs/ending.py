"""How a process ended that Culvert did not end, in words, and the remedy."""

from __future__ import annotations

import signal

_CRASHES = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS}
)


def how_ended(code: int | None) -> str:
    """Of an exit code, negative for a signal, None if it is unknown."""
    if code is None:
        return "ended"
    name = _signal_name(code)
    if name is None:
        return f"ended (exit code {code})"
    verb = "crashed" if -code in _CRASHES else "was killed"
    return f"{verb} ({name})"


def remedy_for(code: int | None, *, otherwise: str) -> str:
    """What fits that ending; ``otherwise`` if the program ended by itself or crashed."""
    if code is None or _signal_name(code) is None or -code in _CRASHES:
        return otherwise
    return (
        "another program killed it, or the kernel for lack of memory (see dmesg): "
        "remove that cause, then repeat the trial"
    )


def _signal_name(code: int) -> str | None:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return None
