"""``culvert install``: the VPNs to install, and the report of the results."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from culvert.console import err
from culvert.errors import UsageError
from culvert.install.log import remember
from culvert.install.roles import InstallResult, install
from culvert.study.builds import split_build
from culvert.study.study import Study
from culvert.vpns import registry
from culvert.vpns.registry import installed_catalogue


def install_named(names: Sequence[str], *, every: bool, study: str | None) -> list[InstallResult]:
    """Install named VPNs, those of a study, or all; exactly one of these."""
    if sum((bool(names), every, study is not None)) != 1:
        raise UsageError(
            "culvert install",
            "nothing is selected: give names, --all or --study",
            "try 'culvert install wireguard/go' or 'culvert install --all'",
        )
    if every:
        names = [name for name, vpn in registry.installed().drivers.items() if vpn.role]
    elif study is not None:
        found = Study.load(study, installed_catalogue())
        vpns = tuple(vpn for vpn in found.vpns if vpn not in found.lacking.vpns)
        names = [split_build(vpn)[0].partition("+")[0] for vpn in vpns if vpn != "none"]
    results = install(names, lambda vpn: err.print(f"installing {vpn}", markup=False))
    remember(results)
    return results


def table(results: Sequence[InstallResult]) -> Table:
    """For the terminal."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("VPN", "result", "took", "version, or what failed"):
        shown.add_column(column, overflow="fold")
    for result in results:
        done = "installed" if result.changed else "in place already"
        shown.add_row(
            result.vpn,
            f"[green]{done}[/]" if result.ok else "[red]failed[/]",
            f"{result.duration_s:.1f} s",
            Text((result.version or "") if result.ok else "; ".join(result.failures)),
        )
        for note in result.notes:
            shown.add_row("", "", "", Text(note, style="dim"))
    return shown
