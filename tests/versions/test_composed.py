"""The study of two builds."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.errors import StudyError
from culvert.plan.plan import Plan
from culvert.study.builds import BuildTable
from culvert.study.study import Study
from culvert.versions.composed import Composed, to_toml
from culvert.vpns.registry import installed_catalogue

BUILDS = {name: BuildTable(programs=f"/builds/{name}", commit=name) for name in ("base", "head")}


@pytest.mark.parametrize("study", ["gate", "quick", "dekker2020-latency"])
def test_any_study_measures_two_builds(study: str) -> None:
    text = Composed(study, "wireguard/go+psk").text(BUILDS, {"blocks": {"budget": "5min"}})
    made, own = Study.parse(text, installed_catalogue()), Study.load(study, installed_catalogue())
    assert made.vpns == ("none", "wireguard/go+psk@base", "wireguard/go+psk@head")
    assert made.requested == own.requested
    assert made.file.lab == own.file.lab
    assert made.file.claim == ()
    assert {cell.vpn for cell in Plan.of(made).cells} == {*made.vpns[1:]}
    build = made.build_of(made.vpns[2])
    assert build is not None
    assert build.commit == "head"


def test_a_pair_is_one_block_of_one_measurement() -> None:
    made = Study.parse(
        Composed("quick", "wireguard/go").pair(BUILDS, 7, "tcp"), installed_catalogue()
    )
    cells = Plan.of(made).cells
    assert [(one.vpn, one.measurement) for one in cells] == [
        ("wireguard/go@base", "tcp"),
        ("wireguard/go@head", "tcp"),
    ]
    assert (made.file.plan.blocks, made.seed) == (1, 7)
    with pytest.raises(StudyError, match='no measurement "leak"'):
        Composed("quick", "wireguard/go").pair(BUILDS, 7, "leak")


VALUES = st.recursive(
    st.text()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_toml_is_read_as_it_was(data: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(data)) == data
