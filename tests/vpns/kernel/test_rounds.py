"""Every variant of the kernel comes up, works and is gone, ten times in a row."""

from __future__ import annotations

import pytest

from culvert.vpns.listing import listed
from culvert.vpns.variant import DataPath

from ..rounds import faults_of_rounds
from ..tunnels import driver
from .needs import require

WORDS = [word for word in map(str, listed()) if driver(word).data_path is DataPath.KERNEL]


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.long
@pytest.mark.parametrize("word", WORDS)
def test_ten_rounds_in_a_guest_have_no_faults(word: str) -> None:
    require(word)
    assert faults_of_rounds(word) == []
