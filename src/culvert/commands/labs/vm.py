"""``culvert vm``: guest kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from culvert.commands.words import HypervisorName, Json, KernelPath
from culvert.console import out, print_json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build guest kernels, and run commands in them.",
)


Shares = Annotated[
    list[Path] | None,
    typer.Option(
        "--share", metavar="DIR", help="Directory that the guest can write to (repeatable)."
    ),
]


@app.command("build", epilog="Example: culvert vm build")
def vm_build(
    hypervisor: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Hypervisor of the kernel: uml builds one, kvm and tcg fetch one."
        ),
    ] = "uml",
    as_json: Json = False,
) -> None:
    """Build or fetch the guest kernel (once)."""
    from culvert.commands.actions.vm import build_kernel

    built = build_kernel(hypervisor)
    if as_json:
        print_json(built)
    else:
        out.print("\n".join(f"{name}: {value}" for name, value in built.items()), markup=False)


@app.command("run", epilog="Example: culvert vm run -- culvert doctor")
def vm_run(
    argv: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="Command and its arguments, after `--`."),
    ],
    hypervisor: HypervisorName = None,
    kernel: KernelPath = None,
    share: Shares = None,
) -> None:
    """Run a command in a guest and return its exit code."""
    from culvert.commands.actions.vm import run_command

    raise typer.Exit(run_command(argv, hypervisor=hypervisor, kernel=kernel, shares=share or ()))


@app.command("shell", epilog="Example: culvert vm shell")
def vm_shell(
    hypervisor: HypervisorName = None, kernel: KernelPath = None, share: Shares = None
) -> None:
    """Start a shell in a guest."""
    from culvert.commands.actions.vm import shell

    raise typer.Exit(shell(hypervisor=hypervisor, kernel=kernel, shares=share or ()))
