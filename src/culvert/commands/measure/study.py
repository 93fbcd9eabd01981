"""``culvert study``: study files."""

from __future__ import annotations

from typing import Annotated

import typer

from culvert.commands.words import Json, Scale, StudyName
from culvert.console import out, print_json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, show and check studies.")


@app.command("check", epilog="Example: culvert study check mine.toml")
def study_check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Study files.")],
    as_json: Json = False,
) -> None:
    """Report every problem of study files, with line and remedy."""
    from culvert.commands.actions.study import show_checked
    from culvert.run.outlook.studies import check
    from culvert.vpns.registry import installed_catalogue

    found = check(files, installed_catalogue())
    if as_json:
        print_json(found)
    else:
        show_checked(found)
    if not all(one["ok"] for one in found):
        raise typer.Exit(2)


@app.command("show", epilog="Example: culvert study show quick")
def study_show(study: StudyName, scale: Scale = "", as_json: Json = False) -> None:
    """Print the cells, plan, claims and duration of a study."""
    from culvert.commands.actions.study import show
    from culvert.run.outlook.studies import as_json as outlined
    from culvert.study.study import Study
    from culvert.vpns.registry import installed_catalogue

    catalogue = installed_catalogue()
    found = Study.load(study, catalogue, scale=scale)
    if as_json:
        print_json(outlined(found, catalogue))
    else:
        show(found, catalogue)


@app.command("list", epilog="Example: culvert study list")
def study_list(as_json: Json = False) -> None:
    """List the shipped studies."""
    from culvert.commands.actions.study import show_list
    from culvert.run.outlook.studies import listing
    from culvert.vpns.registry import installed_catalogue

    found = listing(installed_catalogue())
    if as_json:
        print_json(found)
    else:
        show_list(found)


@app.command("schema", epilog="Example: culvert study schema > study.schema.json")
def study_schema() -> None:
    """Print the JSON schema of study files, for editors."""
    from culvert.commands.actions.study import schema_text
    from culvert.vpns.registry import installed_catalogue

    out.print(schema_text(installed_catalogue()), markup=False, soft_wrap=True)
