"""The one door to a third party's driver: each call has a deadline, its texts have a bound, and
whatever it raises is a DriverError.

::

    Culvert ──> version() ──> a thread, at most deadline_s() ──> the driver's own version()
                    └── late: the thread is told to end, and is left alone

The call is made in a thread, because no signal reaches a driver that sleeps or computes in another
thread than the main one, or in C. Calls of a driver's own to itself pass the door once.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
import threading
import traceback
import types
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from culvert.defect import show_if_wanted, text_of
from culvert.errors import CulvertError, DriverError, shortened
from culvert.vpns.base import Vpn

T = TypeVar("T")
ASKED_S = 30.0
"""Deadline of what is asked without a lab: of missing(), version(), declarations."""
STEP_S = 60.0
"""Deadline of a step in the VPN's life, beside its own waits and a second for each node."""
WAITS = 6
"""How many waits of ``up_deadline_s`` or ``rekey_deadline_s`` a step may have."""
MOST_WAIT_S = 600.0
END_S = 2.0
"""A driver that is told to end, between two steps of Python, takes less."""
_OURS = {"culvert", *sys.stdlib_module_names}
_DEEPEST = 4

_inside = threading.local()


def is_foreign(owner: type) -> bool:
    """Whether a third party has written the class."""
    return owner.__module__.partition(".")[0] not in _OURS


def behind_door(driver: type[Vpn]) -> type[Vpn]:
    """The driver; a third party's gets doors for what it defines."""
    found: dict[str, Any] = {}
    for owner in reversed(driver.__mro__):
        if is_foreign(owner):
            found |= {name: _door(name, one) for name, one in vars(owner).items() if _runs(one)}
    if not found:
        return driver
    found |= {"__module__": __name__, "__qualname__": driver.__qualname__}
    made: type[Vpn] = types.new_class(
        driver.__name__, (driver,), exec_body=lambda body: body.update(found)
    )
    return made


def outside(work: Callable[[], T], *, what: str, step: str, deadline_s: float, remedy: str) -> T:
    """What ``work()``, a third party's, returns. Raises its CulvertError, or a DriverError: for
    whatever else it raises, and if it does not end in time."""
    found: Future[T] = Future()

    def do() -> None:
        _inside.door = True
        try:
            made = work()
            found.set_result(list(made) if inspect.isgenerator(made) else made)  # type: ignore[arg-type]
        except BaseException as error:  # it is raised where the result is wanted
            found.set_exception(error)

    thread = threading.Thread(target=do, name=f"driver-{step}", daemon=True)
    thread.start()
    try:
        error = found.exception(deadline_s)
    except TimeoutError:
        _end(thread)
        why = f"{step} did not end within {deadline_s:g} s"
        raise DriverError(what, why, remedy) from None
    except BaseException:  # Ctrl-C: nothing of the driver goes on while the lab is removed
        _end(thread)
        thread.join(END_S)
        raise
    if error is None:
        return bounded(found.result())
    if type(error).__module__.partition(".")[0] == "culvert" and isinstance(error, CulvertError):
        raise error
    if isinstance(error, Exception):
        show_if_wanted(error)
    why = f"{step} raised {type(error).__name__}: {text_of(error)}{_raised_at(error)}"
    raise DriverError(what, why, remedy).with_traceback(error.__traceback__) from error


def bounded(value: T, depth: int = 0) -> T:
    """The value with every text in it shortened as those of errors are."""
    made: Any = value
    if isinstance(value, str) and type(value) is str:
        made = shortened(value)
    elif type(value) in (list, tuple) and depth < _DEEPEST:
        made = type(value)(bounded(each, depth + 1) for each in value)  # type: ignore[attr-defined,call-arg]
    elif type(value) is dict and depth < _DEEPEST:
        made = {name: bounded(each, depth + 1) for name, each in value.items()}  # type: ignore[attr-defined]
    return made  # type: ignore[no-any-return]


def _runs(defined: object) -> bool:
    """Whether an attribute of a class is code: a function, a property, another descriptor."""
    if isinstance(defined, staticmethod | classmethod | type):
        return False
    return hasattr(defined, "__get__")


def _door(name: str, defined: Any) -> Any:
    if inspect.isfunction(defined):
        if name.startswith("__") and name != "__init__":
            return defined

        @functools.wraps(defined)
        def called(vpn: Vpn, *given: Any, **named: Any) -> Any:
            return _through(vpn, f"{name}()", lambda: defined(vpn, *given, **named))

        return called

    def looked_up(vpn: Vpn) -> Any:
        return _through(vpn, name, lambda: defined.__get__(vpn, type(vpn)))

    return property(looked_up, getattr(defined, "fset", None), getattr(defined, "fdel", None))


def _through(vpn: Vpn, step: str, work: Callable[[], T]) -> T:
    if getattr(_inside, "door", False):
        return work()
    label = _label(vpn)
    return outside(
        work,
        what=f"the driver of {label}",
        step=step,
        deadline_s=deadline_s(vpn),
        remedy=f"correct the driver; then: culvert vpns check {label}",
    )


def deadline_s(vpn: Vpn) -> float:
    """Of one call, at the present state of the VPN's life."""
    lab = vars(vpn).get("_lab")
    if lab is None:
        return ASKED_S
    waits = [vars(vpn).get(one, getattr(type(vpn), one)) for one in _WAITS]
    longest_s = max(each for each in (*waits, 0.0) if isinstance(each, int | float))
    return STEP_S + WAITS * min(longest_s, MOST_WAIT_S) + len(lab.nodes)


_WAITS = ("up_deadline_s", "rekey_deadline_s")


def _label(vpn: Vpn) -> str:
    """``Vpn.id``, which a driver may define, and which is not there before its __init__()."""
    variant = vars(vpn).get("variant")
    name = type(vpn).name
    base = name if variant is None or variant.name == name else f"{name}/{variant.name}"
    return "+".join((base, *sorted(vars(vpn).get("chosen", ()))))


def _raised_at(error: BaseException) -> str:
    """The innermost line of the driver, not of the importing machinery."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame for frame in frames if not frame.filename.startswith("<frozen ")]
    return f" (raised at {files[-1].filename}:{files[-1].lineno})" if files else ""


def _end(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread, at its next step of Python; one that stays in C goes on, and
    ends with the program."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
        )
