"""What a run says when it ends: which cells are not as well known as the plan asked, and why."""

from __future__ import annotations

import json

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan
from culvert.plan.stopping import Decision


def notes_on(plan: Plan, decision: Decision) -> list[str]:
    """One line a cell that is not precise, and one for the claims that are still open."""
    cells = {cell.key: cell for cell in plan.cells}
    notes = [
        f"{_named(cells[key], plan)} {precision}"
        for key, precision in decision.imprecise.items()
        if key in cells
    ]
    if decision.claims:
        notes.append(f"claims not decided at the last look: {', '.join(sorted(decision.claims))}")
    return notes


def _named(cell: Cell, plan: Plan) -> str:
    """The cell with the parameters that tell it from others of its measurement."""
    own = json.loads(cell.parameters)
    others = [
        json.loads(other.parameters)
        for other in plan.cells
        if other.measurement == cell.measurement
    ]
    told = [
        f"{key} {value}"
        for key, value in own.items()
        if any(other.get(key) != value for other in others)
    ]
    words = [cell.vpn, cell.measurement, *told]
    if len({other.condition for other in plan.cells}) > 1:
        words.append(cell.condition)
    return " ".join(words)
