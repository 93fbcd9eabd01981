from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.journal.readers import salvage
from culvert.journal.readers.reading import MOST_LOST, Text
from culvert.journal.readers.salvage import MOST_DEPTH, Document, documents

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(), VALUES) | st.lists(VALUES)


def found_in(content: str) -> tuple[list[Document], Text]:
    text = Text("f", content)
    return list(documents(text)), text


def begins(part: Any, whole: Any) -> bool:
    """Whether a value is what is left of another whose end was cut off."""
    if isinstance(whole, dict) and isinstance(part, dict):
        names = list(part)
        return names == list(whole)[: len(names)] and all(
            begins(part[name], whole[name]) for name in names
        )
    if isinstance(whole, list) and isinstance(part, list):
        return len(part) <= len(whole) and all(map(begins, part, whole))
    return bool(part == whole)


@given(st.lists(DOCUMENTS, max_size=3), st.sampled_from(["\n", "\n\n", "\r\n"]))
def test_whole_documents_come_back(values: list[Any], between: str) -> None:
    found, text = found_in(between.join(map(json.dumps, values)))
    assert [document.value for document in found] == values
    assert all(document.whole for document in found)
    assert not text.lost


@given(DOCUMENTS, st.data())
def test_what_is_cut_off_is_a_beginning_of_the_whole(value: Any, data: st.DataObject) -> None:
    content = json.dumps(value, indent=1)
    cut = data.draw(st.integers(0, len(content) - 1))
    found, text = found_in(content[:cut])
    assert len(found) <= 1
    assert cut == 0 or text.lost
    for document in found:
        assert not document.whole
        assert begins(document.value, value)


def test_the_line_where_it_is_cut_off() -> None:
    found, text = found_in('{"a": 1,\n"b": [1,\n2,\n3')
    assert found == [Document({"a": 1, "b": [1, 2]}, 1, whole=False)]
    assert [(lost.line, lost.why) for lost in text.lost] == [(3, "the file is truncated here")]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("\n{]", 2, "] where } is expected"),
        ('{"a": nothing}', 1, "this is not JSON: Expecting value"),
        ("hello\nworld\n", 1, "11 characters that are not JSON"),
        ("[" * (MOST_DEPTH + 1), 1, f"nested more than {MOST_DEPTH} deep"),
        ("{", 1, "truncated before its first value"),
        ('{"a": ' + "1" * 5000 + "}", 1, "this is not JSON"),
    ],
)
def test_what_is_no_json_is_told(content: str, line: int, words: str) -> None:
    found, text = found_in(content)
    assert found == []
    assert text.lost[0].line == line
    assert words in text.lost[0].why


def test_a_wrong_file_loses_many_places_and_tells_some() -> None:
    _, text = found_in('{"a": x}\n' * 1000)
    assert len(text.lost) == MOST_LOST
    assert sum(lost.count for lost in text.lost) == 1000
    assert "(901 places)" in str(text.lost[-1])


def test_a_document_of_very_many_values_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 MB of empty arrays took minutes and 3 GB."""
    monkeypatch.setattr(salvage, "MOST_TOKENS", 1000)
    text = Text("x", "[" + "[]," * 999 + "[]]")
    assert list(documents(text)) == []
    assert "more than 1000 texts and brackets" in str(text.lost)
