"""The claims and published values of a run's study, judged by the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.published import PublishedFigure, beside
from culvert.analysis.claims.verdict import Judged, Verdict
from culvert.errors import CulvertError
from culvert.report.run_info import RunInfo
from culvert.study.catalogue import recalled_catalogue
from culvert.study.claims.claim import ClaimTable
from culvert.study.study import Study


@dataclass(frozen=True)
class Claims:
    """``printed`` is what the source of each claim prints, by its id. ``trouble`` is the reason why
    a study that has claims could not be judged; else empty."""

    judged: tuple[Judged, ...] = ()
    beside: tuple[PublishedFigure, ...] = ()
    printed: tuple[tuple[str, str], ...] = ()
    trouble: str = ""

    @property
    def counts(self) -> dict[Verdict, int]:
        verdicts = [one.verdict for one in self.judged]
        return {verdict: verdicts.count(verdict) for verdict in Verdict}


def claims_of(run: RunInfo, rows: pl.DataFrame, summary: pl.DataFrame) -> Claims:
    """Judge the claims of the run's study. ``rows`` and ``summary`` as in ``Data``."""
    if "claim" not in run.toml and "published" not in run.toml:
        return Claims()
    try:
        study = Study.recalled(run.toml, run.canonical, recalled_catalogue())
    except CulvertError as error:
        return Claims(trouble=f"this version of Culvert cannot read the run's study: {error}")
    found = judge(study, rows, line=run.line, imported=run.imported, ended=bool(run.ended_at))
    printed = ((claim.id, _printed(claim)) for claim in study.file.claim if claim.published)
    published = beside(study, rows, summary, imported=run.imported)
    return Claims(tuple(found), tuple(published), tuple(printed))


def as_json(claims: Claims) -> dict[str, Any]:
    """For programs, in the journal's units."""
    printed = dict(claims.printed)
    return {
        "counts": {str(verdict): count for verdict, count in claims.counts.items()},
        "claims": [
            asdict(one) | {"verdict": str(one.verdict), "published": printed.get(one.id, "")}
            for one in claims.judged
        ],
        "trouble": claims.trouble,
    }


def claims_table(claims: Claims) -> pl.DataFrame:
    """claims.csv: one row per claim. The effect is that of the comparison that decides."""
    printed = dict(claims.printed)
    columns: dict[str, Any] = {
        "id": pl.String,
        "verdict": pl.String,
        "text": pl.String,
        "source": pl.String,
        "place": pl.String,
        "test": pl.String,
        "comparison": pl.String,
        "effect": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "effect_unit": pl.String,
        "n": pl.Int64,
        "paired": pl.Boolean,
        "p_adjusted": pl.Float64,
        "more_repetitions": pl.Int64,
        "why": pl.String,
        "published": pl.String,
    }
    rows = []
    for one in claims.judged:
        deciding = one.telling
        effect = deciding.effect if deciding else None
        rows.append(
            (
                *(one.id, str(one.verdict), one.text, one.source, one.place, one.test),
                deciding.text if deciding else None,
                *((effect.value, effect.low, effect.high) if effect else (None,) * 3),
                ("ratio" if effect.ratio else one.unit) if effect else None,
                *((deciding.n, deciding.paired) if deciding else (None, None)),
                *(one.p_value, one.more, one.why or None, printed.get(one.id)),
            )
        )
    return pl.DataFrame(rows, schema=columns, orient="row")


def published_table(claims: Claims) -> pl.DataFrame:
    """published.csv: one row per published value and cell, measured in the published unit."""
    columns: dict[str, Any] = {
        "vpn": pl.String,
        "condition": pl.String,
        "measurement": pl.String,
        "parameters": pl.String,
        "metric": pl.String,
        "unit": pl.String,
        "published": pl.Float64,
        "published_sd": pl.Float64,
        "published_n": pl.Int64,
        "place": pl.String,
        "note": pl.String,
        "measured": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "trials": pl.Int64,
        "ratio": pl.Float64,
        "why": pl.String,
    }
    rows = [
        (
            *(one.published.vpn, one.condition, one.published.measurement, one.parameters),
            *(one.published.metric, one.published.unit, one.published.value),
            *(one.published.sd, one.published.n, one.published.place, one.published.note),
            *(one.measured, one.low, one.high, one.n, one.ratio, one.why or None),
        )
        for one in claims.beside
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _printed(claim: ClaimTable) -> str:
    values = claim.published if isinstance(claim.published, tuple) else (claim.published,)
    texts = []
    for one in values:
        if one is not None:
            unit = "" if one.unit == "1" else f" {one.unit}"
            texts.append(f"{one.value:g}{unit}{f' ({one.place})' if one.place else ''}")
    return "; ".join(texts)
