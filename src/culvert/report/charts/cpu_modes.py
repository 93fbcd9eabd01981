"""CPU utilisation next to goodput, split by mode as in figures 2 to 5 of dekker2020."""

from __future__ import annotations

from collections.abc import Mapping

from culvert.report.charts.cell import NOTHING, Cell, median_text
from culvert.report.charts.common import Records, trial_dots
from culvert.report.charts.stacks import stack
from culvert.report.leaves import find
from culvert.report.model import Panel
from culvert.report.numbers import Scale
from culvert.report.palette import MODES

TOTAL = "cpu_percent"
PARTS = {
    "user": "cpu_user_percent",
    "system": "cpu_system_percent",
    "softirq": "cpu_softirq_percent",
}
_OTHER = "hard interrupts"
"""The remainder of the total that is in no part."""
_LEAST_OTHER = 1.0
"""A smaller remainder, in per cent of one core, is not drawn."""
_ALL_BUSY = 95.0
"""Per cent of each core from which on the CPUs count as busy."""
_PERCENT = Scale(1.0, "%")


def cpu_panel(cell: Cell) -> Panel | None:
    """Mean utilisation by mode, the total next to it, each trial's total as a ring.

    None if every VPN kept all CPUs busy: then equal bars would say nothing about the VPNs.
    """
    totals = cell.summary(TOTAL)
    if totals.is_empty() or all_busy(cell):
        return None
    records: Records = []
    sums: Records = []
    dots = trial_dots(cell.observed(TOTAL), _PERCENT)
    means = _parts(cell)
    for vpn, total in totals.select("vpn", "mean").iter_rows():
        parts = dict(means.get(vpn, {}))
        rest = total - sum(parts.values())
        if rest >= _LEAST_OTHER:
            parts[_OTHER] = rest
        records += [
            {
                "vpn": vpn,
                "part": name,
                "rank": list(MODES).index(name),
                "value": value,
                "shown": _PERCENT.text(value),
            }
            for name, value in parts.items()
        ]
        reached = [dot["value"] for dot in dots if dot["vpn"] == vpn]
        sums.append(
            {"vpn": vpn, "end": max([total, *reached]), "text": f"{_PERCENT.number(total)} %"}
        )
    shown = {part["part"] for part in records}
    threads = find(cell.data.run.environment, "cpu", "threads")
    whole = f"; {100 * threads} is all {threads} CPUs" if isinstance(threads, int) else ""
    return stack(
        cell.data,
        records,
        "CPU utilisation",
        f"% of one core{whole}; less is better",
        {name: colour for name, colour in MODES.items() if name in shown},
        most=1.25 * max((found["end"] for found in sums), default=1.0) or 1.0,
        sums=sums,
        dots=dots,
    )


def all_busy(cell: Cell) -> bool:
    """Whether the median of every VPN's utilisation is nearly that of all CPUs."""
    totals = cell.summary(TOTAL)["median"].to_list()
    threads = find(cell.data.run.environment, "cpu", "threads")
    return isinstance(threads, int) and bool(totals) and min(totals) >= _ALL_BUSY * threads


def cpu_columns(cell: Cell) -> tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
    """The names of columns of the figure's table, and their values by VPN: the median of the total
    with its interval, and the means of the parts."""
    totals = cell.summary(TOTAL)
    every = _parts(cell)
    rows = {}
    for vpn in cell.data.vpns:
        parts = every.get(vpn, {})
        means = (_PERCENT.number(parts[name]) if name in parts else NOTHING for name in PARTS)
        rows[vpn] = (median_text(totals, vpn, _PERCENT), *means)
    return ("CPU, median [95 %], %", *(f"{name}, mean, %" for name in PARTS)), rows


def _parts(cell: Cell) -> dict[str, dict[str, float]]:
    """By VPN and name of the part."""
    found: dict[str, dict[str, float]] = {}
    for name, metric in PARTS.items():
        for vpn, mean in cell.summary(metric).select("vpn", "mean").iter_rows():
            found.setdefault(vpn, {})[name] = max(0.0, float(mean))
    return found
