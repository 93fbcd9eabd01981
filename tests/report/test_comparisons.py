"""Ranks, pairs, and cells whose trials are not alike, as a reader sees them."""

from __future__ import annotations

import polars as pl
import pytest
from rich.console import Console

from culvert.report.model import Data
from culvert.report.terminal import summary as terminal
from culvert.report.views.comparisons import comparison_table, p_text
from culvert.report.views.conclusion import behaviour_sentences
from culvert.report.views.headline import headline_views

from .conftest import page_of
from .synthetic import Run, make_run
from .truths import VPNS

RTT_AND_TCP = 20
"""Blocks: enough for a drift to be told."""


def drifting(blocks: int = RTT_AND_TCP) -> Run:
    """A run in which one VPN's goodput falls block by block."""
    run = make_run(blocks=blocks, faults=False, vpns={name: VPNS[name] for name in list(VPNS)[:3]})
    falls = (pl.col("vpn") == "wireguard/go") & (pl.col("metric") == "goodput_bps")
    factor = 1 - 0.02 * pl.col("block")
    run.rows = run.rows.with_columns(
        pl.when(falls).then(pl.col("value") * factor).otherwise(pl.col("value")).alias("value")
    )
    return run


@pytest.fixture(scope="module")
def data() -> Data:
    return drifting().data


def test_a_cell_that_drifts_is_told_in_one_sentence(data: Data) -> None:
    told = [one for one in behaviour_sentences(data) if one.startswith("wireguard/go, TCP")]
    (goodput,) = [one for one in told if ", Goodput: " in one]
    assert "not independent: 20 trials, effective sample size" in goodput
    assert "it drifts downwards" in goodput
    text = _printed(data)
    assert "Intervals of these cells may be too narrow" in text
    assert goodput in text.replace("\n", " ")


def test_a_steady_run_says_nothing_of_it() -> None:
    data = make_run(blocks=5, faults=False).data
    assert behaviour_sentences(data) == ()
    assert "too narrow" not in _printed(data)


def test_places_stand_beside_the_figures(data: Data) -> None:
    (view,) = headline_views(data)
    by_vpn = {row.vpn: row for row in view.rows}
    column = [title for title, _ in view.columns].index("Round trip, median")
    ranks = {vpn: row.cells[column] for vpn, row in by_vpn.items()}
    told = {vpn: cell.rank for vpn, cell in ranks.items() if cell is not None}
    assert told == {"none": "", "openvpn/aes-256-gcm": "1st", "wireguard/go": "2nd"}


def test_every_pair_is_in_the_table(data: Data) -> None:
    pairs = comparison_table(data)
    goodput = [row for row in pairs.rows if row[:2] == ("TCP", "Goodput")]
    assert [row[2:4] for row in goodput] == [
        ("none", "openvpn/aes-256-gcm"),
        ("none", "wireguard/go"),
        ("openvpn/aes-256-gcm", "wireguard/go"),
    ]
    # The goodput that falls block by block is not that of independent blocks.
    drifting = "differ; block differences are correlated"
    assert [row[6] for row in goodput] == ["differ", drifting, drifting]


def test_the_page_shows_them_and_leaves_out_what_is_not_there() -> None:
    page = page_of(drifting())
    for words in (
        "Every pair",
        "Cells with correlation, drift or jumps",
    ):
        assert words in page
    alone = page_of(make_run(blocks=5, faults=False, vpns={"none": VPNS["none"]}))
    assert "Every pair" not in alone


@pytest.mark.parametrize(
    ("p_value", "text"),
    [(None, "\u2013"), (0.52, "0.52"), (0.0123, "0.012"), (4e-7, "< 1e-6"), (0.0, "< 1e-300")],
)
def test_p_values_are_short(p_value: float | None, text: str) -> None:
    assert p_text(p_value) == text


def _printed(data: Data) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(terminal.summary_of(data))
    return captured.get()


def test_the_page_has_the_same_alone_as_beside_all_metrics() -> None:
    alone, beside = make_run().data, make_run().data
    every = beside.comparisons
    assert alone.main_comparisons.equals(beside.main_comparisons)
    assert 0 < len(alone.main_comparisons) < len(every)


def test_the_page_states_how_many_blocks_a_difference_takes(data: Data) -> None:
    text = " ".join(page_of(make_run(blocks=5)).split())
    assert f"a difference takes {data.columns.design.fewest} blocks" in text
