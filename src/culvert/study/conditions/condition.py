"""``[[condition]]``: the state of links and nodes in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from culvert.errors import ImpairmentError
from culvert.study.conditions.impairments import (
    BlackoutTable,
    Delay,
    JitterValue,
    LossValue,
    QueueValue,
    TraceFile,
)
from culvert.study.conditions.lab import LinkTable
from culvert.study.conditions.nat import BlockValue, NatPairs, NatValue
from culvert.study.conditions.processors import ProcessorKeys
from culvert.study.conditions.topology import VersionWord
from culvert.study.table import Mtu, Name, Table, near, problem
from culvert.topology.link import netem as netem_options
from culvert.topology.link.impairment import CLEAN, Impairment, OneWay
from culvert.topology.link.presets import PRESETS
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import Placement
from culvert.units import Fraction, RateBps

_AS_THEY_ARE = (
    *("delay_ns", "limit_packets", "reorder", "duplicate", "corrupt"),
    *("drop_udp", "drop_fragments", "drop_size_and_above"),
)


class DirectionTable(Table):
    """``up`` or ``down`` of a condition."""

    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    trace: TraceFile | None = None
    queue: QueueValue | None = None
    limit_packets: Annotated[int, Field(gt=0, le=2**32)] | None = Field(None, alias="limit")
    delay_ns: Delay | None = Field(None, alias="delay")
    jitter: JitterValue | None = None
    loss: LossValue | None = None
    reorder: Fraction | None = None
    duplicate: Fraction | None = None
    corrupt: Fraction | None = None
    blackout: BlackoutTable | None = None
    drop_udp: bool | None = None
    drop_fragments: bool | None = None
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


_PLAIN = ("rate_bps", "mtu", "offloads")
"""What every kind of link supports."""


def _preset(value: str) -> str:
    if value not in PRESETS:
        raise problem(f'"{value}" is not a preset', near(value, PRESETS))
    return value


class LinkKeys(DirectionTable):
    """The settings of all links, or of one link.

    The keys of a direction apply to both; ``up`` (a to b) and ``down`` (b to a) override them, and
    they override the preset. ``rate`` applies to the link in both directions.
    """

    mtu: Mtu | None = None
    offloads: bool | None = None
    preset: Annotated[str, AfterValidator(_preset)] | None = None
    up: DirectionTable | None = None
    down: DirectionTable | None = None

    @property
    def impairments(self) -> list[str]:
        """The keys that need an impaired link, as written in the file."""
        return [
            field.alias or name
            for name, field in LinkKeys.model_fields.items()
            if name not in _PLAIN and getattr(self, name) is not None
        ]

    @property
    def impairment(self) -> Impairment:
        """The impairment of each direction: the preset, overridden by the other keys."""
        base = PRESETS[self.preset] if self.preset is not None else CLEAN
        # The rate is a property of the link: it limits every cable of a routed lab.
        both = self.model_copy(update={"rate_bps": None})
        up, down = both.applied(base.a_to_b), both.applied(base.b_to_a)
        return Impairment(
            self.up.applied(up) if self.up else up, self.down.applied(down) if self.down else down
        )

    def changed(self, link: LinkSpec) -> LinkSpec:
        return replace(
            link.requesting(self.mtu),
            rate_bps=link.rate_bps if self.rate_bps is None else self.rate_bps,
            offloads=link.offloads if self.offloads is None else self.offloads,
            impairment=self.impairment,
        )

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        try:
            self.impairment.check()
        except ImpairmentError as error:
            raise problem(
                f"{error.what}: {error.why}", error.remedy, self._culprit(error)
            ) from None
        return self

    def refuse_on(self, link: LinkTable, here: Sequence[str | int]) -> None:
        """Raise an error if the lab's kind of link does not support a key at ``here``."""
        if link.kind == "veth" and self.impairments:
            key = self.impairments[0]
            raise problem(
                f'a veth link does not support "{key}"',
                'write kind = "wire" in [lab] link',
                [*here, key],
            )
        rate_bps = link.rate_bps if self.rate_bps is None else self.rate_bps
        for one_way in (self.impairment.a_to_b, self.impairment.b_to_a):
            try:
                one_way.check_queue(rate_bps)
                if link.kind == "netem":
                    netem_options.options(one_way, rate_bps)
            except ImpairmentError as error:
                why = f"{error.what}: {error.why}"
                raise problem(why, error.remedy, [*here, *self._culprit(error)]) from None
        offloads = link.offloads if self.offloads is None else self.offloads
        if self.impairment.per_super_packet and not offloads:
            raise problem(
                "there are no super-packets without offloads", "write offloads = true", here
            )

    def _culprit(self, error: ImpairmentError) -> Iterator[str]:
        """The key that caused an error, if it is in the file."""
        if error.key in self.impairments:
            yield error.key


class ConditionTable(LinkKeys, ProcessorKeys):
    """``[[condition]]``: the differences from ``[lab]``; ``links`` are single links by name,
    ``nat_pairs`` makes one condition for each pair of kinds of access, ``pods`` is the place of
    both ends in a cluster, ``labs`` are those that have it, if not all."""

    name: Name
    labs: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = None
    congestion: str | None = Field(None, pattern=r"^[a-z0-9_]{1,15}$")
    nat: NatValue | None = None
    block_udp: BlockValue | None = None
    nat_pairs: NatPairs | None = None
    links: dict[str, LinkKeys] | None = None
    underlay: VersionWord | None = None
    inner: VersionWord | None = None
    pods: Annotated[Placement, Field(strict=False)] | None = None

    def refuse_on(self, link: LinkTable, here: Sequence[str | int]) -> None:
        """Raise an error if the lab's links do not support this condition, which is at ``here``."""
        super().refuse_on(link, here)
        if self.xps and link.kind == "wire":
            raise problem(
                "a wire's devices have a single queue, so transmit steering has no effect",
                'leave xps out, or write kind = "veth" in [lab] link',
                [*here, "xps"],
            )
        for name, keys in (self.links or {}).items():
            keys.refuse_on(link, [*here, "links", name])
