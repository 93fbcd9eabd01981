"""``culvert study``: what it prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from culvert.console import err, out
from culvert.labs.room import Machine
from culvert.plan.plan import Plan
from culvert.plan.warnings import warnings_of
from culvert.report.numbers import duration
from culvert.run.outlook import studies
from culvert.run.outlook.expected import estimate_of
from culvert.run.outlook.shortfalls import Shortfall, shortfalls
from culvert.study.catalogue import Catalogue
from culvert.study.json_schema import json_schema
from culvert.study.study import Study
from culvert.units import plural


def show_checked(found: Sequence[dict[str, Any]]) -> None:
    """Print the outcome of ``check``: problems go to standard error, like errors."""
    for one in found:
        for problem in one["problems"]:
            err.print(f"{problem['what']}: {problem['why']}", markup=False, style="bold red")
            err.print(f"  remedy: {problem['remedy']}", markup=False)
        missing = [str(Shortfall(**each)) for each in one["shortfalls"]]
        for line in (*one["warnings"], *missing):
            out.print(f"{one['study']}: warning: {line}", markup=False, style="yellow")
        if one["ok"]:
            out.print(f"{one['study']}: valid", markup=False, style="green")
        else:
            count = plural(len(one["problems"]), "problem")
            err.print(f"{one['study']}: {count}", markup=False)


def show(study: Study, catalogue: Catalogue) -> None:
    """Print the outline of a study, its claims, published values and warnings."""
    plan = Plan.of(study)
    estimate = estimate_of(study, plan, catalogue)
    out.print(studies.cells_table(study, plan))
    for line in studies.absent_text(study, plan):
        out.print(line, markup=False, style="dim")
    out.print()
    out.print(f"Plan: {studies.plan_text(plan, estimate)}", markup=False)
    for scale in study.file.scale if not study.scale else ():
        smaller = Study.parse(study.text, catalogue, scale=scale, directory=None)
        fewer = Plan.of(smaller)
        text = studies.plan_text(fewer, estimate_of(smaller, fewer, catalogue))
        out.print(f"  --scale {scale}: {text}", markup=False)
    if study.file.claim:
        out.print()
        out.print(_claims(study))
    if study.published:
        out.print()
        out.print(_published(study))
    for line in (*warnings_of(study), *map(str, shortfalls(study, Machine.here()))):
        out.print(f"warning: {line}", markup=False, style="yellow")


def _claims(study: Study) -> Table:
    title = Text(plural(len(study.file.claim), "claim"), style="bold")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("id", "claim", "source", "test"):
        table.add_column(column, overflow="fold")
    for claim in study.file.claim:
        source = ", ".join(filter(None, (claim.source, claim.place)))
        table.add_row(*map(Text, (claim.id, claim.text, source, claim.test or "none")))
    return table


def _published(study: Study) -> Table:
    """The number of values in each place; ``--json`` has the values."""
    places = Counter((one.place, one.measurement, one.metric) for one in study.published)
    title = Text(plural(len(study.published), "published value"), style="bold")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("place", "metric", "values"):
        table.add_column(column, overflow="fold")
    for (place, measurement, metric), many in places.items():
        table.add_row(*map(Text, (place, f"{measurement}.{metric}", str(many))))
    return table


def show_list(found: Sequence[dict[str, Any]]) -> None:
    """Print the shipped studies as a table."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("study", "title", "cells", "claims", "longest duration", "scales"):
        table.add_column(column, overflow="fold")
    for one in found:
        takes = "no limit" if one["max_s"] is None else duration(one["max_s"])
        words = (one["name"], one["title"], one["cells"], one["claims"], takes)
        table.add_row(*(Text(str(word)) for word in (*words, ", ".join(one["scales"]))))
    out.print(table)


def schema_text(catalogue: Catalogue) -> str:
    """The JSON schema as written to docs/study.schema.json."""
    return json.dumps(json_schema(catalogue), indent=1, sort_keys=True, ensure_ascii=False)
