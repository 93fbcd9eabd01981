"""Whether something outside interrupted the VPN while it was measured.

What a VPN does by itself (it blocks, pauses, restarts, ends) is in its figures. What others do to
it is not its figure: they stop or freeze its processes, take processors from them, or change the
devices, addresses, routes and queues that it uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from culvert.labs.process import Process
from culvert.probe.results import Accounted
from culvert.probe.results.accounting import (
    Episode,
    Interference,
    Meddling,
    OfDevice,
    OfProcess,
)
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.vpns.base import Vpn

LEFT_ALONE = "nothing outside interrupted the VPN"
INSTRUMENTS_LEFT_ALONE = "nothing outside interrupted the measurement"
MOST_NAMED = 3
"""Episodes in the reason of a trial; the evidence has all."""
_PROCESSES = (
    "find the program that does this (a supervisor, a debugger, a resource manager, a shell), then "
    "repeat the trial"
)
_NETWORK = (
    "find the program that changes the network (a network manager, another VPN), then repeat the "
    "trial"
)


class Stops:
    """Stops of processes from its creation on, however short: the kernel reports each continuation
    to the parent. The VPN's that start later are included; ``instruments`` are what measures and
    what makes the links."""

    def __init__(self, vpn: Vpn, instruments: Iterable[Process] = ()) -> None:
        self._vpn = vpn
        self._instruments = tuple(instruments)
        self._before = {process: process.resumptions() for _, _, process in self._all()}

    def checks(self, halted: Collection[Process] = ()) -> list[Check]:
        """A failed check of each process that was stopped and continued; none if all ran on, or the
        measurement has ``halted`` them."""
        return [
            Check(
                check,
                passed=False,
                detail=f"{process.name} (process {process.pid}){where} was stopped and "
                "continued (SIGSTOP, SIGCONT)",
                remedy=_PROCESSES,
            )
            for check, where, process in self._all()
            if process not in halted and process.resumptions() > self._before.get(process, 0)
        ]

    def _all(self) -> Iterator[tuple[str, str, Process]]:
        for name, processes in self._vpn.processes.items():
            for process in processes:
                yield LEFT_ALONE, f" on node {name}", process
        for process in self._instruments:
            yield INSTRUMENTS_LEFT_ALONE, "", process


def left_alone(outcome: Outcome) -> list[Check]:
    """A check of each watched load."""
    return [left_alone_on({**watched.accounted, **watched.others}) for watched in outcome.watched]


def left_alone_on(accounted: Mapping[str, Accounted]) -> Check:
    """Whether nothing was done on these nodes to the VPN alone: a quota on the probe as well is a
    mark of the trial."""
    seen = {name: one.interference for name, one in accounted.items() if one.interference}
    found = [
        (name, one, episode)
        for name, one in seen.items()
        for episode in one.episodes
        if episode.kind is not Meddling.THROTTLED_TOGETHER
    ]
    said = [in_words(name, one, episode) for name, one, episode in found]
    more = len(said) - MOST_NAMED + sum(one.left_out for one in seen.values())
    parts = said[:MOST_NAMED] or [_coverage(seen)]
    if said and more > 0:
        parts.append(f"and {more} more")
    parts += [
        f"not observed on node {name}: {why}" for name, one in seen.items() for why in one.unseen
    ]
    parts += [f"not observed on node {name}" for name in accounted if name not in seen]
    of_network = bool(found) and not isinstance(found[0][2].subject, OfProcess)
    return Check(
        LEFT_ALONE,
        passed=not found,
        detail="; ".join(parts),
        remedy=_NETWORK if of_network else _PROCESSES,
        figures={name: one.model_dump(mode="json") for name, one in seen.items()},
    )


def _coverage(seen: Mapping[str, Interference]) -> str:
    processes = sum(one.processes for one in seen.values())
    devices = sum(one.devices for one in seen.values())
    gap_ns = max((one.longest_gap_ns for one in seen.values()), default=0)
    return (
        f"{processes} processes, each looked at within {gap_ns / 1e6:.0f} ms, and all changes of "
        f"{devices} devices"
    )


def in_words(node: str, observed: Interference, episode: Episode) -> str:
    """What was done, to what, for how long and when."""
    match episode.subject:
        case OfProcess(process=process):
            subject = f"{process.label} (process {process.pid}) on node {node}"
        case OfDevice(device=device):
            subject = f"{device} on node {node}"
        case _:
            subject = f"node {node}"
    after_s = (episode.start_ns - observed.started_ns) / 1e9
    done = _DONE[episode.kind].format(detail=episode.detail)
    return f"{subject} {done} for {episode.lasted_ns / 1e9:.3f} s, {after_s:.2f} s after the start"


_DONE = {
    Meddling.STOPPED: "was stopped (SIGSTOP or a tracer)",
    Meddling.FROZEN: "was frozen with the control group {detail}",
    Meddling.THROTTLED: "got no processor from the quota of the control group {detail}",
    Meddling.THROTTLED_TOGETHER: "got no processor from the quota of the control group {detail}",
    Meddling.DEVICE_DOWN: "was down",
    Meddling.NO_CARRIER: "had no carrier",
    Meddling.MTU: "had another MTU ({detail})",
    Meddling.SETTINGS: "had other settings ({detail})",
    Meddling.ADDRESS: "lacked its address {detail}",
    Meddling.ROUTE: "had other routes ({detail})",
    Meddling.QUEUE: "had another queue ({detail})",
}
