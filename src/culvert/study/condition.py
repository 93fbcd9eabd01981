"""``[[condition]]``: the state of links and nodes in a cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from culvert.labs.impairment import CLEAN, LONGEST_DELAY_NS, Impairment, Jitter, OneWay
from culvert.labs.presets import PRESETS
from culvert.study.names import Mtu, Name
from culvert.study.table import Table, near, problem
from culvert.units import DurationNs, Fraction, RateBps

Delay = Annotated[DurationNs, Field(le=LONGEST_DELAY_NS)]


def _preset(value: str) -> str:
    if value not in PRESETS:
        raise problem(f'"{value}" is not a preset', near(value, PRESETS))
    return value


class ConditionTable(Table):
    """``[[condition]]``: what differs from ``[lab]``."""

    name: Name
    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    mtu: Mtu | None = None
    offloads: bool | None = None
    congestion: str | None = Field(None, pattern=r"^[a-z0-9_]{1,15}$")

    preset: Annotated[str, AfterValidator(_preset)] | None = None
    loss: Fraction | None = None
    delay_ns: Delay | None = Field(None, alias="delay")
    jitter_ns: Delay | None = Field(None, alias="jitter")
    reorder: Fraction | None = None
    duplicate: Fraction | None = None
    corrupt: Fraction | None = None

    @property
    def impairments(self) -> list[str]:
        """The keys that a plain cable cannot fulfil, as they stand in the file."""
        fields = ("preset", "loss", "delay_ns", "jitter_ns", "reorder", "duplicate", "corrupt")
        return [name.removesuffix("_ns") for name in fields if getattr(self, name) is not None]

    @property
    def impairment(self) -> Impairment:
        """What the link is to do in each direction: the preset, and what is written beside it."""
        base = PRESETS[self.preset].impairment if self.preset is not None else CLEAN
        return Impairment(self._applied(base.a_to_b), self._applied(base.b_to_a))

    def _applied(self, one_way: OneWay) -> OneWay:
        changes: dict[str, Any] = {
            name: value
            for name in ("loss", "delay_ns", "reorder", "duplicate", "corrupt")
            if (value := getattr(self, name)) is not None
        }
        if self.jitter_ns is not None:
            changes["jitter"] = Jitter(self.jitter_ns)
        return replace(one_way, **changes)

    @model_validator(mode="after")
    def _reordering_needs_a_delay(self) -> ConditionTable:
        impairment = self.impairment
        if any(way.reorder and not way.delay_ns for way in (impairment.a_to_b, impairment.b_to_a)):
            raise problem(
                "there is no delay that a reordered packet could skip", "add a delay", ["reorder"]
            )
        return self
