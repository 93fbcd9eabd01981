"""What a run leaves in a cluster if its controller is lost: found by its label, and removed.

A run is lost if its controller was a process of this machine and has ended; one of another machine
if its last pod reached its time limit long ago. Without a controller pods end by their time limit;
the rest (namespaces, a config map, a service) is removed by the next run or by ``culvert clean``.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from culvert.errors import LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import Http
from culvert.labs.kubernetes.pods import manifests, namespaces

SLACK_S = manifests.LIMIT_S
"""After a run's last pod should have ended, before it counts as lost."""


@dataclass(frozen=True)
class Controller:
    """The process that drives a run: its start and the boot distinguish it from later ones of the
    same id; ``processes`` is the number of its PID namespace."""

    pid: int
    start_ticks: int
    boot: str
    processes: int

    @classmethod
    def this(cls) -> Controller:
        """This process; raises LabError where /proc does not show it."""
        me = _process(os.getpid())
        if me is None:
            raise LabError("/proc", "does not show this process", "mount proc on /proc")
        return me

    @classmethod
    def parse(cls, text: str) -> Controller | None:
        """From an annotation; None if it is not understood."""
        with suppress(ValueError):
            pid, ticks, boot, number = text.split(".")
            return cls(int(pid), int(ticks), boot, int(number))
        return None

    def lives(self) -> bool | None:
        """None for one of another machine or container, whose processes are not seen here."""
        here = Controller.this()
        if (self.boot, self.processes) != (here.boot, here.processes):
            return None
        return self == _process(self.pid)

    def __str__(self) -> str:
        return f"{self.pid}.{self.start_ticks}.{self.boot}.{self.processes}"


def _process(pid: int) -> Controller | None:
    """One that is seen here; None if it has ended."""
    try:
        # The name of the program, field 2, may hold spaces and parentheses.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Controller(pid, int(fields[19]), boot, Path("/proc/self/ns/pid").stat().st_ino)


@dataclass(frozen=True)
class RunHere:
    """What a run has in a cluster: its namespaces, and the one of its config map."""

    run_id: str
    namespaces: tuple[str, ...]
    home: str
    controller: Controller | None
    expires_s: float
    """Unix time at which its last pod reaches its limit."""

    @property
    def lost(self) -> bool:
        lives = None if self.controller is None else self.controller.lives()
        return time.time() > self.expires_s + SLACK_S if lives is None else not lives

    @property
    def names(self) -> list[str]:
        in_theirs = [] if self.home in self.namespaces else [f"{self.home}/{self._owner}"]
        return [*self.namespaces, *in_theirs]

    @property
    def _owner(self) -> str:
        return manifests.owner_name(self.run_id)

    def remove(self, api: Api) -> None:
        """Delete it; in a namespace of the user's the config map, with all that it owns."""
        namespaces.delete(api, self.namespaces)
        if self.home not in self.namespaces:
            delete = api.core.delete_namespaced_config_map
            api.delete(f"config map {self._owner}", delete, self._owner, self.home)


def runs_in(api: Api, theirs: str | None = None) -> list[RunHere]:
    """The runs that have something in the cluster; ``theirs`` is a namespace of the user's in which
    runs are looked for too. None without the right to list namespaces."""
    things: dict[str, list[Any]] = defaultdict(list)
    spaces = _labelled(api, "the namespaces", api.core.list_namespace)
    maps = [] if theirs is None else _config_maps(api, theirs)
    for thing in (*spaces, *maps):
        if thing.metadata.deletion_timestamp is None:
            things[thing.metadata.labels.get(manifests.RUN, "")].append(thing)
    return [_run(api, run_id, found) for run_id, found in sorted(things.items()) if run_id]


def remove_lost(
    api: Api, theirs: str | None = None, *, every: bool = False, wait: bool = True
) -> list[str]:
    """Remove what lost runs left, or with ``every`` of all runs; returns the names."""
    lost = [run for run in runs_in(api, theirs) if every or run.lost]
    for run in lost:
        run.remove(api)
    if wait:
        namespaces.await_gone(api, [name for run in lost for name in run.namespaces])
    return [name for run in lost for name in run.names]


def _run(api: Api, run_id: str, things: Sequence[Any]) -> RunHere:
    marks: dict[str, str] = {}
    for thing in things:
        marks |= thing.metadata.annotations or {}
    spaces = [each.metadata.name for each in things if each.metadata.namespace is None]
    maps = [each for each in things if each.metadata.namespace is not None]
    home = maps[0].metadata.namespace if maps else marks.get(manifests.HOME, "")
    if home and not maps:
        for found in _config_maps(api, home, run_id):
            marks |= found.metadata.annotations or {}
    newest_s = max(each.metadata.creation_timestamp.timestamp() for each in things)
    expires_s = newest_s + manifests.LIMIT_S
    with suppress(ValueError):
        expires_s = float(marks.get(manifests.EXPIRES, expires_s))
    controller = Controller.parse(marks.get(manifests.CONTROLLER, ""))
    return RunHere(run_id, tuple(spaces), home, controller, expires_s)


def _config_maps(api: Api, namespace: str, run_id: str = "") -> list[Any]:
    what, list_maps = f"the config maps of {namespace}", api.core.list_namespaced_config_map
    return _labelled(api, what, list_maps, namespace, run_id=run_id)


def _labelled(api: Api, what: str, request: Any, *args: str, run_id: str = "") -> list[Any]:
    label = f"{manifests.MANAGED}={manifests.MANAGER}" + (
        f",{manifests.RUN}={run_id}" if run_id else ""
    )
    found = api.call_unless(Http.FORBIDDEN, what, request, *args, label_selector=label)
    return [] if found is None else list(found.items)
