"""Facts about a run other than its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from typing import Any

from culvert.analysis.design import Design
from culvert.analysis.line import Line, line_of
from culvert.json_text import read_json
from culvert.report.leaves import at

IMPORTED = "imported"
"""The lab of runs that other tools measured."""


@dataclass(frozen=True)
class RunInfo:
    """Study, program, lab, time and machine. Times are ISO 8601 in UTC."""

    study: str = "unnamed study"
    title: str = ""
    toml: str = ""
    canonical: str = "{}"
    digest: str = ""
    """Of ``canonical``."""
    seed: int | None = None
    culvert_version: str = ""
    lab: str = ""
    started_at: str = ""
    ended_at: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    installs: Sequence[Mapping[str, Any]] = ()
    """As ``Journal.run`` has them."""
    data_paths: Mapping[str, str] = field(default_factory=dict)
    """The data path of each VPN (kernel or user space), as proved in its trials."""
    stopped: str = ""
    """The text of the ``StopReason`` that ended the run; empty if none did."""

    @property
    def imported(self) -> bool:
        """Whether another tool measured it, and Culvert only read the results."""
        return self.lab == IMPORTED

    @property
    def identity(self) -> str:
        """A text that copies of a run share, and every other run has another one."""
        return f"{self.digest} {self.seed} {self.started_at}"

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The study's canonical content; empty if the study is not recorded."""
        found: Mapping[str, Any] = read_json(self.canonical)
        return found

    @property
    def scale(self) -> str:
        """The edition of the study that was run; empty for the whole study."""
        return str(self.content.get("scale", ""))

    @cached_property
    def design(self) -> Design:
        """How its trials were made and looked at."""
        return Design.of(self.content, imported=self.imported)

    @cached_property
    def line(self) -> Line:
        """Figures on different sides of it are not comparable in this run."""
        return line_of(at(self.environment, "not_comparable"), self.data_paths)

    @cached_property
    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, in the study's order; empty if the study is not recorded."""
        found = self.content.get("condition")
        tables = found if isinstance(found, list) else []
        return {str(one.get("name")): one for one in tables if isinstance(one, Mapping)}

    @property
    def duration_s(self) -> float | None:
        """Seconds from start to end; None for a run that has not ended."""
        begin, end = moment(self.started_at), moment(self.ended_at)
        return (end - begin).total_seconds() if begin and end else None

    @classmethod
    def from_journal(cls, run: Mapping[str, Any]) -> RunInfo:
        known = {one.name: run[one.name] for one in fields(cls) if run.get(one.name) is not None}
        return cls(**known, stopped=(run.get("ended_why") or "").partition("\n")[0])


def moment(text: str) -> datetime | None:
    """An ISO 8601 time; None for the empty text."""
    return datetime.fromisoformat(text) if text else None
