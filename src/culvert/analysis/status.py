"""How many trials count, and why the others do not.

The cause of one that does not is the check that did not pass, else the reason without the parts
that differ each time (time stamps, process ids, ports, keys).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from culvert.journal.marks import checks_of
from culvert.json_text import read_json
from culvert.results import Status

_CHANGING = re.compile(
    r"[\w+/]{4}\u2026[\w+/=]{4}"  # a key as WireGuard's programs shorten it
    r"|(?<![\w+/])[A-Za-z0-9+/]{43}="  # a key of 32 bytes in base64
    r"|\b(?=[0-9a-f]*\d)(?:0x)?[0-9a-f]{6,}\b"  # an address or an id in hex
    r"|\d+(?:[.,]\d+)*"
)


def cause_of(status: Status, reason: str, evidence: Mapping[str, Any]) -> str:
    """Equal for trials of one VPN that have the same cause.

    ``evidence`` is the journal's JSON; without checks the reason decides.
    """
    if status is Status.INVALID:
        for check in checks_of(evidence):
            if not check.get("passed"):
                return str(check.get("name"))
    return _CHANGING.sub("#", reason)


@dataclass(frozen=True)
class StatusCounts:
    """Trials by status."""

    ok: int = 0
    invalid: int = 0
    failed: int = 0
    unsupported: int = 0

    @property
    def total(self) -> int:
        return self.ok + self.invalid + self.failed + self.unsupported


def status_counts(trials: pl.DataFrame) -> StatusCounts:
    """Counts over a trials frame."""
    return StatusCounts(**dict(trials["status"].value_counts().iter_rows()))


def counts_by_vpn(trials: pl.DataFrame) -> dict[str, StatusCounts]:
    """Counts per VPN."""
    vpns = trials["vpn"].unique().sort()
    return {vpn: status_counts(trials.filter(vpn=vpn)) for vpn in vpns}


def reasons(trials: pl.DataFrame) -> pl.DataFrame:
    """Why trials do not count: vpn, status, reason, remedy, trials, wordings; most frequent first.

    Reasons of one cause (``cause_of``) count as one: ``reason`` is the first of them, ``wordings``
    the number of different ones.
    """
    keys = ["vpn", "status", "reason", "remedy"]
    found = trials.filter(pl.col("status") != "ok")
    causes = [
        cause_of(Status(status), reason, read_json(evidence))
        for status, reason, evidence in found.select("status", "reason", "evidence").iter_rows()
    ]
    return (
        found.select(keys)
        .with_columns(cause=pl.Series(causes, dtype=pl.String))
        .group_by(["vpn", "status", "remedy", "cause"], maintain_order=True)
        .agg(
            pl.col("reason").first(),
            trials=pl.len().cast(pl.Int64),
            wordings=pl.col("reason").n_unique().cast(pl.Int64),
        )
        .select(*keys, "trials", "wordings")
        .sort(["trials", *keys], descending=[True, False, False, False, False])
    )
