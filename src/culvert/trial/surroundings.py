"""What disturbed a trial from outside: other programs, a hypervisor, heat, a clock that was set.

Nothing of it makes a trial invalid: it is recorded, and beyond a bound the trial is marked. The
report shows figures with and without marked trials.
"""

from __future__ import annotations

from collections.abc import Mapping

from culvert.journal.marks import Disturber, Mark
from culvert.machine.cgroup import is_of_a_lab
from culvert.metrics import EVERY_TRIAL
from culvert.probe.results import Accounted
from culvert.probe.results.accounting import Meddling
from culvert.results import measured
from culvert.trial.outcome import Outcome

MOST_FOREIGN = 0.05
"""Share of the machine's CPU time that other programs may use."""
MOST_STOLEN = 0.02
"""Share of the machine's CPU time that a hypervisor may take."""
MOST_BY_QUOTA = 0.02
"""Share of a trial's CPU time that a quota on Culvert and the VPN together may take."""
LONGEST_STEP_NS = 1_000_000
"""A step of CLOCK_REALTIME by more than this."""


def add_surroundings(
    outcome: Outcome, accounted: Mapping[str, Accounted], *, shared_kernel: bool
) -> None:
    """Of both ends of a path, the source first; of one of them where both have one kernel."""
    first, *_ = accounted
    nodes = [accounted[first]] if shared_kernel else list(accounted.values())
    room_s = sum(node.seconds * len(node.cpus) for node in nodes)
    stolen_s = sum(cpu.steal_s for node in nodes for cpu in node.cpus)
    kernels = {"": nodes[0]} if shared_kernel else accounted
    foreign = {name: one.foreign_s for name, one in kernels.items() if one.foreign_s is not None}
    step_ns = max((node.disturbance.clock_step_ns for node in nodes), key=abs)
    counted = [node.disturbance.throttled for node in nodes]
    throttled = [count for count in counted if count is not None]
    values = {
        "clock_step_us": step_ns / 1e3,
        "cpu_throttled": sum(throttled) if throttled else None,
    }
    outcome.metrics += measured(EVERY_TRIAL, values)
    for name, node in ({"machine": nodes[0]} if shared_kernel else accounted).items():
        for cpu, hertz in node.disturbance.frequency_hz.items():
            labels = {"node": name, "cpu": str(cpu)}
            outcome.metrics += measured(EVERY_TRIAL, {"core_frequency_hz": hertz}, labels)
    for name, used_s in foreign.items():
        labels = {"node": name} if name else {}
        outcome.metrics += measured(EVERY_TRIAL, {"cpu_other_processes_s": used_s}, labels)
    shares = [
        _share(used_s, kernels[name].seconds * len(kernels[name].cpus))
        for name, used_s in foreign.items()
    ]
    marks = (
        Mark(Disturber.FOREIGN, max(shares, default=0.0), MOST_FOREIGN),
        Mark(Disturber.STEAL, _share(stolen_s, room_s), MOST_STOLEN),
        Mark(Disturber.QUOTA, max(map(_by_quota, nodes), default=0.0), MOST_BY_QUOTA),
        Mark(Disturber.CLOCK, abs(step_ns), LONGEST_STEP_NS),
        Mark(Disturber.HEAT, sum(throttled), 0),
    )
    outcome.marks += [mark for mark in marks if mark.value > mark.bound]


def _by_quota(node: Accounted) -> float:
    """Not that of a group which a lab made: it is the condition's."""
    lost_ns = [
        episode.lasted_ns
        for episode in (node.interference.episodes if node.interference else ())
        if episode.kind is Meddling.THROTTLED_TOGETHER and not is_of_a_lab(episode.detail)
    ]
    return _share(max(lost_ns, default=0) / 1e9, node.seconds * len(node.cpus))


def _share(seconds: float, room_s: float) -> float:
    return seconds / room_s if room_s > 0 else 0.0
