"""A key that another table has is sent there."""

from __future__ import annotations

import pytest

from culvert.errors import StudyError
from culvert.study.places import places_of
from tests.study.dummies import CATALOGUE, parse

STUDY = """name = "s"
vpns = ["none"]
[lab]
link = {{ kind = "wire"{link} }}
{lab}
[[condition]]
name = "c"
{condition}
[[measurement]]
kind = "udp"
{measurement}
[plan]
blocks = 1
{plan}
"""


@pytest.mark.parametrize(
    ("table", "line", "what", "remedy"),
    [
        ("link", ', delay = "10ms"', "lab.link.delay", "write delay into [[condition]]"),
        ("lab", 'loss = "1%"', "lab.loss", "write loss into [[condition]]"),
        ("condition", "seed = 3", "condition[0].seed", "write seed into [plan]"),
        ("measurement", 'delay = "3ms"', "measurement[0].delay", "write delay into [[condition]]"),
        ("plan", 'vpns = ["none"]', "plan.vpns", "write vpns into the file's first lines"),
        ("plan", "packet_size = 64", "plan.packet_size", "[[measurement]] of udp"),
        ("lab", "frobnicate = 1", "lab.frobnicate", "known are"),
    ],
)
def test_a_key_at_the_wrong_place_names_the_right_one(
    table: str, line: str, what: str, remedy: str
) -> None:
    tables = dict.fromkeys(("link", "lab", "condition", "measurement", "plan"), "")
    with pytest.raises(StudyError) as caught:
        parse(STUDY.format(**tables | {table: line}))
    assert what in caught.value.what
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("key", "places"),
    [
        ("spread", ["jitter of [[condition]]"]),
        ("rate", ["[[condition]]", "link of [lab]", "[[measurement]] of rtt, udp"]),
        ("drop_udp", ["[[condition]]"]),
        ("nothing", []),
    ],
)
def test_tables_inside_of_others_are_named_with_them(key: str, places: list[str]) -> None:
    assert places_of(key, CATALOGUE) == places
