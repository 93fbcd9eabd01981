"""Requests pooled over runs, as papers test them, beside the runs themselves.

Requests of one run are not independent: they share its hour, its connection, its caches. Pooling
them makes thousands of a handful. The run is the unit of replication.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from culvert.analysis.statistics.holm import holm
from culvert.analysis.statistics.mann_whitney import mann_whitney
from culvert.analysis.statistics.serial import effective_sample_size
from culvert.analysis.statistics.values import Array


def pooled_tests(trials: pl.DataFrame, series: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row for each pair of VPNs of a cell whose trials hold the series ``name``.

    Columns: condition, parameters, a, b, runs_a, runs_b, requests_a, requests_b, p_pooled (all
    requests, as if they were independent), worth_a and worth_b (independent requests that say as
    much, summed over the runs), p_runs (medians of the runs), p_runs_holm.
    """
    wanted = trials.filter(pl.col("status") == "ok").join(
        series.filter(pl.col("name") == name).select("trial", "value"), on="trial", how="inner"
    )
    found = []
    for (condition, parameters), cell in wanted.group_by(
        "condition", "parameters", maintain_order=True
    ):
        runs: dict[str, list[Array]] = {}
        for vpn, values in cell.select("vpn", "value").iter_rows():
            runs.setdefault(vpn, []).append(np.asarray(values, dtype=np.float64))
        for a, b in combinations(runs, 2):
            found.append(
                {"condition": condition, "parameters": parameters, "a": a, "b": b}
                | _compared(runs[a], runs[b])
            )
    frame = pl.DataFrame(found, infer_schema_length=None)
    if frame.is_empty():
        return frame
    return frame.with_columns(pl.Series("p_runs_holm", holm(frame["p_runs"].to_list())))


def _compared(a: list[Array], b: list[Array]) -> dict[str, object]:
    pooled = mann_whitney(np.concatenate(a), np.concatenate(b))
    medians = [[float(np.median(run)) for run in runs] for runs in (a, b)]
    return {
        "runs_a": len(a),
        "runs_b": len(b),
        "requests_a": sum(run.size for run in a),
        "requests_b": sum(run.size for run in b),
        "p_pooled": pooled.p_value,
        "worth_a": sum(effective_sample_size(run) for run in a),
        "worth_b": sum(effective_sample_size(run) for run in b),
        "p_runs": mann_whitney(*medians).p_value,
    }
