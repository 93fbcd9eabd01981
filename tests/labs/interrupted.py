"""A program for tests: make a lab, work in it, leave it, and die at a chosen moment.

``python -m tests.labs.interrupted RUN_ID TOPOLOGY SIGNAL CALL`` sends itself SIGNAL at the CALLth
call of a function of ``culvert.labs``, in whatever thread. With CALL 0 it lives, and prints how
many calls there were.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from culvert.labs import base
from culvert.labs.netns import lab as netns
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import pair, routed
from culvert.topology.spec import LabSpec

TOPOLOGIES = {made.name: made for made in (pair(), routed())}
LABS = str(Path(base.__file__).parent)


class Moment:
    """Counts calls, and sends the signal at the chosen one."""

    def __init__(self, number: signal.Signals, call: int) -> None:
        self.number = number
        self.call = call
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(LABS):
            return
        with self.lock:
            self.calls += 1
            now = self.calls == self.call
        if now:
            os.kill(os.getpid(), self.number)


def main(run_id: str, topology: str, number: str, call: str) -> None:
    """Live through a lab's life."""
    moment = Moment(signal.Signals[number], int(call))
    threading.setprofile(moment)
    sys.setprofile(moment)
    spec = LabSpec(topology=TOPOLOGIES[topology], link=LinkSpec(rate_bps=10**9))
    with netns.NetnsLab(run_id, spec) as lab:
        lab.a.write("key", "secret", secret=True)
        lab.a.spawn(["sleep", "1000"], name="sleeper")
        lab.b.run(["sh", "-c", "setsid sleep 1000 </dev/null >/dev/null 2>&1 &"])
        lab.b.add_link("t0", "veth", peer="t1")
    sys.setprofile(None)
    threading.setprofile(None)
    print(moment.calls)


if __name__ == "__main__":
    main(*sys.argv[1:])
