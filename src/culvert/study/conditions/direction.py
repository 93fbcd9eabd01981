"""The keys of a condition that affect packets in one direction, or in both."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from culvert.study.conditions.impairments import (
    BlackoutTable,
    Delay,
    JitterValue,
    LossValue,
    QueueValue,
    TraceFile,
)
from culvert.study.table import Table, problem
from culvert.topology.link.impairment import OneWay
from culvert.units import Fraction, RateBps

_AS_THEY_ARE = (
    *("delay_ns", "reorder", "duplicate", "corrupt"),
    *("drop_udp", "drop_size_and_above"),
)


class DirectionTable(Table):
    """``up`` or ``down`` of a condition."""

    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    trace: TraceFile | None = None
    queue: QueueValue | None = None
    delay_ns: Delay | None = Field(None, alias="delay")
    jitter: JitterValue | None = None
    loss: LossValue | None = None
    reorder: Fraction | None = None
    duplicate: Fraction | None = None
    corrupt: Fraction | None = None
    blackout: BlackoutTable | None = None
    drop_udp: bool | None = None
    drop_size_and_above: Annotated[int, Field(ge=1, le=65535)] | None = None
    decide: Literal["packet", "super-packet"] | None = None

    @model_validator(mode="after")
    def _one_capacity(self) -> DirectionTable:
        if self.rate_bps is not None and self.trace is not None:
            raise problem("rate and trace exclude each other", "write rate or trace", ["rate"])
        return self

    def applied(self, one_way: OneWay) -> OneWay:
        """The direction with these keys applied; a rate replaces a trace, and a trace a rate."""
        changes: dict[str, Any] = {
            name: value for name in _AS_THEY_ARE if (value := getattr(self, name)) is not None
        }
        if self.rate_bps is not None:
            changes |= {"rate_bps": self.rate_bps, "trace": None}
        if self.trace is not None:
            changes |= {"rate_bps": None, "trace": self.trace}
        if self.queue is not None:
            changes |= self.queue.changes()
        if self.jitter is not None:
            changes["jitter"] = self.jitter.jitter()
        if self.loss is not None:
            changes["loss"] = self.loss.loss()
        if self.blackout is not None:
            changes["blackout"] = self.blackout.blackout()
        if self.decide is not None:
            changes["per_super_packet"] = self.decide == "super-packet"
        return replace(one_way, **changes)
