"""docs/published.md: what others have published, beside what was measured here.

::

    culvert import vpn-bench .../bench/18.12.2025 --out results/vpn-bench
    culvert import vpn-bench .../bench/26.02.2026-optimized --out results/optimized
    culvert import knb .../all-merged.csv --out results/kjorveziroski2024
    culvert run bench/published_here.toml --out results/here
    python -m bench.published_page --vpn-bench results/vpn-bench \\
        --vpn-bench-optimized results/optimized \\
        --kjorveziroski2024 results/kjorveziroski2024 --here results/here
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import polars as pl

from culvert.journal.journal import Journal
from culvert.study.vpn_id import BASELINE
from culvert.units import plural

PAGE = Path(__file__).parents[1] / "docs" / "published.md"
MEGA = 1e6
_RATES = ("goodput_bps", "goodput_up_bps", "goodput_down_bps")
_INTRODUCTION = """\
# Published and here

Goodput of TCP without impairment: medians of what others have published, beside medians of what
Culvert has measured. Machines, versions and links differ, so compare the shares of the baseline of
the same source, and not the rates. The range in brackets is from the least to the greatest figure.

`python -m bench.published_page` writes this page; the beginning of `bench/published_page.py` has
the commands before it. The data is its authors': [import it](import.md).
"""


@dataclass(frozen=True)
class Source:
    """A published data set. ``names``: its names of VPNs and ours; without one they are equal.
    ``path`` is the parameter of the runs that are taken."""

    key: str
    title: str
    what: str
    names: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None


_OF_VPN_BENCH = {
    "wireguard": "wireguard/go",
    "headscale": "headscale/direct",
    "nebula": "nebula/aes",
    "tinc": "tinc/aes-256-cbc",
    "vpncloud": "vpncloud/aes128",
    "easytier": "easytier/aes-gcm",
    "zerotier": "zerotier/direct",
    "yggdrasil": "yggdrasil/direct",
}
_REPOSITORY = "[Qubasa/vpn-bench](https://github.com/Qubasa/vpn-bench)"
_METHOD = (
    "iperf3 between hosts of 1 Gbit/s, both directions at once for 30 s, one run for each of three "
    "pairs of hosts; a figure is one direction of one run. Its WireGuard is the kernel's, ours the "
    "Go program."
)
SOURCES = (
    Source("vpn-bench", "vpn-bench", f"{_REPOSITORY}, 18.12.2025: {_METHOD}", _OF_VPN_BENCH),
    Source(
        "vpn-bench-optimized",
        "vpn-bench, optimized",
        f"{_REPOSITORY}, 26.02.2026-optimized, with other settings of the kernel: {_METHOD}",
        _OF_VPN_BENCH,
    ),
    Source(
        "kjorveziroski2024",
        "kjorveziroski2024",
        "[korvoj/vpn-performance](https://github.com/korvoj/vpn-performance), pods on hosts of 1 "
        "Gbit/s: iperf3 from pod to pod, one direction, 100 runs.",
        path="pod2pod",
    ),
)


@dataclass(frozen=True)
class Figures:
    """The rates of a VPN, in Mbit/s."""

    values: Sequence[float]

    def words(self, baseline: Figures | None) -> str:
        """Two cells of a row: median and range, and the share of the baseline."""
        if not self.values:
            return "- | -"
        middle = median(self.values)
        count = plural(len(self.values), "figure")
        share = "-"
        if baseline is not None and baseline.values:
            share = f"{100 * middle / median(baseline.values):.0f} %"
        least, most = min(self.values), max(self.values)
        return f"{middle:.0f} ({least:.0f} to {most:.0f}, {count}) | {share}"


def rates(directory: Path, path: str | None = None) -> dict[str, Figures]:
    """The rates of each VPN of a journal, over TCP and without impairment; of both directions
    each."""
    with Journal.open(directory) as journal:
        rows = journal.rows()
    rows = rows.filter(
        (pl.col("measurement") == "tcp")
        & (pl.col("condition") == "clean")
        & (pl.col("status") == "ok")
        & pl.col("metric").is_in(_RATES)
        & (pl.lit(path is None) | pl.col("parameters").str.contains(f'"{path}"', literal=True))
        & ~pl.col("parameters").str.contains('"pairs"', literal=True)
    )
    both = pl.col("metric").ne("goodput_bps")
    apart = rows.filter(both).select("trial").unique()
    kept = rows.filter(both | ~pl.col("trial").is_in(apart["trial"].implode()))
    return {
        str(vpn[0]): Figures([value / MEGA for value in found["value"]])
        for vpn, found in kept.group_by("vpn", maintain_order=True)
    }


def table(source: Source, published: Mapping[str, Figures], here: Mapping[str, Figures]) -> str:
    """A row for each VPN that was published, the fastest first, the baseline before all."""
    lines = [
        "| VPN | published, Mbit/s | of its baseline | here | here, Mbit/s | of its baseline |",
        "|---|---|---|---|---|---|",
        *_rows(source, published, here),
    ]
    return "\n".join(lines)


def _rows(
    source: Source, published: Mapping[str, Figures], here: Mapping[str, Figures]
) -> Iterator[str]:
    def order(name: str) -> tuple[bool, float]:
        values = published[name].values
        return name != BASELINE, -median(values) if values else 0.0

    for name in sorted(published, key=order):
        ours = source.names.get(name, name)
        found = here.get(ours, Figures(()))
        shown = f"`{ours}`" if found.values else "not measured"
        yield (
            f"| {name} | {published[name].words(published.get(BASELINE))} | {shown} | "
            f"{found.words(here.get(BASELINE))} |"
        )


def page(published: Mapping[str, Path], here: Path | None, machine: str = "") -> str:
    """The whole page; without a run of ours, what was published."""
    ours = {} if here is None else rates(here)
    parts = [_INTRODUCTION, *([f"Here: {machine}.\n"] if machine else [])]
    for source in SOURCES:
        if source.key in published:
            found = rates(published[source.key], source.path)
            parts.append(f"## {source.title}\n\n{source.what}\n\n{table(source, found, ours)}\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.published_page")
    for source in SOURCES:
        parser.add_argument(f"--{source.key}", type=Path, help="the journal of its import")
    parser.add_argument("--machine", default="", help="where the run was made, in a few words")
    parser.add_argument("--here", type=Path, help="the run of published_here.toml")
    given = parser.parse_args()
    paths = {source.key: getattr(given, source.key.replace("-", "_")) for source in SOURCES}
    published = {key: path for key, path in paths.items() if path is not None}
    PAGE.write_text(page(published, given.here, given.machine), encoding="utf-8")


if __name__ == "__main__":
    main()
