"""A study: what to measure, read from a TOML file and validated as a whole before anything runs."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from culvert.errors import StudyError, UsageError
from culvert.labs.base import LabSpec, LinkSpec
from culvert.study.catalogue import Catalogue
from culvert.study.condition import ConditionTable
from culvert.study.cpus import nodes_of, split
from culvert.study.lab import NodeCpus
from culvert.study.lines import Path as Position
from culvert.study.lines import line_numbers
from culvert.study.model import StudyFile
from culvert.study.names import BASELINE
from culvert.study.parameters import Requested, canonical_json, requested, takes_congestion
from culvert.study.problems import Problem, problems_of, study_error
from culvert.study.shipped import find_study

_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True)
class Study:
    """A valid study.

    ``vpns`` are ids, the baseline among them; ``requested`` holds for each condition's name the
    measurements made in it; ``notes`` tell the user what was added to what they wrote.
    """

    file: StudyFile
    vpns: tuple[str, ...]
    requested: Mapping[str, tuple[Requested, ...]]
    text: str
    source: str
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, where: str | Path, catalogue: Catalogue) -> Study:
        """Read a study file, or a shipped study by its name. Raises StudyError."""
        path = find_study(where)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise StudyError(
                str(path), f"it is not UTF-8 text: {error.reason}", "save it as UTF-8"
            ) from error
        except OSError as error:
            raise StudyError(
                str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
            ) from error
        return cls.parse(text, catalogue, source=path.name)

    @classmethod
    def parse(cls, text: str, catalogue: Catalogue, *, source: str = "study") -> Study:
        """Validate the text of a study file. Raises StudyError with line, key and remedy."""
        data, lines = _toml(text, source)
        try:
            file = StudyFile.model_validate(data)
        except ValidationError as error:
            raise study_error(source, problems_of(error, data), lines) from error
        vpns, problems = _vpns(file, catalogue)
        problems += _congestion_problems(file, catalogue)
        problems += _cpu_problems(file)
        found: dict[str, tuple[Requested, ...]] = {}
        for condition in file.condition:
            measurements, wrong = requested(file.measurement, condition, catalogue)
            found[condition.name] = tuple(measurements)
            problems += [problem for problem in wrong if problem not in problems]
        if problems:
            raise study_error(source, problems, lines)
        notes: tuple[str, ...] = ()
        if BASELINE not in vpns:
            vpns = [BASELINE, *vpns]
            notes = (f'the baseline "{BASELINE}" was added: every block measures it',)
        return cls(file, tuple(vpns), found, text, source, notes)

    @property
    def name(self) -> str:
        """The study's name."""
        return self.file.name

    @property
    def title(self) -> str:
        """One line for people; the name where the file has none."""
        return self.file.title or self.file.name

    @property
    def seed(self) -> int:
        """What all randomness of the run comes from."""
        return self.file.plan.seed

    @property
    def canonical(self) -> str:
        """All that the study says, defaults filled in, as JSON: equal studies, equal text."""
        content: dict[str, Any] = self.file.model_dump(mode="json", exclude={"measurement"})
        content["vpns"] = self.vpns
        content["requested"] = {
            condition: [f"{one.kind} {one.parameters}" for one in measurements]
            for condition, measurements in self.requested.items()
        }
        return canonical_json(content)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical content, in hex."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def condition(self, name: str) -> ConditionTable:
        """The condition of that name."""
        return next(one for one in self.file.condition if one.name == name)

    def lab_spec(self, condition: str, cores: Sequence[tuple[int, ...]]) -> LabSpec:
        """What to build for a condition.

        ``cores`` are the machine's CPUs grouped by physical core (``cpus.cores()``).
        Raises NotPossible if the CPUs asked for are not there.
        """
        lab, wanted = self.file.lab, self.condition(condition)
        link = LinkSpec(
            kind=lab.link.kind,
            rate_bps=lab.link.rate_bps if wanted.rate_bps is None else wanted.rate_bps,
            mtu=lab.link.mtu if wanted.mtu is None else wanted.mtu,
            offloads=lab.link.offloads if wanted.offloads is None else wanted.offloads,
            impairment=wanted.impairment,
            seed=self.seed,
        )
        cpus: Mapping[str, tuple[int, ...]] | None = None
        if lab.cpus == "split":
            cpus = split(cores, nodes_of(lab.topology))
        elif isinstance(lab.cpus, NodeCpus):
            cpus = lab.cpus.checked(cores)
        return LabSpec(topology=lab.topology, link=link, cpus=cpus)


def _toml(text: str, source: str) -> tuple[dict[str, Any], Mapping[Position, int]]:
    try:
        return tomllib.loads(text), line_numbers(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_PLACE.search(message)
        line = place[1] if place and place[1] else str(text.count("\n") + 1)
        why = _TOML_PLACE.sub("", message)
        raise StudyError(
            f"{source}, line {line}", f"this is not TOML: {why}", "correct it; see https://toml.io"
        ) from error
    except RecursionError as error:
        raise StudyError(source, "its arrays are nested too deeply", "flatten it") from error


def _vpns(file: StudyFile, catalogue: Catalogue) -> tuple[list[str], list[Problem]]:
    ids: list[str] = []
    problems: list[Problem] = []
    for index, word in enumerate(file.vpns):
        try:
            vpn = catalogue.canonical_vpn(word)
        except UsageError as error:
            problems.append(Problem(("vpns", index), f"{error.what}: {error.why}", error.remedy))
            continue
        if vpn in ids:
            problems.append(Problem(("vpns", index), f'"{vpn}" is listed twice', "list it once"))
        ids.append(vpn)
    return ids, problems


def _congestion_problems(file: StudyFile, catalogue: Catalogue) -> list[Problem]:
    if any(takes_congestion(table, catalogue) for table in file.measurement):
        return []
    why = "no measurement of this study has a congestion control"
    return [
        Problem(("condition", index, "congestion"), why, "leave it out, or add a tcp measurement")
        for index, condition in enumerate(file.condition)
        if condition.congestion is not None
    ]


def _cpu_problems(file: StudyFile) -> list[Problem]:
    cpus = file.lab.cpus
    if isinstance(cpus, NodeCpus) and cpus.router is not None and file.lab.topology == "pair":
        why = 'the topology "pair" has no router'
        return [Problem(("lab", "cpus", "router"), why, 'leave it out, or write "routed"')]
    return []
