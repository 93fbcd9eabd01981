"""JSON columns of a journal that somebody else wrote."""

from __future__ import annotations

import pytest

from culvert.journal.values import _not_labels, _not_object


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"node":"a"}', ""),
        ('{"node":"a","node":"b"}', "the key 'node' has two values"),
        ('{"a":{"b":1,"b":2}}', "the key 'b' has two values"),
        ("[1]", "it is not a JSON object"),
        ('{"a":NaN}', "it is not valid JSON"),
    ],
)
def test_a_key_with_two_values_is_refused(text: str, why: str) -> None:
    found = _not_object(text)
    assert why in found
    assert bool(why) == bool(found)
    assert bool(_not_labels(text)) == bool(why)
