"""Builds: two VPNs of a study that are one program, built twice."""

from __future__ import annotations

import pytest

from culvert.errors import StudyError
from culvert.study.catalogue import recalled_catalogue
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue, of_study

TEXT = """
name = "two"
vpns = ["wireguard/go+psk+nogso@base", "wireguard/go@head"]
[build.base]
programs = "/builds/base"
commit = "1f"
[build.head]
programs = "/builds/head"
[[measurement]]
kind = "tcp"
duration = "1s"
[[claim]]
id = "no-slower"
text = "The head is as fast"
test = "tcp.goodput_bps: wireguard/go@head within 5% of wireguard/go+nogso+psk@base"
"""


def test_a_vpn_with_a_build_is_one_of_its_own() -> None:
    study = Study.parse(TEXT, installed_catalogue())
    assert study.vpns == ("none", "wireguard/go+nogso+psk@base", "wireguard/go@head")
    base, head = study.build_of(study.vpns[1]), study.build_of(study.vpns[2])
    assert base is not None
    assert (base.programs, base.commit) == ("/builds/base", "1f")
    assert head is not None
    assert head.commit == ""
    assert study.build_of("none") is None
    assert of_study(study.vpns[1]).id == "wireguard/go+nogso+psk"


def test_a_journal_has_the_same_names_and_the_commit() -> None:
    study = Study.parse(TEXT, installed_catalogue())
    again = Study.recalled(study.text, study.canonical, recalled_catalogue())
    assert again.vpns == study.vpns
    assert '"commit":"1f"' in study.canonical.replace(" ", "")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("build.head", "build.hed", 'did you mean "hed"'),
        ("/builds/head", "builds/head", "build.head.programs"),
        ("wireguard/go@head", "wireguard/og@head", "'og'"),
    ],
)
def test_a_wrong_build_is_named(old: str, new: str, why: str) -> None:
    with pytest.raises(StudyError) as error:
        Study.parse(TEXT.replace(old, new, 1), installed_catalogue())
    assert why in " ".join(f"{one} {one.remedy}" for one in error.value.all_problems)


def test_a_study_without_builds_keeps_its_digest() -> None:
    plain = 'name = "a"\nvpns = ["none"]\n[[measurement]]\nkind = "tcp"\nduration = "1s"\n'
    assert '"build"' not in Study.parse(plain, installed_catalogue()).canonical
