"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR")]
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="A file, or a shipped study.")]
Scale = Annotated[
    str, typer.Option(metavar="NAME", help="A smaller edition: [scale.NAME] of the study.")
]
Only = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="Cells whose VPN, condition or measurement match."),
]
InventoryPath = Annotated[
    Path | None, typer.Option("--inventory", metavar="FILE", help="Hosts, in Ansible's format.")
]
AskSudoPassword = Annotated[
    bool, typer.Option("--ask-sudo-password", help="Ask for sudo's password on the hosts.")
]
VehicleName = Annotated[
    str | None, typer.Option("--vehicle", metavar="NAME", help="kvm, uml or tcg; else the first.")
]
KernelPath = Annotated[
    Path | None, typer.Option("--kernel", metavar="PATH", help="Instead of Culvert's own kernel.")
]
