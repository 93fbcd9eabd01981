"""What the claims of a study need from a run: cells, and figures that can be compared here."""

from __future__ import annotations

from collections.abc import Iterable

from culvert.analysis.line import Line, line_of
from culvert.errors import CulvertError
from culvert.labs.guest import guest
from culvert.plan.plan import Cell, Plan
from culvert.study.claims.test import VpnSide
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE
from culvert.vpns import registry


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


def line_here(vpns: Iterable[str]) -> Line:
    """The line for measurements of this process."""
    found = guest()
    if found is None:
        return line_of("", {})
    paths = ((vpn, _data_path(vpn)) for vpn in vpns)
    return line_of(found.not_comparable, {vpn: path for vpn, path in paths if path is not None})


def _data_path(vpn: str) -> str | None:
    """The data path of a VPN; None if the VPN cannot be used here."""
    try:
        return str(registry.of_study(vpn).data_path)
    except CulvertError:
        return None
