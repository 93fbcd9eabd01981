"""The binomial distribution: how many of n independent cases happen."""

from __future__ import annotations

import math
from functools import cache


@cache
def quantile(n: int, share: float, level: float) -> int:
    """The least count that as many or fewer of ``n`` cases reach with the probability ``level``.

    Each case happens with the probability ``share``, below 1. A greater count rejects, in an exact
    one-sided test at 1 - ``level``, that the share is at most ``share`` (Clopper and Pearson,
    Biometrika 26, 1934: the lower end of its interval is then above ``share``).
    """
    if share == 0:
        return 0
    so_far = 0.0
    for count in range(n + 1):
        ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
        so_far += math.exp(ways + count * math.log(share) + (n - count) * math.log1p(-share))
        if so_far >= level:
            return count
    return n
