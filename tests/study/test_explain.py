"""What an error says of a value that is none of a choice."""

from __future__ import annotations

import pytest

from culvert.study.explain import explain


@pytest.mark.parametrize(
    ("value", "expected", "why", "remedy"),
    [
        ("2", "2 or 3", 'it must be 2 or 3, not "2"', "write it without quotes"),
        ("frsh", "'fresh' or 'reused'", 'it must be "fresh" or "reused", not "frsh"', "did you"),
    ],
)
def test_numbers_have_no_quotes(value: str, expected: str, why: str, remedy: str) -> None:
    found = explain("enum", "", value, {"expected": expected}, ("version",))
    assert found.why == why
    assert found.remedy.startswith(remedy)
