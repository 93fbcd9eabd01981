"""``[[claim]]``: a statement of a paper or vendor, with a test; ``[[published]]``: a value that a
source has published, shown next to the measured one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    Discriminator,
    Field,
    Tag,
)

from culvert.study.claims.test import Where
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


class PublishedTable(Table):
    """``[[published]]``. ``sd`` has the unit of the value; ``n`` counts repetitions."""

    vpn: str
    measurement: str
    metric: str
    condition: str | None = None
    parameters: Mapping[str, Any] = Field(default_factory=dict)
    value: float = Field(allow_inf_nan=False)
    unit: str
    place: str = Field(min_length=1)
    sd: float | None = Field(None, ge=0, allow_inf_nan=False)
    n: int | None = Field(None, ge=1)
    note: str = ""


@dataclass(frozen=True)
class PublishedValue:
    """``value`` and ``sd`` are in ``unit``, that of the metric; ``printed`` is the published text.

    ``where`` determines the cells that it applies to, as in a claim.
    """

    vpn: str
    measurement: str
    metric: str
    where: Where
    value: float
    unit: str
    printed: str
    place: str
    sd: float | None = None
    n: int | None = None
    note: str = ""
