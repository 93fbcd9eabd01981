"""How many more repetitions would decide, if they are like the existing ones."""

from __future__ import annotations

import math

from culvert.analysis.compare.contrast import Contrast

POWER = 0.8
"""The power: the probability that so many repetitions decide."""

MOST = 10_000
"""A greater number is not recommended."""


def more_repetitions(
    contrast: Contrast, distance: float, alpha: float, *, power: float = POWER
) -> int | None:
    """Repetitions beyond ``contrast.n`` for a one-sided test at ``alpha`` over that distance.

    ``distance`` is from the estimate to the bound of the test. The standard error
    falls with the root of the repetitions: n' = n ((z(1 - alpha) + z(power)) se / distance)^2,
    at least one. If every value is the same, as many as make that unlikely by chance
    (``Contrast``). None if that is more than MOST.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, seldom needed

    if distance <= 0 or not math.isfinite(distance):
        return None
    if not contrast.se:
        needed = math.ceil(math.log2(1 / alpha) / (1 if contrast.paired else 2))
        return max(1, needed - contrast.n)
    sure = float(ndtri(1 - alpha)) + float(ndtri(power))
    wanted = contrast.n * (sure * contrast.se / distance) ** 2
    if wanted > MOST:
        return None
    return max(1, math.ceil(wanted) - contrast.n)
