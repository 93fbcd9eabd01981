"""Bounds of YAML documents, found before anything is built from them."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from culvert.files.yaml_size import ExcessError, YamlBounds, refuse_excess

BOUNDS = YamlBounds(values=20_000, characters=1 << 20)
SOON_S = 2.0
_PAIRS = tuple(zip("abcdefgh", "bcdefghi", strict=True))
HASH = 2**61 - 1


def bomb(first: str, part: str) -> str:
    return f"a: &a {first}\n" + "".join(
        f"{new}: &{new} {part % ', '.join([f'*{old}'] * 10)}\n" for old, new in _PAIRS
    )


BOMBS = {
    "aliases in lists": (bomb("[x, x, x]", "[%s]"), "more than 20000 values"),
    "merge keys": (bomb("{x: 1}", "{<<: [%s]}"), "more than 20000 values"),
    "an alias as a key": (bomb("[x]", "{? [%s] : 1}"), "more than 20000 values"),
    "a long text, often": (f"a: &a '{'x' * 5000}'\nb: [{'*a, ' * 300}]", "characters"),
    "an alias of itself": ("a: &a [*a]", "part of"),
    "an alias of what holds it": ("a: &a {b: {c: [*a]}}", "part of"),
    "deep lists": ("[" * (1 << 20), "nested too deeply"),
    "deep mappings": ("{a: " * (1 << 18), "nested too deeply"),
    "deep blocks": ("- " * (1 << 19), "nested too deeply"),
    "deep keys": ("? " * (1 << 19), "nested too deeply"),
    "many values": (f"[{'a,' * (1 << 20)}]", "more than 20000 values"),
    "a long number": (f"a: {'9' * 5000}", "more than 60 digits"),
    "a long number with a tag": (f"a: !!int '{'9' * 5000}'", "more than 60 digits"),
    "a number of base 60": (f"a: 1{':1' * (1 << 20)}", "more than 60 digits"),
    "numbers of one hash as keys": (
        "".join(f"{HASH * n}: 1\n" for n in range(1, 9000)), "17 digits"),
    "hexadecimal ones": ("".join(f"{HASH * n:#x}: 1\n" for n in range(1, 9000)), "17 digits"),
    "directives": ("%TAG !! x\n".join(f"%TAG !{n}! tag:x\n" for n in range(40_000)), "directives"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_soon(name: str) -> None:
    text, why = BOMBS[name]
    begun = time.process_time()
    with pytest.raises(ExcessError, match=why):
        refuse_excess(text, BOUNDS)
    assert time.process_time() - begun < SOON_S


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "a: &a {x: 1}\nb: {<<: *a, y: [*a, *a]}\n",
        "a: &a 1\nb: &a 2\nc: *a\n",
        "--- &a [x]\n---\n- *a\n",
        "2001:4:1:2:3:4:5:6a: {}\n192.168.100.200: {}\n",
        f"key: '{'9' * 5000}'\n",
        f"digest: {'12ab' * 16}\n",
    ],
)
def test_what_people_write_is_not_refused(text: str) -> None:
    refuse_excess(text, BOUNDS)
    if text not in ("", "# nothing"):
        with pytest.raises(ExcessError):
            refuse_excess(text, YamlBounds(values=0, characters=0))


_VALUES = st.recursive(
    st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab"), inner, max_size=4),
    max_leaves=30,
)


@given(_VALUES, st.integers(1, 4))
def test_the_count_is_that_of_the_document_without_aliases(value: object, times: int) -> None:
    """PyYAML writes one object that is there several times as an anchor with aliases."""
    repeated = yaml.safe_dump([value] * times)
    count = 1 + times * _count(value)
    refuse_excess(repeated, YamlBounds(count, 1000))
    with pytest.raises(ExcessError, match=f"more than {count - 1} values"):
        refuse_excess(repeated, YamlBounds(count - 1, 1000))


def _count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(1 + _count(one) for one in value.values())
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
