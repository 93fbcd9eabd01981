"""``[[lacking]]``: parts that a study uses and this version of Culvert may not have.

If the name is known here, the entry has no effect. If not, the cells that need it are planned and
journalled as unsupported, with the entry's reason. A listed condition is always unsupported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from culvert.study.table import Table
from culvert.topology.shapes import Shape

REMEDY = "see the [[lacking]] entries of the study; a newer Culvert may have it"


_WORDS = {"vpn": "VPN"}


class LackingTable(Table):
    """``[[lacking]]``: one VPN, measurement, condition or lab."""

    kind: Literal["vpn", "measurement", "condition", "lab"]
    name: str = Field(min_length=1)
    reason: str = Field(min_length=1)


@dataclass(frozen=True)
class Lacking:
    """Reasons by name, only for the parts that are missing here."""

    vpns: Mapping[str, str]
    measurements: Mapping[str, str]
    conditions: Mapping[str, str]
    lab: str = ""
    remedy: str = REMEDY

    def reason(self, vpn: str, condition: str, measurement: str) -> str:
        """Why a cell is unsupported; empty if it is supported."""
        parts = (
            self.lab,
            self.vpns.get(vpn, ""),
            self.conditions.get(condition, ""),
            self.measurements.get(measurement, ""),
        )
        return "; ".join(filter(None, parts))


NOTHING = Lacking({}, {}, {})


def names_of(entries: object, kind: str) -> dict[str, str]:
    """Reasons by name of one kind, from tables that may not be validated yet."""
    if not isinstance(entries, list | tuple):
        return {}
    found: dict[str, str] = {}
    for entry in entries:
        table = entry.model_dump() if isinstance(entry, LackingTable) else entry
        if isinstance(table, Mapping) and table.get("kind") == kind:
            name, reason = table.get("name"), table.get("reason")
            if isinstance(name, str) and isinstance(reason, str):
                found[name] = f"this Culvert has no {_WORDS.get(kind, kind)} {name}: {reason}"
    return found


def without_lacking_topology(data: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The study without a topology that is missing here, and the reason; empty if none."""
    lab, entries = data.get("lab"), names_of(data.get("lacking"), "lab")
    if not isinstance(lab, dict):
        return dict(data), ""
    topology = lab.get("topology")
    if not isinstance(topology, str) or topology not in entries or topology in set(Shape):
        return dict(data), ""
    kept = {key: value for key, value in lab.items() if key != "topology"}
    return {**data, "lab": kept}, entries[topology]
