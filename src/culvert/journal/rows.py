"""From records to the columns of the tables."""

from __future__ import annotations

from culvert.journal.checksum import Row
from culvert.journal.codec import json_text, pack_float64, pack_int64, utc_text
from culvert.journal.record import InstallRecord, RunHead, TrialRecord


def run_row(head: RunHead, started_at: str) -> Row:
    """Columns RUN."""
    return (
        _text(head.study),
        _text(head.title),
        _text(head.toml),
        _text(head.canonical),
        head.digest,
        head.seed,
        head.lab,
        head.culvert_version,
        json_text(head.environment),
        started_at,
    )


def install_row(install: InstallRecord) -> Row:
    """Columns INSTALL."""
    return (
        _text(install.vpn),
        _text(install.role),
        _real(install.duration_s),
        int(install.changed),
        _text(install.version),
        int(install.ok),
        utc_text(install.at),
    )


def trial_row(trial: TrialRecord) -> Row:
    """Columns TRIAL except the first (the session)."""
    return (
        trial.block,
        trial.position,
        trial.cell_key,
        _text(trial.vpn),
        _text(trial.version),
        _text(trial.condition),
        _text(trial.measurement),
        _text(trial.parameters),
        str(trial.status),
        _text(trial.reason),
        _text(trial.remedy),
        utc_text(trial.started_at),
        _real(trial.duration_s),
        _real(trial.measuring_s),
        json_text(trial.evidence),
    )


def child_rows(trial: TrialRecord) -> dict[str, list[Row]]:
    """Rows of metric, series and histogram, without the trial's id."""
    return {
        "metric": [
            (_text(one.name), _text(one.unit), _real(one.value), json_text(one.labels))
            for one in trial.metrics
        ],
        "series": [
            (
                _text(one.name),
                _text(one.unit),
                json_text(one.labels),
                pack_int64(one.t_ns),
                pack_float64(one.values),
            )
            for one in trial.series
        ],
        "histogram": [
            (_text(one.name), _text(one.unit), json_text(one.labels), _text(one.hdr_v2))
            for one in trial.histograms
        ],
    }


def _real(value: float) -> float:
    """SQLite stores -0.0 as 0.0, so the checksum must cover 0.0."""
    return float(value) + 0.0


def _text(text: str) -> str:
    """Text that UTF-8 can encode; another program's log may have lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
