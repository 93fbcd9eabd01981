"""Claims and published values as the page and the terminal show them."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.analysis.claims.published import PublishedFigure
from culvert.analysis.claims.verdict import ClaimEffect, Judged, Part, Verdict
from culvert.report.claims import Claims
from culvert.report.labels import Labels
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import Scale, scale_for
from culvert.report.sentences import repetitions, times
from culvert.units import plural

_PLAIN = Scale(1.0, "")
_MOST = 1000.0
"""The upper end of an interval of ratios is not shown beyond it."""


@dataclass(frozen=True)
class ClaimView:
    """One claim, and what the page says of it."""

    judged: Judged
    evidence: str
    published: str
    parts: FigureTable | None

    @property
    def kind(self) -> str:
        """The class of its badge."""
        return self.judged.verdict.name.lower().replace("_", "-")

    @property
    def source(self) -> str:
        return ", ".join(part for part in (self.judged.source, self.judged.place) if part)


@dataclass(frozen=True)
class ClaimsView:
    """The section; ``counts`` is the summary. ``published`` is None without published values."""

    counts: str
    claims: tuple[ClaimView, ...]
    published: FigureTable | None
    trouble: str


def claims_view(data: Data) -> ClaimsView:
    """The content of the page's section."""
    found = data.claims
    printed = dict(found.printed)
    return ClaimsView(
        counts=counts(found),
        claims=tuple(
            ClaimView(
                one,
                evidence(one, data.labels),
                printed.get(one.id, ""),
                _parts(one, data.labels) if len(one.parts) > 1 else None,
            )
            for one in found.judged
        ),
        published=_published(found.beside, data.labels) if found.beside else None,
        trouble=found.trouble,
    )


def counts(claims: Claims) -> str:
    """``3 supported, 1 undecided``."""
    return ", ".join(f"{count} {verdict}" for verdict, count in claims.counts.items() if count)


def evidence(one: Judged, labels: Labels) -> str:
    """The evidence for the verdict: ``1.42 times [1.38, 1.47] over 10 blocks, adjusted p = 0.002``.

    p is adjusted for the claims of the study and the looks of its plan.
    """
    parts = []
    deciding = one.telling
    if deciding is not None and deciding.effect is not None:
        which = _which(one, deciding, labels)
        parts.append(
            f"{which}{_effect(deciding.effect, one.unit)} over {deciding.n} "
            f"{'blocks' if deciding.paired else 'trials'}, "
            f"adjusted {_p(one.p_value)}{_of_what(one, deciding)}"
        )
        if deciding.drifts and one.verdict is not Verdict.UNDECIDED:
            parts.append("caution: the values drift")
    if one.why:
        parts.append(one.why)
    if one.verdict is Verdict.UNDECIDED and one.more is not None:
        if deciding is None:
            parts.append(f"at least {plural(one.more, 'more repetition')} needed")
        else:
            unit = "block" if deciding.paired else "repetition"
            parts.append(f"{repetitions(one.more, unit)} would decide")
    return "; ".join(parts)


def _of_what(one: Judged, deciding: Part) -> str:
    """What a supported equivalence rejects: its small p value is not that of a difference."""
    alike = " within " in deciding.text or " no different from " in deciding.text
    return " against a larger difference" if alike and one.verdict is Verdict.SUPPORTED else ""


def _which(one: Judged, deciding: Part, labels: Labels) -> str:
    """With several comparisons, which one is shown."""
    if len(one.parts) == 1:
        return ""
    word = "against it" if one.verdict is Verdict.CONTRADICTED else "weakest"
    cell = labels.cell(deciding.condition, one.metric.partition(".")[0], deciding.parameters)
    return f"{word} of {len(one.parts)}: {deciding.text} ({cell}): "


def _effect(effect: ClaimEffect, unit: str) -> str:
    if effect.ratio and effect.high > _MOST:
        low, value = (_PLAIN.number(end) for end in (effect.low, min(effect.value, _MOST)))
        return f"{value}\u00d7 [{low}, over {_PLAIN.number(_MOST)}]"
    if effect.ratio:
        return str(times(effect.value, effect.low, effect.high))
    scale = scale_for(unit, [effect.value])
    sign = "+" if effect.value > 0 else ""
    return f"{sign}{scale.with_unit_and_interval(effect.value, effect.low, effect.high)}"


def _p(p_value: float | None) -> str:
    if p_value is None:
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}".rstrip("0").rstrip(".")


def _parts(one: Judged, labels: Labels) -> FigureTable:
    measurement = one.metric.partition(".")[0]
    rows = []
    for part in one.parts:
        cell = labels.cell(part.condition, measurement, part.parameters) if part.condition else ""
        effect = _effect(part.effect, one.unit) if part.effect else str(part.lack or "")
        rows.append((part.text, cell, effect, _p(part.p_supports), _p(part.p_contradicts)))
    ends = ("p for, adjusted for looks", "p against, adjusted for looks")
    return FigureTable(("comparison", "cell", "left / right", *ends), "llrrr", tuple(rows))


def _published(found: tuple[PublishedFigure, ...], labels: Labels) -> FigureTable:
    rows = []
    for one in found:
        value = one.published
        figures = [value.value] if one.measured is None else [value.value, one.measured]
        scale = scale_for(value.unit, [figure for figure in figures if figure])
        measured = one.why
        if one.measured is not None:
            measured = scale.with_unit_and_interval(one.measured, one.low, one.high)
        rows.append(
            (
                value.vpn,
                labels.cell(one.condition, value.measurement, one.parameters),
                value.metric,
                value.printed,
                measured,
                "" if one.ratio is None else f"{_PLAIN.number(one.ratio)}\u00d7",
                ", ".join(part for part in (value.place, value.note) if part),
            )
        )
    columns = ("VPN", "cell", "metric", "published", "measured here", "ratio", "place")
    return FigureTable(columns, "lllrrrl", tuple(rows))
