from __future__ import annotations

import pytest

from culvert.spread import spread


@pytest.mark.parametrize("few", [2, 100], ids=["several processes", "this one"])
def test_results_are_in_the_order_of_what_was_given(few: int) -> None:
    assert list(spread(abs, range(-8, 0), few)) == [8, 7, 6, 5, 4, 3, 2, 1]
