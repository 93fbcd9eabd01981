"""Asked beside delivered, as the page shows it."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from hdrh.histogram import HdrHistogram

from culvert.report.model import Data
from culvert.report.views.delivered import BARS, decided_per_super_packet, delivered_views
from culvert.report.views.trust import limits

from .synthetic import Run, make_run
from .truths import TCP

SENT = 1000.0
METRICS = {
    "asked_loss_ratio": ("1", 0.02),
    "delivered_loss_ratio": ("1", 0.03),
    "sent_packets": ("packets", SENT),
    "loss_runs": ("runs", 10.0),
    "longest_loss_run": ("packets", 5.0),
    "asked_delay_ms": ("ms", 10.0),
    "delivered_delay_ms": ("ms", 10.1),
    "reordered_packets": ("packets", 0.0),
    "duplicate_packets": ("packets", 0.0),
    "asked_rate_bps": ("bit/s", 1e8),
    "delivered_rate_bps": ("bit/s", 0.98e8),
}


def data(status: str = "ok", **metrics: tuple[str, float]) -> Data:
    """A run of two blocks, in each of which the first trial verified the underlay."""
    run: Run = make_run(blocks=2, measurements=(("tcp", TCP),), faults=False)
    first = run.trials.filter(pl.col("vpn") == "none").group_by("block").first().sort("block")
    verified = first.with_columns(
        pl.lit("underlay").alias("measurement"), pl.lit("{}").alias("parameters")
    ).select(run.trials.columns)
    verified = verified.with_columns(pl.Series("status", ["ok", status]))
    rows = [
        {
            "study": "s",
            "version": "",
            "labels": json.dumps({"direction": "a to b"}),
            "metric": name,
            "unit": unit,
            "value": value,
            **{
                key: trial[key]
                for key in ("block", "trial", "vpn", "condition", "measurement", "parameters")
            },
            "status": trial["status"],
            "reason": "",
        }
        for trial in verified.iter_rows(named=True)
        for name, (unit, value) in (METRICS | metrics).items()
    ]
    histogram = HdrHistogram(1, 10**10, 3)
    for delay_ns in (10_000_000, 10_100_000, 10_100_000, 20_000_000):
        histogram.record_value(delay_ns)
    histograms = pl.DataFrame(
        [
            {
                "trial": trial,
                "name": "one_way_delay_ns",
                "unit": "ns",
                "labels": json.dumps({"direction": "a to b"}),
                "hdr_v2": histogram.encode().decode(),
            }
            for trial in verified["trial"]
        ]
    )
    return replace(
        run,
        trials=verified,
        rows=pl.DataFrame(rows).select(
            pl.col(name).cast(kind) for name, kind in run.rows.schema.items()
        ),
        histograms=histograms,
    ).data


def test_loss_with_its_interval_bursts_delay_and_rate() -> None:
    (view,) = delivered_views(data())
    lines = {figure: (asked, told) for _, figure, asked, told in view.table.rows}
    assert lines["loss"][0] == "2.00 %"
    # Clopper and Pearson for 60 of 2000, by hand: 2.30 to 3.84 %
    assert lines["loss"][1].startswith("3.00 % [2.30, 3.84] (60 of 2")
    assert lines["lost in a row"][1] == "3.00 packets, 5 at most"
    assert lines["delay, median"] == ("10.0 ms", "10.100 ms")
    assert lines["rate of frames"] == ("100 Mbit/s less the loss", "98.0 Mbit/s")
    assert "reordered" not in lines
    assert (view.agrees, view.verdict) == (True, "in all 2 blocks")


def test_the_histogram_has_every_packet() -> None:
    (view,) = delivered_views(data())
    ((way, bars),) = view.delays
    assert way == "a to b"
    assert (len(bars), sum(bar.packets for bar in bars)) == (BARS, 8)
    assert max(bar.share for bar in bars) == 1


def test_blocks_that_do_not_count_are_told() -> None:
    (view,) = delivered_views(data("invalid"))
    assert not view.agrees
    assert view.verdict == "in 1 of 2 blocks; the others do not count"


def test_the_artefact_is_labelled() -> None:
    plain = data()
    assert decided_per_super_packet(plain) == ()
    shown = data(per_super_packet=("1", 1.0))
    (view,) = delivered_views(shown)
    assert view.per_super_packet
    assert any("per super-packet" in limit for limit in limits(shown))


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e15, 1e300, 8e307, 5e-324])
@pytest.mark.parametrize("metric", METRICS)
def test_impossible_figures_of_a_foreign_journal_are_shown_without_an_interval(
    metric: str, value: float, ordinary: Data
) -> None:
    """A journal's values are finite numbers, and nothing else is known of them."""
    changed = pl.when(pl.col("metric") == metric).then(value).otherwise(pl.col("value"))
    shown = replace(ordinary, rows=ordinary.rows.with_columns(value=changed))
    (view,) = delivered_views(shown)
    loss = next(told for _, figure, _, told in view.table.rows if figure == "loss")
    if metric in ("sent_packets", "delivered_loss_ratio") and value not in (0.0, 5e-324):
        possible = metric == "sent_packets" and value == 1e15
        assert ("[" in loss) == possible


@pytest.fixture(scope="module")
def ordinary() -> Data:
    return data()
