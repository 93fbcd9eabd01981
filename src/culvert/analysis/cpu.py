"""CPU seconds per gigabyte, by part: the VPN's processes, the probe, softirq, the rest."""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import CELL, repeats
from culvert.json_text import read_json

VPN = "VPN processes"
PROBE = "probe"
SOFTIRQ = "softirq"
REST = "rest of the system"
PARTS = (VPN, SOFTIRQ, REST, PROBE)


TOLERANCE = 0.01
"""By how much the parts may exceed the whole: rounding, and reads at different moments."""


def cpu_split(observed: pl.DataFrame) -> pl.DataFrame:
    """CPU seconds per 1e9 bytes of goodput and part, the mean over each cell's trials.

    Columns: CELL, part (of PARTS), s_per_gb, n. The parts add up to the whole machine's figure.
    Processes are measured by the scheduler's run time, softirq by ticks: softirq inside a process
    is in both, so the part softirq has only what remains after the processes.
    """
    keys = [*CELL, "block", "trial"]
    wanted = [
        "cpu_s_per_gb",
        "cpu_vpn_s_per_gb",
        "cpu_probe_s_per_gb",
        "cpu_percent",
        "cpu_softirq_percent",
    ]
    schema = dict.fromkeys(CELL, pl.String) | {
        "part": pl.String,
        "s_per_gb": pl.Float64,
        "n": pl.Int64,
    }
    found = observed.filter(pl.col("labels") == "{}", pl.col("metric").is_in(wanted))
    if found.filter(pl.col("metric") == "cpu_s_per_gb").is_empty():
        return pl.DataFrame(schema=schema)
    wide = found.pivot("metric", index=keys, values="value", aggregate_function="median")
    absent = [pl.lit(0.0).alias(name) for name in wanted if name not in wide.columns]
    whole = pl.col("cpu_s_per_gb")
    left = pl.col("left")
    softirq_share = (
        pl.when(pl.col("cpu_percent") > 0)
        .then(pl.col("cpu_softirq_percent") / pl.col("cpu_percent"))
        .otherwise(0.0)
    )
    parts = (
        wide.with_columns(*absent)
        # A split that a trial withheld, or whose parts exceed the whole, is no split.
        .filter(whole.is_not_null() & pl.col("cpu_softirq_percent").is_not_null())
        .with_columns(pl.col(name).fill_null(0.0).clip(0) for name in wanted)
        .filter(
            pl.col("cpu_vpn_s_per_gb") + pl.col("cpu_probe_s_per_gb") <= whole * (1 + TOLERANCE)
        )
        .with_columns(pl.min_horizontal("cpu_vpn_s_per_gb", whole).alias(VPN))
        .with_columns(pl.min_horizontal("cpu_probe_s_per_gb", whole - pl.col(VPN)).alias(PROBE))
        .with_columns(left=(whole - pl.col(VPN) - pl.col(PROBE)).clip(0))
        .with_columns(pl.min_horizontal(whole * softirq_share, left).alias(SOFTIRQ))
        .with_columns((left - pl.col(SOFTIRQ)).clip(0).alias(REST))
    )
    return (
        parts.select(*CELL, *PARTS)
        .unpivot(index=CELL, variable_name="part", value_name="s_per_gb")
        .group_by([*CELL, "part"])
        .agg(pl.col("s_per_gb").mean(), n=pl.len().cast(pl.Int64))
        .select(list(schema))
        .sort([*CELL, "part"])
    )


def busiest_threads(rows: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """The threads that used the CPU most, per cell: CELL, node, process, thread, cpu_s, n.

    ``cpu_s`` is the median over the trials, in CPU seconds per trial; threads of one name in one
    process count together. Kernel threads have the process "kernel".
    """
    found = repeats(rows).filter(pl.col("metric").is_in(["cpu_thread_s", "cpu_kernel_thread_s"]))
    named = found.with_columns(
        pl.Series(
            "place",
            [_place(metric, text) for metric, text in found.select("metric", "labels").iter_rows()],
            pl.Struct(dict.fromkeys(("node", "process", "thread"), pl.String)),
        )
    ).unnest("place")
    keys = [*CELL, "node", "process", "thread"]
    return (
        named.group_by([*keys, "trial"])
        .agg(pl.col("value").sum())
        .group_by(keys)
        .agg(cpu_s=pl.col("value").median(), n=pl.len().cast(pl.Int64))
        .sort([*CELL, "cpu_s", *keys[len(CELL) :]], descending=[False] * 4 + [True] + [False] * 3)
        .group_by(CELL, maintain_order=True)
        .head(most)
    )


def most_switches(rows: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """The processes with the most context switches, per cell: CELL, node, process, switches, n.

    ``switches`` is the median over the trials that recorded it, per trial.
    """
    found = repeats(rows).filter(pl.col("metric") == "context_switches_most")
    keys = [*CELL, "node", "process"]
    return (
        found.with_columns(
            node=pl.col("labels").str.json_path_match("$.node"),
            process=pl.col("labels").str.json_path_match("$.process"),
        )
        .group_by(keys)
        .agg(switches=pl.col("value").median(), n=pl.len().cast(pl.Int64))
        .sort([*CELL, "switches", "node", "process"], descending=[False] * 4 + [True] + [False] * 2)
        .group_by(CELL, maintain_order=True)
        .head(most)
    )


def _place(metric: str, labels: str) -> dict[str, str]:
    """Node, process and thread of a metric; a thread's id differs in each trial and is left out."""
    names = read_json(labels)
    process, thread = str(names.get("process", "")), str(names.get("thread", ""))
    if metric == "cpu_kernel_thread_s":
        process, thread = "kernel", process
    name, _, number = thread.rpartition(":")
    return {
        "node": str(names.get("node", "")),
        "process": process,
        "thread": name if name and number.isdigit() else thread,
    }
