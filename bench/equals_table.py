"""The table of docs/statistics.md on one column: false badges, and best ones found.

``python -m bench.equals_table`` writes them between their marks; 2,000 studies a figure, fixed
seeds.
"""

from __future__ import annotations

from bench.coverage_table import put
from bench.goals.statements import NOISES, STUDIES, badges, found_best

BEGIN, END = "<!-- equals: python -m bench.equals_table -->\n", "<!-- end of equals -->\n"
BLOCKS = (5, 7, 10, 12, 20)


def _row(title: str, hits: list[int]) -> str:
    shares = (f"{100 * count / STUDIES:.1f} %" for count in hits)
    return f"| {title} | {' | '.join(shares)} |\n"


def table() -> str:
    """Of equal best ones among five, and of three, five and eight of which one is better."""
    lines = [
        f"| of {STUDIES:,} studies a figure | {' | '.join(f'{n} blocks' for n in BLOCKS)} |\n",
        "|---" * (1 + len(BLOCKS)) + "|\n",
    ]
    for noise in NOISES:
        for equal in (2, 3):
            title = f"{equal} equal best of 5, {noise}: one called best"
            lines.append(_row(title, [badges(noise, 5, equal, n, STUDIES) for n in BLOCKS]))
    for many in (3, 5, 8):
        title = f"one of {many} is better by 5 %, scatter 3 %: called best"
        lines.append(_row(title, [found_best(many, n, 1.05, STUDIES) for n in BLOCKS]))
    return "".join(lines)


if __name__ == "__main__":
    put(table(), BEGIN, END)
