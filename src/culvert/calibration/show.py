"""The table of truths on a terminal, and as JSON.

::

    TCP, a to b, 20M
      goodput_bps      19.07 Mbit/s   19.03 Mbit/s   18.69 to 19.07   right   95.33% ... are payload
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.calibration.rows import CalibrationRow, CalibrationVerdict, passed
from culvert.proof.truth import Judged
from culvert.report.numbers import scale_for
from culvert.units import plural

STYLES: Mapping[str, str] = {
    CalibrationVerdict.RIGHT: "green",
    CalibrationVerdict.MISSED: "red",
    CalibrationVerdict.NOT_MEASURED: "yellow",
    CalibrationVerdict.NEEDS_VPN: "dim",
}

DIGITS = 4
COLUMNS = ("metric", "truth", "measured", "right", "verdict", "what fixes it")
LEAST_OF_WHY = 20
"""Characters of the last column; a terminal without room for them does not have it."""


def render(rows: Sequence[CalibrationRow], seconds: float, width: int) -> RenderableType:
    """A line for each truth below the name of its cell, and a summary that names each that is not
    right; on a terminal of so many characters."""
    known = [row for row in rows if row.judged]
    cells = [
        (cell, [line_of(row) for row in members])
        for cell, members in groupby(known, key=lambda row: row.cell)
    ]
    lines = [COLUMNS, *(line for _, members in cells for line in members)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS) - 1)]
    widths[0] += 2  # the indent below the name of the cell
    left = width - sum(widths) - 2 * len(widths)
    shown = [*widths, left] if left >= LEAST_OF_WHY else widths
    parts: list[RenderableType] = [_grid([COLUMNS], shown, style="bold")]
    for cell, members in cells:
        parts += (Text(cell, style="bold"), _grid(members, shown))
    return Group(*parts, *_findings(rows), _verdict(rows, seconds))


def _grid(lines: Sequence[tuple[str, ...]], widths: Sequence[int], style: str = "") -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for place, each in enumerate(widths):
        grid.add_column(width=each, overflow="fold", style="dim" if place == 5 else "")
    for metric, *others in lines:
        cells = [Text(f"  {metric}"), *map(Text, others)]
        cells[4].stylize(STYLES.get(others[3], ""))
        grid.add_row(*cells[: len(widths)], style=style)
    return grid


def line_of(row: CalibrationRow) -> tuple[str, ...]:
    """The truth, the figure and its margins, all in one unit, and what fixes the truth."""
    one = row.judged
    assert one is not None
    return (_metric(one), *_figures(one), row.verdict.value, one.because)


def _metric(one: Judged) -> str:
    labels = ", ".join(one.labels.values())
    return f"{one.metric}, {labels}" if labels else one.metric


def _figures(one: Judged) -> tuple[str, str, str]:
    known = [value for value in (one.value, one.measured) if value]
    scale = replace(scale_for(one.unit, known), digits=DIGITS)
    least, most = ("any" if end is None else scale.number(end) for end in (one.least, one.most))
    right = least if least == most else f"{least} to {most}"
    return scale.text(one.value or 0.0), scale.text(one.measured), right


def _findings(rows: Sequence[CalibrationRow]) -> Iterator[Text]:
    """A line for each truth that is not right, and for all that need a VPN."""
    for verdict in (CalibrationVerdict.MISSED, CalibrationVerdict.NOT_MEASURED):
        for row in rows:
            if row.verdict is verdict:
                yield Text(f"{verdict.value}: {_words(row)}", style=STYLES[verdict])
    others = [row for row in rows if row.verdict is CalibrationVerdict.NEEDS_VPN]
    if others:
        names = ", ".join(row.cell for row in others)
        verdict = CalibrationVerdict.NEEDS_VPN
        yield Text(f"{verdict.value}: {names}: {others[0].reason}", style=STYLES[verdict])


def _words(row: CalibrationRow) -> str:
    if row.judged is None:
        return f"{row.cell}: {row.reason}"
    _, measured, right = _figures(row.judged)
    words = f"{row.cell}: {_metric(row.judged)} is {measured}, right is {right}"
    return f"{words}; {row.reason}" if row.reason else words


def summary(rows: Sequence[CalibrationRow], seconds: float) -> str:
    """How many truths there are of each verdict."""
    known = [row for row in rows if row.verdict is not CalibrationVerdict.NEEDS_VPN]
    counts = Counter[CalibrationVerdict](row.verdict for row in known)
    figures = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in CalibrationVerdict if counts[verdict]
    )
    minutes, rest = divmod(round(seconds), 60)
    return f"{plural(counts.total(), 'truth')} in {minutes} min {rest} s: {figures}."


def _verdict(rows: Sequence[CalibrationRow], seconds: float) -> Text:
    head = f"\n{summary(rows, seconds)}"
    if passed(rows):
        return Text(f"{head} This machine measures right.", style="bold green")
    if all(row.verdict is not CalibrationVerdict.MISSED for row in rows):
        words = "No truth is missed, but this machine was too busy for some"
        style, remedies = "bold yellow", {row.remedy: None for row in rows if row.remedy}
    else:
        words = "Figures of this machine are wrong where a truth is missed"
        style, remedies = "bold red", {"repeat; if it is missed again, report it": None}
    return Text(
        "\n".join((f"{head} {words}.", *(f"remedy: {one}" for one in remedies))), style=style
    )


def as_json(rows: Sequence[CalibrationRow], seconds: float) -> dict[str, Any]:
    """For programs: ``right``, the seconds that it took, and a row for each truth."""
    return {
        "right": passed(rows),
        "seconds": round(seconds, 1),
        "truths": [asdict(row) for row in rows],
    }


def from_json(found: Mapping[str, Any]) -> tuple[list[CalibrationRow], float]:
    """The rows and the seconds of ``as_json``."""
    rows = [
        CalibrationRow(
            **{
                **each,
                "verdict": CalibrationVerdict(each["verdict"]),
                "judged": each["judged"] and Judged(**each["judged"]),
            }
        )
        for each in found["truths"]
    ]
    return rows, found["seconds"]
