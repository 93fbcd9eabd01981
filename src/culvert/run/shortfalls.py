"""What a study asks of a machine that the machine does not have: its cells would be unsupported."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from culvert.errors import NotPossible
from culvert.labs.vm import inside
from culvert.plan.plan import Plan
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.cpus import cores
from culvert.study.conditions.processors import node_cpus
from culvert.study.lines import Path, line_numbers, nearest_line
from culvert.study.study import Study


@dataclass(frozen=True)
class Machine:
    """What labs are made of. ``cores`` are the CPUs that may be used, by physical core."""

    cores: Sequence[tuple[int, ...]]

    @classmethod
    def here(cls) -> Machine:
        """This machine, or the guest that this process runs in."""
        return cls(inside.processors(cores()))


@dataclass(frozen=True)
class Shortfall:
    """One thing that is missing. ``line`` of the study's text asks for it (None where that is a
    default); ``cells`` of the study's are unsupported for it, in ``conditions``."""

    line: int | None
    what: str
    why: str
    remedy: str
    conditions: tuple[str, ...]
    cells: int

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        count = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        where = ", ".join(self.conditions)
        return (
            f"{place}{self.what}: {self.why}, so {count} ({where}) would be unsupported here: "
            f"{self.remedy}"
        )

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def shortfalls(study: Study, machine: Machine, plan: Plan | None = None) -> list[Shortfall]:
    """What the labs of the study's conditions need and the machine does not have.

    ``plan`` where only a part of the study is meant. Conditions whose cells are lacking anyway
    (``[[lacking]]``) are left out.
    """
    plan = plan or Plan.of(study)
    cells = Counter(cell.condition for cell in plan.cells if cell not in plan.absent)
    found: dict[tuple[int | None, str, str, str], list[str]] = {}
    for condition in cells:
        try:
            study.lab_spec(condition, machine.cores)
        except NotPossible as error:
            line = _line(study, condition, machine)
            found.setdefault((line, error.what, error.why, error.remedy), []).append(condition)
    return [
        Shortfall(*problem, tuple(conditions), sum(cells[one] for one in conditions))
        for problem, conditions in found.items()
    ]


def _line(study: Study, name: str, machine: Machine) -> int | None:
    """Where the study asks for the CPUs of a condition."""
    condition = study.condition(name)
    # A scale leaves conditions out: the text has them all.
    tables = tomllib.loads(study.text).get("condition", [])
    index = next((at for at, table in enumerate(tables) if table.get("name") == name), None)
    key = _key(study, condition, machine)
    path: Path = ("lab", "cpus") if key is None or index is None else ("condition", index, key)
    return nearest_line(line_numbers(study.text), path)


def _key(study: Study, condition: ConditionTable, machine: Machine) -> str | None:
    """The condition's key that cannot be met; None where it is ``cpus`` of ``[lab]``."""
    if condition.router is not None and condition.router.cores is not None:
        try:
            node_cpus(study.file.lab, condition.model_copy(update={"router": None}), machine.cores)
        except NotPossible:
            pass
        else:
            return "router"
    if condition.cores is not None:
        return "cores"
    return "cpus" if condition.cpus is not None else None
