"""The cells of a plan that a claim needs."""

from __future__ import annotations

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan
from culvert.study.claims.test import VpnSide
from culvert.study.study import Study
from culvert.study.table import BASELINE


def cells_of_claim(study: Study, plan: Plan, claim: str) -> frozenset[str]:
    """The keys of all cells that the sides of a claim refer to, with their baselines.

    Empty if the plan has no cell for one of the sides: no repetition can then decide the claim.
    """
    test = study.tests[claim]
    here = [cell for cell in plan.cells if cell.measurement == test.measurement]
    for side in test.vpns:
        if not any(cell.vpn == side.vpn and _refers_to(side, cell) for cell in here):
            return frozenset()
    return frozenset(cell.key for cell in here if any(_refers_to(side, cell) for side in test.vpns))


def _refers_to(side: VpnSide, cell: Cell) -> bool:
    if cell.vpn not in (side.vpn, BASELINE):
        return False
    if side.where.condition not in (None, cell.condition):
        return False
    return all(cell.parameters.has(key, value) for key, value in side.where.parameters)
