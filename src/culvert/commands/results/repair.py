"""``culvert repair``."""

from __future__ import annotations

import typer

from culvert.commands.words import Directory, Json
from culvert.console import out, print_json

app = typer.Typer()


@app.command(epilog="Example: culvert repair results/quick")
def repair(directory: Directory, as_json: Json = False) -> None:
    """Recover the readable trials of a damaged journal.

    The damaged file is kept.
    """
    from culvert.journal.repair import repair as save

    found = save(directory)
    if as_json:
        aside = None if found.aside is None else str(found.aside)
        print_json({"kept": found.kept, "lost": found.lost, "damaged": aside})
        return
    if found.aside is None:
        out.print(f"nothing to repair: all {found.kept} trials are unchanged")
        return
    for number, why in found.lost.items():
        out.print(f"lost: trial {number}: {why}", markup=False, style="yellow")
    out.print(f"{found.kept} trials saved, {len(found.lost)} lost")
    out.print(f"the damaged file: {found.aside}", markup=False, soft_wrap=True)
