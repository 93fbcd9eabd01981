"""Figures with and without the trials that were marked for their surroundings."""

from __future__ import annotations

import io
import json

import polars as pl
from rich.console import Console

from culvert.report.terminal.summary import summary_of
from culvert.report.views.surroundings import surroundings_table

from .conftest import page_of
from .synthetic import Run, make_run
from .truths import TCP


def marked(run: Run, blocks: set[int]) -> Run:
    """The run with all trials of these blocks marked."""

    def mark(text: str | None) -> str:
        marks = [{"by": "foreign CPU time", "value": 0.4, "bound": 0.05}]
        return json.dumps({**json.loads(text or "{}"), "marks": marks})

    disturbed = pl.col("block").is_in(list(blocks))
    text = pl.col("evidence").map_elements(mark, return_dtype=pl.String)
    run.trials = run.trials.with_columns(
        evidence=pl.when(disturbed).then(text).otherwise(pl.col("evidence"))
    )
    return run


def small() -> Run:
    return make_run(blocks=4, measurements=(("tcp", TCP),), faults=False)


def test_a_quiet_run_has_no_such_table() -> None:
    assert surroundings_table(small().data).rows == ()
    assert "Disturbed trials" not in page_of(small())


def test_each_cell_is_shown_with_and_without_its_marked_trials() -> None:
    data = marked(small(), {2}).data
    rows = surroundings_table(data).rows
    assert len(rows) == len(data.vpns)
    for row in rows:
        assert row[3].endswith("(n = 4)")
        assert row[4].endswith("(n = 3)")
        assert row[5:] == ("1 of 4", "foreign CPU time")
    page = page_of(marked(small(), {2}))
    assert "Disturbed trials" in page


def printed(run: Run) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(summary_of(run.data))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_terminal_shows_them_too() -> None:
    assert "Disturbed trials" not in printed(small())
    text = printed(marked(small(), {2}))
    assert "Disturbed trials" in text
    assert text.count("1 of 4: foreign CPU time") == len(small().data.vpns)


def test_where_all_are_marked_there_is_no_figure_without() -> None:
    rows = surroundings_table(marked(small(), {1, 2, 3, 4}).data).rows
    assert {row[4] for row in rows} == {"\u2013"}


def test_the_share_of_invalid_trials_stands_beside_a_vpn() -> None:
    run = small()
    first = (pl.col("block") == 1) & (pl.col("vpn") != "none")
    run.trials = run.trials.with_columns(
        status=pl.when(first).then(pl.lit("invalid")).otherwise(pl.col("status"))
    )
    run.rows = run.rows.with_columns(
        status=pl.when(first).then(pl.lit("invalid")).otherwise(pl.col("status"))
    )
    assert "1 of 4 trials do not count, 25 % are invalid" in page_of(run)
