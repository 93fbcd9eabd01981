"""The gate of ``culvert versions`` on simulated runs, beside a fixed threshold.

A block has what disturbs the machine in all its trials; each trial and each figure has a scatter of
its own. A fixed threshold compares with an earlier run, and runs of one program deviate.

``python -m tests.versions.gate`` prints the table of docs/ci.md.
"""

from __future__ import annotations

import numpy as np

from culvert.decide.gate import Figure, gate
from culvert.metrics import Better
from culvert.statistics.values import Array

NONE = np.array([])
PRIMARY = ("tcp", "cpu_vpn_s_per_gb", 1)
METRICS = (
    ("tcp", "goodput_bps", -1),
    ("tcp", "cpu_s_per_gb", 1),
    PRIMARY,
    ("rtt", "rtt_p50_us", 1),
)
"""What the study ``gate`` compares; whether a slower VPN has less or more of it."""
BLOCK_SD, RUN_SD = 0.05, 0.02
SLOWEST = 0.10


def simulated(noise: np.random.Generator, blocks: int, scatter: float, slow: float) -> Array:
    """Logarithms: metric, build (base, head), block."""
    found: Array = scatter * noise.standard_normal((len(METRICS), 2, blocks))
    found += BLOCK_SD * noise.standard_normal(blocks)
    for number, (_, _, sign) in enumerate(METRICS):
        found[number, 1] += sign * np.log1p(slow)
    return found


def fails(logarithms: Array) -> bool:
    """Whether the gate fails the head: by the VPN's CPU time, without a covariate."""
    base, head = np.exp(logarithms[METRICS.index(PRIMARY)])
    figure = Figure(PRIMARY[1], Better.LESS, base, head, NONE, NONE)
    return gate([figure])[0].fails


def threshold(noise: np.random.Generator, logarithms: Array, largest: float) -> bool:
    """Whether a fixed threshold fails the head: any mean is worse than an earlier run's."""
    earlier = np.sqrt(2) * RUN_SD * noise.standard_normal()
    now = logarithms[:, 1].mean(axis=1) - logarithms[:, 0].mean(axis=1)
    worse = [sign * (one + earlier) for (_, _, sign), one in zip(METRICS, now, strict=True)]
    return bool(np.expm1(max(worse)) > largest)


def rates(
    times: int, blocks: int, scatter: float, slow: float, thresholds: tuple[float, ...] = ()
) -> tuple[float, ...]:
    """How often the gate fails the head, and how often each fixed threshold does."""
    noise = np.random.default_rng(1)
    failed = np.zeros((times, 1 + len(thresholds)))
    for one in failed:
        figures = simulated(noise, blocks, scatter, slow)
        one[0] = fails(figures)
        one[1:] = [threshold(noise, figures, largest) for largest in thresholds]
    return tuple(map(float, failed.mean(axis=0)))


def main() -> None:
    """Print the table."""
    print(
        "| slower by | scatter | blocks | gate | 3 % | 5 % | 10 % |\n|---|---|---|---|---|---|---|"
    )
    for slow in (0.0, 0.03, 0.05, SLOWEST):
        for scatter, blocks in ((0.01, 10), (0.01, 20), (0.02, 20), (0.02, 40), (0.05, 40)):
            found = rates(500, blocks, scatter, slow, (0.03, 0.05, 0.10))
            shares = " | ".join(f"{100 * one:.1f} %" for one in found)
            print(f"| {100 * slow:g} % | {100 * scatter:g} % | {blocks} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
