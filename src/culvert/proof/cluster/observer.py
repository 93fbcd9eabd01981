"""An observer: a probe in the network of a cluster's node, which captures what leaves it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address

from culvert.errors import CulvertError, LabError
from culvert.probe.client import Probe, Task
from culvert.probe.results import Captured, parse
from culvert.proof.cluster import devices as devices_of
from culvert.proof.cluster.devices import Device
from culvert.proof.cluster.seen import Seen
from culvert.trial.outside import LONG_RUN, capture_parameters

READ_S = 10.0
RECORDED = 5000
"""Packets of an interface that are kept, to find those that carried the marked ones."""
RECORDED_BYTES = 256
"""Of each packet's payload: enough of 40 packets to estimate their entropy."""
Among = Sequence[IPv4Address] | None
"""The ends of the packets to capture; None: of any. All others are searched for the canary too."""


class Observer:
    """``node`` is the name of the cluster's node; ``devices`` are those by which packets leave it,
    if they are known, else they are found. ``known`` are addresses of the node; its others are
    found."""

    def __init__(
        self,
        node: str,
        probe: Probe,
        devices: Sequence[str] = (),
        known: Sequence[IPv4Address] = (),
    ) -> None:
        self.node = node
        self.probe = probe
        self.ends: Collection[int] = ()
        """Indices of the devices here that lead to the trial's pods."""
        self.devices = tuple(devices) or tuple(devices_of.own(*self._look()))
        found = devices_of.local_addresses(self._read([devices_of.TRIE])[devices_of.TRIE] or "")
        self.addresses = tuple(dict.fromkeys([*known, *found]))
        if not self.devices:
            raise LabError(
                f"node {node} of the cluster",
                "it has no device by which packets leave it",
                "report this, with its `ip -d link` and `ip route`",
            )

    def begin(
        self,
        canary: bytes,
        among: Among,
        *,
        record: int,
        sample_one_in: int,
        marked_run: int = LONG_RUN,
    ) -> list[tuple[str, Task]]:
        """Begin to capture on all devices by which packets may leave the node, also on those that
        were added since; returns when all do. Packets with marks have ``marked_run`` bytes of them
        in a row."""
        scope = {} if among is None else {"scope": {"among": [str(one) for one in among]}}
        tasks = [
            (
                device,
                self.probe.begin(
                    "capture",
                    device=device,
                    direction="both",
                    sample_one_in=sample_one_in,
                    record=record,
                    marked_run=marked_run,
                    snaplen_record=RECORDED_BYTES,
                    **capture_parameters(None, canary),
                    **scope,
                ),
            )
            for device in dict.fromkeys([*self.devices, *self._silent()])
        ]
        begun = []
        for device, task in tasks:
            with self._unless_gone(device):
                task.ready()
                begun.append((device, task))
        return begun

    def end(self, tasks: Sequence[tuple[str, Task]]) -> list[Seen]:
        """End captures; returns what each device carried. Of a silent one that went away meanwhile
        nothing is known."""
        seen = []
        for name, task in tasks:
            with self._unless_gone(name):
                seen.append(Seen(self.node, name, parse(Captured, task.stop(READ_S))))
        return seen

    @contextmanager
    def _unless_gone(self, device: str) -> Iterator[None]:
        """Suppress errors of a capture on a device that was only found and is gone: another pod
        ended."""
        try:
            yield
        except CulvertError:
            if device in self.devices or device in self._names():
                raise

    def _silent(self) -> list[str]:
        return devices_of.silent(*self._look(), self.ends)

    def _look(self) -> tuple[list[Device], dict[str, str]]:
        """All devices, and those that are stacked on another one, with the one below."""
        routes = self._read([devices_of.ROUTES])[devices_of.ROUTES] or ""
        files = {name: devices_of.files_of(name) for name in self._names()}
        contents = self._read([path for each in files.values() for path in each.values()])
        found = [
            devices_of.device(name, {what: contents[path] for what, path in each.items()}, routes)
            for name, each in files.items()
        ]
        below = devices_of.below(found)
        there = self._read(list(below.values()))
        return found, {upper: lower for (upper, lower), path in below.items() if there[path]}

    def _names(self) -> list[str]:
        return devices_of.names(self._read([devices_of.DEVICES])[devices_of.DEVICES] or "")

    def _read(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        if not paths:
            return {}
        answer = self.probe.call("read", READ_S, paths=list(paths))
        return {file["path"]: file["text"] for file in answer["files"]}


@contextmanager
def watching(
    observers: Sequence[Observer],
    canary: bytes,
    seen: list[Seen],
    among: Among,
    *,
    record: int = 0,
    sample_one_in: int = 1,
    marked_run: int = LONG_RUN,
) -> Iterator[None]:
    """Capture on all nodes while the body runs, then add to ``seen`` what each device carried;
    after an error of the body what the captures of nodes that still answer show."""
    begun = [
        (
            each,
            each.begin(
                canary, among, record=record, sample_one_in=sample_one_in, marked_run=marked_run
            ),
        )
        for each in observers
    ]
    try:
        yield
    except CulvertError:
        for observer, tasks in begun:
            with suppress(CulvertError):
                seen += observer.end(tasks)
        raise
    for observer, tasks in begun:
        seen += observer.end(tasks)
