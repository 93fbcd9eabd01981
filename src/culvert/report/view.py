"""What the page shows, as plain text and fractions; the template only places it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culvert.analysis.headline import Answer, Headline, Question
from culvert.analysis.observations import BASELINE
from culvert.analysis.pairs import Effect
from culvert.analysis.status import StatusCounts
from culvert.report.labels import everything
from culvert.report.model import Data
from culvert.report.numbers import Scale, duration, scale_for
from culvert.report.run_info import moment
from culvert.report.sentences import (
    SUPERLATIVES,
    question_scale,
    share,
    signed,
    standing,
    times,
    verdict,
)

MANY_LEFT_OUT = 0.1
"""From this share of trials that do not count, the badge warns."""
MOST_EVIDENCE = 1000
"""Trials whose evidence is in the page; all of it is in the journal."""
MOST_TRIALS = 5000
"""Trials listed in the page (those that do not count first); all are in tables/trials.csv."""


@dataclass(frozen=True)
class Bar:
    """Fractions of the column's width, 0 to 1; the interval's ends where there is one."""

    length: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class HeadlineCell:
    """One answer: the figure that counts, the other one below, a bar."""

    main: str
    interval: str
    below: str
    bar: Bar | None
    best: bool
    trials: str


@dataclass(frozen=True)
class HeadlineRow:
    """One VPN."""

    vpn: str
    version: str
    colour: str
    baseline: bool
    counts: StatusCounts
    cells: tuple[HeadlineCell | None, ...]


@dataclass(frozen=True)
class WinnerCard:
    """Who leads in what, and how sure that is."""

    title: str
    vpn: str
    colour: str
    value: str
    standing: str
    certain: bool


@dataclass(frozen=True)
class HeadlineView:
    """One condition."""

    condition: str
    columns: tuple[tuple[str, str], ...]
    """Title, and what the figure below it is."""
    rows: tuple[HeadlineRow, ...]
    winners: tuple[WinnerCard, ...]
    verdicts: tuple[tuple[str, str], ...]
    """Colour and sentence."""


@dataclass(frozen=True)
class CheckView:
    """One line of a trial's evidence."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class TrialView:
    """One trial as a row."""

    number: int
    block: str
    vpn: str
    colour: str
    cell: str
    parameters: str
    status: str
    reason: str
    remedy: str
    seconds: str
    checks: tuple[CheckView, ...]


@dataclass(frozen=True)
class Trust:
    """The badge: how much of what was measured can be believed, in one line."""

    level: str
    """good, mixed or none: it chooses the badge's look."""
    title: str
    detail: str


def headline_views(data: Data) -> list[HeadlineView]:
    """Every condition's headline."""
    versions = dict(data.trials.select("vpn", "version").drop_nulls().iter_rows())
    return [_headline(data, headline, versions) for headline in data.headlines]


def trust(data: Data) -> Trust:
    """What share of the trials counts, and whether each that counts carries its proof."""
    counts = data.counts
    if not counts.total:
        return Trust("none", "No trials yet", "this journal is empty")
    if not counts.ok:
        return Trust("none", "No trial counts", f"of {counts.total}; the reasons are below")
    proved = sum(
        1
        for status, text in data.trials.select("status", "evidence").iter_rows()
        if status == "ok" and _evidence(text).get("proved") is True
    )
    without = counts.ok - proved
    if without:
        return Trust(
            "mixed",
            "Not every number is proved",
            f"{without} of {counts.ok} trials that count carry no proof of their traffic",
        )
    detail = f"all {proved} trials that count carry the proof of where their traffic went"
    if counts.ok == counts.total:
        where = "on the link" if set(data.vpns) == {BASELINE} else "in the tunnel"
        return Trust("good", f"All traffic proved {where}", detail)
    left = counts.total - counts.ok
    level = "good" if left < MANY_LEFT_OUT * counts.total else "mixed"
    return Trust(
        level,
        "All traffic that counts proved in the tunnel",
        f"{detail}; {left} of {counts.total} trials do not count and give no number",
    )


def trial_views(data: Data) -> list[TrialView]:
    """Trials as rows, in the order of time; those that do not count are never left out."""
    frame = data.every_trial
    if frame.height > MOST_TRIALS:
        rank = (frame["status"] == "ok").cast(int)
        frame = frame.with_columns(rank.alias("rank")).sort("rank", "trial").head(MOST_TRIALS)
        frame = frame.sort("trial")
    views = []
    for index, row in enumerate(frame.iter_rows(named=True)):
        text = row["parameters"] or "{}"
        shown = row["status"] != "ok" or index < MOST_EVIDENCE
        views.append(
            TrialView(
                number=row["trial"],
                block=str(row["block"]) if row["block"] > 0 else "warm-up",
                vpn=row["vpn"] or "",
                colour=data.colours.get(row["vpn"], "#888888"),
                cell=data.labels.cell(row["condition"] or "", row["measurement"] or "", text),
                parameters=everything(text),
                status=row["status"] or "unknown",
                reason=row["reason"] or "",
                remedy=row["remedy"] or "",
                seconds=duration(row["duration_s"]),
                checks=tuple(_checks(row["evidence"])) if shown else (),
            )
        )
    return views


def facts(data: Data) -> list[tuple[str, str]]:
    """The few facts on run and machine that belong at the top."""
    run, environment = data.run, data.run.environment
    begin = moment(run.started_at)
    found = [
        ("Measured", begin.strftime("%Y-%m-%d %H:%M UTC") if begin else run.started_at),
        ("Took", duration(run.duration_s) if run.duration_s is not None else ""),
        ("Trials", f"{data.counts.total} in {data.trials['block'].n_unique()} blocks"),
        ("Lab", run.lab),
        ("Kernel", at(environment, "kernel", "release")),
        ("Processor", at(environment, "cpu", "model")),
        ("CPUs", at(environment, "cpu", "threads")),
        ("Governor", at(environment, "cpu", "frequency", "governors") or "none visible"),
        ("Culvert", run.culvert_version),
    ]
    return [(name, value) for name, value in found if value]


def reproduce(data: Data) -> str:
    """The commands that measure the same again, quoted for a shell."""
    install = [shlex.quote(vpn) for vpn in data.vpns if vpn != BASELINE]
    lines = [f"sudo culvert install {' '.join(install)}"] if install else []
    lines += ["sudo culvert run study.toml --out again", "culvert report again"]
    return "\n".join(lines)


def at(tree: Mapping[str, Any], *path: str) -> str:
    """A leaf of nested dictionaries as text; empty if there is none."""
    found: Any = tree
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return leaf(found) if found not in (None, [], {}) else ""


def leaf(value: object) -> str:
    """A value of the environment as text."""
    if value is None:
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(leaf(item) for item in value) or "\u2013"
    return str(value)


def _headline(data: Data, headline: Headline, versions: Mapping[str, str]) -> HeadlineView:
    scales = {question.key: question_scale(headline, question) for question in headline.questions}
    rows = tuple(
        HeadlineRow(
            vpn=vpn,
            version=version if (version := versions.get(vpn, "")) != vpn else "",
            colour=data.colours[vpn],
            baseline=vpn == BASELINE,
            counts=data.counts_by_vpn.get(vpn, StatusCounts()),
            cells=tuple(
                _cell(headline, question, vpn, scales[question.key])
                for question in headline.questions
            ),
        )
        for vpn in headline.vpns
    )
    winners = tuple(
        WinnerCard(
            title=title,
            vpn=winner.vpn,
            colour=data.colours[winner.vpn],
            value=f"{_median(scales[key], winner.absolute.value)} {scales[key].name}",
            standing=standing(winner),
            certain=not winner.level_with and not winner.undecided,
        )
        for key, title in SUPERLATIVES.items()
        if (winner := headline.winners.get(key)) is not None
    )
    verdicts = tuple(
        (data.colours[vpn], verdict(headline, vpn)) for vpn in headline.vpns if vpn != BASELINE
    )
    columns = tuple(
        (question.title, _column_note(data, question)) for question in headline.questions
    )
    return HeadlineView(headline.condition, columns, rows, winners, verdicts)


def _median(scale: Scale, value: float) -> str:
    return scale.number(value)


def _column_note(data: Data, question: Question) -> str:
    cell = data.labels.parameters(question.measurement, question.parameters)
    direction = "more is better" if question.more_is_better else "less is better"
    return ", ".join(part for part in (cell, direction) if part)


def _cell(headline: Headline, question: Question, vpn: str, scale: Scale) -> HeadlineCell | None:
    answer = headline.answers.get((vpn, question.key))
    if answer is None:
        return None
    absolute, relative = answer.absolute, answer.relative
    told = f"{scale.with_interval(absolute.value, absolute.low, absolute.high)} {scale.name}"
    main, below = told, "the baseline" if vpn == BASELINE else "no baseline in the same blocks"
    if relative is not None:
        triple = (relative.value, relative.low, relative.high)
        if question.effect is Effect.DIFFERENCE:
            added = scale_for(question.unit, [relative.value])
            main, below = signed(added, *triple), _apart(told)[0]
        elif question.more_is_better:
            main, below = share(*triple), _apart(told)[0]
        else:
            main, below = times(*triple).replace(" times", "\u00d7"), _apart(told)[0]
        if question.key == "up":
            main, below = told, ""
    winner = headline.winners.get(question.key)
    main, interval = _apart(main)
    if not interval and absolute.low is None:
        interval = f"no interval, {absolute.n} trial{'s' if absolute.n != 1 else ''}"
    return HeadlineCell(
        main=main,
        interval=interval,
        below=below,
        bar=_bar(headline, question, answer),
        best=winner is not None and winner.vpn == vpn,
        trials=f"{absolute.n} trials",
    )


def _apart(text: str) -> tuple[str, str]:
    """``412 [405, 420] Mbit/s`` as ``412 Mbit/s`` and ``[405, 420]``."""
    number, bracket, rest = text.partition(" [")
    ends, _, unit = rest.partition("]")
    return (f"{number}{unit}", f"[{ends}]") if bracket else (text, "")


def _bar(headline: Headline, question: Question, answer: Answer) -> Bar | None:
    """The absolute figure as a share of the column's greatest."""
    ends = [
        found.absolute.high or found.absolute.value
        for (_, key), found in headline.answers.items()
        if key == question.key
    ]
    most = max(ends, default=0.0)
    if most <= 0:
        return None
    absolute = answer.absolute

    def fraction(value: float | None) -> float | None:
        return None if value is None else min(1.0, max(0.0, value / most))

    return Bar(fraction(absolute.value) or 0.0, fraction(absolute.low), fraction(absolute.high))


def _evidence(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _checks(text: str | None) -> list[CheckView]:
    """The proof's checks; anything else that a trial carries is shown as it is."""
    evidence = _evidence(text)
    views = []
    for key, value in evidence.items():
        if key == "proved":
            continue
        if key == "checks" and isinstance(value, list):
            views += [
                CheckView(
                    str(check.get("name", "")),
                    bool(check.get("passed")),
                    str(check.get("detail", "")),
                )
                for check in value
                if isinstance(check, Mapping)
            ]
        else:
            views.append(CheckView(str(key), True, json.dumps(value, ensure_ascii=False)))
    return views
