"""The figures, one module each: from the analysed run to the Figures of one condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from altair.utils.schemapi import debug_mode

from culvert.report.charts.cost import cost_figures
from culvert.report.charts.goodput import goodput_figures
from culvert.report.charts.initiation import initiation_figures
from culvert.report.charts.latency import latency_figures
from culvert.report.charts.others import other_figures
from culvert.report.charts.stacks import cpu_figures, loss_figures
from culvert.report.model import Data, Figure


@dataclass(frozen=True)
class Section:
    """The figures of one condition."""

    condition: str
    figures: tuple[Figure, ...]


def sections(data: Data) -> Iterator[Section]:
    """Every figure for which the run has trials, by condition; each when it is needed."""
    makers = (
        goodput_figures,
        latency_figures,
        initiation_figures,
        other_figures,
        cost_figures,
        loss_figures,
        cpu_figures,
    )
    taken: set[str] = set()
    for headline in data.headlines:
        with debug_mode(arg=False):  # Altair's validation of each value takes most of the time
            figures = [figure for make in makers for figure in make(data, headline.condition)]
        if figures:
            named = tuple(_named_alone(figure, taken) for figure in figures)
            yield Section(headline.condition, named)


def _named_alone(figure: Figure, taken: set[str]) -> Figure:
    """The figure with a unique name: names become file names and anchors in the page."""
    name, number = figure.name, 2
    while name in taken:
        name, number = f"{figure.name}-{number}", number + 1
    taken.add(name)
    return replace(figure, name=name)
