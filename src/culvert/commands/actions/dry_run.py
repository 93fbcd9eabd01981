"""``culvert run --dry-run``: a study's cells and how long they take, without running anything."""

from __future__ import annotations

from culvert.console import out, print_json
from culvert.labs.kind import Elsewhere, OfPods
from culvert.run.outlook import studies
from culvert.run.outlook.expected import estimate_of
from culvert.run.outlook.shortfalls import of_refusals, refusals
from culvert.run.request import RunRequest


def dry(request: RunRequest, *, as_json: bool) -> None:
    """Print the cells, those that cannot run here, and the expected duration of the others."""
    study, plan, catalogue = request.prepared()
    lab = request.lab
    refused, missing, unknown = {}, [], f"what nodes of the lab {lab.name} have is not known yet"
    if not isinstance(lab, OfPods) and not (isinstance(lab, Elsewhere) and not lab.is_here()):
        with lab.open(study) as place:
            refused = refusals(study, plan, place)
            missing = of_refusals(study, plan, place, refused)
            unknown = "" if place.hosts else unknown
    plan = plan.refusing(refused)
    estimate = estimate_of(study, plan, catalogue)
    if as_json:
        document = studies.outline(study, plan, estimate, refused)
        print_json({**document, "shortfalls": [one.as_json() for one in missing]})
        return
    out.print(studies.cells_table(study, plan))
    for line in studies.absent_text(study, plan):
        out.print(line, markup=False, style="dim")
    out.print(studies.plan_text(plan, estimate), markup=False)
    for one in missing:
        out.print(f"warning: {one}", markup=False, style="yellow")
    if unknown:
        out.print(f"{unknown}: the run looks at it", markup=False, style="dim")
