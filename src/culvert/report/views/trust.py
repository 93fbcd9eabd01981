"""How far a run can be trusted: the badge, and what its machine takes away from it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.column import fewest_blocks
from culvert.analysis.design import Blocking
from culvert.analysis.observations import BASELINE, pick
from culvert.report.leaves import at, evidence, find
from culvert.report.model import Data
from culvert.report.views.delivered import decided_per_super_packet
from culvert.report.views.made import OWN_DAY, days_apart, stopped_early
from culvert.report.views.underlay import slowed_down

MANY_LEFT_OUT = 0.1
"""From this share of trials that do not count, the badge warns."""


@dataclass(frozen=True)
class Trust:
    """The badge: how much of what was measured can be believed, in one line."""

    level: str
    """good, mixed or none: it chooses the badge's look."""
    title: str
    detail: str


def trust(data: Data) -> Trust:
    """What share of the trials counts, and whether each that counts carries its proof."""
    counts = data.counts
    if not counts.total:
        return Trust("none", "No trials yet", "this journal is empty")
    if not counts.ok:
        return Trust("none", "No trial counts", f"of {counts.total}; the reasons are below")
    if data.run.imported:
        told = f"{counts.ok} of {counts.total} runs count; nobody saw where their traffic went"
        if days_apart(data):
            told += f"; {OWN_DAY}"
        return Trust("mixed", "Imported: not proved by Culvert", told)
    proved = sum(
        1
        for status, text in data.trials.select("status", "evidence").iter_rows()
        if status == "ok" and evidence(text).get("proved") is True
    )
    without = counts.ok - proved
    if without:
        return Trust(
            "mixed",
            "Not every number is proved",
            f"{without} of {counts.ok} trials that count carry no proof of their traffic",
        )
    detail = f"all {proved} trials that count carry the proof of where their traffic went"
    if counts.ok == counts.total:
        where = "on the link" if set(data.vpns) == {BASELINE} else "in the tunnel"
        return Trust("good", f"All traffic proved {where}", detail)
    left = counts.total - counts.ok
    level = "good" if left < MANY_LEFT_OUT * counts.total else "mixed"
    return Trust(
        level,
        "All traffic that counts proved in the tunnel",
        f"{detail}; {left} of {counts.total} trials do not count and give no number",
    )


def limits(data: Data) -> tuple[str, ...]:
    """What about this machine and this run makes figures coarser or less general, in short."""
    environment = data.run.environment
    if not environment:
        return ("nothing is recorded of the machine",)
    if data.run.imported:
        return (*_imported(data), *filter(None, (_blocks(data),)))
    found = (
        at(environment, "not_comparable"),
        _few_cpus(data),
        _guest(data),
        _load(data),
        _frequency(data),
        _without_root(data),
        _blocks(data),
        stopped_early(data),
        _super_packets(data),
        _slowed_down(data),
    )
    return tuple(limit for limit in found if limit)


FEW_CPUS = 8
"""Below this, two nodes with a VPN and a probe each take CPU time from one another."""
FEW_BLOCKS = 10
"""Below this, intervals are mostly as wide as the sample."""
BUSY = 0.1
"""From this load average per CPU, something else was running when the run began."""
STOLEN_PERCENT = 1.0
"""From this mean of stolen CPU time, per cent of one core, it is told."""


def _imported(data: Data) -> tuple[str, ...]:
    """What an import cannot know, and what it did with names and order."""
    said = find(data.run.environment, "imported")
    notes = find(said, "notes")
    lost = find(said, "lost_count")
    return (
        "of the machines, the tunnels and the impairments only the data's own word is known",
        "no blocks were made together: VPNs are compared as series of their own, never paired",
        *(str(note) for note in (notes if isinstance(notes, list) else ())),
        *((f"places of the files that could not be read: {lost}",) if lost else ()),
    )


def _super_packets(data: Data) -> str:
    names = decided_per_super_packet(data)
    if not names:
        return ""
    return f"decided per super-packet, as no wire does: {', '.join(names)}"


def _slowed_down(data: Data) -> str:
    names = slowed_down(data)
    if not names:
        return ""
    return f"a slow router emulated by a CPU quota, not measured on one: {', '.join(names)}"


def _few_cpus(data: Data) -> str:
    threads = find(data.run.environment, "cpu", "threads")
    if not isinstance(threads, int) or threads >= FEW_CPUS or data.run.lab != "netns":
        return ""
    several = f"{threads} CPUs are" if threads > 1 else "one CPU is"
    return f"{several} shared by both nodes, the VPN and the measuring programs"


def _without_root(data: Data) -> str:
    environment = data.run.environment
    largest = find(environment, "without_root", "receive_buffer_bytes")
    if largest is None:
        return ""
    wire = find(environment, "without_root", "real_time_priority") is False
    less = [
        *(["no real-time priority for a wire"] if wire else []),
        f"receive buffers of {largest} bytes",
    ]
    return f"run without root: {', '.join(less)}"


def _guest(data: Data) -> str:
    if find(data.run.environment, "virtualisation", "guest") is not True:
        return ""
    told = f"guest of a hypervisor ({at(data.run.environment, 'virtualisation', 'hypervisor')})"
    told = told.replace(" ()", "")
    stolen = pick(data.observed, "cpu_steal_percent")["value"]
    mean = stolen.mean() if len(stolen) else None
    if isinstance(mean, float) and mean >= STOLEN_PERCENT:
        told += f", which took away {mean:.1f} % of a core"
    return told


def _load(data: Data) -> str:
    load = find(data.run.environment, "load", "average_1min")
    threads = find(data.run.environment, "cpu", "threads")
    if not isinstance(load, int | float) or load < BUSY * max(1, int(threads or 1)):
        return ""
    return f"load average {load:.1f} at the start"


def _frequency(data: Data) -> str:
    frequency = find(data.run.environment, "cpu", "frequency")
    governors = find(frequency, "governors")
    if not governors:
        return "CPU governor unknown"
    told = at({"governors": governors}, "governors")
    boost = ", boost on" if find(frequency, "boost") is True else ""
    return "" if told == "performance" and not boost else f"CPU governor {told}{boost}"


def _blocks(data: Data) -> str:
    blocks = data.trials.filter(pl.col("status") == "ok")["block"].n_unique()
    if not 0 < blocks < FEW_BLOCKS:
        return ""
    told = f"only {blocks} block{'s' if blocks > 1 else ''}, so intervals are wide or absent"
    design = data.columns.design
    if design.blocking is Blocking.RANDOM and blocks < fewest_blocks(design.looks):
        return f"{told}, and nothing is told apart: that takes {fewest_blocks(design.looks)} blocks"
    return told
