"""``culvert run --dry-run``: a study's cells and how long they take, without running anything."""

from __future__ import annotations

from culvert.console import out, print_json
from culvert.labs.kind import Elsewhere, LabKind, OfPods
from culvert.plan.plan import Plan
from culvert.run.outlook import studies
from culvert.run.outlook.expected import estimate_of
from culvert.run.outlook.shortfalls import Shortfall, shortfalls
from culvert.run.request import RunRequest
from culvert.study.study import Study


def dry(request: RunRequest, *, as_json: bool) -> None:
    """Print the cells and the expected duration."""
    study, plan, catalogue = request.prepared()
    estimate = estimate_of(study, plan, catalogue)
    missing = _missing(request.lab, study, plan)
    if as_json:
        document = studies.outline(study, plan, estimate)
        print_json({**document, "shortfalls": [one.as_json() for one in missing]})
        return
    out.print(studies.cells_table(study, plan))
    for line in studies.absent_text(study, plan):
        out.print(line, markup=False, style="dim")
    out.print(studies.plan_text(plan, estimate), markup=False)
    for one in missing:
        out.print(f"warning: {one}", markup=False, style="yellow")


def _missing(lab: LabKind, study: Study, plan: Plan) -> list[Shortfall]:
    """What a guest or a cluster has is not known here."""
    if isinstance(lab, Elsewhere | OfPods):
        return []
    with lab.open(study) as place:
        return shortfalls(study, place, plan)
