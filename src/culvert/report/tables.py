"""The tables in tables/, one CSV file each, in the journal's units."""

from __future__ import annotations

import polars as pl

from culvert.analysis.initiation import initiation_table
from culvert.analysis.latency import percentile_table
from culvert.analysis.pairs import paired
from culvert.analysis.status import reasons
from culvert.metrics import Effect
from culvert.report.claims import claims_table, published_table
from culvert.report.model import Data
from culvert.report.visible import HIDDEN, SHOWN
from culvert.study.vpn_id import BASELINE


def tables(data: Data) -> dict[str, pl.DataFrame]:
    """By file name, ready to be written as CSV."""
    return {name: without_hidden(table) for name, table in _tables(data).items()}


def without_hidden(table: pl.DataFrame) -> pl.DataFrame:
    """Replace the hidden characters of texts; numbers are unchanged."""
    return table.with_columns(pl.col(pl.String).str.replace_all(HIDDEN, SHOWN))


def _tables(data: Data) -> dict[str, pl.DataFrame]:
    apart = [vpn for vpn in data.vpns if data.run.line.crossed((vpn, BASELINE))]
    comparable = data.observed.filter(~pl.col("vpn").is_in(apart))
    latency = data.trials.filter(pl.col("measurement") == "rtt")
    return {
        "summary": data.summary,
        "ratio-to-baseline": paired(comparable, Effect.RATIO, data.columns),
        "difference-to-baseline": paired(comparable, Effect.DIFFERENCE, data.columns),
        "comparisons": data.comparisons,
        "latency-ns": percentile_table(latency, data.histograms, "rtt_ns"),
        "initiation-ms": initiation_table(data.cycles),
        "udp-losses": data.losses,
        "cpu-split": data.cpu_split,
        "trials": data.every_trial.drop("evidence"),
        "not-ok": reasons(data.trials),
        "claims": claims_table(data.claims),
        "published": published_table(data.claims),
    } | dict(data.foreign)
