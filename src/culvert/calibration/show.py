"""The table of truths on a terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.calibration.rows import CalibrationRow, CalibrationVerdict, passed
from culvert.proof.truth import Judged
from culvert.report.numbers import scale_for

STYLES = {
    CalibrationVerdict.RIGHT: "green",
    CalibrationVerdict.MISSED: "red",
    CalibrationVerdict.NOT_MEASURED: "yellow",
    CalibrationVerdict.NEEDS_VPN: "dim",
}

DIGITS = 4


def render(rows: Sequence[CalibrationRow]) -> RenderableType:
    """A line for each truth, and a summary."""
    table = Table(box=None)
    for column in ("measurement", "metric", "truth", "measured", "right", "verdict"):
        table.add_column(column, no_wrap=column in ("metric", "verdict"))
    before = ""
    for row in rows:
        name, before = row.cell if row.cell != before else "", row.cell
        verdict = Text(row.verdict.value, style=STYLES[row.verdict])
        if row.judged is None:
            table.add_row(name, "", Text(row.reason), "", "", verdict)
        else:
            metric = "\n".join((row.judged.metric, *row.judged.labels.values()))
            table.add_row(name, metric, *_figures(row.judged), verdict)
    return Group(table, _summary(rows))


def _figures(one: Judged) -> tuple[str, str, str]:
    """The truth and what fixes it, the figure, and its margins, all in one unit."""
    known = [value for value in (one.value, one.measured) if value]
    scale = replace(scale_for(one.unit, known), digits=DIGITS)
    truth = scale.text(one.value or 0.0)
    least, most = ("any" if end is None else scale.number(end) for end in (one.least, one.most))
    right = least if least == most else f"{least} to {most}"
    return f"{truth}: {one.because}", scale.text(one.measured), right


def _summary(rows: Sequence[CalibrationRow]) -> Text:
    counts = Counter(row.verdict for row in rows)
    figures = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in CalibrationVerdict if counts[verdict]
    )
    if passed(rows):
        return Text(f"\n{figures}. This machine measures right.", style="bold")
    remedies = dict.fromkeys(row.remedy for row in rows if row.remedy)
    return Text(
        "\n".join(
            (
                f"\n{figures}. Figures of this machine may be wrong: stop other programs, repeat.",
                *(f"remedy: {one}" for one in remedies),
            )
        ),
        style="bold red",
    )


def as_json(rows: Sequence[CalibrationRow]) -> dict[str, Any]:
    """For programs: ``right``, and a row for each truth."""
    return {"right": passed(rows), "truths": [asdict(row) for row in rows]}
