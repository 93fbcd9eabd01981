"""Every variant that is listed comes up, works and is gone, ten times in a row."""

from __future__ import annotations

import pytest

from culvert.vpns.base import DataPath
from culvert.vpns.listing import listed

from .rounds import ROUNDS, faults_of_round
from .tunnels import driver, skip_reason

WORDS = [word for word in map(str, listed()) if driver(word).data_path is not DataPath.KERNEL]
"""Those of the kernel have theirs in the folder kernel."""


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
def test_ten_rounds(word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    for number in range(ROUNDS):
        assert faults_of_round(word) == [], f"in round {number}"
