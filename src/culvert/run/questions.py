"""The questions of a study that a run has not answered yet, and the cells that they need."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import polars as pl

from culvert.analysis.claims.judge import judge
from culvert.analysis.column import Columns
from culvert.analysis.declared import figures
from culvert.analysis.design import Design
from culvert.analysis.headline import compared, medians
from culvert.analysis.line import Line, line_of
from culvert.analysis.observations import observations
from culvert.analysis.summary import summarise_observed
from culvert.errors import CulvertError
from culvert.labs.guest import guest
from culvert.plan.plan import Cell, Plan
from culvert.plan.stopping import Open, OpenQuestions
from culvert.study.claims.test import VpnSide
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE, bare
from culvert.vpns import registry


def open_questions(study: Study, plan: Plan, rows: pl.DataFrame, line: Line) -> OpenQuestions:
    """Those of the plan's rule. ``rows`` are the journal's; ``plan`` has the cells that can still
    be measured. A question that no practical number of repetitions would answer is not waited for.
    """
    rule = plan.rule
    return OpenQuestions(
        _open_claims(study, plan, rows, line) if rule is not None and rule.claims else {},
        _open_ranks(study, plan, rows, line) if rule is not None and rule.ranks else {},
    )


def _open_claims(study: Study, plan: Plan, rows: pl.DataFrame, line: Line) -> Open:
    judged = judge(study, rows, line=line)
    waiting = [one.id for one in judged if not one.decided and not one.hopeless]
    cells = {name: cells_of_claim(study, plan, name) for name in waiting}
    return {name: keys for name, keys in cells.items() if keys}


def _open_ranks(study: Study, plan: Plan, rows: pl.DataFrame, line: Line) -> Open:
    """Of the figures for which a report names a best VPN: the title, and the cells of VPNs that
    are not shown to differ."""
    design = Design.of(study.file.model_dump(mode="json", include={"plan"}))
    observed = observations(rows).filter(pl.col("metric").is_in(sorted(figures())))
    columns = Columns(observed, design, line)
    vpns = sorted({cell.vpn for cell in plan.cells})
    summary = summarise_observed(observed, looks=design.looks)
    headlines = compared(medians(rows, vpns, summary), observed, columns)
    found: dict[str, frozenset[str]] = {}
    for question in chain.from_iterable(one.questions for one in headlines):
        decision = columns.of(question.figure)
        unknown = {
            vpn
            for vpns, pair in decision.pairs.items()
            if not any(map(bare, vpns)) and not pair.apart and pair.more is not None
            for vpn in vpns
        }
        if unknown and question.column.superlative:
            name = f"{question.column.superlative} ({question.condition})"
            found[name] = frozenset(
                cell.key
                for cell in plan.cells
                if cell.context == (question.condition, question.measurement, question.parameters)
                and cell.vpn in {*unknown, BASELINE}
            )
    return {name: keys for name, keys in found.items() if keys}


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
