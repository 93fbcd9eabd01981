"""Figures with and without the trials that were marked for their surroundings."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from rich.console import Console

from culvert.journal.marks import Disturber
from culvert.report.numbers import scale_for
from culvert.report.terminal.summary import summary_of
from culvert.report.views.surroundings import surroundings_table
from culvert.report.views.trust import limits, trust

from .conftest import page_of
from .synthetic import Run, make_run
from .truths import TCP


def marked(run: Run, blocks: set[int], *, by: Disturber = Disturber.FOREIGN) -> Run:
    """The run with all trials of these blocks marked."""

    def mark(text: str | None) -> str:
        marks = [{"by": by, "value": 0.4, "bound": 0.05}]
        return json.dumps({**json.loads(text or "{}"), "marks": marks})

    disturbed = pl.col("block").is_in(list(blocks))
    text = pl.col("evidence").map_elements(mark, return_dtype=pl.String)
    run.trials = run.trials.with_columns(
        evidence=pl.when(disturbed).then(text).otherwise(pl.col("evidence"))
    )
    return run


def small() -> Run:
    return make_run(blocks=7, measurements=(("tcp", TCP),), faults=False)


def test_a_quiet_run_has_no_such_table() -> None:
    assert surroundings_table(small().data).rows == ()
    assert "Disturbed trials" not in page_of(small())


HEADLINE = {"Goodput", "CPU per gigabyte"}
"""Of TCP: titles of the metrics with a column."""


def test_every_headline_figure_is_shown_with_and_without_the_marked_trials() -> None:
    data = marked(small(), {2}).data
    rows = surroundings_table(data).rows
    assert {row[:3:2] for row in rows} == {(vpn, title) for vpn in data.vpns for title in HEADLINE}
    for row in rows:
        assert row[3].endswith("(n = 7)")
        assert row[4].endswith("(n = 6)")
        assert row[5:] == ("1 of 7", "foreign CPU time")
        assert row[3] != row[4]
    (question, *_) = data.headlines[0].questions
    answer = data.headlines[0].answers[data.vpns[1], question.key].absolute
    scale = scale_for(question.unit, [answer.value])
    text = scale.with_unit_and_interval(answer.value, answer.low, answer.high)
    assert text.endswith("]")
    assert f"{text} (n = 7)" in {row[3] for row in rows if row[0] == data.vpns[1]}
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
    assert text.count("1 of 7: foreign CPU time") == len(HEADLINE) * len(small().data.vpns)


def test_where_all_are_marked_there_is_no_figure_without() -> None:
    run = marked(small(), set(range(1, 8)))
    assert {row[4] for row in surroundings_table(run.data).rows} == {"\u2013"}
    assert "Disturbed trials" not in printed(run)


def test_the_share_of_invalid_trials_stands_beside_a_vpn() -> None:
    run = small()
    first = (pl.col("block") == 1) & (pl.col("vpn") != "none")
    run.trials = run.trials.with_columns(
        status=pl.when(first).then(pl.lit("invalid")).otherwise(pl.col("status"))
    )
    run.rows = run.rows.with_columns(
        status=pl.when(first).then(pl.lit("invalid")).otherwise(pl.col("status"))
    )
    assert "1 of 7 trials does not count, 14 % are invalid" in page_of(run)


def test_many_disturbed_trials_are_said_at_the_top() -> None:
    run = marked(small(), {1, 2})
    data = run.data
    disturbed, counting = 2 * len(data.vpns), data.counts.ok
    note = trust(data)
    assert note.level == "mixed"
    assert note.title == "All traffic proved in the tunnel; 29 % of the trials were disturbed"
    told = f"{disturbed} of {counting} trials were disturbed: "
    told += "other processes used up to 40 % of the"
    assert any(limit.startswith(told) for limit in limits(data))
    page = page_of(run)
    assert note.title in page
    assert told in page


def test_few_disturbed_trials_leave_the_badge() -> None:
    run = marked(make_run(blocks=12, measurements=(("tcp", TCP),), faults=False), {1})
    assert trust(run.data).level == "good"
    assert "disturbed" not in trust(run.data).title
    assert any("trials were disturbed" in limit for limit in limits(run.data))


@pytest.mark.parametrize("by", Disturber)
def test_every_kind_of_mark_has_words(by: Disturber) -> None:
    run = marked(small(), {1}, by=by)
    (said,) = (limit for limit in limits(run.data) if "disturbed" in limit)
    assert "0.4" in said or "40" in said or "up to 0 " in said
