"""Studies before they run: the problems of a file, its outline, and those that are shipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.table import Table
from rich.text import Text

from culvert.errors import CulvertError, StudyError
from culvert.json_text import read_json
from culvert.labs.room import Machine
from culvert.plan.plan import Plan, TimeEstimate
from culvert.plan.warnings import warnings_of
from culvert.report.labels import everything
from culvert.report.numbers import duration
from culvert.run.outlook.expected import estimate_of
from culvert.run.outlook.shortfalls import shortfalls
from culvert.study.catalogue import Catalogue
from culvert.study.shipped import shipped_studies
from culvert.study.study import Study
from culvert.units import plural


def cells_table(study: Study, plan: Plan) -> Table:
    """Each measurement in each condition, with its VPNs."""
    vpns: dict[tuple[str, str, str], list[Text]] = {}
    for cell in plan.cells:
        style = "dim strike" if cell in plan.absent else ""
        row = vpns.setdefault((cell.measurement, cell.condition, cell.parameters), [])
        row.append(Text(cell.vpn, style=style))
    title = Text(study.title, style="bold")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("measurement", "condition", "parameters", "VPNs"):
        table.add_column(column, overflow="fold")
    for (measurement, condition, parameters), names in vpns.items():
        table.add_row(
            measurement, condition, everything(measurement, parameters), Text(", ").join(names)
        )
    return table


def plan_text(plan: Plan, estimate: TimeEstimate) -> str:
    """The number of cells and blocks, the stopping rule and the expected duration of the cells that
    can run."""
    blocks = (
        str(plan.max_blocks)
        if plan.min_blocks == plan.max_blocks
        else f"{plan.min_blocks} to {plan.max_blocks or 'as many as fit'}"
    )
    cells = plural(len(plan.cells), "cell")
    if plan.absent.intersection(plan.cells):
        cells += f", of which {len(plan.present)} can run here"
    blocks += " block" if blocks == "1" else " blocks"
    text = f"{cells}, {blocks} of about {duration(estimate.block_s)}"
    if plan.warmup_blocks:
        text += f" after {plan.warmup_blocks} of warm-up"
    if plan.rule is not None:
        text += f", until {plan.rule}"
    if estimate.max_s == float("inf"):
        return text
    if round(estimate.min_s) == round(estimate.max_s):
        return f"{text}: {duration(estimate.max_s)}"
    return f"{text}: {duration(estimate.min_s)} to {duration(estimate.max_s)}"


def absent_text(study: Study, plan: Plan) -> list[str]:
    """Why cells are unsupported, with their number; one line for each reason."""
    counts = Counter(
        study.lacking.reason(cell.vpn, cell.condition, cell.measurement) for cell in plan.cells
    )
    return [f"{count} unsupported: {reason}" for reason, count in counts.items() if reason]


def outline(
    study: Study,
    plan: Plan,
    estimate: TimeEstimate,
    refused: Mapping[str, CulvertError] = MappingProxyType({}),
) -> dict[str, Any]:
    """The outline for ``--json``; ``refused`` are cells, by key, that cannot run here."""
    return {
        "study": study.name,
        "scale": study.scale or None,
        "cells": [
            {
                "vpn": cell.vpn,
                "condition": cell.condition,
                "measurement": cell.measurement,
                "parameters": cell.parameters.values,
                "unsupported": study.lacking.reason(cell.vpn, cell.condition, cell.measurement)
                or (str(refused[cell.key]) if cell.key in refused else None),
            }
            for cell in plan.cells
        ],
        "min_blocks": plan.min_blocks,
        "max_blocks": plan.max_blocks,
        "until": str(plan.rule) if plan.rule else None,
        "block_s": estimate.block_s,
        "min_s": estimate.min_s,
        "max_s": estimate.max_s if estimate.max_s != float("inf") else None,
    }


def check(names: Sequence[str], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Problems and warnings of each file, with line and remedy."""
    found = []
    for name in names:
        try:
            study = Study.load(name, catalogue)
        except StudyError as error:
            problems = [
                {"what": one.what, "why": one.why, "remedy": one.remedy}
                for one in error.all_problems
            ]
            nothing: dict[str, Any] = {"warnings": [], "shortfalls": []}
            found.append({"study": name, "ok": False, "problems": problems, **nothing})
            continue
        warned = warnings_of(study)
        for scale in study.file.scale:
            smaller = Study.load(name, catalogue, scale=scale)
            warned += [
                f"scale {scale}: {line}" for line in warnings_of(smaller) if line not in warned
            ]
        missing = [one.as_json() for one in shortfalls(study, Machine.here())]
        rest: dict[str, Any] = {"warnings": warned, "shortfalls": missing}
        found.append({"study": name, "ok": True, "problems": [], **rest})
    return found


def as_json(study: Study, catalogue: Catalogue) -> dict[str, Any]:
    """The outline of a study, its claims, published values, warnings and shortfalls."""
    plan = Plan.of(study)
    estimate = estimate_of(study, plan, catalogue)
    return {
        **outline(study, plan, estimate),
        "title": study.title,
        "scales": sorted(study.file.scale),
        "claims": [
            {
                "id": claim.id,
                "text": claim.text,
                "source": claim.source,
                "place": claim.place,
                "test": claim.test,
            }
            for claim in study.file.claim
        ],
        "published": [
            {
                "vpn": one.vpn,
                "measurement": one.measurement,
                "metric": one.metric,
                "condition": one.where.condition,
                "parameters": {key: read_json(value) for key, value in one.where.parameters},
                "value": one.value,
                "unit": one.unit,
                "printed": one.printed,
                "place": one.place,
            }
            for one in study.published
        ],
        "warnings": warnings_of(study),
        "shortfalls": [one.as_json() for one in shortfalls(study, Machine.here())],
    }


def listing(catalogue: Catalogue) -> list[dict[str, Any]]:
    """The shipped studies: name, title, cells, estimate in seconds, scales."""
    found = []
    for name in shipped_studies():
        study = Study.load(name, catalogue)
        plan = Plan.of(study)
        estimate = estimate_of(study, plan, catalogue)
        found.append(
            {
                "name": name,
                "title": study.title,
                "cells": len(plan.cells),
                "claims": len(study.file.claim),
                "max_s": estimate.max_s if estimate.max_s != float("inf") else None,
                "scales": sorted(study.file.scale),
            }
        )
    return found
