"""How far a run can be trusted: the badge, and the limits from its machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from statistics import median

import polars as pl

from culvert.analysis.observations import pick
from culvert.decide.decision import Blocking
from culvert.journal.marks import FILLED_SHARE, SEARCHED, checks_of
from culvert.labs.registry import on_this_machine, recorded_kind
from culvert.plan.stopping import StopReason
from culvert.report.leaves import at, evidence, find, leaf
from culvert.report.model import Data
from culvert.report.numbers import percent
from culvert.report.sentences import joined
from culvert.report.views.delivered import decided_per_super_packet
from culvert.report.views.leaks import leaking_trials
from culvert.report.views.surroundings import disturbance
from culvert.report.views.underlay import slowed_down
from culvert.study.vpn_id import BASELINE
from culvert.units import plural

MANY = 0.1
"""From this share of trials that do not count, or were disturbed, the badge warns."""


@dataclass(frozen=True)
class Trust:
    """The badge: how much of the run counts and is proved, in one line."""

    level: str
    """good, mixed or none: it selects the badge's style."""
    title: str
    detail: str


def trust(data: Data) -> Trust:
    """The share of trials that count, and whether each of them has its proof."""
    counts = data.counts
    if not counts.total:
        return Trust("none", "No trials yet", "this journal is empty")
    if not counts.ok:
        return Trust("none", "No trial counts", f"of {counts.total}; the reasons are below")
    if data.run.imported:
        phrase = (
            f"{counts.ok} of {counts.total} runs count; the path of their traffic was not observed"
        )
        if days_apart(data):
            phrase += f"; {OWN_DAY}"
        return Trust("mixed", "Imported: not proved by Culvert", phrase)
    proved = searched = 0
    for text in data.trials.filter(status="ok")["evidence"]:
        of_trial = evidence(text)
        proved += of_trial.get("proved") is True
        searched += _searched(of_trial)
    without = counts.ok - proved
    if without:
        return Trust(
            "mixed",
            "Not every number is proved",
            f"{without} of {counts.ok} trials that count have no proof of their traffic's path",
        )
    detail = f"all {proved} trials that count have a proof of their traffic's path"
    if searched:
        detail += f"; the proofs found clear text in 0 of {searched:,} packets searched"
    left, leaking = counts.total - counts.ok, leaking_trials(data)
    proved_part = "that counts proved" if left else "proved"
    title = f"All traffic {proved_part} {_where(data)}"
    if leaking:
        beside = f"packets left beside it in {plural(leaking, 'trial')}"
        title = f"Every tunnel {proved_part}; {beside}"
    if left:
        detail += f"; {left} of {counts.total} trials do not count and contribute no figure"
    disturbed = len(data.marks)
    if disturbed >= MANY * counts.ok:
        title += f"; {percent(disturbed / counts.ok)} of the trials were disturbed"
    level = "mixed" if max(left / counts.total, disturbed / counts.ok) >= MANY else "good"
    return Trust(level, title, detail)


def _searched(of_trial: Mapping[str, object]) -> int:
    """The packets of a trial's links that were searched for clear text, and had none."""
    figures = [find(check, "figures", SEARCHED) for check in checks_of(of_trial)]
    return sum(count for count in figures if isinstance(count, int))


def _where(data: Data) -> str:
    """Where the traffic was seen."""
    lab = recorded_kind(data.run.lab)
    if lab is not None and lab.seen_at:
        return lab.seen_at
    return "on the link" if set(data.vpns) == {BASELINE} else "in the tunnel"


def limits(data: Data) -> tuple[str, ...]:
    """Facts about machine and run that make figures less precise or less general, in short."""
    environment = data.run.environment
    if not environment:
        return ("no facts about the machine are recorded",)
    if data.run.imported:
        return (*_imported(data), *filter(None, (_blocks(data),)))
    found = (
        at(environment, "not_comparable"),
        disturbance(data),
        _few_cpus(data),
        _guest(data),
        _load(data),
        _frequency(data),
        _without_root(data),
        _blocks(data),
        stopped_early(data),
        _of(
            "link decisions per super-packet instead of per packet",
            decided_per_super_packet(data),
        ),
        _of(
            "the nodes, the measuring programs or the time, not the links, limit even the baseline",
            _unfilled(data),
        ),
        _of("a slow router emulated by a CPU quota, not measured on one", slowed_down(data)),
    )
    return tuple(limit for limit in found if limit)


FEW_CPUS = 8
"""With fewer CPUs, two nodes with a VPN and a probe each compete for CPU time."""
FEW_BLOCKS = 10
"""With fewer blocks, most intervals are as wide as the sample."""
FILLED = 0.9
"""A baseline whose rate is below this share of what the links carry has another limit."""
BUSY = 0.1
"""From this load average per CPU on, other programs were running when the run started."""
STOLEN_PERCENT = 1.0
"""From this mean of stolen CPU time on, in per cent of one core, it is reported."""


def _imported(data: Data) -> tuple[str, ...]:
    """The facts that an import does not have, and how it handled names and order."""
    source = find(data.run.environment, "imported")
    notes = find(source, "notes")
    lost = find(source, "lost_count")
    return (
        "machines, tunnels and impairments are as the files describe them, not verified",
        "trials were not made in blocks: VPNs are compared as independent series, not paired",
        *(str(note) for note in (notes if isinstance(notes, list) else ())),
        *((f"places of the files that could not be read: {lost}",) if lost else ()),
    )


def _of(limit: str, conditions: Sequence[str]) -> str:
    return f"{limit}: {', '.join(conditions)}" if conditions else ""


def _few_cpus(data: Data) -> str:
    threads = find(data.run.environment, "cpu", "threads")
    if not isinstance(threads, int) or threads >= FEW_CPUS or not on_this_machine(data.run.lab):
        return ""
    several = f"{threads} CPUs are" if threads > 1 else "one CPU is"
    return f"{several} shared by both nodes, the VPN and the measuring programs"


def _unfilled(data: Data) -> list[str]:
    """The cells in which the baseline is slower than the links, and its share."""
    shares: dict[str, list[float]] = {}
    for row in data.trials.filter(status="ok", vpn=BASELINE).iter_rows(named=True):
        cell = data.labels.cell(row["condition"], row["measurement"], row["parameters"])
        for check in checks_of(evidence(row["evidence"])):
            share = find(check, "figures", FILLED_SHARE)
            if isinstance(share, int | float) and share >= 0:
                shares.setdefault(cell, []).append(share)
    medians = {cell: median(found) for cell, found in shares.items()}
    return [f"{cell} ({percent(share)})" for cell, share in medians.items() if share < FILLED]


def _without_root(data: Data) -> str:
    environment = data.run.environment
    largest = find(environment, "without_root", "receive_buffer_bytes")
    if largest is None:
        return ""
    wire = find(environment, "without_root", "real_time_priority") is False
    less = "no real-time priority for a wire, " if wire else ""
    return f"run without root: {less}receive buffers of {largest} bytes"


def _guest(data: Data) -> str:
    if find(data.run.environment, "virtualisation", "guest") is not True:
        return ""
    phrase = f"guest of a hypervisor ({at(data.run.environment, 'virtualisation', 'hypervisor')})"
    phrase = phrase.replace(" ()", "")
    stolen = pick(data.observed, "cpu_steal_percent")["value"]
    mean = stolen.mean() if len(stolen) else None
    if isinstance(mean, float) and mean >= STOLEN_PERCENT:
        phrase += f", which took away {mean:.1f} % of a core"
    return phrase


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
    phrase = leaf(governors)
    boost = ", boost on" if find(frequency, "boost") is True else ""
    return "" if phrase == "performance" and not boost else f"CPU governor {phrase}{boost}"


def _blocks(data: Data) -> str:
    n = data.trials.filter(pl.col("status") == "ok")["block"].n_unique()
    if not 0 < n < FEW_BLOCKS:
        return ""
    design = data.columns.design
    needed = {"the interval of a median": design.looks.fewest()}
    if design.blocking is Blocking.RANDOM:
        needed = {"a difference": design.fewest, **needed}
    lacking = [f"{what} takes {fewest}" for what, fewest in needed.items() if n < fewest]
    few = (
        f"at most {plural(n, 'run')} of a cell"
        if data.run.imported
        else f"only {plural(n, 'block')}"
    )
    return f"{few}: {joined(lacking) or 'intervals are wide'}"


OWN_DAY = "each configuration had its own day: statistics cannot separate the two effects"

_NARROW = "runs end early if trials scatter little by chance, so the scatter is underestimated"
_DECIDED = "differences that were decided early are overestimated"
_BIASED = {
    StopReason.CLAIMS: _DECIDED,
    StopReason.RANKS: _DECIDED,
    StopReason.QUESTIONS: _DECIDED,
    StopReason.PRECISE: _NARROW,
    StopReason.SETTLED: _NARROW,
}
"""The bias of estimates after early stopping; only their intervals allow for the looks."""


def days_apart(data: Data) -> bool:
    """Whether each VPN of an import was measured on its own days, as far as the dates are known."""
    if not data.run.imported:
        return False
    if data.foreign:
        return True  # the authors' own files have the dates of the data in a paper's tables
    days: dict[str, set[str]] = {}
    for vpn, text in data.trials.select("vpn", "started_at").iter_rows():
        when = datetime.fromisoformat(text)
        if when.timestamp() == 0:
            return False
        days.setdefault(vpn, set()).add(when.date().isoformat())
    return len(days) > 1 and all(not one & other for one, other in combinations(days.values(), 2))


def stopped_early(data: Data) -> str:
    """The bias from the rule that ended the run; empty if no rule ended it."""
    try:
        reason = StopReason(data.run.stopped)
    except ValueError:
        return ""
    looks = data.columns.design.looks
    n = data.trials.filter(pl.col("status") == "ok")["block"].n_unique()
    if reason not in _BIASED or not looks.first or n == looks.last:
        return ""
    most = f" of at most {looks.last}" if looks.last else ""
    return f"its rule ended the run after {plural(n, 'block')}{most}: {_BIASED[reason]}"
