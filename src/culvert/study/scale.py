"""``[scale.NAME]``: a smaller edition of a study: ``culvert run STUDY --scale NAME``.

Any other key than the table's own is a parameter: it replaces the value in all measurements that
give this parameter in the file. A table named after a kind sets parameters of that kind only,
whether the file gives them or not.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from culvert.study.blocks import MOST_BLOCKS, Blocks
from culvert.study.table import Table, known_keys
from culvert.units import DurationS, RateBps


class ScaledLink(Table):
    """``link`` of a scale: a rate for machines that cannot carry the rate of the whole study."""

    rate_bps: Annotated[RateBps, Field(gt=0)] = Field(alias="rate")


class ScaleTable(BaseModel):
    """``[scale.NAME]``. ``vpns``, ``conditions`` and ``measurements`` (kinds) select what stays."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, populate_by_name=False)

    blocks: Blocks | None = None
    pause_s: DurationS | None = Field(None, alias="pause")
    warmup_blocks: int | None = Field(None, ge=0, le=MOST_BLOCKS)
    link: ScaledLink | None = None
    vpns: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    conditions: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    measurements: tuple[str, ...] | None = Field(None, strict=False, min_length=1)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters for the measurements that give them, including the tables of kinds."""
        return dict(self.model_extra or {})


def own_keys() -> list[str]:
    """The keys that are not parameters."""
    return known_keys(ScaleTable)
