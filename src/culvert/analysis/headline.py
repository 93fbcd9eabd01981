"""The main figures for a decision: per VPN, absolute and relative to the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from culvert.analysis.column import Columns
from culvert.analysis.declared import headline_columns
from culvert.analysis.observations import CONTEXT, METRIC, pick
from culvert.analysis.pairs import paired
from culvert.decide.decision import Pair
from culvert.metrics import Better, Effect, HeadlineColumn
from culvert.results import Parameters
from culvert.statistics.ranks import Rank
from culvert.study.vpn_id import BASELINE, bare


@dataclass(frozen=True)
class Estimate:
    """A median over ``n`` trials, or an effect over ``n`` blocks, with its interval, if any."""

    value: float
    low: float | None
    high: float | None
    n: int
    distinguishable: bool = False
    """Of an effect: the test of its column rejects "no effect" (``analysis.column``)."""


@dataclass(frozen=True)
class Question:
    """One column of the headline: a metric of one cell, and how it compares."""

    column: HeadlineColumn
    measurement: str
    metric: str
    unit: str
    more_is_better: bool
    condition: str
    parameters: str

    @property
    def key(self) -> str:
        return self.column.key or f"{self.measurement}.{self.metric}"

    @property
    def figure(self) -> tuple[str, ...]:
        """The key of its column of the run (``analysis.column``)."""
        return self.condition, self.measurement, self.parameters, self.metric, "{}", self.unit


@dataclass(frozen=True)
class Answer:
    """The result of one VPN: in its unit, and relative to the baseline of the same blocks."""

    absolute: Estimate
    relative: Estimate | None


@dataclass(frozen=True)
class Winner:
    """The best VPN of a question, and those that do not differ significantly from it.

    The best median among those that are not significantly worse than any other. ``level_with`` do
    not differ significantly from it; ``undecided`` cannot: there are too few repetitions.
    ``against`` has the column's decision on each other comparable contender. All three begin with
    the next best median.
    """

    vpn: str
    absolute: Estimate
    level_with: tuple[str, ...]
    undecided: tuple[str, ...]
    contenders: int
    ranks: Mapping[str, Rank]
    """The range of ranks of each contender."""
    against: Mapping[str, Pair]

    @property
    def certain(self) -> bool:
        return not self.level_with and not self.undecided


@dataclass(frozen=True)
class Medians:
    """One condition before its VPNs are compared: its questions, and the figure of each VPN."""

    condition: str
    questions: tuple[Question, ...]
    vpns: tuple[str, ...]
    """The baseline first, then by the first question, best first; then those without a number."""
    absolute: Mapping[str, Mapping[str, Estimate]]
    """By question key, then by VPN."""


@dataclass(frozen=True)
class Headline(Medians):
    """One condition with the answer of each VPN, and the winners."""

    answers: Mapping[tuple[str, str], Answer]
    """By VPN and question key; absent where there is no trial that counts."""
    winners: Mapping[str, Winner]
    """By question key; the baseline does not compete."""
    apart: frozenset[str]
    """VPNs whose figures are not comparable with the baseline's here."""


def medians(rows: pl.DataFrame, vpns: list[str], summary: pl.DataFrame) -> list[Medians]:
    """One per condition, in the order in which the rows first name it.

    ``vpns`` are all of the study, so that one without a number is shown without a number;
    ``summary`` is what ``summarise`` gives for the rows.
    """
    return [
        _medians(condition, vpns, summary.filter(condition=condition))
        for condition in rows["condition"].unique(maintain_order=True)
    ]


def compared(
    conditions: Sequence[Medians],
    observed: pl.DataFrame,
    columns: Columns,
) -> list[Headline]:
    """One headline per condition, in their order.

    ``observed`` and ``columns`` are what ``observations`` and ``Columns`` give for the run's rows.
    VPNs across the line are neither compared with the baseline nor ranked.
    """
    every = [question for one in conditions for question in one.questions]
    seen = _of_questions(observed, every)
    effects = {
        effect: paired(seen, effect, columns)
        for effect in {question.column.effect for question in every}
    }
    return [_headline(one, seen, effects, columns) for one in conditions]


def _of_questions(observed: pl.DataFrame, questions: list[Question]) -> pl.DataFrame:
    """The observations of the questions' cells: all are compared at once, which is faster."""
    names = (*CONTEXT, "metric", "labels")
    wanted = [
        (one.condition, one.measurement, one.parameters, one.metric, "{}") for one in questions
    ]
    keys = pl.DataFrame(wanted, schema=dict.fromkeys(names, pl.String), orient="row")
    return observed.join(keys, on=names, how="semi", maintain_order="left")


def _medians(condition: str, vpns: list[str], summary: pl.DataFrame) -> Medians:
    questions = _questions(condition, summary)
    absolute = {question.key: _estimates(_cell(summary, question)) for question in questions}
    return Medians(condition, tuple(questions), _order(vpns, questions, absolute), absolute)


def _headline(
    medians: Medians,
    observed: pl.DataFrame,
    effects: Mapping[Effect, pl.DataFrame],
    columns: Columns,
) -> Headline:
    line = columns.line
    answers: dict[tuple[str, str], Answer] = {}
    winners: dict[str, Winner] = {}
    for question in medians.questions:
        absolute = medians.absolute[question.key]
        relative = _estimates(_cell(effects[question.column.effect], question))
        for vpn, estimate in absolute.items():
            beside = None if line.crossed((vpn, BASELINE)) else relative.get(vpn)
            answers[vpn, question.key] = Answer(estimate, beside)
        winner = _winner(question, absolute, _cell(observed, question), columns)
        if winner is not None and not line.crossed(vpn for vpn in absolute if not bare(vpn)):
            winners[question.key] = winner
    apart = frozenset(vpn for vpn in medians.vpns if line.crossed((vpn, BASELINE)))
    return Headline(**vars(medians), answers=answers, winners=winners, apart=apart)


def _questions(condition: str, summary: pl.DataFrame) -> list[Question]:
    """The questions for which this condition has data; of several cells, that with most trials."""
    questions = []
    for measurement, spec, column in headline_columns():
        found = pick(summary, spec.name, measurement=measurement)
        if found.is_empty():
            continue
        counted = found.group_by("parameters").agg(pl.col("n").sum()).sort("parameters")
        trials = {str(parameters): int(n) for parameters, n in counted.iter_rows()}
        if column.common:
            named = column.common
            trials = {
                text: n for text, n in trials.items() if Parameters(text).get(named) is not None
            }
        if not trials:
            continue
        parameters = max(trials, key=lambda text: trials[text])
        if column.smallest:
            sizes = {text: _size(text, column.smallest) for text in trials}
            smallest = min(trials, key=lambda text: sizes[text])
            if math.isfinite(sizes[smallest]):  # imported data may not state the size
                parameters = smallest
        if column.largest:
            parameters = _largest(found, trials, column.largest)
        more_is_better = spec.better is Better.MORE
        questions.append(
            Question(
                column, measurement, spec.name, spec.unit, more_is_better, condition, parameters
            )
        )
    return questions


def _largest(found: pl.DataFrame, trials: Mapping[str, int], name: str) -> str:
    """The cell where a parameter is largest, of those with figures of most VPNs."""
    vpns = dict(found.group_by("parameters").agg(pl.col("vpn").n_unique()).iter_rows())
    most = max(vpns[text] for text in trials)
    common = [text for text in trials if vpns[text] == most]
    return max(common, key=lambda text: (Parameters(text).get(name) or 0, trials[text]))


def _size(parameters: str, name: str) -> float:
    size = Parameters(parameters).get(name)
    return float(size) if isinstance(size, int | float) else float("inf")


def _cell(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    return pick(
        frame,
        question.metric,
        measurement=question.measurement,
        condition=question.condition,
        parameters=question.parameters,
    )


def _winner(
    question: Question, absolute: Mapping[str, Estimate], cell: pl.DataFrame, columns: Columns
) -> Winner | None:
    sign = -1 if question.more_is_better else 1
    contenders = {vpn: found for vpn, found in absolute.items() if not bare(vpn)}
    if not contenders:
        return None
    column = columns.of(cell.select(*CONTEXT, *METRIC).row(0))
    ranks = column.ranks(sorted(contenders), more_is_better=question.more_is_better)
    best = min(contenders, key=lambda vpn: (ranks[vpn].best, sign * contenders[vpn].value, vpn))
    others = sorted(contenders.keys() - {best}, key=lambda vpn: (sign * contenders[vpn].value, vpn))
    against = {vpn: pair for vpn in others if (pair := column.between(best, vpn)) is not None}
    undecided = [vpn for vpn in others if vpn not in against or not against[vpn].possible]
    level = [vpn for vpn in others if vpn not in undecided and not against[vpn].apart]
    return Winner(
        best,
        contenders[best],
        tuple(level),
        tuple(undecided),
        len(contenders),
        ranks,
        against,
    )


def _order(
    vpns: list[str], questions: list[Question], absolute: Mapping[str, Mapping[str, Estimate]]
) -> tuple[str, ...]:
    def rank(vpn: str) -> tuple[bool, bool, float, str]:
        for question in questions:
            estimate = absolute[question.key].get(vpn)
            if estimate is not None:
                sign = -1 if question.more_is_better else 1
                # VPNs without an answer to the first question come last.
                late = question is not questions[0]
                return vpn != BASELINE, late, sign * estimate.value, vpn
        return vpn != BASELINE, True, float("inf"), vpn

    return tuple(sorted(vpns, key=rank))


def _estimates(frame: pl.DataFrame) -> dict[str, Estimate]:
    return {str(row["vpn"]): _estimate(row) for row in frame.iter_rows(named=True)}


def _estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(
        row["median"] if "median" in row else row["estimate"],
        row["low"],
        row["high"],
        row["n"],
        row.get("distinguishable", False),
    )
