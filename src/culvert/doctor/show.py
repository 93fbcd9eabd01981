"""Doctor's findings on a terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from culvert.doctor.examine import ready
from culvert.machine.check import FeatureCheck, FeatureGroup, FeatureStatus

STYLES = {
    FeatureStatus.PRESENT: "green",
    FeatureStatus.DEGRADED: "yellow",
    FeatureStatus.MISSING: "red",
    FeatureStatus.UNKNOWN: "magenta",
}


def render(checks: Sequence[FeatureCheck]) -> RenderableType:
    """A table for each group, and a summary."""
    parts: list[RenderableType] = []
    for group in FeatureGroup:
        members = [check for check in checks if check.group is group]
        if members:
            parts.append(_table(group, members))
    parts.append(_summary(checks))
    return Stack(*parts)


def _table(group: FeatureGroup, checks: Sequence[FeatureCheck]) -> Table:
    table = Table(title=group.value, title_justify="left", title_style="bold", box=None)
    table.add_column("feature", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("needed by")
    table.add_column("finding and remedy", overflow="fold")
    for check in checks:
        explanation = Text(check.detail)
        if check.remedy is not None:
            explanation.append(f"\n→ {check.remedy}", style="cyan")
        table.add_row(
            check.name,
            Text(check.status.value, style=STYLES[check.status]),
            Text(", ".join(check.needed_by)),
            explanation,
        )
    return table


def _summary(checks: Sequence[FeatureCheck]) -> Text:
    counts = Counter(check.status for check in checks)
    figures = ", ".join(
        f"{counts[status]} {status.value}" for status in FeatureStatus if counts[status]
    )
    if ready(checks):
        return Text(f"\n{figures}. This machine can run the default lab.", style="bold")
    return Text(
        f"\n{figures}. This machine cannot run the default lab: see the remedies.",
        style="bold red",
    )


def as_json(checks: Sequence[FeatureCheck]) -> dict[str, Any]:
    """For programs: ``ready``, and the checks with FeatureCheck's fields as keys."""
    return {"ready": ready(checks), "checks": [asdict(check) for check in checks]}
