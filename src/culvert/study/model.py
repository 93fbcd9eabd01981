"""The tables of a study file and the values that their keys accept.

Keys are named as in the file; attributes carry their unit. The parameters of a measurement are
defined by its own model, see ``parameters``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from culvert.results import Parameters
from culvert.study.blocks import MOST_BLOCKS, Blocks, PlanTable
from culvert.study.builds import BuildTable
from culvert.study.claims.claim import ClaimTable, PublishedTable
from culvert.study.claims.lacking import LackingTable
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.lab import LabTable
from culvert.study.conditions.nat import paired
from culvert.study.conditions.topology import refuse_topology, topology_of
from culvert.study.table import Name, Table, problem
from culvert.topology.graph import Path
from culvert.units import DurationS, RateBps


class ScaledLink(Table):
    """``link`` of a scale: a rate for machines that cannot carry the rate of the whole study."""

    rate_bps: Annotated[RateBps, Field(gt=0)] = Field(alias="rate")


class ScaleTable(BaseModel):
    """``[scale.NAME]``: a smaller edition of the study. ``vpns``, ``conditions`` and
    ``measurements`` (kinds) select what stays.

    Any other key than the table's own is a parameter: it replaces the value in all measurements
    that give this parameter in the file. A table named after a kind sets parameters of that kind
    only, whether the file gives them or not.
    """

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


class ExcludeTable(Table):
    """``[[exclude]]``: a cell is left out if it matches all keys of the table; the names are
    patterns with ``*`` and ``?``, an array of a parameter is any of its values."""

    vpns: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    conditions: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    measurements: tuple[str, ...] | None = Field(None, strict=False, min_length=1)
    parameters: Mapping[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_all(self) -> ExcludeTable:
        if not (self.vpns or self.conditions or self.measurements or self.parameters):
            raise problem("it would leave out all cells", "name vpns, conditions or measurements")
        return self

    def matches(self, vpn: str, condition: str, kind: str, parameters: Parameters) -> bool:
        named = ((self.vpns, vpn), (self.conditions, condition), (self.measurements, kind))
        if any(names and not _any(names, word) for names, word in named):
            return False
        given = parameters.values
        return all(
            key in given
            and (given[key] == wanted or (isinstance(wanted, list) and given[key] in wanted))
            for key, wanted in self.parameters.items()
        )


def _any(patterns: tuple[str, ...], word: str) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)


class MeasurementTable(BaseModel):
    """``[[measurement]]``: a kind, and parameters, which the measurement's own model validates."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    kind: str

    @property
    def given(self) -> dict[str, Any]:
        """The parameters as written in the file."""
        return dict(self.model_extra or {})


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
    exclude: tuple[ExcludeTable, ...] = Field((), strict=False)
    scale: Mapping[Name, ScaleTable] = Field(default_factory=dict)
    claim: tuple[ClaimTable, ...] = Field((), strict=False)
    published: tuple[PublishedTable, ...] = Field((), strict=False)
    lacking: tuple[LackingTable, ...] = Field((), strict=False)
    build: Mapping[Name, BuildTable] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _links_can_do_it(self) -> StudyFile:
        refuse_topology(self.lab, None, ["lab"])
        for index, condition in enumerate(self.condition):
            condition.refuse_on(self.lab.link, ["condition", index])
            refuse_topology(self.lab, condition, ["condition", index])
        return self

    @property
    def _path(self) -> Path:
        return topology_of(self.lab).paths[0]

    def expanded(self) -> StudyFile:
        """The study with the conditions that each ``nat_pairs`` stands for."""
        every = tuple(one for condition in self.condition for one in paired(condition, self._path))
        return self.model_copy(update={"condition": every})

    @model_validator(mode="after")
    def _unique(self) -> StudyFile:
        expanded = [
            (index, one.name)
            for index, condition in enumerate(self.condition)
            for one in paired(condition, self._path)
        ]
        for key, names in (
            ("condition", expanded),
            ("claim", [(index, claim.id) for index, claim in enumerate(self.claim)]),
        ):
            seen: set[str] = set()
            for index, name in names:
                if name in seen:
                    field = "name" if key == "condition" else "id"
                    raise problem(
                        f'there are two {key}s "{name}"',
                        "give each a different name",
                        [key, index, field],
                    )
                seen.add(name)
        return self
