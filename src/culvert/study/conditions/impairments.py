"""Values of a condition's keys with more than one number: queue, jitter, loss, files.

Each has a short form, a single word: ``loss = "1%"``, ``queue = "codel"``, ``jitter = "5ms"``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator, model_validator
from pydantic_core.core_schema import ValidationInfo

from culvert.errors import UsageError
from culvert.study.table import Table, problem
from culvert.topology.link.impairment import (
    LONGEST_BLACKOUT_NS,
    LONGEST_DELAY_NS,
    Blackout,
    Bursts,
    Codel,
)
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.recorded import Delays, Recorded, Trace
from culvert.units import DurationNs, Fraction, SizeBytes

DIRECTORY = "directory"
"""Key in the validation context: the directory of files that a study names, or None: files are not
read."""

Delay = Annotated[DurationNs, Field(le=LONGEST_DELAY_NS)]


def _word(key: str, table: type[Table]) -> BeforeValidator:
    """A word is short for a table with only this key."""
    return BeforeValidator(
        lambda value: value if isinstance(value, dict) else {key: value},
        json_schema_input_type=table | str,
    )


def _file(kind: type[Recorded]) -> PlainValidator:
    """A file by its name, relative to the study's directory."""

    def found(value: object, info: ValidationInfo) -> Recorded:
        if not isinstance(value, str):
            raise problem(f"{value!r} is not a file name", 'write it as "lte.trace"')
        directory = (info.context or {}).get(DIRECTORY, Path())
        if directory is None:
            return kind.unread(Path(value))
        try:
            return kind.read((directory / value).resolve())
        except UsageError as error:
            raise problem(f"{error.what}: {error.why}", error.remedy) from None
        except (RuntimeError, ValueError) as error:  # a loop of links, a zero byte
            raise problem(f"{value[:100]!r} is not a path: {error}", "correct it") from None

    return PlainValidator(found, json_schema_input_type=str)


_DIGEST = PlainSerializer(lambda found: f"sha256:{found.sha256}", return_type=str)
TraceFile = Annotated[Trace, _file(Trace), _DIGEST]
DelaysFile = Annotated[Delays, _file(Delays), _DIGEST]


class CodelTable(Table):
    """``codel`` of a queue, with CoDel's parameters."""

    target_ns: Annotated[Delay, Field(gt=0)] = Field(Codel.target_ns, alias="target")
    interval_ns: Annotated[Delay, Field(gt=0)] = Field(Codel.interval_ns, alias="interval")


def _queue(value: object) -> object:
    if isinstance(value, dict):
        return value
    return {"codel": True} if value == "codel" else {"bytes": value}


class QueueTable(Table):
    """The queue before the rate limit: its limit in bytes or packets, and CoDel."""

    bytes: Annotated[SizeBytes, Field(gt=0)] | None = None
    packets: Annotated[int, Field(gt=0, le=2**32)] | None = None
    codel: bool | CodelTable = False

    @model_validator(mode="after")
    def _one_limit(self) -> QueueTable:
        if self.bytes is not None and self.packets is not None:
            raise problem("a queue has one limit", "write bytes or packets", ["packets"])
        return self

    def changes(self) -> dict[str, Any]:
        codel = Codel() if self.codel is True else None
        if isinstance(self.codel, CodelTable):
            codel = Codel(self.codel.target_ns, self.codel.interval_ns)
        return {"queue_bytes": self.bytes, "queue_packets": self.packets, "codel": codel}


class JitterTable(Table):
    """Delay added at random: a distribution with its spread, or a file of delays."""

    spread_ns: Delay | None = Field(None, alias="spread")
    distribution: Literal["uniform", "normal", "pareto"] = "uniform"
    file: DelaysFile | None = None
    hold_ns: Delay = Field(0, alias="hold")
    reorders: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> JitterTable:
        if (self.spread_ns is None) == (self.file is None):
            raise problem(
                "jitter has either a spread or a file",
                'write { spread = "5ms" } or { file = "delays.txt" }',
            )
        if self.file is not None and "distribution" in self.model_fields_set:
            raise problem("the file is the distribution", "leave it out", ["distribution"])
        return self

    def jitter(self) -> Jitter:
        if self.file is not None:
            return Jitter(0, JitterShape.EMPIRICAL, self.reorders, self.hold_ns, self.file)
        distribution = JitterShape(self.distribution)
        return Jitter(self.spread_ns or 0, distribution, self.reorders, self.hold_ns)


class LossTable(Table):
    """Loss of a share of the packets, of bursts, or of the packets with these numbers."""

    share: Fraction | None = None
    to_bad: Fraction | None = None
    to_good: Fraction | None = None
    loss_in_good: Fraction = 0.0
    loss_in_bad: Fraction = 1.0
    packets: Annotated[tuple[Annotated[int, Field(ge=0, lt=2**63)], ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _one_model(self) -> LossTable:
        bursts = (self.to_bad is not None) + (self.to_good is not None)
        if (self.share is not None) + bool(bursts) + bool(self.packets) != 1 or bursts == 1:
            raise problem(
                "loss is a share, bursts, or a list of packets",
                'write "1%", { to_bad = "1%", to_good = "25%" } or { packets = [0, 7] }',
            )
        return self

    def loss(self) -> float | Bursts | tuple[int, ...]:
        if self.share is not None:
            return self.share
        if self.to_bad is not None and self.to_good is not None:
            return Bursts(self.to_bad, self.to_good, self.loss_in_good, self.loss_in_bad)
        return self.packets


class BlackoutTable(Table):
    """A time in which no packet passes, counted from when the link is created."""

    for_ns: Annotated[DurationNs, Field(gt=0, le=LONGEST_BLACKOUT_NS)] = Field(alias="for")
    after_ns: Annotated[DurationNs, Field(le=LONGEST_BLACKOUT_NS)] = Field(0, alias="after")

    def blackout(self) -> Blackout:
        return Blackout(self.for_ns, self.after_ns)


QueueValue = Annotated[QueueTable, BeforeValidator(_queue, json_schema_input_type=QueueTable | str)]
JitterValue = Annotated[JitterTable, _word("spread", JitterTable)]
LossValue = Annotated[LossTable, _word("share", LossTable)]
