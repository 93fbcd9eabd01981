"""The mark in a run's namespace, as a text."""

from __future__ import annotations

import pytest

from culvert.labs.namespace import mark, owner

IFALIAS_BYTES = 256
"""IFALIASZ of linux/if.h."""


@pytest.mark.parametrize(
    "text", ["", "culvert", "culvert ab12cd a 1.2.x 3", "culvert ab12cd a 1.2.3-4 5 6", "x" * 255]
)
def test_another_text_is_no_mark(text: str) -> None:
    assert mark.Mark.parse(text) is None


def test_a_mark_is_read_as_it_was_written() -> None:
    made = mark.Mark("ab12cd", "pods-a", owner.this_process(), 4026531840)
    assert mark.Mark.parse(str(made)) == made
    assert len(str(made)) < IFALIAS_BYTES
