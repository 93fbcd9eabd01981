"""``[[exclude]]``: cells that are left out of the crossing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from culvert.results import Parameters
from culvert.study.table import Table, problem

if TYPE_CHECKING:
    from culvert.study.parameters import Requested


class ExcludeTable(Table):
    """``[[exclude]]``: a cell is left out if it matches all keys of the table; the names are
    patterns with ``*`` and ``?``."""

    vpns: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    conditions: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    measurements: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    parameters: Mapping[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_all(self) -> ExcludeTable:
        if not (self.vpns or self.conditions or self.measurements or self.parameters):
            raise problem("it would leave out all cells", "name vpns, conditions or measurements")
        return self

    def matches(self, vpn: str, condition: str, kind: str, parameters: Parameters) -> bool:
        named = ((self.vpns, vpn), (self.conditions, condition), (self.measurements, kind))
        if any(names and not _any(names, word) for names, word in named):
            return False
        given = parameters.values
        return all(key in given and given[key] == self.parameters[key] for key in self.parameters)


def excluded(tables: Iterable[ExcludeTable], vpn: str, condition: str, one: Requested) -> bool:
    """Whether one of the tables leaves a cell out."""
    return any(table.matches(vpn, condition, one.kind, one.parameters) for table in tables)


def _any(patterns: tuple[str, ...], word: str) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)
