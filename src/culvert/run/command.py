"""``culvert run``: from a study's name to a finished journal."""

from __future__ import annotations

import shlex
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import polars as pl
from rich.text import Text

from culvert import __version__
from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.verdict import Judged
from culvert.console import err, nobody_reads, out, print_json
from culvert.errors import CulvertError, UsageError
from culvert.install.log import latest_installs
from culvert.journal.journal import Journal
from culvert.journal.record import RunHead
from culvert.labs.netns import cleanup
from culvert.labs.vm import inside, lab
from culvert.machine import record as environment
from culvert.machine import rootless
from culvert.plan.plan import Plan
from culvert.report.claims import Claims
from culvert.report.claims import as_json as as_document
from culvert.report.labels import Labels
from culvert.report.terminal.claims import claims_text
from culvert.run import neighbours, outline
from culvert.run.expected import estimate_of
from culvert.run.line_here import line_here
from culvert.run.of_clusters import without_clusters
from culvert.run.place import Place, here, on_hosts
from culvert.run.pods.request import REACHED, ClusterRequest
from culvert.run.progress import STYLES, Lines, Progress, Screen, Silent, clock
from culvert.run.runner import Runner
from culvert.run.shortfalls import Machine, shortfalls
from culvert.run.tally import Tally, TrialProblem
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.study import Study
from culvert.vpns.installed import installed_catalogue

HOSTS = "hosts"
CLUSTER = "kubernetes"
LABS = ("netns", "vm", HOSTS, CLUSTER)
MOST_PROBLEMS = 8
"""Problems that the summary lists; the report has all."""


@dataclass(frozen=True)
class RunRequest:
    """The request of the command line."""

    study: str
    directory: Path | None
    resume: bool
    lab: str
    only: str | None
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
        if self.only is not None:
            plan = plan.only(self.only)
            if not plan.cells:
                raise UsageError(
                    f"--only '{self.only}'",
                    "matches no VPN, condition or measurement of the study",
                    f"see 'culvert run {self.study} --dry-run'",
                )
        return study, plan, catalogue

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
        if self.only is not None:
            words += ["--only", self.only]
        return words


def dry(request: RunRequest, *, as_json: bool) -> None:
    """Print the cells and the expected duration, without running anything."""
    study, plan, catalogue = request.prepared()
    estimate = estimate_of(study, plan, catalogue)
    # A guest has its own processors.
    missing = shortfalls(study, Machine.here(), plan) if request.lab == LABS[0] else []
    if as_json:
        document = outline.as_json(study, plan, estimate)
        print_json({**document, "shortfalls": [one.as_json() for one in missing]})
        return
    out.print(outline.cells_table(study, plan))
    for line in outline.absent_text(study, plan):
        out.print(line, markup=False, style="dim")
    out.print(outline.plan_text(plan, estimate), markup=False)
    for one in missing:
        out.print(f"warning: {one}", markup=False, style="yellow")


def run_in_guest(
    request: RunRequest, *, as_json: bool, vehicle: str | None, kernel: Path | None
) -> int:
    """Run the study in a guest, in which the nodes are namespaces; return the exit code."""
    study, _, _ = request.prepared()  # reports errors of the study before a guest starts
    directory = (request.directory or _directory(study, resume=request.resume)).absolute()
    arguments = request.arguments(directory) + (["--json"] if as_json else [])
    return lab.run(arguments, directory, vehicle=vehicle, kernel=kernel)


def run_study(request: RunRequest, *, as_json: bool) -> Tally:
    """Run the trials that are not in the journal yet, and print a summary."""
    study, plan, catalogue = request.prepared()
    directory = request.directory or _directory(study, resume=request.resume)
    _remove_leftovers(quiet=as_json)
    head = RunHead.of(
        study,
        lab=request.lab,
        culvert_version=__version__,
        environment=environment.capture() | inside.described() | rootless.described(),
    )
    with ExitStack() as stack:
        place = stack.enter_context(_place(request, study))
        if (other := neighbours.warning()) and not as_json:
            out.print(other, style="yellow", markup=False)
        stack.enter_context(neighbours.announced())
        clusters = None
        if request.lab == CLUSTER:  # an unusable kubeconfig must not leave a journal
            clusters = stack.enter_context(request.cluster.clusters())
        begin = Journal.resume if request.resume else Journal.create
        journal = stack.enter_context(begin(directory, head))
        if not request.resume:
            for install in latest_installs({cell.vpn for cell in plan.cells}):
                journal.record_install(install)
        for note in (*study.notes, *rootless.notes()) if not as_json else ():
            out.print(note, style="dim", markup=False)
        progress = _progress(study, plan, as_json=as_json)
        if isinstance(progress, Screen):
            stack.enter_context(progress)
        runner = Runner(
            study,
            plan,
            journal,
            catalogue,
            installed_measurements(),
            make_lab=place.make_lab,
            clusters=clusters,
            cores=place.cores,
            progress=progress,
            real_links=place.real_links,
        )
        try:
            tally = runner.run()
        except KeyboardInterrupt:
            err.print(f"interrupted; resume with: {request.resuming(directory)}", markup=False)
            raise
        except BrokenPipeError:
            if not nobody_reads():
                raise
            raise CulvertError(
                "culvert run",
                "the reader of its output has closed the pipe",
                f"redirect the output to a file and resume with: {request.resuming(directory)}",
            ) from None
        journal.finish(tally.ending)
        journal.refuse_damaged()
        rows = journal.rows()
    if tally.hosts_lost:
        tally.notes.insert(
            0,
            f"{tally.hosts_lost} trials lost a host; when it is back, repeat them with: "
            + request.resuming(directory),
        )
    claims = Claims(judged=tuple(_judged(study, rows)))
    _summary(directory, tally, claims, as_json=as_json)
    if claims.judged and not as_json:
        out.print(claims_text(claims, Labels(rows)))
    return tally


def _judged(study: Study, rows: pl.DataFrame) -> list[Judged]:
    """The claims, judged by all trials in the journal."""
    return judge(study, rows, line=line_here(study.vpns)) if study.file.claim else []


def _place(request: RunRequest, study: Study) -> AbstractContextManager[Place]:
    """Raises UsageError for an inventory that cannot be read."""
    if request.inventory is None:
        return here()
    return on_hosts(
        request.inventory,
        study,
        sudo_password=request.sudo_password,
        allow_impairment=request.allow_impairment,
    )


def _progress(study: Study, plan: Plan, *, as_json: bool) -> Progress:
    if as_json:
        return Silent()
    labels = Labels(
        pl.DataFrame(
            [(cell.condition, cell.measurement, cell.parameters) for cell in plan.cells],
            schema=["condition", "measurement", "parameters"],
            orient="row",
        )
    )
    if out.is_terminal:
        return Screen(out, study.title, labels)
    return Lines(out, labels)


def _directory(study: Study, *, resume: bool) -> Path:
    if resume:
        raise UsageError("--resume", "the run's directory is missing", "name it with --out DIR")
    return Path("results") / f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}"


def _remove_leftovers(*, quiet: bool) -> None:
    """Remove the remains of an interrupted run, which would compete with this run for CPU time."""
    removed = Counter(str(leftover.kind) for leftover in cleanup.remove_leftovers())
    if removed and not quiet:
        things = ", ".join(f"{count} {kind}" for kind, count in removed.items())
        out.print(f"removed the remains of an interrupted run: {things}", style="dim")


def _summary(directory: Path, tally: Tally, claims: Claims, *, as_json: bool) -> None:
    counts = {str(status): count for status, count in tally.statuses.items()}
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "trials": counts,
                "lacking": tally.lacking,
                "problems": [problem.as_json(count) for problem, count in tally.problems.items()],
                "elapsed_s": tally.elapsed_s,
                "measuring_s": tally.measuring_s,
                "measuring_share": tally.measuring_share,
                "stopped": tally.stopped,
                "notes": tally.notes,
                "claims": as_document(claims)["claims"],
            }
        )
        return
    for problem, count in tally.worst_first[:MOST_PROBLEMS]:
        _explain(problem, count, wordings=len(tally.reasons.get(problem, ())))
    if len(tally.problems) > MOST_PROBLEMS:
        out.print(f"... and {len(tally.problems) - MOST_PROBLEMS} more problems: see the report")
    shown = "  ".join(
        f"[{STYLES[status]}]{count} {status}[/]"
        for status, count in tally.statuses.items()
        if count
    )
    out.print(
        f"{shown or 'no trial was left to run'}   {clock(tally.elapsed_s)} min, "
        f"{tally.measuring_share:.0%} of the time measuring   ({tally.stopped})"
    )
    for note in tally.notes[:MOST_PROBLEMS]:
        out.print(note, markup=False, style="yellow")
    if len(tally.notes) > MOST_PROBLEMS:
        out.print(f"... and {len(tally.notes) - MOST_PROBLEMS} more notes: see the journal")
    where = shlex.quote(str(directory))
    out.print(f"journal: {directory}   next: culvert report {where}", markup=False, soft_wrap=True)


def _explain(problem: TrialProblem, count: int, *, wordings: int) -> None:
    """Why trials do not count, and the remedy."""
    trials = "1 trial" if count == 1 else f"{count} trials"
    style = STYLES[problem.status]
    example = "for example: " if wordings > 1 else ""
    out.print(
        Text(f"{problem.vpn}: {trials} {problem.status}: {example}{problem.reason}", style=style),
        Text(f"  remedy: {problem.remedy}"),
        sep="\n",
    )
