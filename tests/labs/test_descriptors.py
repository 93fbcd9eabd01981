"""The limit of open files follows the lab."""

from __future__ import annotations

import resource

import pytest

from culvert.labs.room import permit


@pytest.mark.parametrize(
    ("soft", "hard", "after"), [(1024, 1 << 20, 6262), (8192, 1 << 20, 8192), (1024, 4096, 4096)]
)
def test_the_limit_is_raised_as_far_as_needed_and_permitted(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, after: int
) -> None:
    limits = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.__setitem__(0, given[0]))
    permit(1001)
    assert limits == [after, hard]
