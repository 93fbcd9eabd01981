"""Facts about a run other than its trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

IMPORTED = "imported"
"""The lab of runs that other tools measured."""


@dataclass(frozen=True)
class Install:
    """One VPN's installation."""

    vpn: str
    role: str
    duration_s: float | None
    changed: bool | None
    version: str


@dataclass(frozen=True)
class RunInfo:
    """Study, program, lab, time and machine. Times are ISO 8601 in UTC."""

    study: str
    title: str = ""
    toml: str = ""
    canonical: str = ""
    seed: int | None = None
    culvert_version: str = ""
    lab: str = ""
    started_at: str = ""
    ended_at: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    installs: tuple[Install, ...] = ()
    data_paths: Mapping[str, str] = field(default_factory=dict)
    """The data path of each VPN (kernel or user space), as proved in its trials."""
    stopped: str = ""
    """The text of the ``StopReason`` that ended the run; empty if none did."""

    @property
    def imported(self) -> bool:
        """Whether another tool measured it, and Culvert only read the results."""
        return self.lab == IMPORTED

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names in the study's order; empty if the study is not recorded."""
        try:
            return tuple(str(one["name"]) for one in json.loads(self.canonical)["condition"])
        except (ValueError, KeyError, TypeError):
            return ()

    @property
    def duration_s(self) -> float | None:
        """Seconds from start to end; None for a run that has not ended."""
        begin, end = moment(self.started_at), moment(self.ended_at)
        return (end - begin).total_seconds() if begin and end else None

    @classmethod
    def from_journal(cls, run: Mapping[str, Any]) -> RunInfo:
        """From the journal's dictionary; missing keys keep their defaults."""
        seed = run.get("seed")
        environment = run.get("environment")
        return cls(
            study=_text(run.get("study")) or "unnamed study",
            title=_text(run.get("title")),
            toml=_text(run.get("toml")),
            canonical=_text(run.get("canonical")),
            seed=int(seed) if isinstance(seed, int) else None,
            culvert_version=_text(run.get("culvert_version")),
            lab=_text(run.get("lab")),
            started_at=_text(run.get("started_at")),
            ended_at=_text(run.get("ended_at")),
            environment=environment if isinstance(environment, Mapping) else {},
            installs=tuple(_install(entry) for entry in run.get("installs") or ()),
            data_paths=run.get("data_paths") or {},
            stopped=_text(run.get("ended_why")).partition("\n")[0],
        )


def moment(text: str) -> datetime | None:
    """An ISO 8601 time, or None."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _install(entry: Mapping[str, Any]) -> Install:
    seconds, changed = entry.get("duration_s"), entry.get("changed")
    return Install(
        vpn=_text(entry.get("vpn")),
        role=_text(entry.get("role")),
        duration_s=float(seconds) if isinstance(seconds, int | float) else None,
        changed=bool(changed) if changed is not None else None,
        version=_text(entry.get("version")),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)
