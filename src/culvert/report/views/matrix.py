"""Matrices whose cells have an outcome in words: of leaks, and of members behind NATs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from culvert.report.numbers import Scale


@dataclass(frozen=True)
class Cell:
    """``lines`` are its figures, ``note`` a sentence with all of them."""

    outcome: StrEnum
    head: str
    lines: tuple[str, ...]
    note: str

    @property
    def style(self) -> str:
        return self.outcome.replace(" ", "-")


@dataclass(frozen=True)
class Matrix:
    """``rows`` has a row of cells for each of ``heads``; None where nothing was measured.
    ``detail`` follows the title in small print."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | None, ...], ...]
    sentence: str
    detail: str = ""


@dataclass(frozen=True)
class Matrices:
    """The matrices of one measurement, a section of the page. ``meanings`` are those of outcomes;
    ``axes`` names rows and columns in the terminal, ``corner`` is where they meet."""

    id: str
    name: str
    title: str
    note: str
    meanings: Mapping[StrEnum, str]
    matrices: tuple[Matrix, ...] = ()
    missing: tuple[str, ...] = ()
    """A sentence for each VPN that could not be measured."""
    conditions: frozenset[str] = frozenset()
    """Conditions that are in a matrix only."""
    axes: str = ""
    corner: str = ""

    @property
    def legend(self) -> tuple[tuple[str, str, str], ...]:
        """Style, word and meaning of each outcome that occurs."""
        cells = [cell for one in self.matrices for row in one.rows for cell in row if cell]
        used = {cell.outcome: cell.style for cell in cells}
        found = self.meanings.items()
        return tuple((used[one], str(one), text) for one, text in found if one in used)


def no_result(outcome: StrEnum, trials: pl.DataFrame, *, statuses: bool = True) -> Cell:
    """The cell of trials of which none counts, with the first reason."""
    why = next(filter(None, trials["reason"].to_list()), "no reason was recorded")
    different = ", ".join(dict.fromkeys(trials["status"].to_list()))
    return Cell(outcome, outcome, (different,) if statuses else (), why)


def counted(outcomes: Sequence[StrEnum], kinds: Iterable[StrEnum]) -> str:
    """How often each occurs, in the order of ``kinds``: "direct 20, relayed 8 of 28"."""
    counts = Counter(outcomes)
    parts = [f"{kind} {counts[kind]}" for kind in kinds if counts[kind]]
    return f"{', '.join(parts)} of {len(outcomes)}"


def time_text(value_ms: float) -> str:
    """In ms, or in s from one second on."""
    return (Scale(1e3, "s", 2) if value_ms >= 1e3 else Scale(1.0, "ms", 2)).text(value_ms)
