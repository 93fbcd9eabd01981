"""A comparison as text, the same for the terminal, Markdown and JUnit."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.compare.comparison import Comparison
from culvert.analysis.compare.verdict import SCATTERS, Change
from culvert.analysis.declared import title_of
from culvert.compare.gate import headline, in_words
from culvert.compare.outcome import CompareOutcome
from culvert.compare.sheet import Row, Sheet, Verdicts
from culvert.compare.side import Runs, Side
from culvert.decide.decision import ALPHA as COLUMN_ALPHA
from culvert.decide.gate import Judged
from culvert.report.labels import Labels, short_version
from culvert.report.numbers import decimals_for, grouped, scale_for
from culvert.report.sentences import joined, repetitions
from culvert.results import Parameters

_ENOUGH = 10
"""With fewer trials, the correlation of a series is too uncertain to be shown."""


_ONE_RUN_EACH = (
    "One run per side: the scatter between runs of one version is unknown and not included; "
    "culvert compare A1 A2 -- B1 B2 includes it."
)

_MOST_PERCENT = 99_900
"""A factor of a thousand; larger changes are shown as "over"."""

STYLES = {
    Change.SLOWER: "bold red",
    Change.FASTER: "bold green",
    Change.CHANGED: "bold yellow",
    Change.DIFFERS: "bold yellow",
    Change.UNCLEAR: "yellow",
    Change.SAME: "green",
}
"""In the terminal."""


@dataclass(frozen=True)
class WordedLine:
    """One comparison as text."""

    vpn: str
    cell: str
    metric: str
    before: str
    after: str
    change: str
    """``\u22124.9 % [\u22126.0, \u22123.8]``; empty where there is no ratio."""
    verdict: Change
    note: str
    control: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """Those of a ``figure_table``, without the note."""
        return (self.vpn, self.cell, self.metric, self.before, self.after, self.change)


def sheet(outcome: CompareOutcome) -> Sheet:
    """Everything for people."""
    rows = []
    for line in lines(outcome):
        note = f"the baseline; {line.note}".rstrip("; ") if line.control else line.note
        style = STYLES[line.verdict]
        rows.append(Row(str(line.verdict), style, (*line.texts, note), line.control))
    said = summary(outcome)
    sentences = [sentence for _, sentence in judgements(outcome)]
    sentences += [outcome.advice] if outcome.advice else []
    return Sheet(
        f"{headline(outcome.gate)}; {said}" if outcome.gate else said,
        outcome.regressed,
        [*heading(outcome), *(("gate", sentence) for sentence in sentences)],
        outcome.warnings,
        [figure_table("A", "B", rows)],
        missing(outcome),
        method(outcome),
    )


def figure_table(before: str, after: str, rows: list[Row]) -> Verdicts:
    """Of ``WordedLine.texts`` and a note; the names are those of the sides."""
    columns = ("VPN", "cell", "metric", before, after, "change [95 %]", "note")
    return Verdicts(columns, "lllrrrl", rows)


def lines(outcome: CompareOutcome) -> list[WordedLine]:
    """Every comparison, in the order of display."""
    labels = _labels(outcome)
    return [_line(one, labels) for one in outcome.found]


def judgements(outcome: CompareOutcome) -> list[tuple[Judged, str]]:
    """Each figure that the gate judged, with its sentence."""
    measured = {one.metric: one.measurement for one in outcome.found}
    return [
        (one, in_words(one, title_of(one.name, measured.get(one.name, "")))) for one in outcome.gate
    ]


def heading(outcome: CompareOutcome) -> list[tuple[str, str]]:
    """The runs of A and B."""
    return [("A", _runs(outcome.a)), ("B", _runs(outcome.b))]


def summary(outcome: CompareOutcome) -> str:
    """``1 slower, 3 same within 3 %, 2 cannot tell``."""
    share = percent(outcome.tolerance)
    parts = []
    for change, count in outcome.counts.items():
        if count:
            words = f"same within {share}" if change is Change.SAME else str(change)
            parts.append(f"{count} {words}")
    return ", ".join(parts) or "only the baseline was compared"


def method(outcome: CompareOutcome) -> str:
    """The statistical method, in one sentence."""
    alpha, share = percent(outcome.alpha), percent(outcome.tolerance)
    if outcome.in_run:
        how = (
            "block by block, Student's t, Holm"
            if outcome.paired
            else "as two series, Student's t, Holm; no blocks pair the trials"
        )
        differs = (
            f"Differs: at most {percent(COLUMN_ALPHA)} false alarms in each column of the report "
            f"(all VPNs at once; {how})"
        )
    else:
        unit = "run by run" if outcome.several else "trial by trial, allowing for correlated trials"
        differs = f"Differs: at most {alpha} false alarms in total ({unit}, Holm)"
    sentence = (
        f"B against A, 95 % intervals. {differs}. Faster, slower: significantly by more than "
        f"{share}, same: significantly by less (two one-sided tests), each at most {alpha} false "
        "in all comparisons (Holm)."
    )
    return sentence if outcome.in_run or outcome.several else f"{sentence} {_ONE_RUN_EACH}"


def missing(outcome: CompareOutcome) -> list[str]:
    """Cells that are missing on one side, several VPNs in one sentence."""
    labels = _labels(outcome)
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in outcome.absent:
        cell = labels.cell(one.condition, one.measurement, one.parameters)
        found.setdefault((one.side, cell, one.why), []).append(one.vpn)
    return [
        f"not in {side}: {cell} of {joined(vpns)} ({why})"
        for (side, cell, why), vpns in found.items()
    ]


def signed_percent(ratio: float, low: float, high: float) -> str:
    """A ratio as a change, with no more digits than its interval justifies."""
    width = 100 * (high - low)
    places = min(2, decimals_for(width, 2)) if width > 0 else 1
    middle, *ends = (_signed(100 * (value - 1), places) for value in (ratio, low, high))
    return f"{middle} % [{', '.join(ends)}]"


def _labels(outcome: CompareOutcome) -> Labels:
    cells = ("condition", "measurement", "parameters")
    return Labels(pl.concat([side.rows.select(cells) for side in (*outcome.a, *outcome.b)]))


def _runs(runs: Runs) -> str:
    return "; ".join(map(_run, runs))


def _run(side: Side) -> str:
    versions = [
        f"{vpn} {short_version(version)}" if short_version(version) != vpn else vpn
        for vpn, version in side.versions.items()
    ]
    suffix = f" ({', '.join(versions)})" if versions else ""
    return f"{side.name}, {side.run.started_at[:16].replace('T', ' ')} UTC{suffix}"


def _line(one: Comparison, labels: Labels) -> WordedLine:
    scale = scale_for(one.unit, [value for value in (one.median_a, one.median_b) if value])
    change = ""
    if one.ratio is not None and one.low is not None and one.high is not None:
        change = signed_percent(one.ratio, one.low, one.high)
    named = [f"{key}={value}" for key, value in Parameters(one.labels).values.items()]
    return WordedLine(
        vpn=one.vpn,
        cell=labels.cell(one.condition, one.measurement, one.parameters),
        metric=" ".join([one.metric, *named]),
        before=scale.text(one.median_a),
        after=scale.text(one.median_b),
        change=change,
        verdict=one.change,
        note=_note(one),
        control=one.control,
    )


def _note(one: Comparison) -> str:
    parts = [one.why] if one.why and not (one.more and one.why == SCATTERS) else []
    if one.more:
        unit = "block" if one.paired else "trial" if one.runs_a is None else "run"
        parts.append(f"{repetitions(one.more, unit)}{'' if one.paired else ' per side'}")
    n = min(one.n_a, one.n_b)
    if one.effective is not None and n >= _ENOUGH and one.correlated:
        parts.append(f"correlated: {n} trials, effective sample size {one.effective:.0f}")
    return "; ".join(parts)


def _signed(value: float, places: int) -> str:
    if value > _MOST_PERCENT:
        return f"over +{grouped(_MOST_PERCENT, 0)}"
    text = grouped(round(value, places), max(0, places))
    return text if value < 0 or not text.strip("0.\u202f") else f"+{text}"


def percent(share: float) -> str:
    """``3 %``."""
    return f"{100 * share:g} %"
