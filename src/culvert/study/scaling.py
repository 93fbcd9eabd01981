"""Applies a ``[scale.NAME]`` to a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from culvert.study.claims.test import Where
from culvert.study.conditions.lab import LabTable
from culvert.study.lines import Path
from culvert.study.model import MeasurementTable, ScaledLink, ScaleTable, StudyFile
from culvert.study.parameters import Requested, canonical_values
from culvert.study.problems import Problem
from culvert.study.table import known_keys, near


def scaled(
    file: StudyFile, name: str, spellings: Mapping[str, str]
) -> tuple[StudyFile, list[Problem]]:
    """The smaller study, and the problems of its scale.

    ``spellings`` maps VPNs as written in the file to their ids.
    """
    scale = file.scale[name]
    wanted = [spellings.get(word, word) for word in scale.vpns or spellings]
    if problems := _problems(file, name, wanted, sorted(set(spellings.values()))):
        return file, problems
    changes: dict[str, Any] = {
        "vpns": tuple(word for word in file.vpns if spellings[word] in wanted),
        "condition": tuple(
            one for one in file.condition if not scale.conditions or one.name in scale.conditions
        ),
        "lab": file.lab if scale.link is None else _with_rate(file.lab, scale.link),
        "measurement": tuple(
            _shrunk(table, scale)
            for table in file.measurement
            if not scale.measurements or table.kind in scale.measurements
        ),
        "plan": file.plan.model_copy(
            update={
                key: value
                for key, value in (
                    ("blocks", scale.blocks),
                    ("pause_s", scale.pause_s),
                    ("warmup", scale.warmup_blocks),
                )
                if value is not None
            }
        ),
    }
    return file.model_copy(update=changes), []


def _problems(
    file: StudyFile, name: str, wanted: Sequence[str], ids: Sequence[str]
) -> list[Problem]:
    """What the scale names and the study does not have. ``wanted`` and ``ids`` are VPNs."""
    scale, here = file.scale[name], ("scale", name)
    problems: list[Problem] = []
    kinds = sorted({table.kind for table in file.measurement})
    given = sorted({key for table in file.measurement for key in table.given})
    for key in scale.parameters:
        if key not in given and key not in kinds:
            why = f'no measurement of the study gives "{key}"'
            known = [*given, *kinds, *known_keys(ScaleTable)]
            problems.append(Problem((*here, key), why, near(key, known)))
        elif key in kinds and not isinstance(scale.parameters[key], dict):
            why = f'"{key}" is a measurement: its parameters must be a table'
            problems.append(Problem((*here, key), why, f"write [scale.{name}.{key}]"))
    conditions = [condition.name for condition in file.condition]
    problems += _unknown((*here, "vpns"), "VPN", wanted, ids)
    problems += _unknown((*here, "conditions"), "condition", scale.conditions or (), conditions)
    problems += _unknown((*here, "measurements"), "measurement", scale.measurements or (), kinds)
    return problems


def _shrunk(table: MeasurementTable, scale: ScaleTable) -> MeasurementTable:
    own = scale.parameters.get(table.kind)
    general = {key: value for key, value in scale.parameters.items() if key in table.given}
    given = table.given | general | (own if isinstance(own, dict) else {})
    return MeasurementTable.model_validate({"kind": table.kind, **given})


def _with_rate(lab: LabTable, link: ScaledLink) -> LabTable:
    return lab.model_copy(update={"link": lab.link.model_copy(update=link.model_dump())})


def _unknown(path: Path, what: str, words: Sequence[str], known: Sequence[str]) -> list[Problem]:
    return [
        Problem((*path, index), f'the study has no {what} "{word}"', near(word, known))
        for index, word in enumerate(words)
        if word not in known
    ]


def moved(
    where: Where, kind: str, whole: Sequence[Requested], smaller: Sequence[Requested]
) -> Where:
    """The cells of the smaller study that correspond to ``where`` in the whole study.

    A parameter with a single value takes its single value of the smaller study; a parameter with
    several values keeps the value, since its cell may have been left out.
    """
    before, after = canonical_values(whole, kind), canonical_values(smaller, kind)
    parameters = tuple(
        (key, next(iter(after[key])))
        if value not in after.get(key, ()) and len(before[key]) == len(after.get(key, ())) == 1
        else (key, value)
        for key, value in where.parameters
    )
    return Where(where.condition, parameters, where.labels)
