"""Results as sentences, for readers who do not look at charts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from culvert.analysis.headline import Answer, Estimate, Headline, Question, Winner
from culvert.decide.decision import Pair
from culvert.metrics import Effect
from culvert.report.numbers import PERCENT, Scale, scale_for
from culvert.statistics.ranks import Rank
from culvert.statistics.values import ratio_of
from culvert.units import plural

NO_DIFFERENCE = "no difference shown"
CORRELATED = "block differences are correlated"
"""The caveat of a decision: differences of neighbouring blocks, which random order should make
independent, are not (p < 0.01)."""
PRACTICAL = 200
"""More blocks or trials than that are no advice."""
_PLAIN = Scale(1.0, "")


def verdict(headline: Headline, vpn: str) -> str:
    """One sentence on a VPN: throughput, latency, CPU, initiation, as far as they were measured."""
    answers = {
        question: headline.answers[vpn, question.key]
        for question in headline.questions
        if (vpn, question.key) in headline.answers
    }
    if not answers:
        return f"{vpn}: no trial that counts."
    keys = {question.key for question in answers}
    parts = [
        part
        for question, answer in answers.items()
        if question.column.unless not in keys and (part := _part(question, answer))
    ]
    return f"{vpn} {joined(parts)}." if parts else f"{vpn}: see the table."


def standing(winner: Winner, unit: str) -> str:
    """How the leader compares with the other VPNs, as far as the data show it. ``unit``: block, or
    trial if no blocks pair them."""
    if winner.contenders == 1:
        return "the only VPN with a number"
    parts = []
    if winner.level_with:
        level = [f"{vpn} ({_more(winner.against[vpn], unit)})" for vpn in winner.level_with]
        parts.append(f"not distinguishable from {joined(level)}")
    if winner.undecided:
        parts.append(_undecided(winner, unit))
    if not parts:
        parts.append("distinguishable from every other VPN")
    alike = [vpn for vpn, pair in winner.against.items() if pair.correlated]
    if alike:
        parts.append(f"{CORRELATED} with {joined(alike)}")
    rank = winner.ranks[winner.vpn]
    if 1 < rank.worst < winner.contenders:
        parts.append(place(rank))
    return "; ".join(parts)


def place(rank: Rank) -> str:
    """``1st``, ``2nd or 3rd``, ``2nd to 4th``."""
    if rank.best == rank.worst:
        return _ordinal(rank.best)
    word = "or" if rank.worst == rank.best + 1 else "to"
    return f"{_ordinal(rank.best)} {word} {_ordinal(rank.worst)}"


def _ordinal(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _undecided(winner: Winner, unit: str) -> str:
    """VPNs for which no figures could decide: ``5 blocks are too few to compare it with b``."""
    pairs = [winner.against[vpn] for vpn in winner.undecided if vpn in winner.against]
    names = joined(winner.undecided)
    if len(pairs) < len(winner.undecided):
        return f"does not compare with {names}"
    n = min(pair.n for pair in pairs)
    more = max((pair.more or 0 for pair in pairs), default=0)
    are = "is" if n == 1 else "are"
    return f"{plural(n, unit)} {are} too few to compare it with {names}: about {more} more"


def _more(pair: Pair, unit: str) -> str:
    """What would decide; beyond a practical number, how small the difference is."""
    practical = pair.more is not None and pair.more <= PRACTICAL
    if not practical and pair.ends is not None and pair.logarithmic:
        most = ratio_of(max(map(abs, pair.ends))) - 1
        if most < 1:
            return f"they differ by at most {100 * most:.2g} %"
    return repetitions(pair.more, unit)


def repetitions(more: int | None, unit: str) -> str:
    """How many more would decide, as far as the number is of use: ``about 2 more blocks``."""
    if more is None or more > PRACTICAL:
        return f"over {PRACTICAL} more {unit}s"
    return f"about {plural(more, f'more {unit}')}"


@dataclass(frozen=True)
class FigureText:
    """A figure in words: the number with its unit, and the interval (empty where there is none)."""

    main: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.main} {self.interval}".rstrip()


_UNIT = re.compile(r"(?<=\d) (?=(?:[kMG]?bit/s|[mµn]?s|s/GB|%)(?:\W|$))|(?<=,) (?=[^ ,]+\])")


def kept_together(text: str) -> str:
    """No line breaks between a number and its unit, and in an interval."""
    return _UNIT.sub("\u00a0", text)


def share(ratio: float, low: float | None, high: float | None) -> FigureText:
    """``41 % [40, 43]``."""
    return FigureText(PERCENT.text(ratio, low, high), PERCENT.ends(ratio, low, high))


def times(ratio: float, low: float | None, high: float | None) -> FigureText:
    """``8.1 [8.0, 8.6]`` with a multiplication sign (U+00D7) after the first number."""
    return FigureText(f"{_PLAIN.number(ratio, low, high)}\u00d7", _PLAIN.ends(ratio, low, high))


def difference(unit: str, effect: Estimate) -> FigureText:
    """``+75 µs [73, 78]``; if no difference is shown and the interval contains 0, only its ends.

    Such a difference is smaller than the scatter of the trials: readers would take its digits, and
    even its sign, for a result.
    """
    value, low, high = effect.value, effect.low, effect.high
    if low is not None and high is not None and low <= 0 <= high:
        scale = scale_for(unit, [max(abs(low), abs(high))])
        ends = scale.ends(value, low, high)
        return FigureText(NO_DIFFERENCE, f"{ends} {scale.name}")
    scale = scale_for(unit, [value])
    sign = "+" if value > 0 else ""
    return FigureText(sign + scale.text(value, low, high), scale.ends(value, low, high))


def joined(parts: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; ``last`` may be another word."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def question_scale(headline: Headline, question: Question) -> Scale:
    """One unit for a column of the headline."""
    values = [
        answer.absolute.value
        for (_, key), answer in headline.answers.items()
        if key == question.key
    ]
    return scale_for(question.unit, values)


def _part(question: Question, answer: Answer) -> str:
    """The column's sentence for a VPN; empty without a sentence, or if the baseline is missing."""
    absolute, relative, column = answer.absolute, answer.relative, question.column
    if not column.sentence:
        return ""
    if column.absolute or (column.effect is Effect.RATIO and question.more_is_better):
        scale = scale_for(question.unit, [absolute.value])
        text = column.sentence.format(
            scale.with_unit_and_interval(absolute.value, absolute.low, absolute.high)
        )
        if relative and not column.absolute:
            figure = share(relative.value, relative.low, relative.high)
            text += f", {figure} of what the same link carries without a VPN"
        return text
    if relative is None:
        return ""
    if column.effect is Effect.RATIO:
        ratio = times(relative.value, relative.low, relative.high)
        return column.sentence.format(ratio)
    figure = difference(question.unit, relative)
    if figure.main == NO_DIFFERENCE and column.unchanged:
        return column.unchanged.format(figure.interval)
    return column.sentence.format(figure)
