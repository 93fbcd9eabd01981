"""The tables beside the page, one CSV each, in the journal's units."""

from __future__ import annotations

import polars as pl

from culvert.analysis.cpu import cpu_split
from culvert.analysis.initiation import cycles, initiation_table
from culvert.analysis.latency import percentile_table
from culvert.analysis.losses import loss_shares
from culvert.analysis.pairs import Effect, paired
from culvert.analysis.status import reasons
from culvert.report.model import Data


def tables(data: Data) -> dict[str, pl.DataFrame]:
    """By file name."""
    seed = data.run.seed or 0
    latency = data.trials.filter(pl.col("measurement") == "rtt")
    return {
        "summary": data.summary,
        "ratio-to-baseline": paired(data.observed, Effect.RATIO, seed=seed),
        "difference-to-baseline": paired(data.observed, Effect.DIFFERENCE, seed=seed),
        "latency-ns": percentile_table(latency, data.histograms, "rtt_ns"),
        "initiation-ms": initiation_table(cycles(data.rows, data.trials, data.series)),
        "udp-losses": loss_shares(data.observed),
        "cpu-split": cpu_split(data.observed),
        "trials": data.every_trial.drop("evidence"),
        "not-ok": reasons(data.trials),
    }
