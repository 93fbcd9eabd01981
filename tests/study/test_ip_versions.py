"""IPv6 below the VPNs, and inside, in a study file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.errors import StudyError
from culvert.study.catalogue import Placing
from culvert.study.study import Study
from culvert.topology.ip import IpVersion
from tests.study.dummies import CATALOGUE, parse

ONLY_IPV4 = Placing(underlays=frozenset({IpVersion.V4}))
STUDY = """
name = "s"
vpns = ["none", "openvpn/aes-256-gcm"]
[lab]
topology = "mesh"
{lab}
[[condition]]
name = "one"
[[condition]]
name = "other"
{condition}
[[measurement]]
kind = "udp"
{more}
"""


def underlays(lab: str = "", condition: str = "") -> list[IpVersion]:
    """Of both conditions."""
    study = parse(STUDY.format(lab=lab, condition=condition, more=""))
    return [study.lab_spec(name, [(0,)]).underlay for name in ("one", "other")]


def test_a_condition_goes_before_the_lab() -> None:
    ipv4, ipv6 = IpVersion
    assert underlays() == [ipv4, ipv4]
    assert underlays('underlay = "ipv6"') == [ipv6, ipv6]
    assert underlays("", 'underlay = "ipv6"') == [ipv4, ipv6]
    assert underlays('underlay = "ipv6"', 'underlay = "ipv4"') == [ipv6, ipv4]


def test_a_condition_has_ipv6_inside() -> None:
    study = parse(STUDY.format(lab="", condition='inner = "ipv6"', more=""))
    inners = [study.lab_spec(name, [(0,)]).inner for name in ("one", "other")]
    assert inners == [IpVersion.V4, IpVersion.V6]


def test_only_studies_that_name_it_have_another_digest() -> None:
    plain, named = (
        parse(STUDY.format(lab=lab, condition="", more="")) for lab in ("", 'underlay = "ipv6"')
    )
    assert "underlay" not in plain.canonical
    assert plain.digest != named.digest


@pytest.mark.parametrize(
    ("lab", "condition", "line", "key"),
    [
        ('nat = { a = "symmetric" }\nunderlay = "ipv6"', "", 7, "lab.underlay"),
        ('block_udp = ["a"]', 'underlay = "ipv6"', 11, r"condition\[1\].underlay"),
        ('underlay = "ipv6"', 'nat = { a = "symmetric" }', 11, r"condition\[1\].nat"),
    ],
)
def test_routers_that_translate_or_filter_are_refused(
    lab: str, condition: str, line: int, key: str
) -> None:
    with pytest.raises(StudyError, match=f"line {line}, {key}.*IPv4 only") as error:
        underlays(lab, condition)
    assert "without nat" in error.value.remedy


def test_another_version_is_refused() -> None:
    with pytest.raises(StudyError, match=r"lab\.underlay") as error:
        underlays('underlay = "ipv5"')
    assert "ipv6" in str(error.value)


def checked(more: str) -> Study:
    """With a catalogue in which OpenVPN has no IPv6."""
    placing = {"openvpn/aes-256-gcm": ONLY_IPV4}
    catalogue = replace(CATALOGUE, placing=lambda vpn: placing.get(vpn, Placing()))
    text = STUDY.format(lab="", condition='underlay = "ipv6"', more=more)
    return Study.parse(text, catalogue, source="s.toml")


def test_a_vpn_without_ipv6_is_refused_unless_it_is_excluded_there() -> None:
    with pytest.raises(StudyError, match="not supported over an underlay of ipv6") as error:
        checked("")
    (exclude,) = (part for part in error.value.remedy.split(": ") if "vpns = " in part)
    keys = exclude.removeprefix("[[exclude]] ").replace(", cond", "\ncond")
    assert checked(f"[[exclude]]\n{keys}").vpns == ("none", "openvpn/aes-256-gcm")
    with pytest.raises(StudyError, match="not supported"):
        checked('[[exclude]]\nvpns = ["openvpn/aes-256-gcm"]\nconditions = ["one"]')
