"""Verdicts in words, for a reader who will not look at a chart."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.analysis.headline import Answer, Headline, Question, Winner
from culvert.report.numbers import PERCENT, Scale, scale_for

SUPERLATIVES = {
    "tcp": "Highest TCP goodput",
    "udp": "Highest UDP goodput, small packets",
    "rtt": "Lowest latency",
    "cpu": "Least CPU per gigabyte",
    "up": "Quickest to connect",
}
"""The questions that name a winner, in the order in which they are told."""


def verdict(headline: Headline, vpn: str) -> str:
    """One sentence on a VPN: throughput, latency, CPU, initiation, as far as there are numbers."""
    parts = []
    for question in headline.questions:
        answer = headline.answers.get((vpn, question.key))
        told = answer and _part(question, answer)
        if told:
            parts.append(told)
    return f"{vpn} {joined(parts)}." if parts else f"{vpn}: no trial that counts."


def standing(winner: Winner) -> str:
    """What the data can say about the runners-up."""
    if winner.contenders == 1:
        return "the only VPN with a number"
    parts = []
    if winner.level_with:
        parts.append(f"cannot be told apart from {joined(winner.level_with)}")
    if winner.undecided:
        parts.append(f"too few blocks to compare with {joined(winner.undecided)}")
    if not parts:
        return "distinguishable from every other VPN"
    return "; ".join(parts)


def share(ratio: float, low: float | None, high: float | None) -> str:
    """``41 % [40, 43]``."""
    number, bracket, ends = PERCENT.with_interval(ratio, low, high).partition(" [")
    return f"{number} %{bracket}{ends}"


def times(ratio: float, low: float | None, high: float | None) -> str:
    """``8.1 times [8.0, 8.6]``."""
    number, bracket, ends = Scale(1.0, "").with_interval(ratio, low, high).partition(" [")
    return f"{number} times{bracket}{ends}"


def joined(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def signed(scale: Scale, value: float, low: float | None, high: float | None) -> str:
    """A difference with its sign: ``+75 [73, 78] µs``."""
    sign = "+" if value > 0 else ""
    return f"{sign}{scale.with_interval(value, low, high)} {scale.name}"


def question_scale(headline: Headline, question: Question) -> Scale:
    """One unit for a column of the headline."""
    values = [
        answer.absolute.value
        for (_, key), answer in headline.answers.items()
        if key == question.key
    ]
    return scale_for(question.unit, values)


def _part(question: Question, answer: Answer) -> str | None:
    absolute, relative = answer.absolute, answer.relative
    scale = scale_for(question.unit, [absolute.value])
    if question.key == "tcp":
        text = f"carries {scale.text(absolute.value, absolute.low, absolute.high)} of TCP"
        if relative:
            told = share(relative.value, relative.low, relative.high)
            text += f", {told} of what the same link carries without a VPN"
        return text
    if question.key == "rtt" and relative:
        micro = scale_for(question.unit, [relative.value])
        told = signed(micro, relative.value, relative.low, relative.high)
        if not relative.distinguishable and relative.low is not None:
            return f"adds no latency that can be told ({told})"
        return f"changes the median round trip by {told}"
    if question.key == "cpu" and relative:
        told = times(relative.value, relative.low, relative.high)
        return f"takes {told} the CPU per gigabyte"
    if question.key == "up":
        return f"is up in {scale.text(absolute.value, absolute.low, absolute.high)}"
    return None
