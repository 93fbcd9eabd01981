"""Progress of a run, on a terminal or as lines.

The screen is drawn between trials only: drawing takes CPU time, which would disturb a measurement.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from dataclasses import dataclass

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from culvert.journal.record import TrialRecord
from culvert.plan.plan import Trial
from culvert.report.labels import Labels
from culvert.report.numbers import scale_for
from culvert.results import Metric, Status

STYLES = {
    Status.OK: "green",
    Status.INVALID: "yellow",
    Status.FAILED: "red",
    Status.UNSUPPORTED: "dim",
}
MOST_REASON = 120
"""Characters of a reason beside its trial; the summary of the run has the whole reason."""


@dataclass(frozen=True)
class ProgressStep:
    """A trial and its number in the run."""

    trial: Trial
    number: int | None
    """Number among the trials that are run; None if ``[[lacking]]`` makes this trial unsupported.
    """
    total: int | None
    """Largest number of trials of the whole run; None if only a budget limits it."""
    remaining_s: float
    """Longest expected time until the end of the run."""


class Progress:
    """Called before and after each trial. This one shows nothing (``--json``)."""

    def begin(self, step: ProgressStep) -> None:
        """A trial is about to start."""

    def note(self, text: str) -> None:
        """A step before a trial that takes long: of a cluster that is started."""

    def end(self, step: ProgressStep, record: TrialRecord, headline: Metric | None) -> None:
        """A trial has ended; ``headline`` is its main figure."""


class Lines(Progress):
    """One line for each trial, for logs and pipes."""

    def __init__(self, console: Console, labels: Labels) -> None:
        self._console = console
        self._labels = labels

    def note(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def end(self, step: ProgressStep, record: TrialRecord, headline: Metric | None) -> None:
        """The trial, its status, and its main figure or the beginning of the reason."""
        what = with_unit(headline.value, headline.unit) if headline else beginning(record.reason)
        counter = "-" if step.number is None else str(step.number)
        if step.total is not None:
            width = len(str(step.total))
            counter = f"{counter:>{width}}/{step.total}"
            if step.number is None:
                counter = "-".rjust(2 * width + 1)
        cell = cell_label(self._labels, step.trial)
        self._console.print(
            f"{counter}  block {step.trial.block}  {cell}  {record.status}  {what}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


class Screen(Progress):
    """A live table: current trial, remaining time, figures so far. A context manager."""

    def __init__(self, console: Console, title: str, labels: Labels) -> None:
        self._title = title
        self._labels = labels
        self._figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._units: dict[str, str] = {}
        self._counts: dict[Status, int] = dict.fromkeys(Status, 0)
        self._last_problem: Text | None = None
        self._drawn: list[RenderableType] = [Text(title, style="bold")]
        self._begun = time.monotonic()
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Screen:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def begin(self, step: ProgressStep) -> None:
        """Draw once; nothing is drawn until the trial has ended."""
        if step.number is None:
            return
        self._figures[step.trial.cell.vpn]  # a row from the start
        bar = ProgressBar(total=step.total, completed=step.number - 1, width=40)
        now = Text.assemble(
            ("now  ", "dim"),
            (cell_label(self._labels, step.trial), "bold"),
            f"   block {step.trial.block}, trial {step.number}"
            + (f" of {step.total}" if step.total is not None else ""),
            (f"   about {clock(step.remaining_s)} left", "cyan"),
            (f"   {clock(time.monotonic() - self._begun)} elapsed", "dim"),
        )
        parts: list[RenderableType] = [
            Text(self._title, style="bold"),
            Columns([bar]),  # a bar alone prints no line break
            now,
            self._table(),
            self._status_line(),
        ]
        if self._last_problem is not None:
            parts.append(self._last_problem)
        self._drawn = parts
        self._live.update(Group(*parts), refresh=True)

    def note(self, text: str) -> None:
        """Below what was drawn last, in the place of the note before."""
        self._live.update(Group(*self._drawn, Text(text, style="dim")), refresh=True)

    def end(self, step: ProgressStep, record: TrialRecord, headline: Metric | None) -> None:
        self._counts[record.status] += 1
        if headline is not None:
            column = measurement_label(self._labels, step.trial)
            self._units[column] = headline.unit
            self._figures[step.trial.cell.vpn][column].append(headline.value)
        elif record.status is not Status.UNSUPPORTED:
            self._last_problem = Text(
                f"{cell_label(self._labels, step.trial)}: {record.status}: "
                f"{beginning(record.reason)}",
                style=STYLES[record.status],
            )

    def _table(self) -> Table:
        columns = sorted(self._units)
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("median so far", style="dim")
        for column in columns:
            table.add_column(column, justify="right")
        for vpn in sorted(self._figures, key=lambda name: (name != "none", name)):
            cells = [
                f"{with_unit(statistics.median(values), self._units[column])} ({len(values)})"
                if (values := self._figures[vpn].get(column))
                else "-"
                for column in columns
            ]
            table.add_row(vpn, *cells)
        return table

    def _status_line(self) -> Text:
        return Text("  ").join(
            Text(f"{count} {status}", style=STYLES[status])
            for status, count in self._counts.items()
            if count
        )


def cell_label(labels: Labels, trial: Trial) -> str:
    """The VPN and the measurement."""
    return f"{trial.cell.vpn}  {measurement_label(labels, trial)}"


def measurement_label(labels: Labels, trial: Trial) -> str:
    """The measurement and the parameters that distinguish it from others of the study."""
    return labels.cell(trial.cell.condition, trial.cell.measurement, trial.cell.parameters)


def beginning(reason: str) -> str:
    """The first characters of a reason, without line breaks, which logs of VPNs contain."""
    line = " ".join(reason.split())
    return line if len(line) <= MOST_REASON else f"{line[: MOST_REASON - 1]}\u2026"


def with_unit(value: float, unit: str) -> str:
    """One figure in a suitable unit."""
    return scale_for(unit, [value]).text(value)


def clock(seconds: float) -> str:
    """Minutes and seconds, such as 4:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
