"""The tables of docs/statistics.md on one column: false badges, and differences found.

``python -m bench.equals_table`` writes them between their marks; 2,000 studies a figure, fixed
seeds.
"""

from __future__ import annotations

from bench.coverage_table import put
from bench.goals.statements import STUDIES, badges, differing

BEGIN, END = "<!-- equals: python -m bench.equals_table -->\n", "<!-- end of equals -->\n"
BLOCKS = (5, 6, 7, 8, 10, 14, 20)


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
        lines.append(_row(title, [differing(many, n, 1.05, STUDIES) for n in BLOCKS]))
    return "".join(lines)


if __name__ == "__main__":
    put(table(), BEGIN, END)
