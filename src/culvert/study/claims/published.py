"""``[[published]]``: a value that a source has published, shown next to the measured one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from culvert.study.claims.test import Where
from culvert.study.table import Table


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
