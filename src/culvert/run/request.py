"""The request of the command line for a run, and the study and plan that it names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from culvert.errors import UsageError
from culvert.plan.plan import Plan
from culvert.run.of_clusters import without_clusters
from culvert.run.pods.request import REACHED, ClusterRequest
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.study import Study
from culvert.vpns.installed import installed_catalogue

HOSTS = "hosts"
CLUSTER = "kubernetes"
LABS = ("netns", "vm", HOSTS, CLUSTER)


@dataclass(frozen=True)
class RunRequest:
    """The request of the command line."""

    study: str
    directory: Path | None
    resume: bool
    lab: str
    only: Sequence[str]
    scale: str = ""
    inventory: Path | None = None
    sudo_password: str | None = field(default=None, repr=False)
    allow_impairment: bool = False
    """The hosts' own netem may make what a condition requests of their links."""
    cluster: ClusterRequest = REACHED

    def prepared(self) -> tuple[Study, Plan, Catalogue]:
        """The study and the plan of its cells; raises UsageError if they cannot be run."""
        if self.lab not in LABS:
            raise UsageError(f"lab '{self.lab}'", "is unknown", f"use {', '.join(LABS)}")
        if (self.lab == HOSTS) != (self.inventory is not None):
            raise UsageError(
                f"lab '{self.lab}'",
                "an inventory names the hosts of the lab hosts, and of no other",
                "write --lab hosts --inventory hosts.yml",
            )
        if self.allow_impairment and self.lab != HOSTS:
            raise UsageError(
                "--allow-impairment",
                f"the lab {self.lab} makes its links itself",
                "leave it out, or add --lab hosts --inventory hosts.yml",
            )
        catalogue = installed_catalogue()
        study = Study.load(self.study, catalogue, scale=self.scale)
        if self.lab != CLUSTER and any(one.pods for one in study.file.condition):
            raise UsageError(
                f"study {study.name}",
                f"its conditions place pods in a cluster, which the lab {self.lab} has not",
                "run it with --lab kubernetes",
            )
        if self.lab != CLUSTER:
            study = without_clusters(study, installed_measurements())
        plan = replace(Plan.of(study), grouped=self.lab == CLUSTER)
        for pattern in self.only:
            if not plan.only(pattern).cells:
                raise UsageError(
                    f"--only '{pattern}'",
                    "matches no VPN, condition or measurement of the study",
                    f"see 'culvert run {self.study} --dry-run'",
                )
        if self.only:
            plan = plan.only(*self.only)
        return study, plan, catalogue

    def directory_for(self, study: Study) -> Path:
        """The journal's directory: the requested one, or a new one for the study."""
        if self.directory is not None:
            return self.directory
        if self.resume:
            raise UsageError("--resume", "the run's directory is missing", "name it with --out DIR")
        return Path("results") / f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}"

    def resuming(self, directory: Path) -> str:
        """The shell command that resumes this run."""
        return shlex.join(["culvert", *replace(self, resume=True).arguments(directory)])

    def arguments(self, directory: Path) -> list[str]:
        """The arguments of ``culvert`` for the same request, with the journal in ``directory``."""
        words = ["run", self.study, "--out", str(directory)]
        if self.resume:
            words.append("--resume")
        if self.lab != LABS[0]:
            words += ["--lab", self.lab]
        if self.inventory is not None:
            words += ["--inventory", str(self.inventory)]
        if self.allow_impairment:
            words.append("--allow-impairment")
        if self.lab == CLUSTER:
            words += self.cluster.words()
        if self.scale:
            words += ["--scale", self.scale]
        for pattern in self.only:
            words += ["--only", pattern]
        return words
