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
from culvert.study.conditions.topology import refuse_topology
from culvert.study.exclude import ExcludeTable
from culvert.study.names import Name
from culvert.study.scale import ScaleTable
from culvert.study.table import Table, known_keys, problem, refuse_unknown_keys


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
                        "give each a different name",
                        [key, index, field],
                    )
        return self
