"""A history for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from culvert.compare.words import STYLES
from culvert.fitting import Fitting
from culvert.history.outcome import History
from culvert.history.series import Series
from culvert.history.words import METHOD, NO_SHIFT, labels_of, metric_title, scale_of, shifts_of
from culvert.report.labels import Labels
from culvert.statistics.change_points import SHORTEST

_BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_WIDTH = 24


def render(history: History) -> RenderableType:
    """A table for each study and machine, the changes below it."""
    parts: list[RenderableType] = []
    for (study, machine), group in groupby(history.series, lambda one: (one.study, one.machine)):
        series = list(group)
        labels = labels_of(series)
        parts += [Text.assemble((study, "bold"), f"  {machine}"), Fitting(_table(series, labels))]
        parts += _shifts(series, labels)
        parts.append(Text())
    if not parts:
        parts.append(Text("No run has a trial that counts."))
    parts.append(Text(METHOD, "dim"))
    return Group(*parts)


def _table(series: Sequence[Series], labels: Labels) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in ("VPN", "cell", "metric"):
        table.add_column(name, overflow="fold")
    table.add_column("runs", justify="right")
    table.add_column("course", no_wrap=True)
    for name in ("first level", "now"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("last change", overflow="fold")
    for one in series:
        scale, levels = scale_of(one), one.levels
        texts = [one.vpn, labels.cell(one.condition, one.measurement, one.parameters)]
        figures = [_course(one), scale.text(levels[0]), scale.text(levels[-1])]
        table.add_row(
            *texts, metric_title(one), str(len(one.points)), *figures, _last(one)
        )  # fmt: skip
    return table


def _last(series: Series) -> Text:
    if not series.shifts:
        few = len(series.points) < 2 * SHORTEST
        return Text(f"fewer than {2 * SHORTEST} runs" if few else NO_SHIFT, "dim")
    newest = shifts_of(series)[0]
    return Text(f"{newest.when} {newest.change}", STYLES[series.shifts[-1].change])


def _course(series: Series) -> str:
    """The medians of equal parts, from the least to the greatest value."""
    values = series.points["median"].to_numpy()
    parts = [float(np.median(part)) for part in np.array_split(values, min(_WIDTH, len(values)))]
    least, most = min(parts), max(parts)
    if least == most:
        return _BLOCKS[0] * len(parts)
    last = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(last * (part - least) / (most - least))] for part in parts)


def _shifts(series: Sequence[Series], labels: Labels) -> Iterator[Text]:
    for one in series:
        cell = labels.cell(one.condition, one.measurement, one.parameters)
        for shift, words in zip(reversed(one.shifts), shifts_of(one), strict=True):
            yield Text.assemble(
                f"{words.when}  ",
                (words.change, STYLES[shift.change]),
                f"  {one.vpn}, {cell}, {metric_title(one)}: {words.levels}, from {words.run} on",
            )
            for text in words.beside:
                yield Text(f"            beside it: {text}", "dim")
