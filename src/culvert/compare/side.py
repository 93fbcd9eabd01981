"""A side of a comparison: a run, or one VPN of it. ``DIR`` or ``DIR:VPN``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from culvert.analysis.observations import BASELINE
from culvert.errors import UsageError
from culvert.journal.journal import Journal
from culvert.report.run_info import RunInfo
from culvert.study.table import near


@dataclass(frozen=True)
class Side:
    """``rows`` are the journal's, of one VPN where ``vpn`` names it."""

    directory: Path
    vpn: str | None
    run: RunInfo
    rows: pl.DataFrame

    @property
    def name(self) -> str:
        """As the user would write it."""
        return f"{self.directory}:{self.vpn}" if self.vpn else str(self.directory)

    @property
    def versions(self) -> dict[str, str]:
        """The version of each VPN that ran; several are joined."""
        found: dict[str, list[str]] = {}
        told = self.rows.filter(pl.col("version") != "").select("vpn", "version").unique()
        for vpn, version in told.sort("vpn", "version").iter_rows():
            found.setdefault(vpn, []).append(version)
        return {vpn: " and ".join(versions) for vpn, versions in found.items()}


def sides(words: list[str], vpns: list[str]) -> tuple[Side, Side]:
    """The two sides that a command line means. Raises UsageError or JournalError.

    ``words`` are one or two of DIR or DIR:VPN; ``vpns`` none, or two ids for one directory.
    """
    asked = [_split(word) for word in words]
    if vpns:
        if len(asked) != 1 or len(vpns) != 2 or asked[0][1]:
            raise UsageError(
                "--vpn",
                "it compares two VPNs of one run",
                "write 'culvert compare DIR --vpn A --vpn B'",
            )
        asked = [(asked[0][0], vpn) for vpn in vpns]
    if len(asked) != 2:
        raise UsageError(
            "what to compare",
            "there is one run and nothing to compare it with"
            if len(asked) == 1
            else f"it compares two runs, and there are {len(asked)}",
            "write 'culvert compare A B', or add --vpn A --vpn B",
        )
    (first, vpn_a), (second, vpn_b) = asked
    if bool(vpn_a) != bool(vpn_b):
        raise UsageError(
            " ".join(words),
            "one side is a VPN, the other a whole run",
            "name a VPN on both sides, as DIR:VPN",
        )
    same = first.resolve() == second.resolve()
    if same and vpn_a == vpn_b:
        raise UsageError(
            " ".join(words), "both sides are the same", "give two runs, or two VPNs of one run"
        )
    run, rows = _read(first)
    other = (run, rows) if same else _read(second)
    return (
        Side(first, vpn_a, run, _of(rows, vpn_a, first)),
        Side(second, vpn_b, other[0], _of(other[1], vpn_b, second)),
    )


def _split(word: str) -> tuple[Path, str | None]:
    """A directory may have a colon in its name: what exists is a directory."""
    if Path(word).exists() or ":" not in word:
        return Path(word), None
    directory, _, vpn = word.rpartition(":")
    if not directory or not vpn:
        raise UsageError(
            word, "it is neither DIR nor DIR:VPN", "write results/quick:wireguard/go, for example"
        )
    return Path(directory), vpn


def _read(directory: Path) -> tuple[RunInfo, pl.DataFrame]:
    with Journal.open(directory) as journal:
        return RunInfo.from_journal(journal.run()), journal.rows()


def _of(rows: pl.DataFrame, vpn: str | None, directory: Path) -> pl.DataFrame:
    if vpn is None:
        return rows
    known = sorted(set(rows["vpn"].to_list()))
    if vpn not in known:
        raise UsageError(f'VPN "{vpn}"', f"it is not in {directory}", near(vpn, known))
    if vpn == BASELINE:
        raise UsageError(
            f'VPN "{vpn}"', "it is the baseline, and no VPN", "the report compares all with it"
        )
    return rows.filter(pl.col("vpn") == vpn)
