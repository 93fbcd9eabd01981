"""The request of the command line for a run, and the study and plan that it names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from culvert.errors import NotPossible, UsageError
from culvert.labs.kind import Elsewhere, LabKind, OfPods, OnThisMachine
from culvert.labs.registry import DEFAULT
from culvert.plan.plan import Plan
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.study import Study
from culvert.units import QuantityError, parse_duration_ns
from culvert.vpns import registry
from culvert.vpns.registry import installed_catalogue

OF_CLUSTERS = "it needs the lab kubernetes"
REMEDY = "run it with --lab kubernetes --cluster embedded"


@dataclass(frozen=True)
class RunRequest:
    """The request of the command line."""

    study: str
    directory: Path | None
    resume: bool
    lab: LabKind
    only: Sequence[str]
    scale: str = ""
    budget: str | None = None
    """The time of all sessions after which it ends, if its study does not end it before."""
    profile: bool = False

    def prepared(self) -> tuple[Study, Plan, Catalogue]:
        """The study and the plan of its cells; raises UsageError if they cannot be run, and
        NotPossible for a profile of nodes with kernels of their own."""
        if self.profile and not isinstance(self.lab, OnThisMachine):
            why = f"the nodes of the lab {self.lab.name} have other kernels"
            raise NotPossible("--profile", why, "use the lab netns")
        catalogue = installed_catalogue()
        study = Study.load(self.study, catalogue, scale=self.scale)
        pods = isinstance(self.lab, OfPods)
        if not pods and any(one.pods for one in study.file.condition):
            raise UsageError(
                f"study {study.name}",
                f"its conditions place pods in a cluster, and the lab {self.lab.name} has none",
                "run it with --lab kubernetes",
            )
        if study.file.build and not isinstance(self.lab, OnThisMachine):
            raise UsageError(
                f"study {study.name}",
                f"its builds are directories of this machine, and the programs of the lab "
                f"{self.lab.name} run elsewhere",
                "run it with --lab netns",
            )
        study = _of_lab(study if pods else _without_clusters(study), self.lab.name)
        plan = replace(Plan.of(study), grouped=pods)
        for pattern in self.only:
            if not plan.only(pattern).cells:
                raise UsageError(
                    f"--only '{pattern}'",
                    "matches no VPN, condition or measurement of the study",
                    f"see 'culvert run {self.study} --dry-run'",
                )
        if self.only:
            plan = plan.only(*self.only)
        if self.budget is not None:
            limits_s = (self._budget_s(self.budget), plan.budget_s)
            plan = replace(plan, budget_s=min(one for one in limits_s if one is not None))
        return study, plan, catalogue

    @staticmethod
    def _budget_s(text: str) -> float:
        try:
            found_s = parse_duration_ns(text) / 1e9
        except QuantityError as error:
            raise UsageError(f"--budget {text}", error.why, error.remedy) from None
        if not found_s:
            raise UsageError(f"--budget {text}", "nothing is measured in no time", "write 2min")
        return found_s

    def directory_for(self, study: Study) -> Path:
        """The journal's directory: the requested one, or a new one for the study."""
        if self.directory is not None:
            return self.directory
        if self.resume:
            raise UsageError("--resume", "the run's directory is missing", "name it with --out DIR")
        return Path("results") / f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}"

    def run_elsewhere(self, lab: Elsewhere, *, as_json: bool) -> int:
        """Run it where that lab runs commands; the exit code."""
        study, _, _ = self.prepared()  # reports errors of the study before anything is started
        directory = self.directory_for(study).absolute()
        return lab.run(self.arguments(directory) + (["--json"] if as_json else []), directory)

    def resuming(self, directory: Path) -> str:
        return shlex.join(["culvert", *replace(self, resume=True).arguments(directory)])

    def arguments(self, directory: Path) -> list[str]:
        """The arguments of ``culvert`` for the same request, with the journal in ``directory``."""
        words = ["run", self.study, "--out", str(directory)]
        if self.resume:
            words.append("--resume")
        if self.lab.name != DEFAULT:
            words += self.lab.words()
        if self.scale:
            words += ["--scale", self.scale]
        if self.budget is not None:
            words += ["--budget", self.budget]
        if self.profile:
            words.append("--profile")
        for pattern in self.only:
            words += ["--only", pattern]
        return words


def _of_lab(study: Study, lab: str) -> Study:
    """The study whose conditions that only other labs have are among those that are missing."""
    elsewhere = {
        one.name: f"{one.name}: it needs the lab {' or '.join(one.labs)}"
        for one in study.file.condition
        if one.labs is not None and lab not in one.labs
    }
    if not elsewhere:
        return study
    lacking = study.lacking
    others = (one.labs[0] for one in study.file.condition if one.name in elsewhere and one.labs)
    remedies = [f"run it with --lab {name}" for name in dict.fromkeys(others)]
    if lacking.vpns or lacking.measurements or lacking.conditions or lacking.lab:
        remedies.append(lacking.remedy)
    conditions = {**lacking.conditions, **elsewhere}
    return replace(
        study, lacking=replace(lacking, conditions=conditions, remedy="; ".join(remedies))
    )


def _without_clusters(study: Study) -> Study:
    """The study whose parts that only a cluster has are among those that are missing."""
    lacking, measurements = study.lacking, installed_measurements()
    vpns = {
        name: f"{name}: {OF_CLUSTERS}"
        for name in study.vpns
        if name not in lacking.vpns and registry.of_study(name).variant.of_clusters
    }
    kinds = {one.kind for each in study.requested.values() for one in each}
    needing = {
        kind: f"{kind}: {OF_CLUSTERS}"
        for kind in sorted(kinds)
        if kind in measurements and measurements[kind].of_clusters
    }
    if not vpns and not needing:
        return study
    found = replace(
        lacking,
        vpns={**lacking.vpns, **vpns},
        measurements={**lacking.measurements, **needing},
        remedy=REMEDY,
    )
    return replace(study, lacking=found)
