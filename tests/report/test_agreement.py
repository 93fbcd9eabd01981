"""One journal, one answer: card, badge, rank, pair table and compare of 200 simulated journals."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from culvert.analysis.compare.comparison import Comparison
from culvert.analysis.compare.verdict import Change
from culvert.analysis.headline import Headline, Question, Winner
from culvert.compare.outcome import compare
from culvert.compare.side import Side
from culvert.journal.frames import (
    HISTOGRAMS_SCHEMA,
    ROWS_SCHEMA,
    SERIES_SCHEMA,
    TRIALS_SCHEMA,
)
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo
from culvert.report.views.headline import headline_views

VPNS = ("a", "b", "c", "d")
Cell = tuple[str, str]
"""Measurement and parameters."""
Column = tuple[Cell, str]
"""A cell, and one metric of it."""
TCP, RTT, INITIATION = ("tcp", "{}"), ("rtt", "{}"), ("initiation", "{}")
FLOOD = ("udp", '{"duration":"500ms","packet_size":64,"rate":null}')
PACED = ("udp", '{"duration":"500ms","packet_size":128,"rate":"50000/s"}')
"""As in ``quick``."""
FIGURES: tuple[tuple[Cell, str, str, float], ...] = (
    (TCP, "goodput_bps", "bit/s", 1e9),
    (TCP, "cpu_s_per_gb", "s/GB", 5.0),
    (FLOOD, "goodput_bps", "bit/s", 1e8),
    (PACED, "goodput_bps", "bit/s", 4e7),
    (RTT, "rtt_p50_us", "us", 80.0),
    (RTT, "rtt_p99_us", "us", 150.0),
    (INITIATION, "total_ms", "ms", 30.0),
)
QUESTIONS = {(cell, metric) for cell, metric, *_ in FIGURES if cell != FLOOD}
JOURNALS = 200
NO_HISTOGRAMS = pl.DataFrame(schema=HISTOGRAMS_SCHEMA)
NO_SERIES = pl.DataFrame(schema=SERIES_SCHEMA)
APART = {Change.FASTER, Change.SLOWER, Change.CHANGED, Change.DIFFERS}
PLANS = (
    '{"plan":{"blocks":%d,"order":"random"}}',
    '{"plan":{"blocks":{"min":5,"max":%d,"until":"claims decided"},"order":"random"}}',
    '{"plan":{"blocks":%d,"order":"listed"}}',
)


def simulated(seed: int) -> tuple[RunInfo, pl.DataFrame, pl.DataFrame]:
    """A run of 5 to 14 blocks; VPNs are alike, nearly alike or apart; some trials do not count."""
    rng = np.random.default_rng(seed)
    blocks = int(rng.integers(5, 15))
    scatter, apart = float(rng.choice([0.005, 0.02, 0.1])), float(rng.choice([0, 0.02, 0.1]))
    rows: list[dict[str, object]] = []
    trials: list[dict[str, object]] = []
    means = {
        (vpn, cell, metric): level * np.exp(apart * rng.standard_normal())
        for vpn in ("none", *VPNS)
        for cell, metric, _, level in FIGURES
    }
    for block in range(1, blocks + 1):
        for vpn in ("none", *VPNS):
            for cell in (TCP, FLOOD, PACED, RTT, INITIATION):
                ok = rng.random() > 0.05
                trial = {
                    "trial": len(trials) + 1,
                    "block": block,
                    "vpn": vpn,
                    "version": "1",
                    "condition": "clean",
                    "measurement": cell[0],
                    "parameters": cell[1],
                    "status": "ok" if ok else "invalid",
                    "evidence": "{}",
                }
                trials.append(trial)
                for of, metric, unit, _ in FIGURES:
                    if of == cell:
                        value = means[vpn, cell, metric] * np.exp(scatter * rng.standard_normal())
                        figure = {"metric": metric, "unit": unit, "value": value, "labels": "{}"}
                        rows.append(trial | figure | {"study": "s"})
    plan = PLANS[seed % len(PLANS)] % blocks
    imported = seed % 10 == 9
    info = RunInfo("s", canonical=plan, lab="imported" if imported else "netns", seed=seed)
    frames = (
        pl.DataFrame([{key: row.get(key) for key in schema} for row in made], schema=schema)
        for made, schema in ((rows, ROWS_SCHEMA), (trials, TRIALS_SCHEMA))
    )
    return info, *frames  # type: ignore[return-value]


def compared(info: RunInfo, rows: pl.DataFrame, a: str, b: str) -> dict[Column, Comparison]:
    """By column."""
    where = Path("/nowhere")
    one, other = (Side(where, vpn, info, rows.filter(pl.col("vpn") == vpn), rows) for vpn in (a, b))
    found = compare((one,), (other,), tolerance=0.03, alpha=0.05, metrics=("*",))
    return {((one.measurement, one.parameters), one.metric): one for one in found.found}


def check(data: Data, rows: pl.DataFrame) -> int:
    """Every cell of every column; how many pairs are told apart."""
    (headline,) = data.headlines
    assert {column_of(question) for question in headline.questions} == QUESTIONS
    table = {
        ((row["measurement"], row["parameters"]), row["metric"], row["a"], row["b"]): row
        for row in data.comparisons.iter_rows(named=True)
    }
    ahead: dict[str, set[tuple[str, str]]] = {
        question.key: set() for question in headline.questions
    }
    for a, b in combinations(VPNS, 2):
        told = compared(data.run, rows, a, b)
        for question in headline.questions:
            column = column_of(question)
            row, comparison = table[*column, a, b], told[column]
            assert row["differ"] == (comparison.change in APART)
            if comparison.ratio is None:
                assert row["ratio"] is None
                assert not row["differ"]
                continue
            assert row["p_column"] == comparison.p_adjusted
            assert comparison.ratio == pytest.approx(1 / row["ratio"])
            if row["differ"]:
                first = (a, b) if (row["ratio"] > 1) == question.more_is_better else (b, a)
                ahead[question.key].add(first)
                if comparison.change in (Change.FASTER, Change.SLOWER):
                    assert (comparison.change is Change.FASTER) == (first == (b, a))
    for question in headline.questions:
        check_column(data, headline, question, ahead[question.key])
        for vpn in VPNS:
            relative = headline.answers[vpn, question.key].relative
            if relative is not None:
                a, b = sorted((vpn, "none"))
                found = table.get((*column_of(question), a, b))
                assert (found is None) == question.column.absolute
                assert relative.distinguishable == (found is not None and found["differ"])
    return sum(map(len, ahead.values()))


def column_of(question: Question) -> Column:
    """That it is about."""
    return (question.measurement, question.parameters), question.metric


def check_column(
    data: Data, headline: Headline, question: Question, ahead: set[tuple[str, str]]
) -> None:
    winner: Winner = headline.winners[question.key]
    for vpn, rank in winner.ranks.items():
        assert rank.best == 1 + sum(second == vpn for _, second in ahead)
        assert rank.worst == len(VPNS) - sum(first == vpn for first, _ in ahead)
    not_apart = {*winner.level_with, *winner.undecided}
    assert not_apart == {
        vpn for vpn in VPNS if vpn != winner.vpn and (winner.vpn, vpn) not in ahead
    }
    assert not any(second == winner.vpn for _, second in ahead)
    (view,) = headline_views(data)
    place = list(headline.questions).index(question)
    badges = {
        row.vpn: cell.badge
        for row in view.rows
        if not row.baseline and (cell := row.cells[place]) is not None
    }
    with_card = [one for one in headline.questions if one.column.superlative]
    assert FLOOD not in {column_of(one)[0] for one in with_card}
    if question in with_card:
        card = view.winners[with_card.index(question)]
        assert card.title == question.column.superlative
        assert (card.vpn, card.certain) == (winner.vpn, not not_apart)
    assert len(view.winners) == len(with_card)
    assert (badges[winner.vpn] == "best") == (not not_apart)
    behind = {second for _, second in ahead}
    for vpn, badge in badges.items():
        assert bool(badge) == (bool(behind) and vpn not in behind)


def test_across_a_line_they_say_the_same_too() -> None:
    info, rows, trials = simulated(12)
    paths = {"none": "none", "a": "kernel", "b": "kernel", "c": "user space", "d": "user space"}
    guest = replace(info, environment={"not_comparable": "emulated"}, data_paths=paths)
    table = gather(guest, rows, trials, NO_HISTOGRAMS, NO_SERIES).comparisons
    for a, b in (("a", "b"), ("c", "d")):
        for ((kind, parameters), metric), one in compared(guest, rows, a, b).items():
            (row,) = table.filter(
                measurement=kind, parameters=parameters, metric=metric, a=a, b=b
            ).iter_rows(named=True)
            assert one.p_adjusted == row["p_column"]
    assert set(table.select("a", "b").iter_rows()).isdisjoint({("a", "c"), ("b", "d")})


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_of_every_journal_all_say_the_same(part: int) -> None:
    apart = 0
    for seed in range(part, JOURNALS, 4):
        info, rows, trials = simulated(seed)
        data = gather(info, rows, trials, NO_HISTOGRAMS, NO_SERIES)
        apart += check(data, rows)
    # Both answers occur.
    assert 0.05 < apart / (JOURNALS / 4 * len(QUESTIONS) * 6) < 0.9
