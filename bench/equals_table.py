"""The tables of docs/statistics.md on one column: false badges, and differences found.

``python -m bench.equals_table`` writes them between their marks; 1,000 studies a figure, fixed
seeds.
"""

from __future__ import annotations

import numpy as np

from bench.coverage_table import put
from bench.goals.statements import NAMES, STUDIES, badges, decided, following

BEGIN, END = "<!-- equals: python -m bench.equals_table -->\n", "<!-- end of equals -->\n"
BLOCKS = (5, 6, 7, 8, 10, 14, 20)
EFFECT, SCATTER = 0.05, 0.03
"""5 % and 3 %."""


def found(many: int, blocks: int) -> int:
    """Studies in which a VPN that is better by ``EFFECT`` differs from the next one."""
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(STUDIES):
        figures = np.exp(SCATTER * following(rng, many, blocks, 0.0))
        figures[0] *= 1 + EFFECT
        hits += decided(figures).apart(*NAMES[:2])
    return hits


def _row(title: str, hits: list[int]) -> str:
    shares = (f"{100 * count / STUDIES:.1f} %" for count in hits)
    return f"| {title} | {' | '.join(shares)} |\n"


def table() -> str:
    """Of two and five equal VPNs, and of three and five of which one is better."""
    lines = [
        f"| of {STUDIES:,} studies a figure | {' | '.join(f'{n} blocks' for n in BLOCKS)} |\n",
        "|---" * (1 + len(BLOCKS)) + "|\n",
    ]
    for rho, trials in ((0.0, "independent trials"), (0.5, "trials with lag-1 correlation 0.5")):
        for many in (2, 5):
            title = f"{many} equal VPNs, {trials}: a badge"
            lines.append(_row(title, [badges(many, n, rho, STUDIES) for n in BLOCKS]))
    for many in (3, 5):
        title = f"one of {many} is better by 5 %, scatter 3 %: found"
        lines.append(_row(title, [found(many, n) for n in BLOCKS]))
    return "".join(lines)


if __name__ == "__main__":
    put(table(), BEGIN, END)
