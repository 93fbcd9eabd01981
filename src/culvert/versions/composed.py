"""The study of builds of one VPN: a study of the user with other VPNs, as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from culvert.errors import StudyError
from culvert.files import target
from culvert.files.plain import read_plain
from culvert.study.builds import BuildTable, built
from culvert.study.shipped import find_study
from culvert.study.toml import MOST_BYTES, literal, read_toml
from culvert.study.vpn_id import BASELINE

UNBUILT = BuildTable(programs="/")
"""In the place of a build, to check the study before anything is built."""
_OF_ITS_VPNS = ("claim", "published", "scale", "lacking", "exclude", "build")
"""Tables that name the study's own VPNs."""


@dataclass(frozen=True)
class Composed:
    """Conditions, measurements and lab are those of ``study``, a file or a shipped name. The
    builds are compared with each other, so the baseline takes no time of theirs."""

    study: str
    vpn: str

    def text(self, builds: Mapping[str, BuildTable], plan: Mapping[str, Any]) -> str:
        """The study of these builds, by name; ``plan`` replaces keys of ``[plan]``."""
        return to_toml(self._tables(builds, plan))

    def pair(self, builds: Mapping[str, BuildTable], seed: int, kind: str) -> str:
        """One block of one measurement."""
        plan = {"blocks": 1, "seed": seed, "warmup": 0}
        data = self._tables(builds, plan)
        data["measurement"] = [one for one in data["measurement"] if one.get("kind") == kind]
        if not data["measurement"]:
            raise StudyError(
                self.study, f'it has no measurement "{kind}"', "name a study that has, with --study"
            )
        return to_toml(data)

    def _tables(self, builds: Mapping[str, BuildTable], plan: Mapping[str, Any]) -> dict[str, Any]:
        path = find_study(self.study)
        data, _ = read_toml(read_plain(path, MOST_BYTES).decode(), path.name)
        data = {key: value for key, value in data.items() if key not in _OF_ITS_VPNS}
        data["vpns"] = [built(self.vpn, name) for name in builds]
        data["plan"] = {**data.get("plan", {}), **plan}
        data["exclude"] = [{"vpns": [BASELINE]}]
        data["build"] = {name: table.model_dump() for name, table in builds.items()}
        return data


def write(text: str, directory: Path) -> Path:
    """The study's file in the directory of its run."""
    file = directory / "versions.toml"
    target.write(file, text.encode())
    return file


def to_toml(data: Mapping[str, Any]) -> str:
    """Tables of strings, numbers, truths, arrays and tables as TOML, one key of the top a line."""
    return "".join(f"{literal(key)} = {_value(value)}\n" for key, value in data.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{literal(key)} = {_value(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return literal(value)
