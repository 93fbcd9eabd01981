"""Notes at the end of a run: cells without the precision that the plan requests, and the reason."""

from __future__ import annotations

from culvert.plan.plan import Cell, Plan
from culvert.plan.stopping import Decision


def notes_on(plan: Plan, decision: Decision) -> list[str]:
    """One line for each imprecise cell, and one for the claims that are not decided."""
    cells = {cell.key: cell for cell in plan.cells}
    notes = [
        f"{_named(cells[key], plan)} {precision}"
        for key, precision in decision.imprecise.items()
        if key in cells
    ]
    if decision.claims:
        names = ", ".join(sorted(decision.claims))
        notes.append(f"claims not decided at the last check: {names}")
    return notes


def _named(cell: Cell, plan: Plan) -> str:
    """The cell with the parameters that distinguish it from others of its measurement."""
    own = cell.parameters.values
    others = [
        other.parameters.values for other in plan.cells if other.measurement == cell.measurement
    ]
    differing = [
        f"{key} {value}"
        for key, value in own.items()
        if any(other.get(key) != value for other in others)
    ]
    words = [cell.vpn, cell.measurement, *differing]
    if len({other.condition for other in plan.cells}) > 1:
        words.append(cell.condition)
    return " ".join(words)
