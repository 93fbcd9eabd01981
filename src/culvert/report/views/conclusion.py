"""What the run found, and what it did not decide, in a few lines at the top; and the cells whose
trials are correlated, drift or jump, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any

import polars as pl

from culvert.analysis.claims.verdict import Verdict
from culvert.analysis.declared import figures, title_of
from culvert.analysis.headline import Headline, Question, Winner
from culvert.decide.decision import Pair
from culvert.errors import some
from culvert.metrics import Effect
from culvert.report.labels import Labels
from culvert.report.model import Data
from culvert.report.numbers import duration, grouped
from culvert.report.sentences import (
    CORRELATED,
    PRACTICAL,
    difference,
    joined,
    kept_together,
    question_scale,
    repetitions,
    share,
    times,
)
from culvert.report.views.leaks import Tightness, missed
from culvert.report.views.matrix import Matrices
from culvert.study.vpn_id import BASELINE, bare

ERROR_RATE = (
    "In each statement, which VPN is first is wrong in at most 5 of 100 such runs. "
    "Brackets are 95 % intervals."
)
"""The first is that of the best VPN of a column (``decide``)."""


@dataclass(frozen=True)
class Conclusion:
    """Statements of one kind; ``note`` behind the last."""

    title: str
    statements: tuple[str, ...]
    note: str = ""

    def __str__(self) -> str:
        lines = [self.title, *(f"  {one}" for one in self.statements)]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)


def conclusion(data: Data, leaks: Matrices, *, claims: bool = True) -> list[Conclusion]:
    """Which VPN is first where that is decided, what each costs against the bare link, the verdicts
    on the study's claims; then what is open and what would decide it; and what left beside the
    tunnel, if that was looked for. Without ``claims`` where they are listed beside it."""
    decided, still_open, costs = [], [], []
    for headline in data.headlines:
        where = f" ({headline.condition})" if len(data.headlines) > 1 else ""
        for question in headline.questions:
            if cost := _cost(headline, question):
                costs.append(f"{question.column.title}{where}: {kept_together(cost)}")
            winner = headline.winners.get(question.key)
            if winner is None or winner.contenders < 2 or not question.column.superlative:
                continue
            title = f"{_lower(question.column.superlative)}{where}"
            if winner.certain:
                figures = kept_together(_first_and_next(headline, question, winner))
                decided.append(f"{title}: {figures}")
            else:
                still_open.append(f"{title}: {_candidates(winner)}; {_would_decide(data, winner)}")
    found = [
        Conclusion("Decided", tuple(decided), ERROR_RATE),
        Conclusion("Against the same link without a VPN", tuple(costs)),
        *(
            Conclusion(f"Claims {verdict}", tuple(_claims(data, verdict)) if claims else ())
            for verdict in (Verdict.SUPPORTED, Verdict.CONTRADICTED)
        ),
        Conclusion("Not decided yet", tuple(still_open)),
        Conclusion("Beside the tunnel", tuple(_leaks(leaks)), missed(data)),
    ]
    return [one for one in found if one.statements]


def _leaks(leaks: Matrices) -> Iterator[str]:
    """``wireguard/go: packets left in the phases kill and stop``."""
    for matrix in leaks.matrices:
        where = f" ({matrix.title})" if matrix.title else ""
        for vpn, row in zip(matrix.heads, matrix.rows, strict=True):
            by_phase = zip(matrix.columns, row, strict=True)
            phases: dict[StrEnum, list[str]] = {}
            for phase, cell in by_phase:
                if cell is not None:
                    phases.setdefault(cell.outcome, []).append(phase)
            if leaking := phases.get(Tightness.LEAKS):
                yield f"{vpn}{where}: packets left, {_phases(leaking)}"
            elif tight := phases.get(Tightness.NOTHING):
                yield f"{vpn}{where}: no packet left, {_phases(tight)}"


def _phases(names: Sequence[str]) -> str:
    return f"phase{'s' if len(names) > 1 else ''} {joined(names)}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _candidates(winner: Winner) -> str:
    """``A or B, not C``: those of rank 1, the best median first, and those that are behind one."""
    others = [*winner.level_with, *winner.undecided]
    maybe = [vpn for vpn in others if winner.ranks[vpn].best == 1]
    if len(maybe) + 1 == winner.contenders:
        return f"any of the {winner.contenders}"
    behind = sorted(vpn for vpn, rank in winner.ranks.items() if rank.best > 1)
    return f"{joined([winner.vpn, *maybe], 'or')}, not {joined(behind, 'or')}"


def _would_decide(data: Data, winner: Winner) -> str:
    """What it takes to know the first: ``about 6 more blocks (4 min)``."""
    unit = "block" if data.run.design.paired else "trial"
    pairs = [winner.against.get(vpn) for vpn in (*winner.level_with, *winner.undecided)]
    more = [None if pair is None else pair.more for pair in pairs]
    known = [number for number in more if number is not None]
    most = max(known) if len(known) == len(more) else None
    words = repetitions(most, unit)
    if most is None or most > PRACTICAL or unit != "block":
        return words
    spent = data.trials.group_by("block").agg(pl.col("duration_s").sum())["duration_s"].median()
    return f"{words} ({duration(most * float(spent or 0))})"  # type: ignore[arg-type]


def _cost(headline: Headline, question: Question) -> str:
    """``8.0 % to 19 % of 1 480 Mbit/s``; empty unless every VPN is shown to differ from the bare
    link, in one direction."""
    base = headline.answers.get((BASELINE, question.key))
    relations = [
        answer.relative
        for (vpn, key), answer in headline.answers.items()
        if key == question.key and not bare(vpn) and answer.relative is not None
    ]
    if base is None or question.column.absolute or not relations:
        return ""
    none = 0.0 if question.column.effect is Effect.DIFFERENCE else 1.0
    if not all(one.distinguishable for one in relations) or (
        len({one.value > none for one in relations}) > 1
    ):
        return ""
    ends = [pick(relations, key=attrgetter("value")) for pick in (min, max)]
    scale = question_scale(headline, question)
    absolute = base.absolute
    own = scale.text(absolute.value, absolute.low, absolute.high)
    if question.column.effect is Effect.DIFFERENCE:
        said = [difference(question.unit, one).main for one in ends]
        return f"{' to '.join(dict.fromkeys(said))}; the bare link has {own}"
    words = share if question.more_is_better else times
    said = [words(one.value, one.low, one.high).main for one in ends]
    return (
        f"{' to '.join(dict.fromkeys(said))} {'of ' * question.more_is_better}the bare link's {own}"
    )


def _claims(data: Data, verdict: Verdict) -> Iterator[str]:
    """Those with this verdict: ``OpenVPN reaches at most half of WireGuard's goodput (0.42x)``."""
    for one in data.claims.judged:
        if one.verdict is verdict:
            effect = one.telling.effect if one.telling else None
            shown = effect and effect.ratio and times(effect.value, effect.low, effect.high).main
            yield f"{one.text} ({shown})" if shown else one.text


def _first_and_next(headline: Headline, question: Question, winner: Winner) -> str:
    """``wireguard/go (412 Mbit/s), 47 % [44, 50] more than openvpn (280 Mbit/s)``."""
    second, pair = next(iter(winner.against.items()))
    scale = question_scale(headline, question)
    both = winner.absolute, headline.answers[second, question.key].absolute
    first, following = (scale.text(one.value, one.low, one.high) for one in both)
    caveat = f"; {CORRELATED}" if pair.correlated else ""
    return f"{winner.vpn} ({first}), {_than(pair)} {second} ({following}){caveat}"


def _than(pair: Pair) -> str:
    """The column's own ratio: ``47 % [44, 50] more than``; of what has no ratio ``before``."""
    if pair.ratio is None:
        return "before"
    ratio, low, high = pair.ratio
    if ratio >= 2:
        return f"{times(ratio, low, high)} as much as"
    if low is None or high is None:
        return f"{share(abs(ratio - 1), None, None)} {'more' if ratio > 1 else 'less'} than"
    if ratio < 1:
        return f"{share(1 - ratio, 1 - high, 1 - low)} less than"
    return f"{share(ratio - 1, low - 1, high - 1)} more than"


def behaviour_sentences(data: Data) -> tuple[str, ...]:
    """For each cell and figure that is correlated, drifts or jumps; empty where none does.

    Figures are those of ``figures()``; of a measurement that has none of them, every metric without
    labels.
    ``wireguard/go, TCP, Goodput: not independent: 20 trials, effective sample size 6; ...``
    """
    plain = data.summary.filter(pl.col("labels") == "{}")
    figure = pl.col("metric").is_in(sorted(figures()))
    flagged = plain.filter(
        figure | ~figure.any().over("measurement"),
        pl.col("correlated") | pl.col("drifts") | (pl.col("jumps") != ""),
    )
    return tuple(_sentence(row, data.labels) for row in flagged.iter_rows(named=True))


def _sentence(row: Mapping[str, Any], labels: Labels) -> str:
    cell = labels.cell(row["condition"], row["measurement"], row["parameters"])
    parts = []
    if row["correlated"]:
        effective_n = grouped(max(1, round(row["effective_n"])), 0)
        parts.append(f"not independent: {row['n']} trials, effective sample size {effective_n}")
    if row["drifts"]:
        parts.append(f"it drifts {'upwards' if row['tau'] > 0 else 'downwards'}")
    if row["jumps"]:
        parts.append(f"it jumps at trial {_numbers(row['jumps'].split())}")
    metric = title_of(row["metric"], row["measurement"])
    return f"{row['vpn']}, {cell}, {metric}: {'; '.join(parts)}"


def _numbers(jumps: Sequence[str]) -> str:
    if len(jumps) > 4:
        return some(jumps)
    return joined(jumps)
