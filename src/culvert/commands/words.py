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
Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Else $KUBECONFIG or your own.")
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="A context of the kubeconfig.")]
Namespace = Annotated[
    str | None, typer.Option(metavar="NAME", help="Use it instead of one of the run's own.")
]
ProbeImage = Annotated[
    str | None, typer.Option("--image", metavar="REF", help="The probe's image in the cluster.")
]
SourceNode = Annotated[
    str | None,
    typer.Option("--from", metavar="WHERE", help="NAME, KEY=VALUE, zone:NAME or pod:NS/NAME."),
]
TargetNode = Annotated[
    str | None, typer.Option("--to", metavar="WHERE", help="The same for the other end.")
]
KernelPath = Annotated[
    Path | None, typer.Option("--kernel", metavar="PATH", help="Instead of Culvert's own kernel.")
]
