"""The tables of a study file and the values that their keys accept.

Keys are named as in the file; attributes carry their unit. The parameters of a measurement are
defined by its own model, see ``parameters``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from culvert.study.blocks import PlanTable
from culvert.study.claims.claim import ClaimTable
from culvert.study.claims.lacking import LackingTable
from culvert.study.claims.published import PublishedTable
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.lab import LabTable
from culvert.study.conditions.nat import paired
from culvert.study.conditions.topology import refuse_topology, topology_of
from culvert.study.exclude import ExcludeTable
from culvert.study.scale import ScaleTable
from culvert.study.table import Name, Table, known_keys, problem, refuse_unknown_keys
from culvert.topology.graph import Path


class MeasurementTable(BaseModel):
    """``[[measurement]]``: a kind, and parameters, which the measurement's own model validates."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    kind: str

    @property
    def given(self) -> dict[str, Any]:
        """The parameters as written in the file."""
        return dict(self.model_extra or {})


_TABLES = {"lab", "plan", "scale"}
_ARRAYS = {"condition", "measurement", "exclude", "claim", "published", "lacking"}


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

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        # The most frequent mistakes first: "vpn" for "vpns", a plural, [table] for [[array]].
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
        refuse_topology(self.lab, None, ["lab"])
        for index, condition in enumerate(self.condition):
            condition.refuse_on(self.lab.link, ["condition", index])
            refuse_topology(self.lab, condition, ["condition", index])
        return self

    @property
    def _path(self) -> Path:
        return topology_of(self.lab).paths[0]

    def expanded(self) -> StudyFile:
        """The same with the conditions that each ``nat_pairs`` stands for."""
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
