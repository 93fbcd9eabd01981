"""JSON from outside: every fault of it is one kind of error."""

from __future__ import annotations

import pytest

from culvert.errors import LabError
from culvert.json_text import read_json
from culvert.labs import iproute


@pytest.mark.parametrize(
    "text", ["", "[", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\ud800"[:0], b"\xff"]
)
def test_a_fault_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its kinds have texts of their own
        read_json(text)


def test_a_key_with_two_values_has_none() -> None:
    with pytest.raises(ValueError, match="the key 'a' has two values"):
        read_json('[{"b": {"a": 1, "c": 0, "a": 2}}]')
    assert read_json('{"a": [1], "a": [1]}') == {"a": [1]}


@pytest.mark.parametrize("text", ["[" * 100_000, "7", "{}", "[1]", "[[]]", "no", "[{}"])
def test_what_is_no_list_of_objects_names_the_host(text: str) -> None:
    with pytest.raises(LabError, match="host b: its ip or tc cannot print JSON"):
        iproute.entries(text, "b")


def test_nothing_printed_is_an_empty_list() -> None:
    assert iproute.entries(" \n", "b") == []
