"""``culvert bench``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from culvert.commands.words import Json, NewRun, known_vpns

app = typer.Typer()


@app.command(epilog="Example: culvert bench wireguard/go openvpn/aes-256-gcm --delay 20ms")
def bench(
    vpns: Annotated[
        list[str],
        typer.Argument(
            metavar="VPN...", help="VPNs to compare on one link.", autocompletion=known_vpns
        ),
    ],
    measure: Annotated[
        str, typer.Option(metavar="NAMES", help="Measurements, separated by commas.")
    ] = "tcp,rtt",
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of the link: 100Mbit/s.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help="Delay of the link, each way: 20ms.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Loss of the link, each way: 1%.")
    ] = None,
    time: Annotated[str, typer.Option(metavar="TIME", help="Time to measure in all.")] = "2min",
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="Time of each measurement in a trial.")
    ] = "1s",
    directory: NewRun = None,
    as_json: Json = False,
) -> None:
    """Compare VPNs without a study file; prints the study that it runs."""
    from culvert.machine import rootless

    rootless.enter()  # this program may start again: before anything is written
    from culvert.commands.actions.run_study import run_study
    from culvert.console import out
    from culvert.errors import UsageError
    from culvert.files.target import write
    from culvert.journal.journal import Journal
    from culvert.labs.registry import DEFAULT, lab_kind
    from culvert.run.request import RunRequest
    from culvert.study.adhoc import AdHoc
    from culvert.study.study import Study
    from culvert.vpns.registry import installed_catalogue

    given = {"rate": rate, "delay": delay, "loss": loss}
    link = {key: value for key, value in given.items() if value is not None}
    kinds = [kind.strip() for kind in measure.split(",")]
    catalogue = installed_catalogue()
    text = AdHoc(vpns, kinds, time, duration, link).text(catalogue)
    study = Study.parse(text, catalogue, source="culvert bench")
    request = RunRequest(study.name, directory, resume=False, lab=lab_kind(DEFAULT)({}), only=())
    directory = request.directory_for(study)
    if Journal.exists(directory):
        raise UsageError(str(directory), "it already contains a journal", "choose another --out")
    file = directory / "study.toml"
    write(file, text.encode())
    if not as_json:
        out.print(text, style="dim", markup=False, highlight=False)
    tally = run_study(replace(request, study=str(file), directory=directory), as_json=as_json)
    if tally.exit_code:
        raise typer.Exit(tally.exit_code)
