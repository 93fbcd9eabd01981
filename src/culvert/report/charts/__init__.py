"""The figures, one module each: from the analysed run to the Figures of one condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from operator import itemgetter

from altair.utils.schemapi import debug_mode

from culvert.report.charts.cost import cost_figures
from culvert.report.charts.gateway import gateway_figures
from culvert.report.charts.gateway_cores import gateway_core_figures
from culvert.report.charts.goodput import goodput_figures
from culvert.report.charts.initiation import initiation_figures
from culvert.report.charts.latency import latency_figures
from culvert.report.charts.others import other_figures
from culvert.report.charts.stacks import cpu_figures, loss_figures
from culvert.report.model import Data, Figure

_MAKERS = (
    goodput_figures,
    latency_figures,
    initiation_figures,
    gateway_figures,
    gateway_core_figures,
    other_figures,
    cost_figures,
    loss_figures,
    cpu_figures,
)


@dataclass(frozen=True)
class Section:
    """The figures of one condition."""

    condition: str
    figures: tuple[Figure, ...]


def figures(data: Data) -> Iterator[tuple[str, Figure]]:
    """Every figure for which the run has trials, after its condition; each when it is needed."""
    taken: set[str] = set()
    for one, make in product(data.medians, _MAKERS):
        with debug_mode(arg=False):  # Altair's validation of each value takes most of the time
            made = make(data, one.condition)
        for figure in made:
            yield one.condition, _named_alone(figure, taken)


def sections(figures: Iterable[tuple[str, Figure]]) -> list[Section]:
    """The figures by condition, as ``figures`` gives them."""
    return [
        Section(condition, tuple(figure for _, figure in found))
        for condition, found in groupby(figures, itemgetter(0))
    ]


def _named_alone(figure: Figure, taken: set[str]) -> Figure:
    """The figure with a unique name: names become file names and anchors in the page."""
    name, number = figure.name, 2
    while name in taken:
        name, number = f"{figure.name}-{number}", number + 1
    taken.add(name)
    return replace(figure, name=name)
