"""What goes wrong in the middle of a trial of the soak, and what its reason must then name."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from culvert.errors import CulvertError
from culvert.journal.marks import Disturber
from culvert.trial.session import Session
from tests.soak.clock import Clock

LATEST_S = 0.4
"""After the start of the measurement; what has ended by then is hit at its end."""


class Fault(StrEnum):
    """A kind of fault."""

    NONE = "none"
    KILL_VPN = "kill a VPN's process"
    STOP_VPN = "stop a VPN's process"
    KILL_PROBE = "kill a probe"
    STOP_PROBE = "stop a probe"
    KILL_WIRE = "kill the wire"
    STOP_WIRE = "stop the wire"
    CUT_LINK = "cut the link"
    FULL_DISK = "fill the journal's disk"
    SET_CLOCK = "set the clock"


WEIGHTS = {
    Fault.NONE: 8,
    Fault.KILL_VPN: 4,
    Fault.STOP_VPN: 3,
    Fault.KILL_PROBE: 4,
    Fault.STOP_PROBE: 1,
    Fault.KILL_WIRE: 1,
    Fault.STOP_WIRE: 1,
    Fault.CUT_LINK: 3,
    Fault.FULL_DISK: 4,
    Fault.SET_CLOCK: 3,
}
"""How often each is chosen: trials whose programs are stopped wait for deadlines."""
SIGNALS = {
    Fault.KILL_VPN: signal.SIGKILL,
    Fault.KILL_PROBE: signal.SIGKILL,
    Fault.KILL_WIRE: signal.SIGKILL,
    Fault.STOP_VPN: signal.SIGSTOP,
    Fault.STOP_PROBE: signal.SIGSTOP,
    Fault.STOP_WIRE: signal.SIGSTOP,
}
STEPS_NS = (-3600 * 10**9, -50_000_000, 50_000_000, 3600 * 10**9)
BETWEEN_STEPS_S = 0.03
HOW = {signal.SIGKILL: "was killed (SIGKILL)", signal.SIGSTOP: "is stopped"}


@dataclass
class Inflicted:
    """What was done, filled in when it was: names that the reason must hold. Empty if nothing was
    hit, such as a process of a VPN that has none. ``clock`` is that of the lab's programs, if it
    can be set."""

    fault: Fault
    clock: Clock | None = None
    words: list[str] = field(default_factory=list)


@contextmanager
def inflicting(inflicted: Inflicted, session: Session, chance: random.Random) -> Iterator[None]:
    """Do it at a random moment of the body, at its end at the latest."""
    if inflicted.fault is Fault.SET_CLOCK:
        with _stepping(inflicted, chance.choice(STEPS_NS)):
            yield
        return
    act = _action(inflicted, session, chance)
    done = threading.Event()

    def once() -> None:
        if not done.is_set():
            done.set()
            act()

    timer = threading.Timer(chance.uniform(0, LATEST_S), once)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        once()


def _action(inflicted: Inflicted, session: Session, chance: random.Random) -> Callable[[], None]:
    match inflicted.fault:
        case Fault.NONE | Fault.FULL_DISK:
            return lambda: None
        case Fault.CUT_LINK:
            return _cut(inflicted, session, chance)
    name, pid = _victim(inflicted.fault, session, chance)
    if pid is None:
        return lambda: None
    number = SIGNALS[inflicted.fault]

    def hit() -> None:
        os.kill(pid, number)
        inflicted.words += [name, HOW[number]]

    return hit


def _victim(fault: Fault, session: Session, chance: random.Random) -> tuple[str, int | None]:
    match fault:
        case Fault.KILL_PROBE | Fault.STOP_PROBE:
            name = chance.choice(list(session.ends))
            return f"the probe on node {name}", session.ends[name].process.pid
        case Fault.KILL_WIRE | Fault.STOP_WIRE:
            pids = [one.pid for one in session.lab.programs]
            return "the wire (culvert-wire)", next(iter(pids), None)
    running = [one for each in session.vpn.processes.values() for one in each]
    if not running:
        return "", None
    process = chance.choice(running)
    return process.name, process.pid


@contextmanager
def _stepping(inflicted: Inflicted, step_ns: int) -> Iterator[None]:
    """Set the clock on and on in one direction: whatever part of the body is measured has a step
    in it."""
    clock = inflicted.clock
    assert clock is not None
    over = threading.Event()

    def steps() -> None:
        while not over.wait(BETWEEN_STEPS_S):
            clock.step(step_ns)

    thread = threading.Thread(target=steps)
    thread.start()
    inflicted.words.append(Disturber.CLOCK)
    try:
        yield
    finally:
        over.set()
        thread.join()


def _cut(inflicted: Inflicted, session: Session, chance: random.Random) -> Callable[[], None]:
    node = chance.choice([session.source, session.target])

    def cut() -> None:
        try:
            node.set_link(node.underlay.device, up=False)
        except CulvertError:
            return  # the node is gone: the trial has ended
        inflicted.words += [f"the link of node {node.name}", "is down"]

    return cut
