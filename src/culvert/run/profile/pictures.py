"""Flame graphs of a run's profiles, and of the differences between VPNs, as SVG files."""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from pathlib import Path

from culvert.errors import CulvertError
from culvert.files.target import write
from culvert.machine.remedies import INFERNO
from culvert.plan.plan import Cell, Trial
from culvert.report.labels import Labels
from culvert.report.views.profiles import FOLDER
from culvert.run.profile.perf import DEADLINE_S, KERNEL, Perf, Stacks, in_time
from culvert.study.vpn_id import BASELINE
from culvert.tools import require

PROBE = "culvert-probe"
_SHAPE = ("--minwidth", "0.2", "--width", "1200", "--quiet")


class Profiles:
    """Records the profile of each trial, and draws all of them at the end."""

    def __init__(self, perf: Perf, labels: Labels) -> None:
        self._perf = perf
        self._labels = labels
        self._draw = str(require("inferno-flamegraph", INFERNO))
        self._found: dict[Cell, Stacks] = {}
        self._one = threading.Lock()

    def around(self, trial: Trial) -> Callable[[], AbstractContextManager[None]]:
        @contextmanager
        def recorded() -> Iterator[None]:
            # Paths that are measured at the same time share one profile.
            if not self._one.acquire(blocking=False):
                yield
                return
            try:
                with self._perf.record(self._found.setdefault(trial.cell, Stacks())):
                    yield
            finally:
                self._one.release()

        return recorded

    def discard(self, cell: Cell) -> None:
        """The trial failed: its profile shows something else."""
        self._found.pop(cell, None)

    def write(self, directory: Path) -> list[Path]:
        """Every profile as a flame graph and as folded stacks, and the differences between the
        VPNs of a cell. Raises CulvertError, OSError."""
        made: dict[str, bytes] = {}
        # An idle trial has no sample of its programs.
        found = {cell: stacks for cell, stacks in self._found.items() if stacks}
        for cell, stacks in found.items():
            name, folded = _name(cell, cell.vpn), _text(stacks)
            made[f"{name}.folded"] = folded
            made[f"{name}.svg"] = self._picture(folded, self._title(cell, cell.vpn))
        for one, other in _pairs(list(found)):
            subtracted = difference(found[one], found[other])
            both = f"{one.vpn} to {other.vpn}"
            title = f"{self._title(one, both)}: red is more, blue is less"
            made[f"{_name(one, one.vpn, other.vpn)}.svg"] = self._picture(subtracted, title)
        for name, content in made.items():
            write(directory / FOLDER / name, content)
        return [directory / FOLDER / name for name in made]

    def _title(self, cell: Cell, who: str) -> str:
        return f"{who}, {self._labels.cell(cell.condition, cell.measurement, cell.parameters)}"

    def _picture(self, folded: bytes, title: str) -> bytes:
        command = [self._draw, *_SHAPE, "--deterministic", "--title", title]
        return _output(command, folded)


def difference(before: Stacks, after: Stacks) -> bytes:
    """Each stack with both counts, the first scaled to the total of the second, as
    ``inferno-diff-folded --normalize`` writes them. The VPNs' programs get one name."""
    before, after = _renamed(before), _renamed(after)
    scale = after.total() / max(1, before.total())
    stacks = sorted(before.keys() | after.keys())
    lines = (f"{one} {round(before[one] * scale)} {after[one]}\n" for one in stacks)
    return "".join(lines).encode()


def _renamed(stacks: Stacks) -> Stacks:
    found = Stacks()
    for stack, count in stacks.items():
        program, _, frames = stack.partition(";")
        found[stack if program in (KERNEL, PROBE) else f"VPN;{frames}"] += count
    return found


def _pairs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Two VPNs in one condition and measurement, without the baseline."""
    for one, other in combinations(cells, 2):
        if BASELINE not in (one.vpn, other.vpn) and one.context == other.context:
            yield one, other


def _name(cell: Cell, *vpns: str) -> str:
    place = (cell.measurement, cell.condition, cell.parameters)
    short = hashlib.sha256(repr(place).encode()).hexdigest()[:6]
    plain = [re.sub(r"[^A-Za-z0-9+]+", "-", vpn) for vpn in vpns]
    return "--".join([f"{cell.measurement}-{short}", *plain])


def _text(stacks: Stacks) -> bytes:
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items())).encode()


def _output(command: Sequence[str], given: bytes) -> bytes:
    program = Path(command[0]).name
    with in_time(program):
        done = subprocess.run(
            command, input=given, capture_output=True, timeout=DEADLINE_S, check=False
        )
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip()[-200:]
        raise CulvertError(program, said or "no output", INFERNO)
    return done.stdout
