"""``culvert hosts check``: hosts of an inventory, ready or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from culvert.console import out, print_json
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.labs.hosts.remote.features import TRIED, to_load
from culvert.run.hosts_check import ALSO, HostFound, PairFound, Problem, hosts_found, links_found
from culvert.runid import new_run_id


def check_hosts(path: Path, *, sudo_password: str | None, links: bool, as_json: bool) -> bool:
    """Print what was found; True if nothing that every study needs is missing."""
    inventory = read_inventory(path, sudo_password=sudo_password)
    with Fleet(inventory, new_run_id()) as fleet:
        hosts = hosts_found(fleet, stay=links)
        reached = {host.name for host in hosts if host.architecture}
        pairs = links_found(fleet, reached) if links else []
    if as_json:
        print_json(
            {
                "hosts": [asdict(host) for host in hosts],
                "links": [asdict(pair) for pair in pairs],
            }
        )
    else:
        _show(hosts, pairs, path)
    return not any(host.problems for host in hosts) and not any(pair.problem for pair in pairs)


def _show(hosts: Sequence[HostFound], pairs: Sequence[PairFound], inventory: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for column in (
        "host",
        "ready",
        "architecture",
        "kernel",
        "root by",
        "address",
        "clock",
        "VPNs",
    ):
        table.add_column(column)
    for host in hosts:
        table.add_row(
            escape(host.name),
            "[yellow]no[/]" if host.problems else "[green]yes[/]",
            host.architecture,
            escape(host.kernel),
            host.privileges,
            escape(f"{host.address} {host.device}"),
            _clock(host),
            str(len(host.vpns)) if host.architecture else "",
        )
    out.print(table)
    out.print()
    for text in _details(hosts):
        out.print(text, markup=False, style="dim")
    for host in hosts:
        for problem in host.problems:
            _explain(problem)
    if pairs:
        out.print()
        out.print(_links(pairs))
    for pair in pairs:
        if pair.problem is not None:
            _explain(pair.problem)
    out.print()
    _show_notes(hosts, inventory)
    _show_next(hosts, pairs, inventory)


def _show_notes(hosts: Sequence[HostFound], inventory: Path) -> None:
    """What only some VPNs or facts need: what single VPNs lack is long, so it is in --json."""
    notes = [note for host in hosts for note in host.notes]
    vpns = sorted({note.what for note in notes if note.what not in ALSO})
    if vpns:
        count = "1 VPN is" if len(vpns) == 1 else f"{len(vpns)} VPNs are"
        out.print(f"{count} not ready on one host or more:", style="dim")
        out.print(f"  {', '.join(vpns)}", markup=False, style="dim")
        _remedy(
            f"culvert hosts install VPN --inventory {inventory}"
            " for missing programs; culvert hosts check --json lists what each lacks on which host"
        )
    for note in notes:
        if note.what in ALSO:
            _explain(note)


def _show_next(hosts: Sequence[HostFound], pairs: Sequence[PairFound], inventory: Path) -> None:
    """How many can be measured, and how."""
    ready = sum(not host.problems for host in hosts)
    out.print(f"{ready} of {len(hosts)} hosts are ready", end="")
    if ready == len(hosts) and not any(pair.problem for pair in pairs):
        command = f"culvert run quick --lab hosts --inventory {inventory}"
        out.print(f"; next: {command}", markup=False, soft_wrap=True)
    else:
        out.print("; what is missing is above, with its remedy")


def _details(hosts: Sequence[HostFound]) -> list[str]:
    """Features, ports and VPNs, once for all hosts that have the same."""
    alike: dict[str, list[str]] = {}
    for host in hosts:
        if not host.architecture:
            continue
        lacking = [feature for feature in TRIED if feature not in host.features]
        for what, words in (
            ("kernel features", host.features),
            ("kernel features missing", lacking),
            ("ports in use (VPNs get others)", host.ports_in_use),
            ("VPNs installed", host.vpns),
        ):
            text = f"{what}: {', '.join(map(str, words)) or 'none'}"
            if words and words is lacking:
                text += f" (if a VPN or a condition needs one: {to_load(lacking)})"
            alike.setdefault(text, []).append(host.name)
    return [f"{', '.join(names)}: {text}" for text, names in alike.items()]


def _clock(host: HostFound) -> str:
    if host.clock_ahead_ms is None or host.clock_uncertainty_ms is None:
        return ""
    ahead_ms = round(host.clock_ahead_ms, 1) + 0.0  # without a negative zero
    return f"{ahead_ms:+.1f} ± {host.clock_uncertainty_ms:.1f} ms"


def _links(pairs: Sequence[PairFound]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("link", "MTU", "round trip", "rate there", "rate back", "loss"):
        table.add_column(column)
    for pair in pairs:
        if pair.problem is not None:
            continue
        losses = max(pair.there_loss or 0.0, pair.back_loss or 0.0)
        table.add_row(
            escape(f"{pair.source} to {pair.target}"),
            str(pair.mtu_bytes),
            f"{pair.rtt_ms:.3f} ms",
            _rate(pair.there_bps),
            _rate(pair.back_bps),
            f"{losses:.2%}",
        )
    return table


def _rate(bps: float | None) -> str:
    return "unknown" if bps is None else f"{bps / 1e6:.0f} Mbit/s"


def _explain(problem: Problem) -> None:
    out.print(f"{problem.what}: {problem.why}", markup=False, style="yellow")
    _remedy(problem.remedy)


def _remedy(text: str) -> None:
    out.print(f"  remedy: {text}", markup=False, soft_wrap=True)
