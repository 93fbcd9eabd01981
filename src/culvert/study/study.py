"""A study defines what is measured; the TOML file is validated as a whole before anything runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from culvert.errors import StudyError, UsageError
from culvert.files.plain import read_plain
from culvert.json_text import read_json
from culvert.results import canonical_json
from culvert.study.builds import BuildTable, split_build
from culvert.study.catalogue import Catalogue
from culvert.study.claims.lacking import NOTHING, Lacking, without_lacking_topology
from culvert.study.conditions.condition import ConditionTable
from culvert.study.conditions.impairments import DIRECTORY
from culvert.study.conditions.processors import node_cpus, queues
from culvert.study.conditions.topology import inner_of, topology_of, underlay_of
from culvert.study.edition import Edition
from culvert.study.model import StudyFile
from culvert.study.places import places_of
from culvert.study.problems import placed, problems_of, study_error
from culvert.study.reading import Reading
from culvert.study.shipped import find_study
from culvert.study.table import near
from culvert.study.toml import MOST_BYTES, read_toml
from culvert.study.vpn_id import BASELINE
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

_LATER_LAB_KEYS = ("clients", "members", "paths", "overlay_mtu", "underlay")
_LATER_CONDITION_KEYS = ("links", "nat_pairs", "pods", "underlay", "inner")
"""Keys added in later versions: where absent, the study's digest is the same as before."""


@dataclass(frozen=True, kw_only=True)
class Study(Edition):
    """A valid study.

    Among ``vpns`` is the baseline; ``lacking`` determines which cells are unsupported; ``scale``
    names the edition, empty for the whole study; ``notes`` report additions to the file to the
    user.
    """

    text: str
    notes: tuple[str, ...] = ()
    lacking: Lacking = NOTHING
    scale: str = ""

    @classmethod
    def load(cls, where: str | Path, catalogue: Catalogue, *, scale: str = "") -> Study:
        """Read a study file, or a shipped study by its name. Raises StudyError."""
        path = find_study(where)
        try:
            text = read_plain(path, MOST_BYTES).decode()
        except UnicodeDecodeError as error:
            raise StudyError(
                str(path), f"it is not UTF-8 text: {error.reason}", "save it as UTF-8"
            ) from error
        except UsageError as error:
            raise StudyError(error.what, error.why, error.remedy) from error
        except OSError as error:
            raise StudyError(
                str(path), f"it cannot be read: {error.strerror}", "check the path and its mode"
            ) from error
        return cls.parse(text, catalogue, source=path.name, scale=scale, directory=path.parent)

    @classmethod
    def recalled(cls, text: str, canonical: str, catalogue: Catalogue) -> Study:
        """The study of a run, from the fields ``toml`` and ``canonical`` of its journal.

        Raises StudyError if this version of Culvert cannot read it.
        """
        scale = str(read_json(canonical).get("scale", ""))
        return cls.parse(text, catalogue, source="the run's study", scale=scale, directory=None)

    @classmethod
    def parse(
        cls,
        text: str,
        catalogue: Catalogue,
        *,
        source: str = "study",
        scale: str = "",
        directory: Path | None = Path(),
    ) -> Study:
        """Validate the text of a study file. Raises StudyError with line, key and remedy.

        Files that it names are searched in ``directory``; with None they are not read.
        """
        data, lines = read_toml(text, source)
        data, lacking_lab = without_lacking_topology(data)
        try:
            file = StudyFile.model_validate(data, context={DIRECTORY: directory}).expanded()
        except ValidationError as error:
            found = placed(problems_of(error, data), partial(places_of, catalogue=catalogue))
            raise study_error(source, found, lines) from error
        if scale and scale not in file.scale:
            why = f'it has no scale "{scale}"'
            remedy = near(scale, file.scale) if file.scale else "leave out --scale"
            raise StudyError(source, why, remedy)
        reading = Reading(file, catalogue, lacking_lab)
        if reading.problems:
            found = placed(reading.problems, partial(places_of, catalogue=catalogue))
            raise study_error(source, found, lines)
        edition = reading.editions[scale]
        vpns, notes = edition.vpns, list[str]()
        if BASELINE not in vpns:
            vpns = (BASELINE, *vpns)
            notes.append(f'the baseline "{BASELINE}" was added: every block measures it')
        return cls(
            **vars(replace(edition, vpns=vpns)),
            text=text,
            notes=tuple(notes),
            lacking=reading.lacking,
            scale=scale,
        )

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def title(self) -> str:
        """One line shown in reports; the name if the file has no title."""
        return self.file.title or self.file.name

    @property
    def seed(self) -> int:
        return self.file.plan.seed

    @property
    def canonical(self) -> str:
        """The study's whole content with all defaults, as JSON: equal studies, equal text."""
        content: dict[str, Any] = self.file.model_dump(
            mode="json", exclude={"measurement", "scale"}
        )
        for key in ("build", "exclude", "published", "lacking"):
            if not content[key]:
                del content[key]
        for table, keys in ((content["lab"], _LATER_LAB_KEYS), *_conditions(content)):
            for key in keys:
                if table[key] is None:
                    del table[key]
        if self.scale:
            content["scale"] = self.scale
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

    def build_of(self, vpn: str) -> BuildTable | None:
        """The build whose programs a VPN of the study uses; None: those that are installed."""
        return self.file.build.get(split_build(vpn)[1])

    def condition(self, name: str) -> ConditionTable:
        return self._conditions[name]

    @cached_property
    def _conditions(self) -> Mapping[str, ConditionTable]:
        return {one.name: one for one in self.file.condition}

    def lab_spec(self, condition: str, cores: Sequence[tuple[int, ...]]) -> LabSpec:
        """The lab to build for a condition.

        ``cores`` are the machine's CPUs grouped by physical core (``processors.cores()``).
        Raises NotPossible if the requested CPUs are missing.
        """
        lab, wanted = self.file.lab, self.condition(condition)
        topology = topology_of(lab, wanted)
        link = LinkSpec(
            kind=lab.link.kind,
            rate_bps=lab.link.rate_bps,
            offloads=lab.link.offloads,
            seed=self.seed,
            queues=queues(wanted, cores),
        ).requesting(lab.link.mtu)
        return LabSpec(
            topology=topology,
            link=wanted.changed(link),
            cpus=node_cpus(lab, wanted, topology, cores),
            processors=wanted.processors,
            links={name: keys.changed(link) for name, keys in (wanted.links or {}).items()},
            pods=wanted.pods,
            overlay_mtu=lab.overlay_mtu,
            underlay=underlay_of(lab, wanted),
            inner=inner_of(wanted),
        )


def _conditions(content: dict[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    for table in content["condition"]:
        yield table, _LATER_CONDITION_KEYS
