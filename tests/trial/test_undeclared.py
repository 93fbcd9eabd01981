"""CPU time of processes that a driver does not declare."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from culvert.labs.netns.node import NetnsNode
from culvert.labs.process import Process
from culvert.probe.client import Probe
from culvert.probe.results import Accounted, parse
from culvert.trial.accounting import UNDECLARED, begin_accounting, cpu_s, of_the_vpn
from culvert.waiting import wait_until
from tests.conftest import LabFactory

WORK = """
import sys, time
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
open(sys.argv[1], "w").close()
time.sleep(60)
"""
CHILDREN = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        end = os.times().user + 0.1
        while os.times().user < end:
            pass
        os._exit(0)
    os.wait()
open(sys.argv[1], "w").close()
sys.stdin.read()
"""


def accounted(
    node: NetnsNode, probe: Probe, declared: Sequence[Process], work: Sequence[str]
) -> Accounted:
    task = begin_accounting(probe, declared, [], node_init=node.init())
    task.ready()
    node.run(work)
    wait_until(lambda: node.exists("/run/done"), what="the end of the work", deadline_s=20)
    return parse(Accounted, task.stop())


@pytest.mark.lab
def test_a_process_that_hides_counts(lab: LabFactory) -> None:
    """Its parent is gone, its session and its environment are its own."""
    node = lab().a
    sleeper = node.daemon(["sleep", "60"], name="vpn")
    script = str(node.write("work.py", WORK))
    hide = 'setsid env -i "$@" >/dev/null 2>&1 </dev/null &'
    with Probe(node) as probe:
        used = accounted(
            node, probe, [sleeper], ["sh", "-c", hide, "sh", sys.executable, script, "/run/done"]
        )
    hidden = [one for one in used.processes if one.label == UNDECLARED and one.run_ns]
    assert len(hidden) == 1
    assert cpu_s(of_the_vpn(used)) >= 0.19


@pytest.mark.lab
def test_children_that_ended_count(lab: LabFactory) -> None:
    node = lab().a
    script = str(node.write("work.py", CHILDREN))
    hide = 'setsid env -i "$@" >/dev/null 2>&1 < /run/open &'
    node.run(["mkfifo", "/run/open"])
    holder = node.spawn(["sh", "-c", "exec sleep 60 > /run/open"], name="instrument-holder")
    with Probe(node) as probe:
        used = accounted(
            node, probe, [], ["sh", "-c", hide, "sh", sys.executable, script, "/run/done"]
        )
    holder.stop()
    assert cpu_s(of_the_vpn(used)) >= 0.25


ORPHANS = """
import os, sys
for _ in range(20):
    worker = os.fork()
    if worker == 0:
        if os.fork() == 0:
            os.setsid()
            while os.times().user < 0.02:
                pass
            os._exit(0)
        os._exit(0)
    os.waitpid(worker, 0)
open(sys.argv[1], "w").close()
"""


@pytest.mark.lab
def test_orphans_that_ended_count(lab: LabFactory) -> None:
    node = lab().a
    script = str(node.write("work.py", ORPHANS))
    with Probe(node) as probe:
        used = accounted(node, probe, [], [sys.executable, script, "/run/done"])
    assert cpu_s(of_the_vpn(used)) >= 0.3


@pytest.mark.lab
def test_the_instrument_does_not_count(lab: LabFactory) -> None:
    node = lab().a
    script = str(node.write("work.py", WORK))
    with Probe(node) as probe:
        work = node.spawn([sys.executable, script, "/run/done"], name="instrument")
        used = accounted(node, probe, [], ["true"])
        work.stop()
    assert cpu_s(of_the_vpn(used)) < 0.1
