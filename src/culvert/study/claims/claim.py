"""``[[claim]]``: a statement of a paper or vendor, with a test."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    Discriminator,
    Field,
    Tag,
)

from culvert.study.table import Name, Table
from culvert.units import Fraction


class Published(Table):
    """A value that the claim's source has published."""

    value: float = Field(allow_inf_nan=False)
    unit: str
    place: str = ""


def _published_shape(value: object) -> str:
    return "many" if isinstance(value, list | tuple) else "one"


class ClaimTable(Table):
    """``[[claim]]``: a statement with a test. Kept in the journal for the analysis.

    ``place`` is the page, section or table in the source; ``margin`` is the largest relative
    difference that "no different from" still counts as no difference.
    """

    id: Name
    text: str = Field(min_length=1)
    source: str = ""
    place: str = ""
    test: str | None = Field(None, min_length=1)
    margin: Annotated[Fraction, Field(gt=0)] = 0.05
    published: (
        Annotated[
            Annotated[Published, Tag("one")]
            | Annotated[tuple[Published, ...], Tag("many"), Field(strict=False)],
            Discriminator(_published_shape),
        ]
        | None
    ) = None
