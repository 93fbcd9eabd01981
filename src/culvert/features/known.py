"""A cell of the framework: an answer and what it rests on. What is known without a test: documents,
and table 1 of kjorveziroski2024; data in TOML files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from culvert.features.criteria import Criterion


class Answer(StrEnum):
    """Whether a criterion holds."""

    YES = "yes"
    NO = "no"


class Standing(StrEnum):
    """What an answer rests on."""

    VERIFIED = "verified"
    """A named test that ran on this machine with the installed version."""
    DOCUMENTED = "documented"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Cell:
    """``source`` is the test, or the document; ``note`` restricts or explains the answer."""

    standing: Standing = Standing.UNKNOWN
    answer: Answer | None = None
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        known = self.standing is not Standing.UNKNOWN
        if known != (self.answer is not None) or known != bool(self.source):
            raise ValueError("an answer needs a source, and an unknown one has neither")


UNKNOWN = Cell()


@dataclass(frozen=True)
class Known:
    """Of one VPN. ``paper`` are its cells in the paper's table, as published; ``documented`` what
    documents state, the paper's text among them."""

    title: str
    paper: Mapping[Criterion, Answer]
    documented: Mapping[Criterion, Cell]

    def cell(self, criterion: Criterion) -> Cell | None:
        """The documented cell: of its own document, else of the paper's table; None if there is
        none."""
        if criterion in self.documented:
            return self.documented[criterion]
        answer = self.paper.get(criterion)
        return None if answer is None else Cell(Standing.DOCUMENTED, answer, paper_source())


@cache
def known() -> Mapping[str, Known]:
    """All VPNs of the data files by name, those of the paper first."""
    rows = _paper()
    names = dict.fromkeys([*rows, *_documents()["vpn"]])
    return {name: _one(name, rows.get(name, {})) for name in names}


def paper_source() -> str:
    """The place of the paper's table."""
    return str(_read("paper.toml")["source"])


def _one(name: str, paper: Mapping[Criterion, Answer]) -> Known:
    entry = dict(_documents()["vpn"].get(name, {}))
    title = str(entry.pop("title", name))
    cells = {Criterion(key): _cell(*value) for key, value in entry.items()}
    return Known(title, paper, cells)


def _cell(answer: str, source: str, note: str = "") -> Cell:
    place = str(_documents()["sources"][source])
    return Cell(Standing.DOCUMENTED, Answer(answer), place, note)


def _paper() -> dict[str, dict[Criterion, Answer]]:
    table = _read("paper.toml")
    columns = [Criterion(name) for name in table["criteria"]]
    return {
        name: {column: Answer(value) for column, value in zip(columns, values, strict=True)}
        for name, values in table["rows"].items()
    }


def _documents() -> dict[str, Any]:
    return _read("documented.toml")


@cache
def _read(name: str) -> dict[str, Any]:
    text = resources.files("culvert.features").joinpath(name).read_text("utf-8")
    return tomllib.loads(text)
