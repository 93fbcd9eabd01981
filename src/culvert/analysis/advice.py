"""Whether a VPN's gateway carries a required load: enough, not enough, or cannot tell.

Of measured numbers of clients the interval of the median decides (95 % over all looks of a rule
that could end the run, so each of the two statements is wrong in at most 2.5 of 100 cases). Goodput
over N rises to a knee and falls behind it: between two measured numbers it is at least the lower of
both. For "not enough" there, and up to twice the largest measured number, the Universal Scalability
Law's interval decides, also over all looks; beyond that there is no statement.

A search for the rate of all clients is judged like their load, by its rate with little loss (PDR).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from culvert.analysis.gateway import CLIENTS, KIND, SEARCH, by_clients
from culvert.analysis.observations import observations, pick
from culvert.json_text import read_json
from culvert.statistics.intervals import median_intervals
from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.scalability import REACH, fit_scalability
from culvert.topology.shapes import MOST_NODES
from culvert.units import plural

CARRIED = {KIND: "goodput_bps", SEARCH: "pdr_bps"}
"""What all clients together got, by measurement."""
CPU = "gateway_cpu_percent"
RATE = "rate"


class Verdict(StrEnum):
    """Whether the requirement is met."""

    ENOUGH = "enough"
    NOT_ENOUGH = "not enough"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Requirement:
    """Of all clients together."""

    rate_bps: float
    clients: int


@dataclass(frozen=True)
class Carried:
    """Goodput in bit/s of so many clients: the median with its 95 % interval, None if there is
    none. ``offered_bound``: the clients had a rate, so a faster gateway would not show."""

    clients: int
    median_bps: float
    low_bps: float | None
    high_bps: float | None
    trials: int
    offered_bound: bool = False


@dataclass(frozen=True)
class Advice:
    """One VPN, one condition, one kind of load. ``cpu_percent`` is the gateway's, 100 a core, with
    ``cpu_clients``, the measured number next to the required one. ``basis`` names the figure that
    decided, ``to_measure`` what would decide where nothing does."""

    vpn: str
    condition: str
    measurement: str
    load: str
    verdict: Verdict
    median_bps: float | None
    low_bps: float | None
    high_bps: float | None
    cpu_percent: float | None
    cpu_clients: int | None
    basis: str
    to_measure: str = ""


def advise(rows: pl.DataFrame, required: Requirement, looks: Looks = ONCE) -> list[Advice]:
    """From the rows of a run; the most capable first, those that cannot be told last. ``looks`` are
    those of the rule that could end the run."""
    observed = observations(rows)
    found = [one for kind in CARRIED for one in _of_measurement(observed, kind, required, looks)]
    order = list(Verdict)
    return sorted(found, key=lambda one: (order.index(one.verdict), -(one.median_bps or 0)))


def _of_measurement(
    observed: pl.DataFrame, kind: str, required: Requirement, looks: Looks
) -> list[Advice]:
    found = by_clients(observed, kind)
    groups: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    used: dict[tuple[str, str, str, int], list[float]] = {}
    columns = ("vpn", "condition", "load", CLIENTS, "value")
    carried = pick(found, CARRIED[kind]).select(columns)
    for vpn, condition, load, clients, value in carried.iter_rows():
        groups.setdefault((vpn, condition, load), {}).setdefault(clients, []).append(value)
    for *key, value in pick(found, CPU).select(columns).iter_rows():
        used.setdefault((key[0], key[1], key[2], key[3]), []).append(value)
    return [
        _of_group(vpn, condition, kind, load, trials, required, looks, used)
        for (vpn, condition, load), trials in groups.items()
        if kind == KIND or not _paced(load)  # else it searched for a number of clients
    ]


def _paced(load: str) -> bool:
    return read_json(load).get(RATE) is not None


def _of_group(
    vpn: str,
    condition: str,
    kind: str,
    load: str,
    trials: Mapping[int, Sequence[float]],
    required: Requirement,
    looks: Looks,
    used: Mapping[tuple[str, str, str, int], Sequence[float]],
) -> Advice:
    paced = _paced(load)
    counts = sorted(trials)
    intervals = median_intervals([trials[count] for count in counts], looks)
    measured = [
        Carried(
            count, float(np.median(trials[count])), one.low, one.high, len(trials[count]), paced
        )
        for count, one in zip(counts, intervals, strict=True)
    ]
    verdict, shown, basis, to_measure = _decide(measured, trials, required, looks)
    nearest = min(counts, key=lambda count: abs(count - required.clients))
    cpu = used.get((vpn, condition, load, nearest))
    return Advice(
        vpn,
        condition,
        kind,
        load,
        verdict,
        shown.median_bps if shown else None,
        shown.low_bps if shown else None,
        shown.high_bps if shown else None,
        float(np.median(cpu)) if cpu else None,
        nearest if cpu else None,
        basis,
        to_measure,
    )


def _decide(
    measured: Sequence[Carried],
    trials: Mapping[int, Sequence[float]],
    required: Requirement,
    looks: Looks,
) -> tuple[Verdict, Carried | None, str, str]:
    """The verdict, the figure it is from, the basis in words, and what to measure."""
    n, fewest = required.clients, looks.fewest()
    here = [one for one in measured if one.clients == n]
    ask = f"clients = {min(n, MOST_NODES)}, in {fewest} blocks or more"
    if here:
        return _at(here[0], required, fewest)
    below = [one for one in measured if one.clients < n]
    above = [one for one in measured if one.clients > n]
    if below and above:
        lower = min(below[-1], above[0], key=lambda one: one.median_bps)
        both = [_compare(one, required) for one in (below[-1], above[0])]
        basis = (
            f"measured with {below[-1].clients} and with {above[0].clients} clients; the lower "
            "goodput counts"
        )
        if all(one is Verdict.ENOUGH for one in both):
            return Verdict.ENOUGH, lower, basis, ""
    largest = measured[-1].clients
    if n > REACH * largest:
        why = f"measured with at most {largest} clients: no estimate beyond {REACH * largest:.0f}"
        # As many can be measured at most, and the curve reaches so far beyond.
        return Verdict.CANNOT_TELL, None, why, ask if n <= REACH * MOST_NODES else ""
    if any(one.offered_bound for one in measured):
        why = "the clients sent at a fixed rate, so what more they could send is not known"
        return Verdict.CANNOT_TELL, None, why, f"{ask}, without a rate"
    level = looks.level(min(one.trials for one in measured))
    try:
        law = fit_scalability(trials).at(n, level)
    except ValueError as error:
        return Verdict.CANNOT_TELL, None, str(error), ask
    shown = Carried(n, law.value, law.low, law.high, sum(one.trials for one in measured))
    verdict = _compare(shown, required)
    basis = (
        f"estimated by a curve (Universal Scalability Law) through {len(measured)} measured "
        f"numbers of clients, {measured[0].clients} to {largest}"
    )
    return verdict, shown, basis, ask if verdict is Verdict.CANNOT_TELL else ""


def _at(one: Carried, required: Requirement, fewest: int) -> tuple[Verdict, Carried, str, str]:
    """By a measured number of clients."""
    basis = f"measured with {plural(one.clients, 'client')} in {plural(one.trials, 'trial')}"
    ask = f"clients = {one.clients}, in more than {one.trials} blocks"
    if one.trials < fewest:
        basis += ", too few for an interval"
        ask = f"clients = {one.clients}, in {fewest} blocks or more"
    verdict = _compare(one, required)
    if verdict is Verdict.NOT_ENOUGH and one.offered_bound:
        return (
            Verdict.CANNOT_TELL,
            one,
            f"{basis}; they sent no more than their fixed rate",
            f"clients = {one.clients} with a higher rate, or without one",
        )
    return verdict, one, basis, ask if verdict is Verdict.CANNOT_TELL else ""


def _compare(one: Carried, required: Requirement) -> Verdict:
    if one.low_bps is None or one.high_bps is None:
        return Verdict.CANNOT_TELL
    if one.low_bps >= required.rate_bps:
        return Verdict.ENOUGH
    return Verdict.NOT_ENOUGH if one.high_bps < required.rate_bps else Verdict.CANNOT_TELL
