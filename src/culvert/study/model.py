"""The tables of a study file and what their keys may hold.

Keys are named as in the file; attributes carry their unit. What a measurement accepts is in its
own parameter model, see ``parameters``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from culvert.errors import NotPossible
from culvert.labs.base import LinkKind, Topology
from culvert.labs.impairment import CLEAN, LONGEST_DELAY_NS, Impairment, Jitter, OneWay
from culvert.labs.presets import PRESETS
from culvert.study.rule import StopRule
from culvert.study.table import Table, known_keys, near, problem, refuse_unknown_keys
from culvert.units import DurationNs, DurationS, Fraction, RateBps

BASELINE = "none"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise problem(
            f'"{value}" is not a name',
            "use up to 64 letters, digits, points, dashes and underscores",
        )
    return value


Name = Annotated[str, AfterValidator(_name)]
Mtu = Annotated[int, Field(ge=576, le=65535)]
"""Bytes of an IP packet; every IPv4 host takes 576 (RFC 1122)."""
Delay = Annotated[DurationNs, Field(le=LONGEST_DELAY_NS)]
CpuList = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)]


def _preset(value: str) -> str:
    if value not in PRESETS:
        raise problem(f'"{value}" is not a preset', near(value, PRESETS))
    return value


def _shape(value: object) -> str:
    return "table" if isinstance(value, dict | BaseModel) else "word"


class LinkTable(Table):
    """``[lab] link``: the underlay where a condition does not say otherwise."""

    kind: LinkKind = "veth"
    rate_bps: Annotated[RateBps, Field(gt=0)] | None = Field(None, alias="rate")
    mtu: Mtu = 1500
    offloads: bool = False


class NodeCpus(Table):
    """``[lab] cpus`` as a table: the CPUs that the processes of each node may use."""

    a: CpuList | None = None
    b: CpuList | None = None
    router: CpuList | None = None

    def checked(self, cores: Sequence[tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
        """CPUs by node. Raises NotPossible for a CPU that is not among ``cores``."""
        usable = {cpu for core in cores for cpu in core}
        chosen = {"a": self.a, "b": self.b, "router": self.router}
        given = {node: tuple(cpus) for node, cpus in chosen.items() if cpus is not None}
        for node, cpus in given.items():
            for cpu in cpus:
                if cpu not in usable:
                    raise NotPossible(
                        f"CPU {cpu} for node {node}",
                        "this machine does not have it or does not let us use it",
                        f"choose among {', '.join(map(str, sorted(usable)))} in [lab] cpus",
                    )
        return given


class LabTable(Table):
    """``[lab]``: nodes and links."""

    topology: Topology = "pair"
    link: LinkTable = LinkTable.model_construct()
    cpus: Annotated[
        Annotated[Literal["shared", "split"], Tag("word")] | Annotated[NodeCpus, Tag("table")],
        Discriminator(_shape),
    ] = "shared"


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


class MeasurementTable(BaseModel):
    """``[[measurement]]``: a kind, and parameters that the measurement itself validates."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    kind: str

    @property
    def given(self) -> dict[str, Any]:
        """The parameters as they stand in the file."""
        return dict(self.model_extra or {})


def _rule(value: str) -> str:
    try:
        StopRule.parse(value)
    except ValueError as error:
        raise problem(str(error), 'write it as "ci <= 2%"') from None
    return value


class BlocksTable(Table):
    """``blocks`` as a table: repeat until precise, at most ``max`` times, within ``budget``."""

    min: int | None = Field(None, ge=1)
    max: int | None = Field(None, ge=1)
    until: Annotated[str, AfterValidator(_rule)] | None = None
    budget_s: Annotated[DurationS, Field(gt=0)] | None = Field(None, alias="budget")

    @model_validator(mode="after")
    def _ends(self) -> BlocksTable:
        if self.max is None and self.budget_s is None:
            raise problem(
                "nothing ends the run", 'add max, as in max = 30, or budget = "20min"', ["max"]
            )
        if self.min is not None and self.max is not None and self.min > self.max:
            raise problem(
                f"min {self.min} is more than max {self.max}", "swap or correct them", ["min"]
            )
        return self


class PlanTable(Table):
    """``[plan]``: in which order and how often."""

    order: Literal["random", "listed"] = "random"
    seed: int = Field(1, ge=0, lt=2**63)
    blocks: Annotated[
        Annotated[Annotated[int, Field(ge=1, le=1_000_000)], Tag("word")]
        | Annotated[BlocksTable, Tag("table")],
        Discriminator(_shape),
    ] = 5
    pause_s: DurationS = Field(0.0, alias="pause")
    warmup: int = Field(0, ge=0)


class Published(Table):
    """A value that the claim's source prints."""

    value: float = Field(allow_inf_nan=False)
    unit: str
    place: str = ""


def _published_shape(value: object) -> str:
    return "many" if isinstance(value, list | tuple) else "one"


class ClaimTable(Table):
    """``[[claim]]``: a sentence made testable. Kept in the journal for the analysis."""

    id: Name
    text: str = Field(min_length=1)
    source: str = ""
    test: str | None = Field(None, min_length=1)
    published: (
        Annotated[
            Annotated[Published, Tag("one")]
            | Annotated[tuple[Published, ...], Tag("many"), Field(strict=False)],
            Discriminator(_published_shape),
        ]
        | None
    ) = None


_TABLES = {"lab", "plan"}
_ARRAYS = {"condition", "measurement", "claim"}


class StudyFile(Table):
    """A whole study file. It has at least one VPN and one measurement."""

    name: Name
    title: str = ""
    vpns: tuple[str, ...] = Field(strict=False, min_length=1)
    lab: LabTable = LabTable.model_construct()
    condition: tuple[ConditionTable, ...] = Field(
        (ConditionTable.model_construct(name="clean"),), strict=False, min_length=1
    )
    measurement: tuple[MeasurementTable, ...] = Field(strict=False, min_length=1)
    plan: PlanTable = PlanTable.model_construct()
    claim: tuple[ClaimTable, ...] = Field((), strict=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        # The commonest slips first: "vpn" for "vpns", a plural, a [table] for an [[array]].
        if isinstance(value, dict):
            for key in value:
                if key.removesuffix("s") in _TABLES | _ARRAYS and key not in known_keys(cls):
                    right = key.removesuffix("s")
                    header = f"[[{right}]]" if right in _ARRAYS else f"[{right}]"
                    raise problem(f'"{key}" is not a key here', f"write {header}", [key])
            for key in _ARRAYS & value.keys():
                if isinstance(value[key], dict):
                    raise problem(f"[{key}] is one table", f"write [[{key}]]", [key])
        refuse_unknown_keys(value, known_keys(cls))
        return value

    @model_validator(mode="after")
    def _links_can_do_it(self) -> StudyFile:
        kind = self.lab.link.kind
        for index, condition in enumerate(self.condition):
            if kind == "veth" and condition.impairments:
                key = condition.impairments[0]
                raise problem(
                    f'"{key}" is more than a veth link can do',
                    'write kind = "wire" in [lab] link',
                    ["condition", index, key],
                )
            if kind == "netem" and condition.jitter_ns is not None:
                raise problem(
                    "netem's jitter would change the order of packets",
                    'write kind = "wire" in [lab] link',
                    ["condition", index, "jitter"],
                )
        return self

    @model_validator(mode="after")
    def _unique(self) -> StudyFile:
        for key, names in (
            ("condition", [condition.name for condition in self.condition]),
            ("claim", [claim.id for claim in self.claim]),
        ):
            for index, name in enumerate(names):
                if name in names[:index]:
                    field = "name" if key == "condition" else "id"
                    raise problem(
                        f'there are two {key}s "{name}"',
                        "give each a name of its own",
                        [key, index, field],
                    )
        return self
