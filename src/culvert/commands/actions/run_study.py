"""``culvert run``: from a study's name to a finished journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from culvert import __version__
from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.verdict import Judged
from culvert.console import err, nobody_reads, out, print_json
from culvert.errors import CulvertError, NotPossible, Unreachable
from culvert.install.log import latest_installs
from culvert.interruption import interrupted_first
from culvert.journal.journal import Journal
from culvert.journal.record import RunHead
from culvert.labs import guest
from culvert.labs.kind import Place
from culvert.machine import record as environment
from culvert.machine import without_root
from culvert.plan.plan import Plan
from culvert.report.claims import Claims
from culvert.report.labels import Labels
from culvert.report.views.profiles import FOLDER
from culvert.run import neighbours
from culvert.run.outlook.shortfalls import refusals, summed
from culvert.run.output.progress import Lines, Progress, Screen
from culvert.run.output.summary import print_summary, summary_document
from culvert.run.output.tally import Tally
from culvert.run.pods.cluster import Clusters
from culvert.run.pods.requested import clusters_below
from culvert.run.profile.perf import Perf
from culvert.run.profile.pictures import Profiles
from culvert.run.questions import line_here
from culvert.run.request import RunRequest
from culvert.run.runner import Runner
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.study import Study


@dataclass(frozen=True)
class StudyRun:
    """A run that has ended."""

    study: Study
    directory: Path
    tally: Tally
    rows: pl.DataFrame


def run_study(request: RunRequest, *, as_json: bool) -> Tally:
    """Run the trials that are not in the journal yet, and print a summary."""
    ran = measure(request, as_json=as_json)
    claims = Claims(judged=tuple(_judged(ran.study, ran.rows)))
    if as_json:
        print_json(summary_document(ran.directory, ran.tally, claims))
    else:
        print_summary(ran.directory, ran.tally, claims, Labels(ran.rows))
    return ran.tally


def measure(request: RunRequest, *, as_json: bool) -> StudyRun:
    """Run the trials that are not in the journal yet; without ``as_json`` progress is printed."""
    study, plan, catalogue = request.prepared()
    directory = request.directory_for(study)
    profiles = _profiles(request, plan)
    head = _head(request, study)
    with ExitStack() as stack:
        place = stack.enter_context(request.lab.open(study))
        place.begin()  # while the rest of the run is prepared
        if (clusters := clusters_below(request.lab)) is not None:
            stack.enter_context(clusters)
        if other := neighbours.warning():
            (err if as_json else out).print(other, style="yellow", markup=False)
        stack.enter_context(neighbours.announced())
        progress = _progress(study, plan, as_json=as_json)
        if isinstance(progress, Screen):
            stack.enter_context(progress)
        if clusters is not None:
            clusters.say = progress.note
        refused = _refused(study, plan, catalogue, clusters, place)
        for shortfall in summed(plan, refused) if not as_json else ():
            out.print(f"warning: {shortfall}", style="yellow", markup=False)
        plan = plan.refusing(refused)
        journal = stack.enter_context(_journal(request, plan, directory, head))
        for note in (*study.notes, *without_root.notes()) if not as_json else ():
            out.print(note, style="dim", markup=False)
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
            refused=refused,
        )
        with _resumable(request.resuming(directory)):
            tally = runner.run()
            if profiles is not None:
                runner.profile(profiles, tally)
        journal.finish(tally.ending)
        _draw(profiles, directory, tally)
        rows = journal.rows()
    if tally.hosts_lost:
        lost = f"{tally.hosts_lost} trials lost a host; when it is back, repeat them with: "
        tally.notes.insert(0, lost + request.resuming(directory))
    return StudyRun(study, directory, tally, rows)


def _head(request: RunRequest, study: Study) -> RunHead:
    return RunHead.of(
        study,
        lab=request.lab.name,
        culvert_version=__version__,
        environment=environment.capture() | guest.described() | without_root.described(),
    )


def _journal(request: RunRequest, plan: Plan, directory: Path, head: RunHead) -> Journal:
    """That of the run to resume, or a new one with the installs of its VPNs."""
    if request.resume:
        return Journal.resume(directory, head)
    journal = Journal.create(directory, head)
    for install in latest_installs({cell.vpn for cell in plan.cells}):
        journal.record_install(install)
    return journal


@contextmanager
def _resumable(resume: str) -> Iterator[None]:
    """What ends the run before its plan names the command that goes on with it."""
    try:
        with interrupted_first():
            yield
    except KeyboardInterrupt:
        err.print(f"interrupted; resume with: {resume}", markup=False)
        raise
    except Unreachable as error:
        remedy = f"{error.remedy}; then resume with: {resume}"
        raise CulvertError(error.what, error.why, remedy) from error
    except BrokenPipeError:
        if not nobody_reads():
            raise
        raise CulvertError(
            "culvert run",
            "the reader of its output has closed the pipe",
            f"redirect the output to a file and resume with: {resume}",
        ) from None


def _refused(
    study: Study,
    plan: Plan,
    catalogue: Catalogue,
    clusters: Clusters | None,
    place: Place,
) -> dict[str, NotPossible]:
    """Cells, by key, that are known to be unsupported before anything is started. Raises
    NotPossible if no cell is possible."""
    if clusters is not None:
        return clusters.refusals(study, plan, catalogue, installed_measurements(), place.cores)
    found = refusals(study, plan, place)
    if found and len(found) == len(plan.present):
        raise next(iter(found.values()))
    return found


def _profiles(request: RunRequest, plan: Plan) -> Profiles | None:
    """Raises NotPossible before anything is measured."""
    return Profiles(Perf(), _labels(plan)) if request.profile else None


def _draw(profiles: Profiles | None, directory: Path, tally: Tally) -> None:
    if profiles is not None:
        drawn = profiles.write(directory)
        tally.notes.append(f"profiles: {len(drawn)} files in {directory / FOLDER}")


def _judged(study: Study, rows: pl.DataFrame) -> list[Judged]:
    """The claims, judged by all trials of the run, which has ended."""
    line = line_here(study.vpns)
    return judge(study, rows, line=line, ended=True) if study.file.claim else []


def _progress(study: Study, plan: Plan, *, as_json: bool) -> Progress:
    if as_json:
        return Progress()
    labels = _labels(plan)
    if out.is_screen:
        return Screen(out, study.title, labels)
    return Lines(out, labels)


def _labels(plan: Plan) -> Labels:
    return Labels(
        pl.DataFrame(
            [cell.context for cell in plan.cells],
            schema=["condition", "measurement", "parameters"],
            orient="row",
        )
    )
