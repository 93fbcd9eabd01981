"""Places of UDP packets: received, or lost in socket, qdisc, interface, tunnel or on the link."""

from __future__ import annotations

import polars as pl

from culvert.analysis.observations import CELL

UNPLACED = "lost_unattributed"
PLACES = (
    "lost_in_socket",
    "lost_in_qdisc",
    "lost_in_interface",
    "lost_in_tunnel",
    "lost_on_link",
    UNPLACED,
)
RECEIVED = "received"


def loss_shares(observed: pl.DataFrame) -> pl.DataFrame:
    """Shares of the offered packets, the mean over the trials of each cell (so they add up to 1).

    Columns: CELL, place (RECEIVED or one of PLACES), share (0 to 1), n trials.
    A trial's loss is divided between the places in proportion to the packets counted there; a
    loss that no counter counted is UNPLACED.
    """
    keys = [*CELL, "block", "trial"]
    wanted = ["loss_ratio", *PLACES]
    found = observed.filter(
        pl.col("measurement") == "udp",
        pl.col("labels") == "{}",
        pl.col("metric").is_in(wanted),
    )
    schema = dict.fromkeys(CELL, pl.String) | {
        "place": pl.String,
        "share": pl.Float64,
        "n": pl.Int64,
    }
    if found.filter(pl.col("metric") == "loss_ratio").is_empty():
        return pl.DataFrame(schema=schema)
    wide = found.pivot("metric", index=keys, values="value", aggregate_function="median")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in wanted if name not in wide.columns]
    wide = wide.with_columns(*missing).filter(pl.col("loss_ratio").is_not_null())
    loss = pl.col("loss_ratio").clip(0, 1)
    placed = pl.sum_horizontal(pl.col(place).fill_null(0).clip(0) for place in PLACES)
    shares = wide.select(
        *CELL,
        (1 - loss).alias(RECEIVED),
        *(
            pl.when(placed > 0)
            .then(loss * pl.col(place).fill_null(0).clip(0) / placed)
            .otherwise(loss if place == UNPLACED else 0.0)
            .alias(place)
            for place in PLACES
        ),
    )
    return (
        shares.unpivot(index=CELL, variable_name="place", value_name="share")
        .group_by([*CELL, "place"])
        .agg(pl.col("share").mean(), n=pl.len().cast(pl.Int64))
        .select(list(schema))
        .sort([*CELL, "place"])
    )
