"""Every variant that is listed comes up, works and is gone, ten times in a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from culvert.vpns.listing import listed
from culvert.vpns.variant import DataPath

from .rounds import faults_of_rounds
from .tunnels import driver, skip_reason

WORDS = [word for word in map(str, listed()) if driver(word).data_path is not DataPath.KERNEL]
"""Those of the kernel have theirs in the folder kernel."""
LANES = 2
"""Variants at a time: most of a round is waiting."""

Found = Mapping[str, Future[list[str]]]


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Iterator[Found]:
    """What the rounds of the variants that are asked for come to; they have begun."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    words = [
        str(item.callspec.params["word"])
        for item in items
        if item.function is test_ten_rounds_have_no_faults
    ]
    pool = ThreadPoolExecutor(LANES)
    yield {word: pool.submit(faults_of_rounds, word) for word in words if not skip_reason(word)}
    pool.shutdown(cancel_futures=True)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.long
@pytest.mark.timeout(3600)  # ZeroTier's rounds take half a minute each
@pytest.mark.parametrize("word", WORDS)
def test_ten_rounds_have_no_faults(found: Found, word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    assert found[word].result() == []
