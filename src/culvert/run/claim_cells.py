"""Which cells of a plan a claim needs."""

from __future__ import annotations

import json

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan
from culvert.study.claim_test import VpnSide
from culvert.study.names import BASELINE
from culvert.study.parameters import canonical_json
from culvert.study.study import Study


def cells_of_claim(study: Study, plan: Plan, claim: str) -> frozenset[str]:
    """The keys of all cells that the sides of a claim look at, with their baselines."""
    test = study.tests[claim]
    return frozenset(
        cell.key
        for cell in plan.cells
        if cell.measurement == test.measurement and any(_looks_at(side, cell) for side in test.vpns)
    )


def _looks_at(side: VpnSide, cell: Cell) -> bool:
    if cell.vpn not in (side.vpn, BASELINE):
        return False
    if side.where.condition not in (None, cell.condition):
        return False
    parameters = json.loads(cell.parameters)
    return all(
        key in parameters and canonical_json(parameters[key]) == value
        for key, value in side.where.parameters
    )
