"""The gate of ``culvert versions``: which figures of a run it judges, and its words."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from culvert.analysis.declared import better_of
from culvert.decide.gate import ONE_LOOK, Figure, Judged, Look, Outcome, gate
from culvert.statistics.values import Array
from culvert.units import plural

CPU = ("cpu_vpn_s_per_gb", "cpu_s_per_gb")
"""The primary figure: the VPN's CPU time, or the machine's where the kernel does the work."""
COVARIATE = "cpu_probe_s_per_gb"
WORTH_FINDING = 0.05
"""The slowdown that advice is about, if none is accepted."""
THEN = ("goodput_bps", "rtt_p50_us")
"""What follows in this order; the first of them is the primary figure of a run without CPU time."""


def judge_head(
    observed: pl.DataFrame,
    base: str,
    head: str,
    *,
    margin: float,
    alpha: float,
    look: Look = ONE_LOOK,
) -> tuple[Judged, ...]:
    """Judge a head by the observations of its run; empty without a figure that the base has.

    A figure that is measured in several cells is their geometric mean.
    """
    return gate(list(figures_of(observed, base, head)), look, margin=margin, alpha=alpha)


def figures_of(observed: pl.DataFrame, base: str, head: str) -> Iterator[Figure]:
    """Those that a gate judges, the primary one first, with its covariate."""
    plain = observed.filter(pl.col("value") > 0, labels="{}")
    blocks = sorted(plain["block"].unique().to_list())

    def series(metric: str, vpn: str) -> Array:
        found = (
            plain.filter(metric=metric, vpn=vpn)
            .group_by("block")
            .agg(pl.col("value").log().mean().exp(), cells=pl.len())
        )
        most = found["cells"].max()
        whole = {block: value for block, value, cells in found.iter_rows() if cells == most}
        return np.array([whole.get(block, np.nan) for block in blocks])

    primary = next((name for name in CPU if (series(name, base) > 0).any()), None)
    for name in (*([primary] if primary else []), *THEN):
        if not (series(name, base) > 0).any():
            continue
        measurement = str(plain.filter(metric=name)["measurement"][0])
        beside = [
            series(COVARIATE, vpn) if name == primary else np.array([]) for vpn in (base, head)
        ]
        both = (series(name, base), series(name, head))
        yield Figure(name, better_of(name, measurement), *both, *beside)


def headline(judged: tuple[Judged, ...]) -> str:
    """The gate's answer."""
    if any(one.outcome is Outcome.BROKEN for one in judged):
        return "The head does not work"
    match judged[0].outcome:
        case Outcome.SLOWER:
            return "The head is slower"
        case Outcome.NOT_SLOWER:
            return _bound(judged[0]).capitalize()
        case outcome:
            return f"Cannot tell: {outcome}"


def in_words(one: Judged, title: str) -> str:
    """``CPU of the VPN per gigabyte: not shown to be slower, no slowdown above 2 %; ...``."""
    shown = str(one.outcome)
    if one.outcome is Outcome.SLOWER and one.slowdown is not None:
        shown += f" by {_percent(one.slowdown)}"
    if one.bound is not None:
        shown += f", {_bound(one)}"
    if one.least is not None:
        find = "finds" if one.n == 1 else "find"
        shown += f"; {plural(one.n, 'block')} {find} {_percent(one.least)} in 80 of 100 runs"
    return f"{title}: {shown}"


def _bound(one: Judged) -> str:
    above = f" above {_percent(one.bound)}" if one.bound and one.bound > 1 else ""
    return f"no slowdown{above} (95 %)"


def advice(judged: tuple[Judged, ...], look: Look, margin: float) -> str:
    """What an early end means, or which budget would find a slowdown that matters; else empty."""
    if not look.last:
        return (
            f"ended after {look.after} of {look.planned[-1]} s: a difference that ends a run early "
            "is overestimated"
        )
    least = judged[0].least if judged else None
    wanted = margin or WORTH_FINDING
    if least is None or judged[0].fails or least <= 1 + wanted:
        return ""
    # A standard error falls with the square root of the number of blocks.
    needed_s = look.after * (math.log(least) / math.log1p(wanted)) ** 2
    return f"--budget {math.ceil(needed_s / 60)}min would find {_percent(1 + wanted)}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.2g} %"
