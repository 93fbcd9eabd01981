"""Studies of ``culvert bench``: what is named, on one link, beside the baseline."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.errors import StudyError
from culvert.study.adhoc import AdHoc
from culvert.study.study import Study
from tests.study.dummies import CATALOGUE


def read(bench: AdHoc) -> Study:
    return Study.parse(bench.text(CATALOGUE), CATALOGUE, source="culvert bench")


def test_vpns_are_measured_beside_the_baseline_on_the_link() -> None:
    link = {"rate": "100Mbit/s", "delay": "20ms", "loss": "1%"}
    study = read(AdHoc(["wireguard/go", "none"], ["tcp", "rtt"], "90s", "2s", link))
    assert study.vpns == ("none", "wireguard/go")
    (condition,) = study.file.condition
    lab = study.lab_spec("link", [(0,), (1,)])
    link_spec = lab.path_link(lab.topology.paths[0])
    assert (condition.name, link_spec.rate_bps) == ("link", 100_000_000)
    assert [
        (one.kind, one.parameters.values.get("duration")) for one in study.requested["link"]
    ] == [
        ("tcp", "2s"),
        ("rtt", None),
    ]
    assert study.file.plan.blocks.budget_s == 90  # type: ignore[union-attr]


def test_without_a_link_nothing_is_emulated() -> None:
    study = read(AdHoc(["wireguard/go"], ["tcp"], "2min", "1s"))
    assert study.file.lab.link.kind == "veth"


@pytest.mark.parametrize(
    ("bench", "words"),
    [
        (AdHoc(["wireguard/gone"], ["tcp"], "2min", "1s"), "wireguard/gone"),
        (AdHoc(["wireguard/go"], ["tpc"], "2min", "1s"), 'did you mean "tcp"'),
        (AdHoc(["wireguard/go"], ["tcp"], "soon", "1s"), "soon"),
        (AdHoc(["wireguard/go"], ["tcp"], "2min", "1s", {"rate": "fast"}), "fast"),
    ],
)
def test_what_a_study_refuses_is_refused(bench: AdHoc, words: str) -> None:
    with pytest.raises(StudyError) as found:
        read(bench)
    assert words in f"{found.value} {found.value.remedy}"


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text(), st.text())
def test_no_word_of_the_command_line_becomes_a_key(vpn: str, kind: str, rate: str) -> None:
    bench = AdHoc([vpn], [kind], "2min", "1s", {"rate": rate})
    with pytest.raises(StudyError) as found:
        read(bench)
    assert "not TOML" not in str(found.value)
