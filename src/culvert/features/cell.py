"""One cell of the framework: an answer, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
