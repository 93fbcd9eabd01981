"""The table of docs/statistics.md: coverage of medians' intervals, every n from 6 to 30.

``python -m bench.coverage_table`` writes it between its marks; 4,000 samples a figure, fixed seeds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.goals.statements import following
from culvert.statistics.intervals import median_intervals
from culvert.statistics.order_statistics import widest

DOCUMENT = Path(__file__).parent.parent / "docs" / "statistics.md"
BEGIN, END = "<!-- coverage: python -m bench.coverage_table -->\n", "<!-- end of coverage -->\n"
SAMPLES = 4000
HEAD = (
    "| trials | the range covers at most | normal | log-normal (\u03c3 0.5) | lag-1 0.3 "
    "| lag-1 0.5 |\n|---|---|---|---|---|---|\n"
)


def _covered(samples: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    found = median_intervals(samples.tolist())
    return sum(not one.excludes(1.0) for one in found) / len(found)


def row(n: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(n)
    series = (following(rng, SAMPLES, n, rho) for rho in (0.0, 0.3, 0.5))
    normal, some, strong = (_covered(1 + 0.02 * one) for one in series)
    skewed = _covered(rng.lognormal(0, 0.5, (SAMPLES, n)))
    rates = " | ".join(f"{100 * rate:.1f} %" for rate in (normal, skewed, some, strong))
    return f"| {n} | {100 * widest(n):.5g} % | {rates} |\n"


def put(table: str, begin: str, end: str) -> None:
    """Replace what stands between these marks of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(before + begin + table + end + after, encoding="utf-8")


def main() -> None:
    """Write the table."""
    put(HEAD + "".join(row(n) for n in range(6, 31)), BEGIN, END)


if __name__ == "__main__":
    main()
