"""Arguments and options that several commands have, and the names that the shell completes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def known_vpns(incomplete: str) -> list[str]:
    """Every variant whose name begins so."""
    from culvert.vpns.registry import installed

    names = map(str, installed().all_variants())
    return [name for name in names if name.startswith(incomplete)]


def known_studies(incomplete: str) -> list[str]:
    """Every shipped study whose name begins so; without one, the shell completes files."""
    from culvert.study.shipped import shipped_studies

    return [name for name in shipped_studies() if name.startswith(incomplete)]


ALL_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Of a command that passes its arguments on to a program."""

NewRun = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Directory of the journal; default: a new one in results/."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a run.")]
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="A study file, or the name of a shipped study.",
        autocompletion=known_studies,
    ),
]
Scale = Annotated[
    str,
    typer.Option(metavar="NAME", help="Use a smaller scale of the study: its table [scale.NAME]."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Include only cells whose VPN, condition or measurement matches (repeatable).",
    ),
]
Tolerance = Annotated[
    str, typer.Option(metavar="SHARE", help="Differences up to this size count as equal.")
]
Alpha = Annotated[
    str,
    typer.Option(metavar="SHARE", help="Maximum probability of any false alarm in the comparison."),
]
Compared = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="NAMES",
        help="Metrics to compare: key (the default), all, or names separated by commas.",
    ),
]
MeasuredVpn = Annotated[
    str,
    typer.Option(
        metavar="ID",
        help="VPN to build and measure, by its name in studies, such as wireguard/go.",
        autocompletion=known_vpns,
    ),
]
BuildCommand = Annotated[
    str,
    typer.Option(
        metavar="COMMAND", help="Shell command that builds the VPN, run at the root of its source."
    ),
]
Source = Annotated[
    Path, typer.Option(metavar="DIR", help="Git repository of the source, with its whole history.")
]
Programs = Annotated[
    str, typer.Option(metavar="DIR", help="Directory of the built programs in the source tree.")
]
GateStudy = Annotated[
    str,
    typer.Option(
        metavar="STUDY",
        help="Study with the conditions and measurements.",
        autocompletion=known_studies,
    ),
]
AskSudoPassword = Annotated[
    bool, typer.Option("--ask-sudo-password", help="Prompt for the sudo password of the hosts.")
]
HypervisorName = Annotated[
    str | None,
    typer.Option("--hypervisor", metavar="NAME", help="Run the guest with kvm, uml or tcg."),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig to use instead of $KUBECONFIG and ~/.kube/config.",
    ),
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")]
Namespace = Annotated[
    str | None, typer.Option(metavar="NAME", help="Use this namespace instead of creating one.")
]
ProbeImage = Annotated[
    str | None, typer.Option("--image", metavar="REF", help="Image of the probe in the cluster.")
]
SourceNode = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="WHERE", help="Sending node: NAME, KEY=VALUE, zone:NAME or pod:NS/NAME."
    ),
]
TargetNode = Annotated[
    str | None, typer.Option("--to", metavar="WHERE", help="Receiving node, in the same form.")
]
KernelPath = Annotated[
    Path | None,
    typer.Option("--kernel", metavar="PATH", help="Boot this kernel instead of Culvert's own."),
]
