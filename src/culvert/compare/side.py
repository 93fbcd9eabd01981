"""A side of a comparison: runs, or one VPN of them. ``DIR`` or ``DIR:VPN``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from culvert.errors import UsageError
from culvert.journal.journal import Journal
from culvert.report.run_info import RunInfo
from culvert.results import Parameters
from culvert.study.catalogue import Catalogue, recalled_catalogue
from culvert.study.table import near
from culvert.study.vpn_id import BASELINE


@dataclass(frozen=True)
class Side:
    """One run of a side. ``rows`` are those of the journal, of one VPN if ``vpn`` is set;
    ``every_row`` has those of all VPNs."""

    directory: Path
    vpn: str | None
    run: RunInfo
    rows: pl.DataFrame
    every_row: pl.DataFrame

    @property
    def name(self) -> str:
        return f"{self.directory}:{self.vpn}" if self.vpn else str(self.directory)

    @property
    def versions(self) -> dict[str, str]:
        """The version of each measured VPN; several versions are joined."""
        found: dict[str, list[str]] = {}
        reported = self.rows.filter(pl.col("version") != "").select("vpn", "version").unique()
        for vpn, version in reported.sort("vpn", "version").iter_rows():
            found.setdefault(vpn, []).append(version)
        return {vpn: " and ".join(versions) for vpn, versions in found.items()}


Runs = tuple[Side, ...]
"""One side: at least one run; several runs are its repetitions."""

BETWEEN = "--"
"""Separates the runs of A from those of B if there are several."""


def sides(words: list[str], vpns: list[str]) -> tuple[Runs, Runs]:
    """The two sides from a command line. Raises UsageError or JournalError.

    ``words`` are one or two of DIR or DIR:VPN, or several of them with BETWEEN between the sides;
    ``vpns`` is empty, or has two ids for one directory.
    """
    if BETWEEN in words:
        at = words.index(BETWEEN)
        given = (words[:at], words[at + 1 :])
    else:
        given = (words[:1], words[1:])
    requested = [[_split(word) for word in side] for side in given]
    if vpns:
        if BETWEEN in words or len(words) != 1 or len(vpns) != 2 or requested[0][0][1]:
            raise UsageError(
                "--vpn",
                "it compares two VPNs of one run",
                "write 'culvert compare DIR --vpn A --vpn B'",
            )
        requested = [[(requested[0][0][0], vpn)] for vpn in vpns]
    _refuse(words, requested, vpns)
    read: dict[Path, tuple[RunInfo, pl.DataFrame]] = {}
    before, after = (tuple(_side(*one, read) for one in side) for side in requested)
    every = [(side.run.identity, side.vpn) for side in (*before, *after)]
    if len(set(every)) < len(every):  # a copy is no second run
        raise UsageError(
            " ".join(words),
            "both sides are the same" if len(every) == 2 else "a run is given twice",
            "give two runs, or two VPNs of one run",
        )
    return before, after


Requested = list[list[tuple[Path, str | None]]]


def _refuse(words: list[str], requested: Requested, vpns: list[str]) -> None:
    """Raises UsageError if the arguments do not form a comparison."""
    several = BETWEEN in words or vpns
    if not all(requested) or (not several and len(words) != 2) or words.count(BETWEEN) > 1:
        raise UsageError(
            "what to compare",
            "only one run is given"
            if len(words) == 1
            else f"it is not clear which of these {len(words) - words.count(BETWEEN)} runs are A "
            "and which are B",
            "write 'culvert compare A B', 'culvert compare A1 A2 -- B1 B2', or add --vpn A --vpn B",
        )
    every = [one for side in requested for one in side]
    if len({bool(vpn) for _, vpn in every}) > 1:
        raise UsageError(
            " ".join(words),
            "one side is a VPN, the other a whole run",
            "name a VPN on both sides, as DIR:VPN",
        )
    for side in requested:
        if len({vpn for _, vpn in side}) > 1:
            raise UsageError(
                " ".join(words),
                "the runs of one side name different VPNs",
                "name one VPN for each side",
            )


def _side(directory: Path, vpn: str | None, read: dict[Path, tuple[RunInfo, pl.DataFrame]]) -> Side:
    place = directory.resolve()
    if place not in read:
        read[place] = read_run(directory)
    run, rows = read[place]
    return Side(directory, vpn, run, _of(rows, vpn, directory), rows)


def _split(word: str) -> tuple[Path, str | None]:
    """A directory's name may contain a colon: if the path exists, it is a directory."""
    if Path(word).exists() or ":" not in word:
        return Path(word), None
    directory, _, vpn = word.rpartition(":")
    if not directory or not vpn:
        raise UsageError(
            word, "it is neither DIR nor DIR:VPN", "write results/quick:wireguard/go, for example"
        )
    return Path(directory), vpn


def read_run(directory: Path) -> tuple[RunInfo, pl.DataFrame]:
    """The facts and the rows of a run. Raises JournalError."""
    with Journal.open(directory) as journal:
        return RunInfo.from_journal(journal.run()), with_defaults(journal.rows())


def _of(rows: pl.DataFrame, vpn: str | None, directory: Path) -> pl.DataFrame:
    if vpn is None:
        return rows
    known = sorted(set(rows["vpn"].to_list()))
    if vpn not in known:
        raise UsageError(f'VPN "{vpn}"', f"it is not in {directory}", near(vpn, known))
    if vpn == BASELINE:
        raise UsageError(
            f'VPN "{vpn}"', "it is the baseline, not a VPN", "the report compares every VPN with it"
        )
    return rows.filter(pl.col("vpn") == vpn)


_KEYS = ["measurement", "parameters"]


def with_defaults(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a journal, their parameters filled in as a run of today would have them: a cell
    of an older run is then the same cell. What today's measurement does not accept stays."""
    catalogue = recalled_catalogue()
    pairs = rows.select(_KEYS).unique()
    filled = [_filled(catalogue, *pair) for pair in pairs.iter_rows()]
    if filled == pairs["parameters"].to_list():
        return rows
    renewed = pairs.with_columns(pl.Series("_filled", filled, pl.String))
    return (
        rows.join(renewed, on=_KEYS, how="left", maintain_order="left")
        .with_columns(parameters=pl.coalesce("_filled", "parameters"))
        .drop("_filled")
    )


def _filled(catalogue: Catalogue, kind: str, parameters: str) -> str:
    if kind not in catalogue.measurements:
        return parameters
    try:
        model = catalogue.parameters(kind, parameters)
    except ValueError:  # pydantic's too
        return parameters
    return Parameters.of(model.model_dump(mode="json", by_alias=True))
